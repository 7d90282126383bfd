// Package jobs performs long work that survives a closed tab: imports, exports and changes of many warranties.
package jobs

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// The kinds of jobs.
const (
	ImportKind = "import"
	ExportKind = "export"
	BulkKind   = "bulk"
)

const (
	runEvery   = 2 * time.Second
	sweepEvery = time.Hour

	// saveEvery is the number of rows or warranties after which a job stores its progress.
	saveEvery = 25
	// shownJobs is the number of jobs in a list.
	shownJobs = 50
)

// Work performs a job of its kind for a principal, from its beginning or after an interruption. save stores the
// progress; its error ends the job on this replica.
type Work func(ctx context.Context, p warranty.Principal, j *warranty.Job, save func() error) error

// Jobs starts, lists and performs the jobs of a service.
type Jobs struct {
	Service *service.Service
	// Kinds perform the jobs of each kind.
	Kinds map[string]Work

	wake            chan struct{}
	refused, failed atomic.Int64
}

// New returns the jobs of a service.
func New(s *service.Service) *Jobs {
	js := &Jobs{Service: s, wake: make(chan struct{}, 1)}
	js.Kinds = map[string]Work{ImportKind: js.runImport, ExportKind: js.runExport, BulkKind: js.runBulk}
	return js
}

// Run performs jobs until ctx is done. Every replica can run it.
func (js *Jobs) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { js.Service.Every(ctx, "run jobs", runEvery, js.RunOpen, js.wake) })
	running.Go(func() { js.Service.Every(ctx, "sweep jobs", sweepEvery, js.sweep, nil) })
	running.Wait()
}

func (js *Jobs) sweep(ctx context.Context) error {
	return js.Service.Store.SweepJobs(ctx, js.now().Add(-warranty.JobLifetime))
}

// now returns the time as stored in jobs: UTC, in microseconds.
func (js *Jobs) now() time.Time { return js.Service.Now().UTC().Truncate(time.Microsecond) }

// Refused returns the number of jobs that this process ended because of their account: it signed out, lost access or
// reached a limit.
func (js *Jobs) Refused() int64 { return js.refused.Load() }

// Failed returns the number of jobs that this process ended after too many errors.
func (js *Jobs) Failed() int64 { return js.failed.Load() }

// start adds a job of the principal's account for a principal with a role. check can refuse it.
func (js *Jobs) start(
	ctx context.Context, p warranty.Principal, needed warranty.MemberRole, id warranty.ID, kind string, input any, total int64,
	check func(*store.Tx, store.Account) error,
) (warranty.Job, error) {
	text, err := json.Marshal(input)
	if err != nil {
		return warranty.Job{}, err
	}
	j := warranty.Job{
		ID:        id,
		Kind:      kind,
		State:     warranty.JobRunning,
		Input:     string(text),
		Total:     total,
		CreatedAt: js.now(),
		Account:   p.Account.ID,
		User:      p.User.ID,
		Session:   p.CredentialID,
	}
	if p.Credential != warranty.BySession {
		return j, warranty.Refuse(warranty.SessionRequired, "Jobs need a session.")
	}
	err = js.Service.WriteToAccount(ctx, p, needed, func(tx *store.Tx, account store.Account) error {
		n, err := tx.CountOpenJobs(account.ID)
		if err != nil {
			return err
		}
		if n >= warranty.MaxJobs {
			return warranty.Refuse(warranty.InUse,
				"%d imports and exports are running. Wait until one has ended.", n)
		}
		if err := check(tx, account); err != nil {
			return err
		}
		return tx.InsertJob(j)
	})
	js.wakeWorker()
	return j, err
}

// Start adds a job of the principal's account, which changes records.
func (js *Jobs) Start(
	ctx context.Context, p warranty.Principal, kind string, input any, total int64,
) (warranty.Job, error) {
	return js.StartOnce(ctx, p, js.Service.NewID(), kind, input, total)
}

// StartOnce is Start with the id of the job, which a form has. If the form is sent twice, it returns the job that was started.
func (js *Jobs) StartOnce(
	ctx context.Context, p warranty.Principal, id warranty.ID, kind string, input any, total int64,
) (warranty.Job, error) {
	if id.IsZero() {
		id = js.Service.NewID()
	}
	j, err := js.start(ctx, p, warranty.Member, id, kind, input, total, func(*store.Tx, store.Account) error { return nil })
	if !js.Service.Store.IsDuplicate(err) {
		return j, err
	}
	if j, err = js.Job(ctx, p, id); err == nil && j.Kind == kind {
		return j, nil
	}
	return j, warranty.Refuse(warranty.MalformedRequest, "The form could not be read.") // the id of another one's job
}

// wakeWorker makes the worker look for jobs now.
func (js *Jobs) wakeWorker() {
	select {
	case js.wake <- struct{}{}:
	default: // already awake
	}
}

// Job returns a job of the principal's account. Exports are only for the person who started them.
func (js *Jobs) Job(ctx context.Context, p warranty.Principal, id warranty.ID) (warranty.Job, error) {
	j, err := js.Service.Store.Job(ctx, p.Account.ID, id)
	if err == nil && j.Kind == ExportKind && j.User != p.User.ID {
		return warranty.Job{}, warranty.ErrNotFound
	}
	return j, err
}

// List returns the newest jobs of the principal's account, without their inputs and results.
func (js *Jobs) List(ctx context.Context, p warranty.Principal) ([]warranty.Job, error) {
	return js.Service.Store.Jobs(ctx, p.Account.ID, p.User.ID, ExportKind, shownJobs)
}
