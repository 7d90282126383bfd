package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"warranty.example/svc/internal/sheet"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// undoFor returns how long a job can be undone after its end. Emails about what others see wait that long; a day is
// for what nobody else is told of; and what was deleted is in the trash.
func undoFor(j warranty.Job) time.Duration {
	var of struct {
		Action string `json:"action"`
	}
	if j.Kind == BulkKind && json.Unmarshal([]byte(j.Result), &of) != nil {
		return 0
	}
	switch of.Action {
	case Void, Cancel, HandOver, Confirm:
		return warranty.BulkUndo
	case Delete:
		return warranty.TrashLifetime
	}
	return 24 * time.Hour
}

// UndoUntil returns when a job can no longer be undone.
func UndoUntil(j warranty.Job) time.Time {
	ended := j.CreatedAt
	if j.EndedAt != nil {
		ended = *j.EndedAt
	}
	return ended.Add(undoFor(j))
}

// Undo starts to give back what a closed job changed, and to delete what it created. Records that someone registered,
// changed or used since stay as they are.
func (js *Jobs) Undo(ctx context.Context, p warranty.Principal, id warranty.ID) error {
	now := js.now()
	created, err := js.Service.Store.CountJobRecords(ctx, id)
	if err != nil {
		return err
	}
	changed, _, err := js.Service.Store.CountJobChanges(ctx, id)
	if err != nil {
		return err
	}
	err = js.Service.WriteToAccount(ctx, p, warranty.Member, func(tx *store.Tx, account store.Account) error {
		j, err := tx.LockJob(account.ID, id)
		if err != nil {
			return err
		}
		if j.Kind == ExportKind {
			return warranty.ErrNotFound // it changed nothing
		}
		if err := p.MayUndo(j.User); err != nil {
			return err
		}
		if j.State == warranty.JobUndone {
			return warranty.Refuse(warranty.InvalidTransition, "This was undone before.")
		}
		if j.State.Open() {
			return warranty.Refuse(warranty.InvalidTransition, "It is running and cannot be undone now.")
		}
		if !now.Before(UndoUntil(j)) {
			return warranty.Refuse(warranty.InvalidTransition, "It is too late to undo this.")
		}
		j.State, j.User, j.Session, j.Total = warranty.JobUndoing, p.User.ID, p.CredentialID, created+changed
		return tx.RestartJob(j, now)
	})
	js.wakeWorker()
	return err
}

// Undone is the result of undoing a job.
type Undone struct {
	Deleted int64                `json:"deleted"`
	Kept    []warranty.Reference `json:"kept"` // registered, changed or used, so they stay
	// KeptChanges is why warranties were not changed back.
	KeptChanges []BulkGroup `json:"kept_changes,omitempty"`
}

// undo deletes the warranties that a job created and nobody registered, changed or used since then, and gives those
// that it changed back what they were.
func (js *Jobs) undo(ctx context.Context, p warranty.Principal, j *warranty.Job, save func() error) error {
	if err := p.Account.Require(warranty.Member); err != nil {
		return err
	}
	if j.Kind == BulkKind {
		return js.undoBulk(ctx, p, j, save)
	}
	_, ids, err := js.Service.Store.JobRecords(ctx, j.ID)
	if err != nil {
		return err
	}
	ended := j.CreatedAt
	if j.EndedAt != nil {
		ended = *j.EndedAt
	}
	out := Undone{Kept: []warranty.Reference{}}
	j.Done = 0
	if out.KeptChanges, err = js.undoChanges(ctx, p, j, "", save); err != nil {
		return err
	}
	for _, id := range ids {
		key := warranty.WarrantyKey{ID: id}
		err := js.Service.DeleteUntouched(ctx, p, key, ended)
		var refusal *warranty.Error
		switch {
		case err == nil || errors.Is(err, warranty.ErrNotFound):
			out.Deleted++
		case errors.Is(err, warranty.ErrChanged), errors.As(err, &refusal) && refusal.Code == warranty.RoleNotAllowed:
			w, err := js.Service.Store.Warranty(ctx, p.Account.ID, key)
			if err != nil {
				return err
			}
			out.Kept = append(out.Kept, w.ReferenceNumber)
		default:
			return err
		}
		if j.Done++; j.Done%saveEvery == 0 {
			if err := save(); err != nil {
				return err
			}
		}
	}
	text, err := json.Marshal(out)
	j.Result = string(text)
	return err
}

// rows returns what rows of an import did before an interruption.
func (js *Jobs) rows(ctx context.Context, job warranty.ID) (map[int64]sheet.Outcome, error) {
	rows, _, err := js.Service.Store.JobRecords(ctx, job)
	if err != nil {
		return nil, err
	}
	changes, err := js.Service.Store.JobChanges(ctx, job)
	done := make(map[int64]sheet.Outcome, len(rows)+len(changes))
	for _, row := range rows {
		done[row] = sheet.Created
	}
	for _, c := range changes {
		done[c.Row] = sheet.Updated
	}
	return done, err
}

// Created returns the number of warranties that a job created so far. The progress that it stores may lag behind.
func (js *Jobs) Created(ctx context.Context, j warranty.Job) (int64, error) {
	return js.Service.Store.CountJobRecords(ctx, j.ID)
}

// Left returns how many of the warranties that a job created are not deleted.
func (js *Jobs) Left(ctx context.Context, j warranty.Job) (int64, error) {
	return js.Service.Store.CountJobRecordsLeft(ctx, j.ID)
}
