package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// The worker of any replica takes an open job with a lease, and resumes it if another worker dies. A job acts with the
// session that started it, so that it ends when the person signs out or is removed from the organization.

const (
	lease       = 15 * time.Second
	maxAttempts = 20
)

// RunOpen performs open jobs until there are none.
func (js *Jobs) RunOpen(ctx context.Context) error {
	for {
		worker := js.Service.NewID()
		now := js.now()
		j, err := js.Service.Store.ClaimJob(ctx, worker, now, now.Add(lease))
		if errors.Is(err, warranty.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := js.run(ctx, worker, j); err != nil {
			return err
		}
	}
}

// run performs a job that a worker claimed.
func (js *Jobs) run(ctx context.Context, worker warranty.ID, j warranty.Job) error {
	save := func() error {
		now := js.now()
		until := now.Add(lease)
		if !j.State.Open() {
			until = now
		}
		err := js.Service.Store.SaveJob(ctx, worker, j, now, until)
		if errors.Is(err, warranty.ErrNotFound) {
			err = errLeaseLost
		}
		return err
	}
	p, err := js.principal(ctx, j)
	if err == nil {
		work, closed := js.Kinds[j.Kind], warranty.JobDone
		if j.State == warranty.JobUndoing {
			work, closed = js.undo, warranty.JobUndone
		}
		if work == nil {
			return fmt.Errorf("no worker for jobs of kind %q", j.Kind)
		}
		if err = work(service.AsOneForm(ctx), p, &j, save); err == nil {
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
		(refusal.Code != warranty.RateLimited || refusal.Wait > lease)
	if ctx.Err() != nil || !refused && j.Attempts < maxAttempts {
		return err // once the lease has ended, a worker tries again
	}
	if refused && refusal.Code == warranty.SessionExpired {
		err = errSignedOut
	}
	closed := warranty.JobFailed
	if j.State == warranty.JobUndoing {
		closed = warranty.JobDone // what stopped is the undo, see UndoStopped
	}
	j.State, j.Error = closed, warranty.AsError(err).Text().Stored()
	if err := save(); err != nil {
		return orLost(err)
	}
	if refused {
		js.refused.Add(1)
	} else {
		js.failed.Add(1)
	}
	return nil
}

// errLeaseLost means that another worker resumed a job.
var errLeaseLost = errors.New("another worker has the lease of the job")

// orLost ignores a lost lease.
func orLost(err error) error {
	if errors.Is(err, errLeaseLost) {
		return nil
	}
	return err
}

// principal returns the person who started a job, acting for its account with their session.
func (js *Jobs) principal(ctx context.Context, j warranty.Job) (p warranty.Principal, err error) {
	err = js.Service.Store.Write(ctx, func(tx *store.Tx) error {
		account, err := tx.LockUser(j.User)
		p.User = account.User
		return err
	})
	if errors.Is(err, warranty.ErrNotFound) {
		return p, errSignedOut
	}
	p.Credential, p.CredentialID, p.Scopes, p.Door = warranty.BySession, j.Session, warranty.AllScopes, warranty.DoorWeb
	if p = p.Self(); err != nil || j.Account == j.User {
		return p, err
	}
	p, err = js.Service.ActFor(ctx, p, j.Account)
	if errors.Is(err, warranty.ErrAccountNotAllowed) {
		err = errSignedOut
	}
	return p, err
}

// errSignedOut means that a job cannot continue, because its session or membership has ended.
var errSignedOut = warranty.Refuse(warranty.SessionExpired, "You signed out, or lost access to the account.")

// checkSession stops a job whose person signed out or was removed from the account. Writing checks it
// too; reading does not.
func (js *Jobs) checkSession(ctx context.Context, p warranty.Principal) error {
	now := js.now()
	return js.Service.Store.Write(ctx, func(tx *store.Tx) error { return tx.HoldCredential(p, warranty.Viewer, now) })
}
