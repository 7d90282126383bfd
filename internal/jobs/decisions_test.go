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

// seller is a person whom warranties of Nora name as their seller.
type seller struct {
	shop
	nora  warranty.Principal
	email string
}

func newSeller(w *world) seller {
	w.T.Helper()
	sami := w.Verified("Sami")
	return seller{shop{world: w, admin: sami, Principal: signedIn(w, sami)}, signedIn(w, w.Verified("Nora")), sami.Email}
}

// named makes n warranties that name the seller.
func (s seller) named(n int) {
	s.T.Helper()
	for i := range n {
		_, err := s.Service.CreateWarranty(s.T.Context(), s.nora, warranty.CreateWarranty{
			ProductName: fmt.Sprintf("Pan %d", i), StartDate: warranty.DateOf(s.Clock.Now()),
			EndDate: warranty.DateOf(s.Clock.Now()) + 700, SellerEmail: s.email,
		})
		if err != nil {
			s.T.Fatal(err)
		}
	}
}

// waiting returns what waits for the seller.
func (s seller) waiting() jobs.Bulk {
	s.T.Helper()
	list, err := s.Service.ListConfirmations(s.T.Context(), s.Principal, warranty.ListConfirmations{
		Paging: warranty.Paging{Page: 1, Limit: warranty.MaxLimit},
	})
	if err != nil {
		s.T.Fatal(err)
	}
	var in jobs.Bulk
	for _, c := range list.Data {
		in.IDs, in.Tags = append(in.IDs, c.WarrantyID), append(in.Tags, c.ETag)
	}
	return in
}

// starts starts to confirm or decline what waits.
func (s seller) starts(action string, in jobs.Bulk) warranty.Job {
	s.T.Helper()
	in.Action = action
	j, err := s.Jobs.Start(s.T.Context(), s.Principal, jobs.BulkKind, in, int64(len(in.IDs)))
	if err != nil {
		s.T.Fatal(err)
	}
	return j
}

// decides confirms or declines and returns the closed job with its result.
func (s seller) decides(action string, in jobs.Bulk) (j warranty.Job, result jobs.BulkResult) {
	s.T.Helper()
	j = s.starts(action, in)
	s.runs()
	j = s.job(j.ID)
	equal(s.T, "state", j.State, warranty.JobDone)
	if err := json.Unmarshal([]byte(j.Result), &result); err != nil {
		s.T.Fatal(err)
	}
	return j, result
}

// sold returns what the seller is to every warranty, without versions.
func (s seller) sold() []string {
	list := s.Rows(`SELECT w.product_name || CASE WHEN w.seller_id IS NULL THEN ' -' ELSE ' confirmed' END ||
		(SELECT ' ' || count(*) FROM access a WHERE a.parent_id = w.id) ||
		(SELECT ' ' || count(*) FROM declined d WHERE d.warranty_id = w.id) FROM warranties w`)
	slices.Sort(list)
	return list
}

// told sends the notices that wait and returns how many emails Nora got.
func (s seller) told() int {
	s.T.Helper()
	s.Exec(`DELETE FROM mails`)
	s.Exec(`DELETE FROM mail_log`)
	s.Exec(`UPDATE mail_notices SET due_at = 0`)
	if err := s.Service.SendNotices(s.T.Context()); err != nil {
		s.T.Fatal(err)
	}
	return s.Count(`SELECT count(*) FROM mails WHERE address = 'nora@people.example'`)
}

// TestUndoDecisions: what was confirmed or declined at once waits again after the undo. The owner of the warranties is
// told of confirmations only once they cannot be undone.
func TestUndoDecisions(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *world) {
		s := newSeller(w)
		s.named(4)
		s.told()
		before := s.sold()
		for _, action := range []string{jobs.Confirm, jobs.Decline} {
			j, result := s.decides(action, s.waiting())
			equal(t, action, result.Changed, int64(4))
			equal(t, "waiting", len(s.waiting().IDs), 0)
			until := w.Clock.Now().Add(warranty.BulkUndo).UnixMicro()
			equal(t, "told too early", w.Count(fmt.Sprintf(`SELECT count(*) FROM mail_notices WHERE due_at <= %d`, until)), 0)
			undone, why := s.undoes(j)
			equal(t, action+" undone", fmt.Sprint(undone, why), "4 []")
			equal(t, action+" leaves", fmt.Sprint(s.sold()), fmt.Sprint(before))
			equal(t, "waiting", len(s.waiting().IDs), 4)
			equal(t, "told", s.told(), 0)
			err := w.Jobs.Undo(t.Context(), s.Principal, j.ID)
			equal(t, "again", warranty.AsError(err).Code, warranty.InvalidTransition)
		}
		j, _ := s.decides(jobs.Confirm, s.waiting())
		w.Clock.Advance(warranty.BulkUndo)
		err := w.Jobs.Undo(t.Context(), s.Principal, j.ID)
		equal(t, "too late", warranty.AsError(err).Code, warranty.InvalidTransition)
		equal(t, "told", s.told(), 1)
		faults, err := w.Store.CheckRecords(t.Context(), warranty.DateOf(w.Clock.Now()), func(string) {})
		if err != nil || len(faults) > 0 {
			t.Errorf("%v, %v", faults, err)
		}
	})
}

// TestUndoDecisionsKeepsWhatChanged: a warranty that its owner or the seller changed since the decision stays as it is,
// and one that changed since the seller saw it is not decided.
func TestUndoDecisionsKeepsWhatChanged(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *world) {
		s := newSeller(w)
		s.named(5)
		end := warranty.DateOf(w.Clock.Now()) + 900
		update := func(id warranty.ID) {
			t.Helper()
			end++
			if _, err := w.Service.UpdateWarranty(t.Context(), s.nora, warranty.UpdateWarranty{ID: s.key(id), EndDate: &end}); err != nil {
				t.Fatal(err)
			}
		}
		for _, action := range []string{jobs.Confirm, jobs.Decline} {
			in := s.waiting()
			update(in.IDs[0])
			j, result := s.decides(action, in)
			equal(t, action, result.Changed, int64(4))
			equal(t, "not decided", fmt.Sprintf("%d %d %s", len(result.Groups), result.Groups[0].Count, result.Groups[0].Reason), "1 1 changed")

			kept := "[1 It was changed since. 1 withdrawn]"
			update(in.IDs[1])
			if _, err := w.Service.DeleteWarranty(t.Context(), s.nora, warranty.DeleteWarranty{ID: s.key(in.IDs[2])}); err != nil {
				t.Fatal(err)
			}
			left := int64(2)
			if action == jobs.Confirm { // the seller left it, which is another decision
				if _, err := w.Service.LeaveWarranty(t.Context(), s.Principal, warranty.LeaveWarranty{ID: s.key(in.IDs[3])}); err != nil {
					t.Fatal(err)
				}
				left, kept = 1, "[1 withdrawn 2 It was changed since.]"
			}
			undone, why := s.undoes(j)
			slices.Sort(why)
			equal(t, action+" undone", fmt.Sprint(undone, why), fmt.Sprint(left, " ", kept))
			if _, err := w.Service.RestoreWarranty(t.Context(), s.nora, warranty.RestoreWarranty{ID: s.key(in.IDs[2])}); err != nil {
				t.Fatal(err)
			}
			w.Exec(`UPDATE warranties SET seller_id = NULL`)
			w.Exec(`DELETE FROM declined`)
			w.Exec(`DELETE FROM access WHERE user_id <> ` + w.IDLiteral(s.nora.User.ID.String()))
		}
	})
}

// TestDecisionsAndTheirUndoAtOnce: two workers of a job, of which one lost its lease, decide every warranty once, and two
// workers of its undo give every one back once.
func TestDecisionsAndTheirUndoAtOnce(t *testing.T) {
	servertest.EachReplicas(t, func(t *testing.T, worlds []*world) {
		w, last := worlds[0], worlds[len(worlds)-1]
		s := newSeller(w)
		s.named(30)
		before := s.sold()
		two := func(what, some string) {
			t.Helper()
			testenv.Together(2, func(i int) {
				if i == 1 {
					testenv.Wait(t, what, func() bool { return w.Count(some) > 3 })
					w.Exec(`UPDATE jobs SET leased_until = 0 WHERE state IN (1, 4)`)
				}
				_ = []*world{w, last}[i].Jobs.RunOpen(t.Context()) // a lost lease, or a change that was made
			})
			for _, replica := range worlds {
				replica.Clock.Advance(time.Minute)
			}
			s.runs()
		}
		for _, action := range []string{jobs.Confirm, jobs.Decline} {
			j := s.starts(action, s.waiting())
			two("a decision", `SELECT count(*) FROM job_changes WHERE undone_at IS NULL`)
			var result jobs.BulkResult
			if err := json.Unmarshal([]byte(s.job(j.ID).Result), &result); err != nil {
				t.Fatal(err)
			}
			equal(t, action, fmt.Sprint(result.Changed, result.Groups), "30 []")
			w.Exec(`UPDATE job_changes SET undone_at = 1 WHERE undone_at IS NOT NULL`)
			if err := w.Jobs.Undo(t.Context(), s.Principal, j.ID); err != nil {
				t.Fatal(err)
			}
			two("a change back", `SELECT count(*) FROM job_changes WHERE undone_at > 1`)
			undone, why := s.undone(j)
			equal(t, action+" undone", fmt.Sprint(undone, why), "30 []")
			equal(t, action+" leaves", fmt.Sprint(s.sold()), fmt.Sprint(before))
		}
	})
}
