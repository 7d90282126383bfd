package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// Jobs are work that goes on after the request that started it: the worker of any replica takes an open job
// with a lease and goes on with it after another one was killed. A job acts with the session that started it,
// so that it ends when the person signs out or is removed from the organization.

const (
	jobsEvery   = 2 * time.Second
	jobLease    = 15 * time.Second
	jobAttempts = 20
)

// JobFunc performs a job of its kind for a principal, from its beginning or after an interruption. save stores
// the progress; its error ends the job on this replica.
type JobFunc func(ctx context.Context, p warranty.Principal, j *warranty.Job, save func() error) error

// StartJob adds a job of the principal's account, which changes records.
func (s *Service) StartJob(
	ctx context.Context, p warranty.Principal, kind, input string, total int64,
) (warranty.Job, error) {
	return s.startJob(ctx, p, warranty.Member, kind, input, total, func(*store.Tx, store.Account) error { return nil })
}

// startJob adds a job for a principal with a role. check can refuse it.
func (s *Service) startJob(
	ctx context.Context, p warranty.Principal, needed warranty.MemberRole, kind, input string, total int64,
	check func(*store.Tx, store.Account) error,
) (warranty.Job, error) {
	j := warranty.Job{
		ID: s.NewID(), Kind: kind, State: warranty.JobRunning, Input: input, Total: total, CreatedAt: s.now(),
		Account: p.Account.ID, User: p.User.ID, Session: p.CredentialID,
	}
	if p.Credential != warranty.BySession {
		return j, warranty.Refuse(warranty.SessionRequired, "Jobs need a session.")
	}
	err := s.writeToAccount(ctx, p, needed, func(tx *store.Tx, account store.Account) error {
		n, err := tx.CountOpenJobs(account.ID)
		if err != nil {
			return err
		}
		if n >= warranty.MaxJobs {
			return warranty.Refuse(warranty.InUse, fmt.Sprintf("%d imports and exports are running. Wait until one has ended.", n))
		}
		if err := check(tx, account); err != nil {
			return err
		}
		return tx.InsertJob(j)
	})
	s.wakeJobs()
	return j, err
}

// Job returns a job of the principal's account. Exports are only for the person who started them.
func (s *Service) Job(ctx context.Context, p warranty.Principal, id warranty.ID) (warranty.Job, error) {
	j, err := s.Store.Job(ctx, p.Account.ID, id)
	if err == nil && j.Kind == ExportJob && j.User != p.User.ID {
		return warranty.Job{}, warranty.ErrNotFound
	}
	return j, err
}

// Jobs returns the newest jobs of the principal's account, without their inputs and results.
func (s *Service) Jobs(ctx context.Context, p warranty.Principal) ([]warranty.Job, error) {
	return s.Store.Jobs(ctx, p.Account.ID, p.User.ID, ExportJob, shownJobs)
}

// shownJobs is the number of jobs in a list.
const shownJobs = 50

// UndoJob starts to delete what a closed job created. Records that someone registered, changed or used stay.
func (s *Service) UndoJob(ctx context.Context, p warranty.Principal, id warranty.ID) error {
	now := s.now()
	created, err := s.Store.CountJobRecords(ctx, id)
	if err != nil {
		return err
	}
	err = s.writeLocked(ctx, p, func(tx *store.Tx, account store.Account) error {
		j, err := tx.LockJob(account.ID, id)
		if err != nil {
			return err
		}
		if j.Kind == ExportJob {
			return warranty.ErrNotFound // it changed nothing
		}
		if j.State.Open() || j.State == warranty.JobUndone {
			return warranty.Refuse(warranty.InvalidTransition, "The import is "+j.State.String()+" and cannot be undone now.")
		}
		j.State, j.User, j.Session, j.Total = warranty.JobUndoing, p.User.ID, p.CredentialID, created
		return tx.RestartJob(j, now)
	})
	s.wakeJobs()
	return err
}

// RunJobs performs open jobs until there are none.
func (s *Service) RunJobs(ctx context.Context) error {
	for {
		worker := s.NewID()
		now := s.now()
		j, err := s.Store.ClaimJob(ctx, worker, now, now.Add(jobLease))
		if isMissing(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.runJob(ctx, worker, j); err != nil {
			return err
		}
	}
}

// runJob performs a job that a worker claimed.
func (s *Service) runJob(ctx context.Context, worker warranty.ID, j warranty.Job) error {
	save := func() error {
		now := s.now()
		until := now.Add(jobLease)
		if !j.State.Open() {
			until = now
		}
		err := s.Store.SaveJob(ctx, worker, j, now, until)
		if isMissing(err) {
			err = errLeaseLost
		}
		return err
	}
	p, err := s.jobPrincipal(ctx, j)
	if err == nil {
		work, closed := s.JobKinds[j.Kind], warranty.JobDone
		if j.State == warranty.JobUndoing {
			work, closed = s.undoJob, warranty.JobUndone
		}
		if work == nil {
			return fmt.Errorf("no worker for jobs of kind %q", j.Kind)
		}
		if err = work(AsOneForm(ctx), p, &j, save); err == nil {
			j.State = closed
			return orLost(save())
		}
	}
	if errors.Is(err, errLeaseLost) {
		return nil
	}
	var refusal *warranty.Error
	// A limit that ends soon is worth waiting for, one that ends in an hour is not.
	refused := errors.As(err, &refusal) && refusal.Code.Info().Status < 500 &&
		(refusal.Code != warranty.RateLimited || refusal.Wait > jobLease)
	if ctx.Err() != nil || !refused && j.Attempts < jobAttempts {
		return err // once the lease has ended, a worker tries again
	}
	if refused && refusal.Code == warranty.SessionExpired {
		err = errSignedOut
	}
	closed := warranty.JobFailed
	if j.State == warranty.JobUndoing {
		closed = warranty.JobDone // what stopped is the undo, see UndoStopped
	}
	j.State, j.Error = closed, warranty.AsError(err).Message
	if err := save(); err != nil {
		return orLost(err)
	}
	s.tally.addJob(refused)
	return nil
}

// errLeaseLost means that another worker goes on with a job.
var errLeaseLost = errors.New("another worker has the lease of the job")

// orLost ignores a lost lease.
func orLost(err error) error {
	if errors.Is(err, errLeaseLost) {
		return nil
	}
	return err
}

// jobPrincipal returns the person who started a job, acting for its account with their session.
func (s *Service) jobPrincipal(ctx context.Context, j warranty.Job) (p warranty.Principal, err error) {
	err = s.Store.Write(ctx, func(tx *store.Tx) error {
		account, err := tx.LockUser(j.User)
		p.User = account.User
		return err
	})
	if isMissing(err) {
		return p, errSignedOut
	}
	p.Credential, p.CredentialID, p.Scopes, p.Door = warranty.BySession, j.Session, warranty.AllScopes, warranty.DoorWeb
	if p = p.Self(); err != nil || j.Account == j.User {
		return p, err
	}
	p, err = s.ActFor(ctx, p, j.Account)
	if errors.Is(err, warranty.ErrAccountNotAllowed) {
		err = errSignedOut
	}
	return p, err
}

// errSignedOut means that a job cannot go on, because its session or membership has ended.
var errSignedOut = warranty.Refuse(warranty.SessionExpired, "You signed out, or lost access to the account.")

type jobRow struct {
	job warranty.ID
	row int64
}

// InJob returns a context under which a warranty that is created belongs to a row of a job. A row creates at
// most one, also if two workers perform it.
func InJob(ctx context.Context, job warranty.ID, row int64) context.Context {
	return context.WithValue(ctx, jobRow{}, jobRow{job, row})
}

type jobRowsKey struct{}

type jobRows struct {
	job  warranty.ID
	rows []int64
}

// InJobRows returns a context under which the items of a batch belong to rows of a job, as with InJob.
func InJobRows(ctx context.Context, job warranty.ID, rows []int64) context.Context {
	return context.WithValue(ctx, jobRowsKey{}, jobRows{job, rows})
}

// rowOf returns the row of the item of a batch, or nil if the batch belongs to no job.
func rowOf(ctx context.Context, item int) *jobRow {
	in, ok := ctx.Value(jobRowsKey{}).(jobRows)
	if !ok || item >= len(in.rows) {
		return nil
	}
	return &jobRow{in.job, in.rows[item]}
}

// noteJob notes in the transaction that creates a warranty that it belongs to a job.
func noteJob(ctx context.Context, tx *store.Tx, id warranty.ID) error {
	if in, ok := ctx.Value(jobRow{}).(jobRow); ok {
		return tx.InsertJobRecord(in.job, in.row, id)
	}
	return nil
}

// JobRows returns the rows of a job that created a warranty.
func (s *Service) JobRows(ctx context.Context, job warranty.ID) (map[int64]bool, error) {
	rows, _, err := s.Store.JobRecords(ctx, job)
	done := make(map[int64]bool, len(rows))
	for _, row := range rows {
		done[row] = true
	}
	return done, err
}

// JobCreated returns the number of warranties that a job created so far. The progress that it stores may lag behind.
func (s *Service) JobCreated(ctx context.Context, j warranty.Job) (int64, error) {
	return s.Store.CountJobRecords(ctx, j.ID)
}

// JobLeft returns how many of the warranties that a job created are not deleted.
func (s *Service) JobLeft(ctx context.Context, j warranty.Job) (int64, error) {
	return s.Store.CountJobRecordsLeft(ctx, j.ID)
}

// CheckJob refuses to go on with a job whose person signed out or was removed from the account. Writing checks it too;
// reading does not.
func (s *Service) CheckJob(ctx context.Context, p warranty.Principal) error {
	nothing := func(*store.Tx) error { return nil }
	return s.writeWithLocks(ctx, p, warranty.Viewer, nothing, nothing)
}

// Undone is the result of undoing a job.
type Undone struct {
	Deleted int64                `json:"deleted"`
	Kept    []warranty.Reference `json:"kept"` // registered, changed or used, so they stay
}

// undoJob deletes the warranties that a job created and nobody registered, changed or used since then.
func (s *Service) undoJob(ctx context.Context, p warranty.Principal, j *warranty.Job, save func() error) error {
	if err := p.Account.Require(warranty.Member); err != nil {
		return err
	}
	_, ids, err := s.Store.JobRecords(ctx, j.ID)
	if err != nil {
		return err
	}
	ended := j.CreatedAt
	if j.EndedAt != nil {
		ended = *j.EndedAt
	}
	untouched := func(tx *store.Tx, w warranty.Warranty) error {
		touched, err := tx.TouchedSince(w.ID, ended)
		if err == nil && touched {
			err = warranty.ErrChanged
		}
		return err
	}
	out := Undone{Kept: []warranty.Reference{}}
	for i, id := range ids {
		key := warranty.WarrantyKey{ID: id}
		err := s.deleteIf(ctx, p, key, untouched)
		var refusal *warranty.Error
		switch {
		case err == nil || isMissing(err):
			out.Deleted++
		case errors.Is(err, warranty.ErrChanged), errors.As(err, &refusal) && refusal.Code == warranty.RoleNotAllowed:
			w, err := s.Store.Warranty(ctx, p.Account.ID, key)
			if err != nil {
				return err
			}
			out.Kept = append(out.Kept, w.ReferenceNumber)
		default:
			return err
		}
		j.Done = int64(i + 1)
		if i%50 == 49 {
			if err := save(); err != nil {
				return err
			}
		}
	}
	text, err := json.Marshal(out)
	j.Result = string(text)
	return err
}

// wakeJobs makes the worker look for jobs now.
func (s *Service) wakeJobs() {
	select {
	case s.jobsNow <- struct{}{}:
	default: // already awake
	}
}
