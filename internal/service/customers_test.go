package service_test

import (
	"fmt"
	"testing"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// found returns how many warranties, claims and documents someone finds, and how many a summary counts.
func (w *world) found(p person, q, customer string) [4]int64 {
	w.T.Helper()
	filter := warranty.WarrantyFilter{Q: q, Customer: customer}
	list, err := w.Service.ListWarranties(ctx, p.Principal, warranty.ListWarranties{WarrantyFilter: filter})
	if err != nil {
		w.T.Fatal(err)
	}
	claims, err := w.Service.ListClaims(ctx, p.Principal, warranty.ListClaims{Q: q, Customer: customer})
	if err != nil {
		w.T.Fatal(err)
	}
	documents := warranty.Page[warranty.Document]{}
	if customer == "" {
		documents, err = w.Service.ListDocuments(ctx, p.Principal, warranty.ListDocuments{Q: q})
		if err != nil {
			w.T.Fatal(err)
		}
	}
	summary, err := w.Service.SummarizeWarranties(ctx, p.Principal, warranty.SummarizeWarranties{WarrantyFilter: filter})
	if err != nil {
		w.T.Fatal(err)
	}
	return [4]int64{list.Pagination.Total, claims.Pagination.Total, documents.Pagination.Total, summary.Total}
}

// TestAShopFindsItsCustomers: the issuer finds its warranties, and the claims and documents on them, by the name and
// the email of the customer. The owner, the seller and others learn nothing about a customer who is not theirs.
// Findings T8, G2.
func TestAShopFindsItsCustomers(t *testing.T) {
	for _, indexed := range []bool{false, true} {
		t.Run(fmt.Sprintf("indexed=%v", indexed), func(t *testing.T) {
			eachInTurn(t, func(t *testing.T, w *world) {
				if indexed {
					w.Store.SegmentLists(0, 4, 0)
				}
				shop, rival, kim, sam, eve := w.issuer("Ann"), w.issuer("Rob"), w.person("Olga", true), w.person("Sam", true), w.person("Eve", true)
				made := shop.sells(warranty.CreateWarranty{
					CustomerEmail: "k.larsen@people.example", CustomerName: "Kim Lärsen", SellerEmail: sam.User.Email,
				})
				shop.sells(warranty.CreateWarranty{CustomerName: "Nora Berg"})
				rival.sells(warranty.CreateWarranty{CustomerName: "Kim Larsen"})
				w.confirm(sam, made.ID)
				w.write(func(tx *store.Tx) error { return tx.MoveOwner(made.ID, shop.ID, kim.User.ID) })
				w.claim(kim, made.ID)
				w.document(kim, made.ID)
				w.document(shop.acting, made.ID)
				if indexed {
					w.index()
				}
				mine := func(by string) [4]int64 {
					if by == "customer" {
						return [4]int64{1, 1, 0, 1}
					}
					return [4]int64{1, 1, 1, 1}
				}
				for _, words := range []string{"larsen", "LÄRSEN kim", "Lars", "k.larsen@people.example", "K.Larsen@People"} {
					equal(t, "the issuer by q="+words, w.found(shop.acting, words, ""), mine("q"))
					equal(t, "the issuer by customer="+words, w.found(shop.acting, "", words), mine("customer"))
					for _, p := range []person{kim, sam, eve} {
						equal(t, p.User.Name+" by q="+words, w.found(p, words, ""), [4]int64{})
						equal(t, p.User.Name+" by customer="+words, w.found(p, "", words), [4]int64{})
					}
				}
				equal(t, "another organization", w.found(rival.acting, "", "kim larsen"), [4]int64{1, 0, 0, 1})
				equal(t, "another organization, by address", w.found(rival.acting, "", "k.larsen@people.example"), [4]int64{})
				for _, none := range []string{"arsen", "pan", "nora larsen", "larsen@people.example", "-", "@"} {
					equal(t, "customer="+none, w.found(shop.acting, "", none), [4]int64{})
				}
				equal(t, "q and customer", w.found(shop.acting, "pan", "larsen")[0], int64(1))
			}, busy)
		})
	}
}

// TestCustomersFollowTheRecord: an index forgets the customer when the offer is canceled or the record is passed on,
// and knows the one of the next offer. Finding T8.
func TestCustomersFollowTheRecord(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		w.Store.SegmentLists(0, 4, 0)
		shop, ida, nora := w.issuer("Ann"), w.person("Ida", true), w.person("Nora", true)
		offered := shop.sells(warranty.CreateWarranty{CustomerEmail: "kim@people.example", CustomerName: "Kim"})
		own, err := w.Service.CreateWarranty(ctx, ida.Principal, warranty.CreateWarranty{ProductName: "Pan",
			StartDate: date("2020-01-01"), EndDate: date("2099-12-31"), CustomerName: "Kim"})
		if err != nil {
			t.Fatal(err)
		}
		w.index()
		count := func(p person, customer string) int64 { return w.found(p, "", customer)[0] }
		equal(t, "offered", count(shop.acting, "kim@people.example"), int64(1))
		key := warranty.WarrantyKey{ID: offered.ID}
		if _, err := w.Service.CancelHandover(ctx, shop.acting.Principal, warranty.CancelHandover{ID: key}); err != nil {
			t.Fatal(err)
		}
		equal(t, "canceled", count(shop.acting, "kim@people.example"), int64(0))
		if _, err := w.Service.OfferHandover(ctx, shop.acting.Principal,
			warranty.OfferHandover{ID: key, CustomerEmail: "eva@people.example", CustomerName: "Eva"}); err != nil {
			t.Fatal(err)
		}
		equal(t, "offered to another", []int64{count(shop.acting, "eva@"), count(shop.acting, "kim")}, []int64{1, 0})
		if _, err := w.Service.UpdateWarranty(ctx, shop.acting.Principal,
			warranty.UpdateWarranty{ID: key, CustomerName: new("Eva Berg")}); err != nil {
			t.Fatal(err)
		}
		equal(t, "renamed", count(shop.acting, "eva berg"), int64(1))

		equal(t, "before the transfer", []int64{count(ida, "kim"), count(nora, "kim")}, []int64{1, 0})
		w.transfer(own.ID, ida, nora)
		equal(t, "after the transfer", []int64{count(ida, "kim"), count(nora, "kim")}, []int64{0, 0})
		w.index() // merged
		equal(t, "merged", []int64{count(ida, "kim"), count(nora, "kim"), count(shop.acting, "eva berg")}, []int64{0, 0, 1})
	}, busy)
}

// index waits until the lists are indexed, and what changed is merged.
func (w *world) index() {
	w.T.Helper()
	for range 50 {
		if err := w.Store.MaintainSegments(ctx); err != nil && warranty.AsError(err) == nil {
			w.T.Fatal(err)
		}
		if w.number(`SELECT count(*) FROM index_lists WHERE ready_at IS NOT NULL`) > 1 &&
			w.number(`SELECT count(*) FROM index_lists WHERE ready_at IS NULL`) == 0 && w.number(`SELECT count(*) FROM index_pending`) == 0 {
			return
		}
	}
	w.T.Fatal("the lists are not indexed")
}
