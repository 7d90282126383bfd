package service_test

import (
	"fmt"
	"testing"
	"time"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// TestLookupByOneKey: up to 500 records are found by serial number, reference or external id alone, each in every role,
// except that an external id is the issuer's. Results say what matched. Finding G8.
func TestLookupByOneKey(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		shop, kim, eve := w.issuer("Ann"), w.person("Kim", true), w.person("Eve", true)
		made := shop.sells(warranty.CreateWarranty{SerialNumber: "SN-1", ExternalID: "order-1"})
		twin := shop.sells(warranty.CreateWarranty{SerialNumber: "SN-1"})
		w.write(func(tx *store.Tx) error { return tx.MoveOwner(made.ID, shop.ID, kim.User.ID) })
		look := func(p person, items ...warranty.LookupItem) (list []string) {
			t.Helper()
			got, err := w.Service.LookupWarranties(ctx, p.Principal, warranty.LookupWarranties{Items: items})
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range got.Results {
				text := fmt.Sprint(found.MatchedFields)
				switch {
				case found.WarrantyID == nil:
				case *found.WarrantyID == made.ID && *found.ReferenceNumber == made.ReferenceNumber && *found.ProductName == "Pan":
					text += " made"
				case *found.WarrantyID == twin.ID:
					text += " twin"
				default:
					text += " another"
				}
				list = append(list, text)
			}
			return list
		}
		serial := warranty.LookupItem{SerialNumber: "SN-1"}
		second, third, named, dated, other := serial, serial, serial, serial, serial
		second.Nth, third.Nth, named.ProductName, dated.StartDate, other.StartDate = 2, 3, "Pan", made.StartDate, made.StartDate+1
		reference := warranty.LookupItem{ReferenceNumber: string(made.ReferenceNumber)}
		external := warranty.LookupItem{ExternalID: "order-1"}
		items := []warranty.LookupItem{serial, named, dated, other, reference, external, {SerialNumber: "sn"}, {}}
		equal(t, "the issuer", look(shop.acting, items...), []string{"[serial_number] made", "[serial_number product_name] made",
			"[serial_number start_date] made", "[]", "[reference_number] made", "[external_id] made", "[]", "[]"})
		typed := warranty.LookupItem{SerialNumber: "sn 1"} // as someone types it
		equal(t, "the issuer, with a serial number in another form", look(shop.acting, typed, warranty.LookupItem{SerialNumber: "-"}),
			[]string{"[serial_number] made", "[]"})
		equal(t, "the owner, with a serial number in another form", look(kim, typed), []string{"[serial_number] made"})
		equal(t, "the issuer's others", look(shop.acting, second, third), []string{"[serial_number] twin", "[]"})
		equal(t, "the owner", look(kim, items...), []string{"[serial_number] made", "[]",
			"[serial_number start_date] made", "[]", "[reference_number] made", "[]", "[]", "[]"})
		equal(t, "a stranger", look(eve, items...), []string{"[]", "[]", "[]", "[]", "[]", "[]", "[]", "[]"})
		spaced := warranty.LookupItem{ReferenceNumber: string(made.ReferenceNumber)[:8] + " " + string(made.ReferenceNumber)[8:]}
		equal(t, "one reference in two forms", look(kim, reference, spaced), []string{"[reference_number] made", "[reference_number] made"})
	}, busy)
}

// TestChangesAndCounts: one cursor follows what changed and what left; records have the number of their claims; and
// claims can be listed by the time of their last change. Finding G8.
func TestChangesAndCounts(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		kim, nora := w.person("Kim", true), w.person("Nora", true)
		var made []warranty.Warranty
		for range 3 {
			made = append(made, w.record(kim, ""))
		}
		changed, left := map[warranty.ID]bool{}, map[warranty.ID]bool{}
		var in warranty.ListChanges
		walk := func() {
			t.Helper()
			clear(changed)
			clear(left)
			for range 10 {
				in.Limit = 2
				got, err := w.Service.ListChanges(ctx, kim.Principal, in)
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range got.Changed {
					changed[c.ID] = true
				}
				for _, d := range got.Left {
					left[d.ID] = true
				}
				text, err := got.Cursor.MarshalText()
				if err != nil {
					t.Fatal(err)
				}
				in = warranty.ListChanges{Cursor: &warranty.ChangesCursor{}}
				if err := in.Cursor.UnmarshalText(text); err != nil {
					t.Fatal(err)
				}
				if !got.More {
					return
				}
			}
			t.Fatal("the changes do not end")
		}
		walk()
		equal(t, "at first", []int{len(changed), len(left)}, []int{3, 0})
		name := "Renamed"
		if _, err := w.Service.UpdateWarranty(ctx, kim.Principal,
			warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: made[0].ID}, ProductName: &name}); err != nil {
			t.Fatal(err)
		}
		w.transfer(made[1].ID, kim, nora)
		walk()
		equal(t, "changed and left", []bool{changed[made[0].ID], changed[made[1].ID], left[made[0].ID], left[made[1].ID]},
			[]bool{true, false, false, true})
		old := warranty.ListChanges{Since: new(w.Clock.Now().Add(-100 * 24 * time.Hour))}
		if _, err := w.Service.ListChanges(ctx, kim.Principal, old); fieldCode(err) != "since too_old" {
			t.Errorf("long ago: %v", err)
		}

		w.claim(kim, made[0].ID)
		claim := w.claim(kim, made[0].ID)
		list, err := w.Service.ListWarranties(ctx, kim.Principal, warranty.ListWarranties{Selection: warranty.Selection{Fields: "id,claim_count"}})
		if err != nil {
			t.Fatal(err)
		}
		counts := map[warranty.ID]int64{}
		for _, r := range list.Data {
			counts[r.ID] = *r.ClaimCount
		}
		equal(t, "claims", counts, map[warranty.ID]int64{made[0].ID: 2, made[2].ID: 0})
		one := warranty.GetWarranty{ID: warranty.WarrantyKey{ID: made[0].ID}, Selection: warranty.Selection{Fields: "claim_count"}}
		if seen, err := w.Service.GetWarranty(ctx, kim.Principal, one); err != nil || seen.ClaimCount == nil || *seen.ClaimCount != 2 {
			t.Errorf("%v claims: %v", seen.ClaimCount, err)
		}
		if seen, err := w.seen(kim, made[0].ID); err != nil || seen.ClaimCount != nil {
			t.Errorf("counted without being asked: %v", err)
		}
		for since, want := range map[time.Time]int64{
			claim.UpdatedAt: 1, claim.UpdatedAt.Add(time.Microsecond): 0, claim.UpdatedAt.Add(-time.Hour): 2,
		} {
			for _, sort := range []warranty.ClaimSort{"", warranty.ClaimsByUpdatedAt} {
				page, err := w.Service.ListClaims(ctx, kim.Principal, warranty.ListClaims{UpdatedSince: &since, Sort: sort})
				if err != nil || page.Pagination.Total < want || want == 0 && page.Pagination.Total != 0 {
					t.Errorf("%d claims since %v: %v", page.Pagination.Total, since, err)
				}
			}
		}
	}, busy)
}
