package service_test

import (
	"fmt"
	"testing"
	"time"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// assured lists the references with an assurance, with a filter and with a verification of each record.
func (w *world) assured(p person, a warranty.Assurance) (filtered, verified map[warranty.Reference]bool) {
	w.T.Helper()
	filtered, verified = map[warranty.Reference]bool{}, map[warranty.Reference]bool{}
	in := warranty.ListWarranties{Paging: warranty.Paging{Page: 1, Limit: 100}}
	all, err := w.Service.ListWarranties(ctx, p.Principal, in)
	if err != nil {
		w.T.Fatal(err)
	}
	for _, r := range all.Data {
		if w.assurance(r.ReferenceNumber).Assurance == a {
			verified[r.ReferenceNumber] = true
		}
	}
	in.Assurance = a
	for page := 1; ; page++ { // in pages of two
		in.Paging = warranty.Paging{Page: page, Limit: 2}
		some, err := w.Service.ListWarranties(ctx, p.Principal, in)
		if err != nil {
			w.T.Fatal(err)
		}
		if some.Pagination.Total != int64(len(verified)) {
			w.T.Errorf("%s: total %d, want %d", a, some.Pagination.Total, len(verified))
		}
		for _, r := range some.Data {
			filtered[r.ReferenceNumber] = true
		}
		if len(some.Data) < 2 {
			break
		}
	}
	summary, err := w.Service.SummarizeWarranties(ctx, p.Principal, warranty.SummarizeWarranties{WarrantyFilter: in.WarrantyFilter})
	if err != nil || summary.Total != int64(len(verified)) {
		w.T.Errorf("%s: the summary has %d, want %d (%v)", a, summary.Total, len(verified), err)
	}
	return filtered, verified
}

// TestAssuranceFilter compares the filter with verifications of every record, in short and indexed lists, while
// records are handed over, sold on and confirmed, offers expire, and domains and accounts come and go.
func TestAssuranceFilter(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		w.Store.SegmentLists(2, 4, 0)
		shop, other, kim, nina := w.issuer("Ann"), w.issuer("Bob"), w.person("Kim", true), w.person("Nina", true)
		check := func(what string) {
			t.Helper()
			if err := w.Store.MaintainSegments(ctx); err != nil {
				t.Fatal(err)
			}
			for _, p := range []person{shop.acting, other.acting, kim, nina} {
				for _, a := range []warranty.Assurance{warranty.IssuerVerified, warranty.SellerConfirmed, warranty.Unverified} {
					filtered, verified := w.assured(p, a)
					equal(t, fmt.Sprintf("%s: %s of %s", what, a, p.Principal.Account.Name), filtered, verified)
				}
			}
		}
		w.write(func(tx *store.Tx) error {
			return tx.InsertAddress(shop.ID, warranty.Address{ID: w.Service.NewID(), Email: "info@halden.example", VerifiedAt: w.Clock.Now()})
		})
		var issued []warranty.Warranty
		for i := range 6 {
			i := []issuer{shop, other}[i%2]
			made := i.sells(warranty.CreateWarranty{Brand: fmt.Sprint("Brand ", len(issued)%2), SellerEmail: "info@halden.example"})
			issued = append(issued, made)
			w.record(kim, "info@halden.example")
		}
		check("recorded")
		if _, err := w.Service.VerifyDomain(ctx, shop.ID, "halden.example"); err != nil {
			t.Fatal(err)
		}
		check("a domain")
		for i, made := range issued[:4] {
			code := []issuer{shop, other}[i%2].prints(made.ID)
			if i < 3 {
				if _, err := w.take(kim, code); err != nil {
					t.Fatal(err)
				}
			}
		}
		check("handed over")
		own, err := w.Service.ListWarranties(ctx, kim.Principal, warranty.ListWarranties{Paging: warranty.Paging{Page: 1, Limit: 100},
			WarrantyFilter: warranty.WarrantyFilter{Role: warranty.Issuer}})
		if err != nil || len(own.Data) != 6 {
			t.Fatal(len(own.Data), err)
		}
		for _, r := range own.Data[:2] {
			w.confirm(shop.acting, r.ID)
		}
		w.confirm(shop.acting, issued[1].ID)
		check("confirmed")
		if filtered, _ := w.assured(kim, warranty.SellerConfirmed); len(filtered) != 3 {
			t.Errorf("%d confirmed", len(filtered))
		}
		w.transfer(issued[0].ID, kim, nina)
		check("sold on")
		shop.prints(issued[4].ID)
		check("offered")
		w.Clock.Advance(31 * 24 * time.Hour)
		check("expired")
		if _, err := w.Service.VerifyDomain(ctx, other.ID, "other.example"); err != nil {
			t.Fatal(err)
		}
		check("another domain")
		if _, err := w.DB.Exec("UPDATE domains SET verified_at = NULL WHERE domain = 'halden.example'"); err != nil {
			t.Fatal(err)
		}
		check("a lost domain")
		if _, err := w.DB.Exec("UPDATE users SET disabled_at = 1 WHERE kind = 2 AND id IN (SELECT account_id FROM domains WHERE domain = 'other.example')"); err != nil {
			t.Fatal(err)
		}
		for _, a := range []warranty.Assurance{warranty.IssuerVerified, warranty.SellerConfirmed, warranty.Unverified} {
			filtered, verified := w.assured(kim, a)
			equal(t, "a disabled issuer: "+string(a), filtered, verified)
		}
		summary, err := w.Service.SummarizeWarranties(ctx, shop.acting.Principal, warranty.SummarizeWarranties{GroupBy: warranty.GroupByBrand})
		if err != nil {
			t.Fatal(err)
		}
		counts := map[string]int64{}
		for _, g := range summary.Groups {
			name := ""
			if g.Value != nil {
				name = *g.Value
			}
			counts[name] = g.Count
		}
		all, err := w.Service.ListWarranties(ctx, shop.acting.Principal, warranty.ListWarranties{Paging: warranty.Paging{Page: 1, Limit: 100}})
		want := map[string]int64{}
		for _, r := range all.Data {
			name := ""
			if r.Brand != nil {
				name = *r.Brand
			}
			want[name]++
		}
		equal(t, "by brand", counts, want)
		if err != nil || len(want) < 2 {
			t.Errorf("%v, %v", want, err)
		}
	}, busy)
}
