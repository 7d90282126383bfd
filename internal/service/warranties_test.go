package service_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"warranty.example/svc/warranty"
)

func numbered(externalID string) warranty.CreateWarranty {
	return warranty.CreateWarranty{
		ProductName: "Kettle",
		StartDate:   date("2026-01-01"),
		EndDate:     date("2027-12-31"),
		ExternalID:  externalID,
	}
}

// taken checks that err names the existing record.
func taken(t *testing.T, what string, err error, existing warranty.ID) {
	t.Helper()
	var refusal *warranty.Error
	if !errors.As(err, &refusal) || refusal.Code != warranty.AlreadyExists || refusal.ExistingID == nil ||
		*refusal.ExistingID != existing {
		t.Errorf("%s: %v, want already_exists with %s", what, err, existing)
	}
}

// TestExternalIDIsUniqueForItsIssuer // A7
func TestExternalIDIsUniqueForItsIssuer(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		ctx, olga, nils := t.Context(), w.person("Olga", true), w.person("Nils", true)
		in, key := numbered(" A-1 "), "once"
		in.IdempotencyKey = &key
		first, err := w.Service.CreateWarranty(ctx, olga.Principal, in)
		if err != nil || *first.ExternalID != "A-1" {
			t.Fatalf("%+v %v", first, err)
		}
		if again, err := w.Service.CreateWarranty(ctx, olga.Principal, in); err != nil || !again.Replay ||
			again.ID != first.ID {
			t.Errorf("the same key replays before anything is compared: %+v %v", again, err)
		}
		_, err = w.Service.CreateWarranty(ctx, olga.Principal, numbered("A-1"))
		taken(t, "a second create", err, first.ID)
		if _, err := w.Service.CreateWarranty(ctx, nils.Principal, numbered("A-1")); err != nil {
			t.Errorf("another account has numbers of its own: %v", err)
		}
		if _, err := w.Service.CreateWarranty(ctx, olga.Principal, numbered("a-1")); err != nil {
			t.Errorf("the case counts: %v", err)
		}

		other, err := w.Service.CreateWarranty(ctx, olga.Principal, numbered("A-2"))
		if err != nil {
			t.Fatal(err)
		}
		number, none := "A-1", ""
		_, err = w.Service.UpdateWarranty(ctx, olga.Principal,
			warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: other.ID}, ExternalID: &number})
		taken(t, "an update", err, first.ID)
		if cleared, err := w.Service.UpdateWarranty(ctx, olga.Principal,
			warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: first.ID}, ExternalID: &none}); err != nil ||
			cleared.ExternalID != nil {
			t.Errorf("clearing: %+v %v", cleared, err)
		}
		if moved, err := w.Service.UpdateWarranty(ctx, olga.Principal,
			warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: other.ID}, ExternalID: &number}); err != nil ||
			*moved.ExternalID != "A-1" {
			t.Errorf("setting: %+v %v", moved, err)
		}
		history, err := w.Service.ListHistory(ctx, olga.Principal,
			warranty.ListHistory{Paging: warranty.Paging{Page: 1, Limit: 10}, ID: warranty.WarrantyKey{ID: other.ID}})
		if err != nil || len(history.Data[0].Changes) != 1 ||
			history.Data[0].Changes[0] != (warranty.Change{Field: "external_id"}) {
			t.Errorf("history tells that it changed, not to what: %+v %v", history.Data, err)
		}

		find := func(p person, number string) []warranty.Warranty {
			t.Helper()
			page, err := w.Service.ListWarranties(ctx, p.Principal,
				warranty.ListWarranties{Paging: warranty.Paging{Page: 1, Limit: 10}, WarrantyFilter: warranty.WarrantyFilter{ExternalID: number}})
			if err != nil || int64(len(page.Data)) != page.Pagination.Total {
				t.Fatalf("%+v %v", page, err)
			}
			return page.Data
		}
		if got := find(olga, "A-1"); len(got) != 1 || got[0].ID != other.ID {
			t.Errorf("%+v", got)
		}
		if got := find(olga, "A-2"); len(got) != 0 {
			t.Errorf("%+v", got)
		}
		if _, err := w.Service.DeleteWarranty(ctx, olga.Principal, warranty.DeleteWarranty{ID: warranty.WarrantyKey{ID: other.ID}}); err != nil {
			t.Fatal(err)
		}
		if got := find(olga, "A-1"); len(got) != 0 {
			t.Errorf("a deleted record is found: %+v", got)
		}
		if _, err := w.Service.CreateWarranty(ctx, olga.Principal, numbered("A-1")); err != nil {
			t.Errorf("a deleted record frees its number: %v", err)
		}
	}, busy)
}

// TestExternalIDIsTheIssuersAlone // A7: no one else can read it, and changes by others
// keep it.
func TestExternalIDIsTheIssuersAlone(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, issuer, owner, seller := t.Context(), w.person("Ida", true), w.person("Olga", true), w.person("Sam", true)
		in := numbered("A-1")
		in.SellerEmail = seller.User.Email
		made, err := w.Service.CreateWarranty(ctx, issuer.Principal, in)
		if err != nil {
			t.Fatal(err)
		}
		w.confirm(seller, made.ID)
		w.issue(made.ID, issuer, owner)
		void, number := warranty.Void, "A-2"
		for name, p := range map[string]person{"owner": owner, "seller": seller} {
			if got, err := w.Service.GetWarranty(ctx, p.Principal, warranty.GetWarranty{ID: warranty.WarrantyKey{ID: made.ID}}); err != nil ||
				got.ExternalID != nil {
				t.Errorf("the %s reads %v %v", name, got.ExternalID, err)
			}
			page, err := w.Service.ListWarranties(ctx, p.Principal,
				warranty.ListWarranties{Paging: warranty.Paging{Page: 1, Limit: 10}, WarrantyFilter: warranty.WarrantyFilter{ExternalID: "A-1"}})
			if err != nil || len(page.Data) != 0 {
				t.Errorf("the %s finds it: %+v %v", name, page, err)
			}
			if _, err := w.Service.UpdateWarranty(ctx, p.Principal,
				warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: made.ID}, ExternalID: &number}); codeOf(err) != warranty.RoleNotAllowed {
				t.Errorf("the %s sets it: %v", name, err)
			}
		}
		if got, err := w.Service.UpdateWarranty(ctx, seller.Principal,
			warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: made.ID}, Status: &void}); err != nil ||
			got.ExternalID != nil {
			t.Errorf("%+v %v", got, err)
		}
		if got, err := w.Service.GetWarranty(ctx, issuer.Principal,
			warranty.GetWarranty{ID: warranty.WarrantyKey{ID: made.ID}}); err != nil || got.ExternalID == nil ||
			*got.ExternalID != "A-1" {
			t.Errorf("the seller's change lost it: %v %v", got.ExternalID, err)
		}
	}, busy)
}

// TestExternalIDUnderRaces // A7: of many concurrent creates on two replicas, one
// creates a record and the others name it.
func TestExternalIDUnderRaces(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		for round := range 5 {
			number, errs, made := fmt.Sprintf("R-%d", round), make([]error, 16), make([]warranty.Warranty, 16)
			together(16, func(i int) {
				made[i], errs[i] = w.Service.CreateWarranty(context.Background(), olga.Principal, numbered(number))
			})
			var winner warranty.ID
			for i, err := range errs {
				if err == nil {
					if !winner.IsZero() {
						t.Fatal("two creates won")
					}
					winner = made[i].ID
				}
			}
			for i, err := range errs {
				if made[i].ID != winner || err != nil {
					taken(t, "a loser", err, winner)
				}
			}
			n := w.number(`SELECT count(*) FROM warranties WHERE deleted_at IS NULL AND external_id = '` + number + `'`)
			if n != 1 {
				t.Errorf("%d records", n)
			}
		}
	}, busy)
}

// TestLookups // A7: each kind of match, the n-th of several, and never another user's.
func TestLookups(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		ctx, olga, nils := t.Context(), w.person("Olga", true), w.person("Nils", true)
		create := func(in warranty.CreateWarranty) warranty.Warranty {
			t.Helper()
			made, err := w.Service.CreateWarranty(ctx, olga.Principal, in)
			if err != nil {
				t.Fatal(err)
			}
			return made
		}
		plain, serial := numbered(""), numbered("")
		plain.Supplier, serial.SerialNumber = "Makro", "S-1"
		a, b, c, d := create(numbered("A-1")), create(serial), create(plain), create(plain)
		content := warranty.LookupItem{
			ProductName: "Kettle",
			StartDate:   plain.StartDate,
			EndDate:     plain.EndDate,
			Supplier:    "Makro",
		}
		second, third, other := content, content, content
		second.Nth, third.Nth, other.Supplier = 2, 3, ""
		items := []warranty.LookupItem{
			{ExternalID: "A-1"},
			{ExternalID: "A-1", SerialNumber: "no matter"},
			{ExternalID: "A-2", SerialNumber: "S-1", ProductName: "Kettle"},
			{
				SerialNumber: "S-1",
				ProductName:  "Kettle",
			},
			{SerialNumber: "S-1", ProductName: "Pot"},
			{SerialNumber: "S-1", ProductName: "Kettle", Nth: 2},
			{
				SerialNumber: "S-1",
				ProductName:  "Kettle",
				StartDate:    serial.StartDate,
				EndDate:      serial.EndDate,
			},
			{SerialNumber: "S-1", ProductName: "Kettle", StartDate: serial.StartDate, EndDate: serial.EndDate + 1},
			content,
			second,
			third,
			other,
			{ReferenceNumber: string(b.ReferenceNumber)},
			{ReferenceNumber: "WR-1", ExternalID: "A-1"},
			{},
		}
		want := []string{
			"external_id", "external_id", "", "serial_number", "", "", "serial_number", "", "content", "content", "",
			"", "reference_number", "external_id", "",
		}
		ids := map[int]warranty.ID{0: a.ID, 1: a.ID, 3: b.ID, 6: b.ID, 12: b.ID, 13: a.ID}
		look := func(p person) []warranty.Lookup {
			t.Helper()
			found, err := w.Service.LookupWarranties(ctx, p.Principal, warranty.LookupWarranties{Items: items})
			if err != nil || len(found.Results) != len(items) {
				t.Fatalf("%+v %v", found, err)
			}
			return found.Results
		}
		found := look(olga)
		for i, f := range found {
			by := ""
			if f.MatchedBy != nil {
				by = f.MatchedBy.String()
			}
			if id, known := ids[i]; by != want[i] || known && *f.WarrantyID != id || (f.Status == nil) != (by == "") {
				t.Errorf("item %d is found by %q, want %q: %+v", i, by, want[i], f)
			}
		}
		if one, two := *found[8].WarrantyID, *found[9].WarrantyID; one == two || one != c.ID && one != d.ID {
			t.Errorf("%s and %s are not the two alike", one, two)
		}
		for i, f := range look(nils) {
			if f.WarrantyID != nil {
				t.Errorf("a stranger finds item %d", i)
			}
		}
		if _, err := w.Service.DeleteWarranty(ctx, olga.Principal, warranty.DeleteWarranty{ID: warranty.WarrantyKey{ID: b.ID}}); err != nil {
			t.Fatal(err)
		}
		if found := look(olga); found[3].WarrantyID != nil || found[12].WarrantyID != nil {
			t.Error("a deleted record is found")
		}
		// A record of another issuer that this account owns is found by its reference
		// only.
		w.transfer(a.ID, olga, nils)
		items = []warranty.LookupItem{{ReferenceNumber: string(a.ReferenceNumber)}, {ExternalID: "A-1"}}
		if found := look(nils); found[0].WarrantyID == nil || found[1].WarrantyID != nil {
			t.Errorf("%+v", found)
		}
	}, busy)
}
