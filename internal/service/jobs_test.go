package service_test

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

func (i issuer) startJob(t *testing.T, w *world) warranty.Job {
	t.Helper()
	j, err := w.Jobs.Start(ctx, i.acting.Principal, "rows", struct{}{}, jobRows)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func (i issuer) job(t *testing.T, id warranty.ID) warranty.Job {
	t.Helper()
	j, err := i.Jobs.Job(ctx, i.acting.Principal, id)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestJobsSurviveTheirWorker: another replica goes on with the job of a worker that was killed, after its
// lease, and creates nothing twice.
func TestJobsSurviveTheirWorker(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		shop := w.issuer("Ann")
		killed := errors.New("killed")
		w.Jobs.Kinds["rows"] = createRows(w, func(row int64) error {
			if row == 5 {
				return killed
			}
			return nil
		})
		j := shop.startJob(t, w)
		if err := w.Jobs.RunOpen(ctx); !errors.Is(err, killed) {
			t.Fatal(err)
		}
		var twice atomic.Int64
		other := worlds[len(worlds)-1]
		other.Jobs.Kinds["rows"] = createRows(other, func(int64) error { twice.Add(1); return nil })
		if err := other.Jobs.RunOpen(ctx); err != nil || twice.Load() != 0 {
			t.Fatalf("the lease does not hold: %v, %d", err, twice.Load())
		}
		for _, replica := range worlds {
			replica.Clock.Advance(2 * time.Minute)
		}
		if err := other.Jobs.RunOpen(ctx); err != nil {
			t.Fatal(err)
		}
		equal(t, "state", shop.job(t, j.ID).State, warranty.JobDone)
		equal(t, "records", w.number(`SELECT count(*) FROM warranties`), int64(jobRows))
		equal(t, "names", w.number(`SELECT count(DISTINCT product_name) FROM warranties`), int64(jobRows))
	})
}

// TestTwoWorkersOfOneJob: a worker that was paused until its lease ended, and goes on, creates nothing twice
// and changes nothing of the result.
func TestTwoWorkersOfOneJob(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		shop := w.issuer("Ann")
		paused, resume, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		w.Jobs.Kinds["rows"] = createRows(w, func(row int64) error {
			if row == 5 {
				close(paused)
				<-resume
			}
			return nil
		})
		j := shop.startJob(t, w)
		go func() { ended <- w.Jobs.RunOpen(ctx) }()
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
		if err := other.Jobs.RunOpen(ctx); err != nil {
			t.Fatal(err)
		}
		close(resume)
		<-ended // a lost lease, or a row that exists
		equal(t, "state", shop.job(t, j.ID).State, warranty.JobDone)
		equal(t, "records", w.number(`SELECT count(*) FROM warranties`), int64(jobRows))
	})
}

// TestJobsAtOnce: many workers perform many jobs, each row once.
func TestJobsAtOnce(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		shop := worlds[0].issuer("Ann")
		for _, w := range worlds {
			w.Jobs.Kinds["rows"] = createRows(w, goOn)
		}
		for range 4 {
			shop.startJob(t, worlds[0])
		}
		together(2*len(worlds), func(i int) {
			if err := worlds[i%len(worlds)].Jobs.RunOpen(ctx); err != nil {
				t.Error(err)
			}
		})
		equal(t, "records", worlds[0].number(`SELECT count(*) FROM warranties`), int64(4*jobRows))
		equal(t, "open jobs", worlds[0].number(`SELECT count(*) FROM jobs WHERE state <> 2`), int64(0))
	}, busy)
}

// TestUndoAJob deletes what nobody took and names the rest. Strangers and viewers cannot undo it.
func TestUndoAJob(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shop, other := w.issuer("Ann"), w.issuer("Bea")
		w.Jobs.Kinds["rows"] = createRows(w, goOn)
		j := shop.startJob(t, w)
		run := func() {
			t.Helper()
			if err := w.Jobs.RunOpen(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Jobs.Undo(ctx, shop.acting.Principal, j.ID); codeOf(err) != warranty.InvalidTransition {
			t.Errorf("undoing a running job: %v", err)
		}
		run()
		_, ids, err := w.Service.Store.JobRecords(ctx, j.ID)
		if err != nil || len(ids) != jobRows {
			t.Fatalf("%d records, %v", len(ids), err)
		}
		kim := w.person("Kim", true)
		taken, err := w.take(kim, shop.prints(ids[3]))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Jobs.Undo(ctx, other.acting.Principal, j.ID); !errors.Is(err, warranty.ErrNotFound) {
			t.Errorf("a stranger: %v", err)
		}
		viewer := shop.acting.Principal
		viewer.Account.Role = warranty.Viewer
		if err := w.Jobs.Undo(ctx, viewer, j.ID); codeOf(err) != warranty.RoleNotAllowed {
			t.Errorf("a viewer: %v", err)
		}
		if err := w.Jobs.Undo(ctx, shop.acting.Principal, j.ID); err != nil {
			t.Fatal(err)
		}
		run()
		var out jobs.Undone
		done := shop.job(t, j.ID)
		if err := json.Unmarshal([]byte(done.Result), &out); err != nil {
			t.Fatal(err)
		}
		equal(t, "state", done.State, warranty.JobUndone)
		equal(t, "deleted", out.Deleted, int64(jobRows-1))
		equal(t, "kept", fmt.Sprint(out.Kept), fmt.Sprint([]warranty.Reference{taken.ReferenceNumber}))
		equal(t, "left", w.number(`SELECT count(*) FROM warranties WHERE deleted_at IS NULL`), int64(1))
		checkAccess(t, w)
	})
}

// TestJobsEndWithTheirSession: a job stops when the person signs out or is removed.
func TestJobsEndWithTheirSession(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shop := w.issuer("Ann")
		w.Jobs.Kinds["rows"] = createRows(w, goOn)
		j := shop.startJob(t, w)
		w.Must(204, request{Method: "DELETE", Path: "/api/auth/sessions/current", Secret: shop.admin.session})
		if err := w.Jobs.RunOpen(ctx); err != nil {
			t.Fatal(err)
		}
		done := shop.job(t, j.ID)
		equal(t, "state", done.State, warranty.JobFailed)
		equal(t, "records", w.number(`SELECT count(*) FROM warranties`), int64(0))
		if done.Error == "" {
			t.Error("no reason")
		}
	})
}

// TestUndoKeepsWhatWasUsed: records that were changed, offered or got a document after an import stay when it is
// undone, also if the undo was stopped and started again. An update that the import itself makes is no reason to keep a
// record. The sheet is deleted at the end.
func TestUndoKeepsWhatWasUsed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shop := w.issuer("Ann")
		p := shop.acting.Principal
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
		j := shop.startJob(t, w)
		run := func() {
			t.Helper()
			w.Clock.Advance(time.Second)
			if err := w.Jobs.RunOpen(ctx); err != nil {
				t.Fatal(err)
			}
			w.Clock.Advance(time.Second)
		}
		run()
		equal(t, "the input", shop.job(t, j.ID).Input, "")
		_, ids, err := w.Service.Store.JobRecords(ctx, j.ID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Service.UpdateWarranty(ctx, p,
			warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: ids[1]}, ProductName: &renamed}); err != nil {
			t.Fatal(err)
		}
		shop.prints(ids[2])
		upload := uploading(shop.admin.session, document(ids[3].String(), "a.pdf", pdf)...)
		upload.Header["X-Account"] = shop.ID.String()
		w.Must(201, upload)
		undo := func() {
			t.Helper()
			if err := w.Jobs.Undo(ctx, p, j.ID); err != nil {
				t.Fatal(err)
			}
		}
		undo()
		w.execute(`UPDATE jobs SET session_id = id`) // as if the person had signed out
		run()
		equal(t, "the undo stopped", shop.job(t, j.ID).UndoStopped(), true)
		undo()
		run()
		var out jobs.Undone
		if err := json.Unmarshal([]byte(shop.job(t, j.ID).Result), &out); err != nil {
			t.Fatal(err)
		}
		equal(t, "deleted", out.Deleted, int64(jobRows-3))
		equal(t, "kept", len(out.Kept), 3)
		for _, id := range ids[1:4] {
			if _, err := w.Service.GetWarranty(ctx, p, warranty.GetWarranty{ID: warranty.WarrantyKey{ID: id}}); err != nil {
				t.Errorf("%s: %v", id, err)
			}
		}
	})
}
