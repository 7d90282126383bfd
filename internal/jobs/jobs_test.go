package jobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"warranty.example/svc/internal/jobs"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

const jobRows = 12

// createRows is a kind of job that creates a warranty per row. before is called before each row.
func createRows(w *world, before func(row int64) error) jobs.Work {
	return func(ctx context.Context, p warranty.Principal, j *warranty.Job, save func() error) error {
		done, _, err := w.Store.JobRecords(ctx, j.ID)
		if err != nil {
			return err
		}
		for row := int64(1); row <= jobRows; row++ {
			if err := before(row); err != nil {
				return err
			}
			if !slices.Contains(done, row) {
				in := warranty.CreateBatch{Items: []warranty.BatchItem{{Text: fmt.Appendf(nil,
					`{"product_name":"Pan %d","start_date":"2026-01-01","end_date":"2028-01-01"}`, row)}}}
				made, err := w.Service.CreateBatchInJob(ctx, p, in, j.ID, []int64{row})
				if err != nil {
					return err
				}
				if problem := made.Results[0].Problem; problem != nil {
					return &warranty.Error{Code: problem.Code, Message: problem.Detail}
				}
			}
			j.Done = row
			if err := save(); err != nil {
				return err
			}
		}
		return nil
	}
}

func goOn(int64) error { return nil }

// start starts a job of the kind "rows" on a replica.
func (s shop) start(w *world) warranty.Job {
	s.T.Helper()
	j, err := w.Jobs.Start(s.T.Context(), s.Principal, "rows", struct{}{}, jobRows)
	if err != nil {
		s.T.Fatal(err)
	}
	return j
}

// TestJobsSurviveTheirWorker: another replica goes on with the job of a worker that was killed, after its
// lease, and creates nothing twice.
func TestJobsSurviveTheirWorker(t *testing.T) {
	servertest.EachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		shop := newShop(w, "Ann")
		killed := errors.New("killed")
		w.Jobs.Kinds["rows"] = createRows(w, func(row int64) error {
			if row == 5 {
				return killed
			}
			return nil
		})
		j := shop.start(w)
		if err := w.Jobs.RunOpen(t.Context()); !errors.Is(err, killed) {
			t.Fatal(err)
		}
		var twice atomic.Int64
		other := worlds[len(worlds)-1]
		other.Jobs.Kinds["rows"] = createRows(other, func(int64) error { twice.Add(1); return nil })
		if err := other.Jobs.RunOpen(t.Context()); err != nil || twice.Load() != 0 {
			t.Fatalf("the lease does not hold: %v, %d", err, twice.Load())
		}
		for _, replica := range worlds {
			replica.Clock.Advance(2 * time.Minute)
		}
		if err := other.Jobs.RunOpen(t.Context()); err != nil {
			t.Fatal(err)
		}
		equal(t, "state", shop.job(j.ID).State, warranty.JobDone)
		equal(t, "records", w.Count(`SELECT count(*) FROM warranties`), jobRows)
		equal(t, "names", w.Count(`SELECT count(DISTINCT product_name) FROM warranties`), jobRows)
	})
}

// TestTwoWorkersOfOneJob: a worker that was paused until its lease ended, and goes on, creates nothing twice
// and changes nothing of the result.
func TestTwoWorkersOfOneJob(t *testing.T) {
	servertest.EachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		shop := newShop(w, "Ann")
		paused, resume, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		w.Jobs.Kinds["rows"] = createRows(w, func(row int64) error {
			if row == 5 {
				close(paused)
				<-resume
			}
			return nil
		})
		j := shop.start(w)
		go func() { ended <- w.Jobs.RunOpen(t.Context()) }()
		select {
		case <-paused:
		case err := <-ended:
			t.Fatal(err)
		}
		for _, replica := range worlds {
			replica.Clock.Advance(2 * time.Minute)
		}
		other := worlds[len(worlds)-1]
		other.Jobs.Kinds["rows"] = createRows(other, goOn)
		if err := other.Jobs.RunOpen(t.Context()); err != nil {
			t.Fatal(err)
		}
		close(resume)
		<-ended // a lost lease, or a row that exists
		equal(t, "state", shop.job(j.ID).State, warranty.JobDone)
		equal(t, "records", w.Count(`SELECT count(*) FROM warranties`), jobRows)
	})
}

// TestJobsAtOnce: many workers perform many jobs, each row once.
func TestJobsAtOnce(t *testing.T) {
	servertest.EachReplicas(t, func(t *testing.T, worlds []*world) {
		shop := newShop(worlds[0], "Ann")
		for _, w := range worlds {
			w.Jobs.Kinds["rows"] = createRows(w, goOn)
		}
		for range 4 {
			shop.start(worlds[0])
		}
		testenv.Together(2*len(worlds), func(i int) {
			if err := worlds[i%len(worlds)].Jobs.RunOpen(t.Context()); err != nil {
				t.Error(err)
			}
		})
		equal(t, "records", worlds[0].Count(`SELECT count(*) FROM warranties`), 4*jobRows)
		equal(t, "open jobs", worlds[0].Count(`SELECT count(*) FROM jobs WHERE state <> 2`), 0)
	}, servertest.Busy)
}

// TestUndoAJob deletes what nobody took and names the rest. Strangers and viewers cannot undo it.
func TestUndoAJob(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *world) {
		shop, other := newShop(w, "Ann"), newShop(w, "Bea")
		w.Jobs.Kinds["rows"] = createRows(w, goOn)
		j := shop.start(w)
		run := func() {
			t.Helper()
			if err := w.Jobs.RunOpen(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Jobs.Undo(t.Context(), shop.Principal, j.ID); warranty.AsError(err).Code != warranty.InvalidTransition {
			t.Errorf("undoing a running job: %v", err)
		}
		run()
		_, ids, err := w.Service.Store.JobRecords(t.Context(), j.ID)
		if err != nil || len(ids) != jobRows {
			t.Fatalf("%d records, %v", len(ids), err)
		}
		kim := signedIn(w, w.Verified("Kim"))
		taken, err := w.Service.Take(t.Context(), kim, warranty.TakeHandover{Code: shop.prints(ids[3])})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Jobs.Undo(t.Context(), other.Principal, j.ID); !errors.Is(err, warranty.ErrNotFound) {
			t.Errorf("a stranger: %v", err)
		}
		viewer := shop.Principal
		viewer.Account.Role = warranty.Viewer
		if err := w.Jobs.Undo(t.Context(), viewer, j.ID); warranty.AsError(err).Code != warranty.RoleNotAllowed {
			t.Errorf("a viewer: %v", err)
		}
		if err := w.Jobs.Undo(t.Context(), shop.Principal, j.ID); err != nil {
			t.Fatal(err)
		}
		run()
		var out jobs.Undone
		done := shop.job(j.ID)
		if err := json.Unmarshal([]byte(done.Result), &out); err != nil {
			t.Fatal(err)
		}
		equal(t, "state", done.State, warranty.JobUndone)
		equal(t, "deleted", out.Deleted, int64(jobRows-1))
		equal(t, "kept", fmt.Sprint(out.Kept), fmt.Sprint([]warranty.Reference{taken.ReferenceNumber}))
		equal(t, "left", w.Count(`SELECT count(*) FROM warranties WHERE deleted_at IS NULL`), 1)
		faults, err := w.Store.CheckRecords(t.Context(), warranty.DateOf(w.Clock.Now()), func(string) {})
		if err != nil || len(faults) > 0 {
			t.Errorf("%v, %v", faults, err)
		}
	})
}

// TestJobsEndWithTheirSession: a job stops when the person signs out or is removed.
func TestJobsEndWithTheirSession(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *world) {
		shop := newShop(w, "Ann")
		w.Jobs.Kinds["rows"] = createRows(w, goOn)
		j := shop.start(w)
		w.Must(204, servertest.Request{Method: "DELETE", Path: "/api/auth/sessions/current", Secret: shop.admin.Session})
		if err := w.Jobs.RunOpen(t.Context()); err != nil {
			t.Fatal(err)
		}
		done := shop.job(j.ID)
		equal(t, "state", done.State, warranty.JobFailed)
		equal(t, "records", w.Count(`SELECT count(*) FROM warranties`), 0)
		if done.Error == "" {
			t.Error("no reason")
		}
	})
}

// TestUndoKeepsWhatWasUsed: records that were changed, offered or got a document after an import stay when it is
// undone, also if the undo was stopped and started again. An update that the import itself makes is no reason to keep a
// record. The sheet is deleted at the end.
func TestUndoKeepsWhatWasUsed(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *world) {
		shop := newShop(w, "Ann")
		p := shop.Principal
		void, renamed := warranty.Void, "Renamed"
		w.Jobs.Kinds["rows"] = func(ctx context.Context, p warranty.Principal, j *warranty.Job, save func() error) error {
			if err := createRows(w, goOn)(ctx, p, j, save); err != nil {
				return err
			}
			_, ids, err := w.Service.Store.JobRecords(ctx, j.ID)
			if err == nil {
				_, err = w.Service.UpdateWarranty(ctx, p, warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: ids[0]}, Status: &void})
			}
			return err
		}
		j := shop.start(w)
		run := func() {
			t.Helper()
			w.Clock.Advance(time.Second)
			if err := w.Jobs.RunOpen(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.Clock.Advance(time.Second)
		}
		run()
		equal(t, "the input", shop.job(j.ID).Input, "")
		_, ids, err := w.Service.Store.JobRecords(t.Context(), j.ID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Service.UpdateWarranty(t.Context(), p,
			warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: ids[1]}, ProductName: &renamed}); err != nil {
			t.Fatal(err)
		}
		shop.prints(ids[2])
		upload := servertest.UploadRequest(shop.admin.Session, servertest.DocumentForm(ids[3].String(), "a.pdf", servertest.PDF)...)
		upload.Header["X-Account"] = shop.Organization.ID.String()
		w.Must(201, upload)
		undo := func() {
			t.Helper()
			if err := w.Jobs.Undo(t.Context(), p, j.ID); err != nil {
				t.Fatal(err)
			}
		}
		undo()
		w.Exec(`UPDATE jobs SET session_id = id`) // as if the person had signed out
		run()
		equal(t, "the undo stopped", shop.job(j.ID).UndoStopped(), true)
		undo()
		run()
		var out jobs.Undone
		if err := json.Unmarshal([]byte(shop.job(j.ID).Result), &out); err != nil {
			t.Fatal(err)
		}
		equal(t, "deleted", out.Deleted, int64(jobRows-3))
		equal(t, "kept", len(out.Kept), 3)
		for _, id := range ids[1:4] {
			if _, err := w.Service.GetWarranty(t.Context(), p, warranty.GetWarranty{ID: warranty.WarrantyKey{ID: id}}); err != nil {
				t.Errorf("%s: %v", id, err)
			}
		}
	})
}

// TestJobsAreCounted by their state, with how long the oldest has waited, and why they ended.
func TestJobsAreCounted(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *world) {
		shop := newShop(w, "Ann")
		count := func(what string, want store.JobQueue) store.JobQueue {
			t.Helper()
			got, err := w.Store.CountJobs(t.Context(), w.Clock.Now())
			if err != nil {
				t.Fatal(err)
			}
			stalled := got.Stalled
			got.Stalled = time.Time{}
			equal(t, what, got, want)
			got.Stalled = stalled
			return got
		}
		count("none", store.JobQueue{})
		broken := errors.New("broken")
		w.Jobs.Kinds["rows"] = createRows(w, func(int64) error { return broken })
		j := shop.start(w)
		waiting := count("waiting", store.JobQueue{Waiting: 1})
		if !waiting.Stalled.Equal(shop.job(j.ID).CreatedAt) || waiting.Stuck(w.Clock.Now()) || !waiting.Stuck(w.Clock.Now().Add(11*time.Minute)) {
			t.Errorf("waits since %v", waiting.Stalled)
		}
		for try := 1; try <= 20; try++ {
			err := w.Jobs.RunOpen(t.Context())
			if try == 20 {
				equal(t, "the last attempt", err, error(nil))
				break
			}
			if !errors.Is(err, broken) {
				t.Fatal(err)
			}
			count("leased", store.JobQueue{Running: 1})
			w.Clock.Advance(time.Minute)
		}
		if failed := count("failed", store.JobQueue{Failed: 1}); !failed.Stalled.IsZero() || failed.Stuck(w.Clock.Now()) {
			t.Errorf("a failed job waits since %v", failed.Stalled)
		}
		equal(t, "ended by an error", []int64{w.Jobs.Failed(), w.Jobs.Refused()}, []int64{1, 0})

		w.Jobs.Kinds["rows"] = createRows(w, goOn)
		shop.start(w)
		w.Must(204, servertest.Request{Method: "DELETE", Path: "/api/auth/sessions/current", Secret: shop.admin.Session})
		equal(t, "without its session", w.Jobs.RunOpen(t.Context()), error(nil))
		equal(t, "ended by a refusal", []int64{w.Jobs.Failed(), w.Jobs.Refused()}, []int64{1, 1})
	})
}
