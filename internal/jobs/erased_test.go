package jobs_test

import (
	"fmt"
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
