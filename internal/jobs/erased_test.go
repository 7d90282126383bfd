package jobs_test

import (
	"fmt"
	"strings"
	"testing"

	"warranty.example/svc/internal/jobs"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// TestUndoIsErased: what undoing an action would restore is erased with the record, and with the person who did it.
func TestUndoIsErased(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *world) {
		s, sami := newShop(w, "Ann"), newSeller(w)
		ids := s.makes(2)
		s.bulk(s.Principal, jobs.HandOver, "canary@people.example", ids...)
		s.bulk(s.Principal, jobs.HandOver, "kim@people.example", ids...) // which keeps the codes of the first
		s.bulk(s.Principal, jobs.SetCategory, "Kitchen", ids...)
		of := func(id warranty.ID) string { return w.IDLiteral(id.String()) }
		changes := func(id warranty.ID) int {
			return w.Count(`SELECT count(*) FROM job_changes WHERE record_id = ` + of(id))
		}
		const kept = `SELECT count(*) FROM ended_codes WHERE warranty_id = %s AND (held_by IS NOT NULL OR made_by IS NOT NULL
			OR email IS NOT NULL OR signs_in_until IS NOT NULL OR documents IS NOT NULL)`
		codes := func(id warranty.ID) int { return w.Count(fmt.Sprintf(kept, of(id))) }
		equal(t, "before", []int{changes(ids[0]), changes(ids[1]), codes(ids[0]), codes(ids[1])}, []int{3, 3, 1, 1})

		if _, err := w.Service.DeleteWarranty(t.Context(), s.Principal, warranty.DeleteWarranty{ID: s.key(ids[0])}); err != nil {
			t.Fatal(err)
		}
		equal(t, "in the trash", []int{changes(ids[0]), codes(ids[0])}, []int{3, 1})
		w.Clock.Advance(warranty.TrashLifetime)
		if err := w.Service.EmptyTrash(t.Context()); err != nil {
			t.Fatal(err)
		}
		equal(t, "with the record", []int{changes(ids[0]), changes(ids[1]), codes(ids[0]), codes(ids[1])}, []int{0, 3, 0, 1})

		sami.Principal = signedIn(w, servertest.Person{Session: w.SignIn(sami.email, servertest.Password)})
		sami.nora = signedIn(w, servertest.Person{Session: w.SignIn("nora@people.example", servertest.Password)})
		sami.named(1)
		sami.decides(jobs.Confirm, sami.waiting())
		by := `SELECT count(*) FROM job_changes WHERE job_id IN (SELECT id FROM jobs WHERE user_id = ` + of(sami.Principal.User.ID) + `)`
		equal(t, "by the person", w.Count(by), 1)
		all := w.Count(`SELECT count(*) FROM job_changes`)
		if err := w.Service.EraseUser(t.Context(), sami.email); err != nil {
			t.Fatal(err)
		}
		equal(t, "with the person", w.Count(`SELECT count(*) FROM job_changes`), all-1)
	})
}

// TestAddressesOfCustomersAreErased: an erased person's address is in nothing that an organization issued, offered or would
// restore, and the issuer sees that its records changed. What it offered to others stays.
func TestAddressesOfCustomersAreErased(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *world) {
		s, kim := newShop(w, "Ann"), w.Verified("Canary")
		ids := s.makes(4)
		s.bulk(s.Principal, jobs.HandOver, kim.Email, ids[:3]...)
		s.bulk(s.Principal, jobs.HandOver, kim.Email, ids[0]) // which keeps the code of the first
		s.bulk(s.Principal, jobs.HandOver, "other@people.example", ids[3])
		w.Exec(`UPDATE warranties SET taken_at = offered_at WHERE id = ` + w.IDLiteral(ids[2].String()))
		w.Exec(`UPDATE offer_codes SET used_at = expires_at WHERE warranty_id = ` + w.IDLiteral(ids[2].String()))
		version := func(id warranty.ID) int64 {
			record, err := w.Service.GetWarranty(t.Context(), s.Principal, warranty.GetWarranty{ID: s.key(id)})
			if err != nil {
				t.Fatal(err)
			}
			return record.Version
		}
		before := []int64{version(ids[0]), version(ids[1]), version(ids[2]), version(ids[3])}
		if err := w.Service.EraseUser(t.Context(), kim.Email); err != nil {
			t.Fatal(err)
		}
		for _, table := range w.Tables() {
			for _, row := range w.Rows(`SELECT * FROM ` + table) {
				if strings.Contains(strings.ToLower(row), "canary") {
					t.Errorf("%s: %q", table, row)
				}
			}
		}
		after := []int64{version(ids[0]), version(ids[1]), version(ids[2]), version(ids[3])}
		equal(t, "versions", after, []int64{before[0] + 1, before[1] + 1, before[2] + 1, before[3]})
		equal(t, "open offers", w.Count(`SELECT count(*) FROM warranties WHERE offered_at IS NOT NULL AND taken_at IS NULL`), 1)
		equal(t, "codes of open offers", w.Count(`SELECT count(*) FROM offer_codes WHERE used_at IS NULL`), 1)
		equal(t, "taken", w.Count(`SELECT count(*) FROM warranties WHERE offered_at IS NOT NULL AND taken_at IS NOT NULL`), 1)
		equal(t, "of customers", w.Count(`SELECT count(*) FROM warranties WHERE customer_id IS NOT NULL`), 4)
	})
}
