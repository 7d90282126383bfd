package jobs_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"warranty.example/svc/internal/jobs"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// makes returns the ids of n new warranties of the shop.
func (s shop) makes(n int) (ids []warranty.ID) {
	s.T.Helper()
	for i := range n {
		made, err := s.Service.CreateWarranty(s.T.Context(), s.Principal, warranty.CreateWarranty{
			ProductName: fmt.Sprintf("Pan %d", i), Category: "Home", StartDate: warranty.DateOf(s.Clock.Now()),
			EndDate: warranty.DateOf(s.Clock.Now()) + 700, CustomerName: "Pat",
		})
		if err != nil {
			s.T.Fatal(err)
		}
		ids = append(ids, made.ID)
	}
	return ids
}

// bulk changes warranties and returns the closed job.
func (s shop) bulk(p warranty.Principal, action, value string, ids ...warranty.ID) warranty.Job {
	s.T.Helper()
	in := jobs.Bulk{Action: action, Value: value, IDs: ids}
	j, err := s.Jobs.Start(s.T.Context(), p, jobs.BulkKind, in, int64(len(ids)))
	if err != nil {
		s.T.Fatal(err)
	}
	s.runs()
	return s.job(j.ID)
}

func (s shop) runs() {
	s.T.Helper()
	if err := s.Jobs.RunOpen(s.T.Context()); err != nil {
		s.T.Fatal(err)
	}
}

// undoes undoes a job and returns how many changes were undone, and why others were not.
func (s shop) undoes(j warranty.Job) (undone int64, why []string) {
	s.T.Helper()
	if err := s.Jobs.Undo(s.T.Context(), s.Principal, j.ID); err != nil {
		s.T.Fatal(err)
	}
	s.runs()
	return s.undone(j)
}

func (s shop) undone(j warranty.Job) (undone int64, why []string) {
	s.T.Helper()
	_, undone, err := s.Store.CountJobChanges(s.T.Context(), j.ID)
	var result jobs.BulkResult
	done := s.job(j.ID)
	if err == nil {
		err = json.Unmarshal([]byte(done.Result), &result)
	}
	if err != nil {
		s.T.Fatal(err)
	}
	equal(s.T, "state", done.State, warranty.JobUndone)
	for _, g := range result.Kept {
		why = append(why, fmt.Sprintf("%d %s%s", g.Count, g.Reason, g.Message))
	}
	return undone, why
}

// warranties returns what is stored of all warranties, with the codes of their offers, but without their versions.
func (s shop) warranties() []string {
	id, account := "w.id", "w.customer_id"
	if !s.IsPostgres() {
		id, account = "hex(w.id)", "hex(w.customer_id)"
	}
	list := s.Rows(`SELECT ` + id + ` || ' ' || w.standing || ' ' || COALESCE(w.category, '-') || ' ' || COALESCE(w.customer_name, '-') ||
		' ' || COALESCE(w.customer_email, '-') || ' ' || COALESCE(CAST(w.offered_at AS TEXT), '-') || ' ' ||
		COALESCE(CAST(w.offer_expires_at AS TEXT), '-') || ' ' || COALESCE(CAST(` + account + ` AS TEXT), '-') || ' ' ||
		CASE WHEN w.deleted_at IS NULL THEN 'kept' ELSE 'deleted' END ||
		(SELECT ' ' || count(*) FROM offer_codes c WHERE c.warranty_id = w.id AND c.used_at IS NULL) ||
		(SELECT ' ' || count(*) FROM access a WHERE a.parent_id = w.id) FROM warranties w`)
	slices.Sort(list)
	return list
}

func (s shop) key(id warranty.ID) warranty.WarrantyKey { return warranty.WarrantyKey{ID: id} }

// renames changes a warranty.
func (s shop) renames(id warranty.ID) {
	s.T.Helper()
	name := "Renamed"
	if _, err := s.Service.UpdateWarranty(s.T.Context(), s.Principal, warranty.UpdateWarranty{ID: s.key(id), ProductName: &name}); err != nil {
		s.T.Fatal(err)
	}
}

var everyAction = []struct{ action, value string }{
	{jobs.SetCategory, "Kitchen"}, {jobs.Void, "Lost"}, {jobs.Cancel, "Lost"}, {jobs.HandOver, "kim@people.example"}, {jobs.Delete, ""},
}

// TestUndoBulk: undoing every action gives back all that is stored of a warranty, with the codes on paper that it
// ended, and leaves no email. It works once, until it is too late, for who did it and administrators.
func TestUndoBulk(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *world) {
		s, other := newShop(w, "Ann"), newShop(w, "Bea")
		ids := s.makes(4)
		slip := s.prints(ids[0])
		before := s.warranties()
		bob, vic := s.joins("Bob", warranty.Member), s.joins("Vic", warranty.Viewer)
		cat, mails := s.joins("Cat", warranty.Member), w.Count(`SELECT count(*) FROM mails`)
		refused := func(what string, p warranty.Principal, j warranty.Job, want warranty.Code) {
			t.Helper()
			err := w.Jobs.Undo(t.Context(), p, j.ID)
			equal(t, what, warranty.AsError(err).Code, want)
		}
		for _, a := range everyAction {
			value := a.value
			j := s.bulk(bob, a.action, value, ids...)
			n := 4
			if a.action == jobs.HandOver {
				n = 3 // the limit for strangers
			}
			if fmt.Sprint(s.warranties()) == fmt.Sprint(before) {
				t.Fatalf("%s changed nothing: %s", a.action, j.Result)
			}
			refused("another organization", other.Principal, j, warranty.NotFound)
			refused("a viewer", vic, j, warranty.RoleNotAllowed)
			refused("a colleague", cat, j, warranty.RoleNotAllowed)
			undone, why := s.undoes(j)
			equal(t, a.action+" undone", undone, int64(n))
			equal(t, "kept", fmt.Sprint(why), "[]")
			equal(t, a.action+" leaves", fmt.Sprint(s.warranties()), fmt.Sprint(before))
			equal(t, "emails", w.Count(`SELECT count(*) FROM mails`), mails)
			refused("again", s.Principal, j, warranty.InvalidTransition)
			if found, err := w.Service.PrintedCode(t.Context(), s.Principal, slip); err != nil || found != ids[0] {
				t.Errorf("%s: the slip: %v", a.action, err)
			}
		}
		equal(t, "addresses emailed", w.Count(`SELECT count(*) FROM offer_mails`), 0)
		late := s.bulk(s.Principal, jobs.Void, "Lost", ids...)
		w.Clock.Advance(warranty.BulkUndo)
		refused("too late", s.Principal, late, warranty.InvalidTransition)
		faults, err := w.Store.CheckRecords(t.Context(), warranty.DateOf(w.Clock.Now()), func(string) {})
		if err != nil || len(faults) > 0 {
			t.Errorf("%v, %v", faults, err)
		}
	})
}

// TestUndoBulkKeepsWhatChanged: a record that someone changed, restored or registered meanwhile stays as it is and is
// named; the others are given back.
func TestUndoBulkKeepsWhatChanged(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *world) {
		s := newShop(w, "Ann")
		const changed = "[1 It was changed since.]"
		for _, a := range everyAction {
			ids := s.makes(3)
			if a.action == jobs.HandOver {
				a.value = "stranger-" + ids[0].String() + "@people.example"
			}
			j := s.bulk(s.Principal, a.action, a.value, ids...)
			want := changed
			switch a.action {
			case jobs.Delete: // restored, and deleted again for another reason
				want = "[1 gone]"
				if _, err := w.Service.RestoreWarranty(t.Context(), s.Principal, warranty.RestoreWarranty{ID: s.key(ids[1])}); err != nil {
					t.Fatal(err)
				}
				w.Clock.Advance(time.Second)
				if _, err := w.Service.DeleteWarranty(t.Context(), s.Principal, warranty.DeleteWarranty{ID: s.key(ids[1])}); err != nil {
					t.Fatal(err)
				}
			default:
				s.renames(ids[1])
			}
			undone, why := s.undoes(j)
			equal(t, a.action+" undone", undone, int64(2))
			equal(t, a.action+" kept", fmt.Sprint(why), want)
		}

		// A customer registered it with the code of the email.
		ids := s.makes(2)
		j := s.bulk(s.Principal, jobs.HandOver, "kim@people.example", ids...)
		w.Exec(`UPDATE mails SET claimed_until = 0, attempts = 1 WHERE held_by IS NOT NULL`) // the worker sends them
		undone, why := s.undoes(j)
		equal(t, "undone", undone, int64(0))
		equal(t, "kept", fmt.Sprint(why), "[2 The email was sent.]")
		equal(t, "offers", w.Count(`SELECT count(*) FROM offer_codes WHERE used_at IS NULL AND email = 'kim@people.example'`), 2)
	})
}

// TestAnEndedOfferIsNotEmailed: the email of an offer that waits is deleted when the offer ends, and the address can
// be emailed again.
func TestAnEndedOfferIsNotEmailed(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *world) {
		s := newShop(w, "Ann")
		ids := s.makes(1)
		const waiting = `SELECT count(*) FROM mails WHERE held_by IS NOT NULL`
		s.bulk(s.Principal, jobs.HandOver, "kim@people.example", ids...)
		equal(t, "waiting", w.Count(waiting), 1)
		if _, err := w.Service.CancelHandover(t.Context(), s.Principal, warranty.CancelHandover{ID: s.key(ids[0])}); err != nil {
			t.Fatal(err)
		}
		equal(t, "after cancelling", w.Count(waiting), 0)
		s.bulk(s.Principal, jobs.HandOver, "kim@people.example", ids...)
		equal(t, "again", w.Count(waiting), 1)
	})
}

// TestUndoOfAnotherOwnersPromise: who owns what was voided is told nothing if it is undone, and that it is in force
// again if they were told.
func TestUndoOfAnotherOwnersPromise(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *world) {
		s, kim := newShop(w, "Ann"), signedIn(w, w.Verified("Kim"))
		ids := s.makes(1)
		if _, err := w.Service.Take(t.Context(), kim, warranty.TakeHandover{Code: s.prints(ids[0])}); err != nil {
			t.Fatal(err)
		}
		for _, action := range []string{jobs.Void, jobs.Cancel} {
			w.Exec(`DELETE FROM mails`)
			w.Exec(`DELETE FROM mail_notices`)
			j := s.bulk(s.Principal, action, "A mistake", ids...)
			undone, why := s.undoes(j)
			equal(t, "undone", fmt.Sprint(undone, why), "1 []")
			record, err := w.Service.GetWarranty(t.Context(), kim, warranty.GetWarranty{ID: s.key(ids[0])})
			if err != nil || record.Status != warranty.Active {
				t.Fatalf("%s, %v", record.Status, err)
			}
			reductions, err := w.Service.Reductions(t.Context(), kim, record)
			if err != nil || len(reductions) > 0 {
				t.Errorf("%v, %v", reductions, err)
			}
			w.Exec(`UPDATE mail_notices SET due_at = 0`)
			if err := w.Service.SendNotices(t.Context()); err != nil {
				t.Fatal(err)
			}
			equal(t, "emails", w.Count(`SELECT count(*) FROM mails`), 0)
		}
		j := s.bulk(s.Principal, jobs.Void, "A mistake", ids...)
		for _, told := range []string{"of voiding", "of the undo"} {
			w.Exec(`UPDATE mail_notices SET due_at = 0`)
			w.Exec(`DELETE FROM mail_log`)
			if err := w.Service.SendNotices(t.Context()); err != nil {
				t.Fatal(err)
			}
			equal(t, told, w.Count(`SELECT count(*) FROM mails WHERE address = 'kim@people.example'`), 1)
			w.Exec(`DELETE FROM mails`)
			if told == "of voiding" {
				undone, why := s.undoes(j)
				equal(t, "undone", fmt.Sprint(undone, why), "1 []")
			}
		}
	})
}

// TestUndoBulkAtOnce: of several who undo at once, one starts the undo; two workers of one undo give everything back
// once; and of an undo and an edit at once, both happen or the edit wins.
func TestUndoBulkAtOnce(t *testing.T) {
	servertest.EachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		s := newShop(w, "Ann")
		ids := s.makes(12)
		last := worlds[len(worlds)-1]
		for _, a := range everyAction {
			if a.action == jobs.HandOver {
				continue // see TestUndoBulk: strangers get three
			}
			before := s.warranties()
			j := s.bulk(s.Principal, a.action, a.value, ids...)
			started := make([]bool, 4)
			testenv.Together(len(started), func(i int) {
				err := worlds[i%len(worlds)].Jobs.Undo(t.Context(), s.Principal, j.ID)
				if started[i] = err == nil; err != nil && warranty.AsError(err).Code != warranty.InvalidTransition {
					t.Errorf("undo: %v", err)
				}
			})
			equal(t, "started", fmt.Sprint(slices.IndexFunc(started, func(b bool) bool { return b }) >= 0), "true")
			equal(t, "open", w.Count(`SELECT count(*) FROM jobs WHERE state = 4`), 1)
			// Two workers have it, because the lease of one ended.
			testenv.Together(2, func(i int) {
				if i == 1 {
					w.Exec(`UPDATE jobs SET leased_until = 0 WHERE state = 4`)
				}
				_ = []*world{w, last}[i].Jobs.RunOpen(t.Context()) // a lost lease
			})
			for _, replica := range worlds {
				replica.Clock.Advance(time.Minute)
			}
			s.runs()
			undone, why := s.undone(j)
			equal(t, a.action+" undone", fmt.Sprint(undone, why), "12 []")
			equal(t, a.action+" leaves", fmt.Sprint(s.warranties()), fmt.Sprint(before))
		}

		j := s.bulk(s.Principal, jobs.SetCategory, "Kitchen", ids...)
		if err := w.Jobs.Undo(t.Context(), s.Principal, j.ID); err != nil {
			t.Fatal(err)
		}
		testenv.Together(2, func(i int) {
			if i == 0 {
				s.runs()
				return
			}
			for _, id := range ids {
				name := "Renamed"
				in := warranty.UpdateWarranty{ID: s.key(id), ProductName: &name}
				if _, err := last.Service.UpdateWarranty(t.Context(), s.Principal, in); err != nil {
					t.Error(err)
				}
			}
		})
		undone, why := s.undone(j)
		kept := w.Count(`SELECT count(*) FROM warranties WHERE category = 'Kitchen'`)
		equal(t, "given back or kept", int(undone)+kept, 12)
		if kept > 0 {
			equal(t, "kept", fmt.Sprint(why), fmt.Sprintf("[%d It was changed since.]", kept))
		}
		equal(t, "no edit is lost", w.Count(`SELECT count(*) FROM warranties WHERE product_name = 'Renamed'`), 12)
	})
}

// TestUndoBulkAfterTheRoleWasTaken: an undo stops with the membership, and an administrator continues it.
func TestUndoBulkAfterTheRoleWasTaken(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *world) {
		s := newShop(w, "Ann")
		ids, bob := s.makes(3), s.joins("Bob", warranty.Member)
		before := s.warranties()
		j := s.bulk(bob, jobs.Void, "Lost", ids...)
		if err := w.Jobs.Undo(t.Context(), bob, j.ID); err != nil {
			t.Fatal(err)
		}
		w.Exec(`UPDATE members SET role = 3 WHERE role = 2`) // viewer
		s.runs()
		stopped := s.job(j.ID)
		equal(t, "stopped", stopped.UndoStopped(), true)
		equal(t, "void", w.Count(`SELECT count(*) FROM warranties WHERE standing <> 1`), 3)
		err := w.Jobs.Undo(t.Context(), bob, j.ID)
		equal(t, "by a viewer", warranty.AsError(err).Code, warranty.AccountNotAllowed)
		undone, why := s.undoes(j)
		equal(t, "by an administrator", fmt.Sprint(undone, why), "3 []")
		equal(t, "leaves", fmt.Sprint(s.warranties()), fmt.Sprint(before))
	})
}

// TestBulkIsInterrupted: a job that a worker left in the middle changes nothing twice, and its undo gives everything
// back.
func TestBulkIsInterrupted(t *testing.T) {
	servertest.EachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		s := newShop(w, "Ann")
		ids := s.makes(30)
		before := s.warranties()
		for _, a := range everyAction {
			if a.action == jobs.HandOver {
				continue
			}
			in := jobs.Bulk{Action: a.action, Value: a.value, IDs: ids}
			j, err := w.Jobs.Start(t.Context(), s.Principal, jobs.BulkKind, in, int64(len(ids)))
			if err != nil {
				t.Fatal(err)
			}
			testenv.Together(2, func(i int) {
				if i == 1 {
					testenv.Wait(t, "a change", func() bool { return w.Count(`SELECT count(*) FROM job_changes WHERE undone_at IS NULL`) > 3 })
					w.Exec(`UPDATE jobs SET leased_until = 0 WHERE state = 1`)
				}
				_ = worlds[i%len(worlds)].Jobs.RunOpen(t.Context()) // a lost lease, or a change that was made
			})
			for _, replica := range worlds {
				replica.Clock.Advance(time.Minute)
			}
			s.runs()
			var result jobs.BulkResult
			if err := json.Unmarshal([]byte(s.job(j.ID).Result), &result); err != nil {
				t.Fatal(err)
			}
			equal(t, a.action+" changed", result.Changed, int64(30))
			undone, why := s.undoes(j)
			equal(t, a.action+" undone", fmt.Sprint(undone, why), "30 []")
			equal(t, a.action+" leaves", fmt.Sprint(s.warranties()), fmt.Sprint(before))
		}
	})
}
