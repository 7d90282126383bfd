package service_test

import (
	"context"
	"testing"
	"time"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// TestDeskFacts: the home of an organization has its claims, figures and steps. Every role sees the same figures; a domain
// and the steps only those who can do something. A person has none of it.
func TestDeskFacts(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		d := w.desk()
		member, viewer := w.person("Mem", true), w.person("Vic", true)
		w.join(d.ann, d.o, member, warranty.Member)
		w.join(d.ann, d.o, viewer, warranty.Viewer)
		own := w.record(person{Principal: d.shop.Principal}, "")
		today := w.Service.Now().Truncate(24 * time.Hour)
		w.execute(`UPDATE warranties SET start_date = $1`, warranty.DateOf(today).EpochDay())
		w.execute(`UPDATE access SET start_date = $1 WHERE kind = 1`, warranty.DateOf(today).EpochDay())
		of := func(p warranty.Principal) *service.Desk {
			t.Helper()
			o, err := w.Service.Overview(ctx, p, time.UTC)
			d.must(err)
			return o.Desk
		}
		roles := map[string]warranty.Principal{"admin": d.shop.Principal, "member": w.acting(member, d.o), "viewer": w.acting(viewer, d.o)}
		figures := func(what string, want service.DeskMonth) {
			t.Helper()
			for role, p := range roles {
				months := of(p).Months
				got := months[len(months)-1]
				if want.First = got.First; got.ToDecide > 0 {
					got.ToDecide = 1
				}
				equal(t, what+" for the "+role, got, want)
			}
		}
		figures("filed", service.DeskMonth{Issued: 2, Registered: 1, Filed: 1})
		seen := of(d.shop.Principal)
		equal(t, "waiting", seen.Claims.WaitingForUs, int64(1))
		equal(t, "late", seen.Late, int64(0))
		early := w.Service.Now().Add(-75 * time.Hour).UnixMicro()
		w.execute(`UPDATE claims SET waiting_since = $1`, early)
		w.execute(`UPDATE access SET queued_at = $1 WHERE kind = 2`, early)
		seen = of(roles["viewer"])
		if seen.Late != 1 || seen.Oldest == nil || seen.Oldest.Customer == nil || seen.Oldest.Customer.Name != "Kim" {
			t.Errorf("late: %d, %+v", seen.Late, seen.Oldest)
		}
		if len(seen.Products) != 1 || seen.Products[0] != (store.ProductClaims{Name: d.record.ProductName, Claims: 1}) {
			t.Errorf("the products are %+v", seen.Products)
		}
		steps := map[string]int{"admin": 6, "member": 2, "viewer": 0}
		for role, p := range roles {
			may := 0
			for _, step := range of(p).Steps {
				if step.May {
					may++
				}
			}
			equal(t, "steps that the "+role+" may do", may, steps[role])
		}
		step := func(name string) (done bool) {
			for _, s := range of(roles["admin"]).Steps {
				done = done || s.Name == name && s.Done
			}
			return done
		}
		equal(t, "the logo before", step("logo"), false)
		w.execute(`INSERT INTO logos (id, account_id, storage_key, sha256, size_bytes) VALUES ($1, $2, 'logo', $3, 1)`, w.key(own.ID), w.key(d.shop.Principal.Account.ID), []byte("sum"))
		equal(t, "the logo", step("logo"), true)
		w.execute(`UPDATE users SET created_at = $1 WHERE id = $2`, w.Service.Now().Add(-61*24*time.Hour).UnixMicro(), w.key(d.shop.Principal.Account.ID))
		equal(t, "steps after two months", len(of(roles["admin"]).Steps), 0)
		d.must(d.move(d.shop, warranty.UnderReview, ""))
		d.must(d.move(d.shop, warranty.Approved, ""))
		figures("decided", service.DeskMonth{Issued: 2, Registered: 1, Filed: 1, ToDecide: 1, Decided: 1})
		_, err := w.Service.DeleteWarranty(ctx, d.shop.Principal, warranty.DeleteWarranty{ID: warranty.WarrantyKey{ID: own.ID}})
		d.must(err)
		figures("deleted", service.DeskMonth{Issued: 1, Registered: 1, Filed: 1, ToDecide: 1, Decided: 1})
		if of(d.kim.Principal) != nil {
			t.Error("a person has a desk")
		}
	})
}

// TestFind: a search finds what the person may see, numbers in full first, from the second letter on, and stops with its
// request.
func TestFind(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		d := w.desk()
		eve := w.person("Eve", true)
		doc := w.document(d.kim, d.record.ID)
		find := func(p warranty.Principal, q string) service.Found {
			t.Helper()
			f, err := w.Service.Find(ctx, p, q, 3)
			d.must(err)
			return f
		}
		number := string(d.claim.ClaimNumber)
		if f := find(d.shop.Principal, number); f.Claims.Total != 1 || f.Claims.List[0].ID != d.claim.ID || f.Claims.List[0].Customer == nil {
			t.Errorf("%s finds %+v", number, f.Claims)
		}
		for range 4 {
			w.record(d.kim, "") // the same product, later
		}
		reference := string(d.record.ReferenceNumber)
		f := find(d.kim.Principal, reference)
		if f.Warranties.Total < 1 || f.Warranties.List[0].ID != d.record.ID {
			t.Errorf("%s finds %+v first", reference, f.Warranties.List[0])
		}
		f = find(d.kim.Principal, d.record.ProductName)
		if len(f.Warranties.List) != 3 || f.Warranties.Total != 5 || f.Documents.Total != 1 || f.Documents.List[0].ID != doc.ID {
			t.Errorf("%s finds %d of %d, and %d documents", d.record.ProductName, len(f.Warranties.List), f.Warranties.Total, f.Documents.Total)
		}
		for _, q := range []string{number, reference, d.record.ProductName, "Kim", doc.FileName} {
			equal(t, "a stranger finds "+q, find(eve.Principal, q).Total(), int64(0))
		}
		for _, q := range []string{"", " ", "k", "??"} {
			equal(t, "found by "+q, find(d.kim.Principal, q).Total(), int64(0))
		}
		if _, err := w.Service.Find(ctx, d.kim.Principal, string(make([]byte, 300)), 3); codeOf(err) != warranty.ValidationFailed {
			t.Errorf("a long search: %v", err)
		}
		gone, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := w.Service.Find(gone, d.kim.Principal, "kettle", 3); err == nil {
			t.Error("a search continues after its request ended")
		}
	})
}
