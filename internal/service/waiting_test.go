package service_test

import (
	"testing"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// TestWaitingClaims: a claim of a customer waits for the organization that issued the warranty, until it
// asks for information, and then for the customer. The profile of the organization is shown to who has
// access to the warranty.
func TestWaitingClaims(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		ann, kim, eve := w.person("Ann", true), w.person("Kim", true), w.person("Eve", true)
		o := w.shop(ann)
		shop := person{Principal: w.acting(ann, o)}
		issued, own := w.record(shop, ""), w.record(shop, "")
		key := warranty.WarrantyKey{ID: issued.ID}
		waits := func(what string, forShop, forKim int64) {
			t.Helper()
			for who, want := range map[*person][]int64{&ann: {0, forShop}, &kim: {forKim}} {
				list, err := w.Service.Accounts(ctx, who.Principal)
				if err != nil || len(list) != len(want) {
					t.Fatalf("%s: %+v, %v", what, list, err)
				}
				for i, a := range list {
					if a.Waiting != want[i] {
						t.Errorf("%s: %d claims wait for %s, want %d", what, a.Waiting, a.Name, want[i])
					}
				}
			}
		}
		// A claim of the organization on its own record waits for nobody.
		w.claim(shop, own.ID)
		waits("a claim log", 0, 0)

		w.write(func(tx *store.Tx) error { return tx.MoveOwner(issued.ID, o.ID, kim.User.ID) })
		filed := w.claim(kim, issued.ID)
		waits("filed", 1, 0)
		move := func(p warranty.Principal, to warranty.ClaimStatus, forShop, forKim int64) {
			t.Helper()
			in := warranty.MoveClaim{ID: warranty.ClaimKey{ID: filed.ID}, Status: to, Reason: "Because."}
			if _, err := w.Service.MoveClaim(ctx, p, in); err != nil {
				t.Fatal(err)
			}
			waits(to.String(), forShop, forKim)
		}
		move(shop.Principal, warranty.UnderReview, 1, 0)
		move(shop.Principal, warranty.InfoRequested, 0, 1)
		move(kim.Principal, warranty.UnderReview, 1, 0)
		move(shop.Principal, warranty.Rejected, 0, 0)

		profile, err := w.Service.Issuer(ctx, kim.Principal, key)
		if err != nil || profile == nil || profile.Name != "Halden" {
			t.Errorf("the issuer: %+v, %v", profile, err)
		}
		if _, err := w.Service.Issuer(ctx, eve.Principal, key); codeOf(err) != warranty.NotFound {
			t.Errorf("the issuer for a stranger: %v", err)
		}
		mine := w.record(kim, "")
		if profile, err := w.Service.Issuer(ctx, kim.Principal, warranty.WarrantyKey{ID: mine.ID}); err != nil || profile != nil {
			t.Errorf("a person is shown as the issuer: %+v, %v", profile, err)
		}
	}, busy)
}
