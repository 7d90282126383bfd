package service

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"time"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// A job that changes many warranties notes for each what undoing the change restores, in the transaction of the
// change (ADR 63). Undoing it gives each record back what the job changed, in a transaction of its own, unless it was
// changed since.

// bulkRuns is how long the emails of a job wait longer than it can be undone, because it takes some time itself.
const bulkRuns = 2 * time.Minute

// JobRow is a row of a job that creates or changes a warranty. nil is a change that belongs to no job.
type JobRow struct {
	Job warranty.ID
	Row int64
}

// undoing is what undoing a change of a warranty restores, as it is stored: one of the fields, with Seller for an
// update.
type undoing struct {
	Update  *warranty.UpdateWarranty `json:"update,omitempty"`
	Seller  *warranty.ID             `json:"seller,omitempty"` // who had confirmed the record
	Offer   *store.OfferState        `json:"offer,omitempty"`
	Deleted bool                     `json:"deleted,omitzero"`
	// Decided is what the account was to the warranty that it confirmed or declined.
	Decided *store.SellerState `json:"decided,omitempty"`
}

// noteCreated notes in the transaction that creates a warranty that it belongs to the row.
func (r *JobRow) noteCreated(tx *store.Tx, id warranty.ID) error {
	if r == nil {
		return nil
	}
	return tx.InsertJobRecord(r.Job, r.Row, id)
}

// note notes in the transaction that changes a warranty what undoing it restores. version is that of the record after
// the change, or when it was deleted.
func (r *JobRow) note(tx *store.Tx, id warranty.ID, version int64, before undoing, mail *warranty.ID) error {
	if r == nil {
		return nil
	}
	text, err := json.Marshal(before)
	if err != nil {
		return err
	}
	return tx.InsertJobChange(store.JobChange{
		Job: r.Job, Row: r.Row, Record: id, Version: version, Before: string(text), Mail: mail,
	})
}

// keepOffers returns the offer of a locked warranty, and keeps its codes for an undo.
func (r *JobRow) keepOffers(tx *store.Tx, id warranty.ID) (*store.OfferState, error) {
	if r == nil {
		return nil, nil //nolint:nilnil // nothing is kept
	}
	before, err := tx.OfferState(id)
	if err != nil {
		return nil, err
	}
	return &before, tx.KeepOffers(id, r.Job)
}

// noteDecision makes a decision about a locked warranty that names an account as its seller, and notes it if it changes
// what the account is to the warranty.
func (r *JobRow) noteDecision(tx *store.Tx, account, id warranty.ID, decide func() error) error {
	if r == nil {
		return decide()
	}
	before, err := tx.SellerState(account, id)
	if err != nil {
		return err
	}
	if err := decide(); err != nil {
		return err
	}
	after, err := tx.SellerState(account, id)
	if err != nil || after.Same(before) {
		return err
	}
	return r.note(tx, id, after.Version, undoing{Decided: &before}, nil)
}

// UpdateInJob is UpdateWarranty for a row of a job.
func (s *Service) UpdateInJob(ctx context.Context, p warranty.Principal, in warranty.UpdateWarranty, row JobRow) error {
	_, err := s.updateWarranty(ctx, p, in, &row)
	return err
}

// OfferInJob is OfferHandover for a row of a job.
func (s *Service) OfferInJob(ctx context.Context, p warranty.Principal, in warranty.OfferHandover, row JobRow) error {
	_, err := s.offerHandover(ctx, p, in, &row)
	return err
}

// DeleteInJob is DeleteWarranty for a row of a job.
func (s *Service) DeleteInJob(ctx context.Context, p warranty.Principal, in warranty.DeleteWarranty, row JobRow) error {
	return s.deleteWarranty(ctx, p, in, &row)
}

// DecideInJob is DecideConfirmation for a row of a job.
func (s *Service) DecideInJob(
	ctx context.Context, p warranty.Principal, in warranty.DecideConfirmation, row JobRow,
) error {
	_, err := s.decideConfirmation(ctx, p, in, &row)
	return err
}

// errWarrantyChanged means that someone changed a warranty after a job did.
var errWarrantyChanged = warranty.Refuse(warranty.PreconditionFailed, "It was changed since.")

// UndoInJob gives a warranty back what a job changed. A change that was undone before is no error. It returns an
// error if the record was changed since, if the principal may no longer change it, or if its email was sent.
func (s *Service) UndoInJob(ctx context.Context, p warranty.Principal, change store.JobChange) error {
	var before undoing
	if err := json.Unmarshal([]byte(change.Before), &before); err != nil {
		return err
	}
	undo := s.undoUpdate
	switch {
	case before.Deleted:
		undo = s.undoDelete
	case before.Offer != nil:
		undo = s.undoOffer
	case before.Decided != nil:
		undo = s.undoDecision
	}
	err := undo(ctx, p, change, before)
	refusal := new(warranty.Error)
	if errors.As(err, &refusal) && refusal.Code.Info().Status < 500 {
		if c, failed := s.Store.JobChange(ctx, change.Job, change.Row); failed != nil {
			return failed
		} else if c.Undone != nil {
			return nil // another worker was faster
		}
	}
	return err
}

// markUndone notes that the change of a locked record is taken back. If it was before, the record is not the one of
// the change.
func markUndone(tx *store.Tx, change store.JobChange, now time.Time) error {
	first, err := tx.MarkChangeUndone(change.Job, change.Row, now)
	if err == nil && !first {
		err = errWarrantyChanged
	}
	return err
}

// lockChanged locks the warranty of a change that nobody changed since, and notes that the change is taken back.
func (s *Service) lockChanged(
	tx *store.Tx, p warranty.Principal, change store.JobChange, now time.Time,
) (warranty.Warranty, error) {
	w, err := tx.LockWarranty(p.Account.ID, warranty.WarrantyKey{ID: change.Record})
	if err == nil && w.Version != change.Version {
		err = errWarrantyChanged
	}
	if err != nil {
		return w, err
	}
	return w, markUndone(tx, change, now)
}

func (s *Service) undoUpdate(ctx context.Context, p warranty.Principal, change store.JobChange, before undoing) error {
	now, in := s.now(), *before.Update
	err := s.unique(ctx, p.Account.ID, derefText(in.ExternalID), func() error {
		return s.writeAs(ctx, p, func(tx *store.Tx) error {
			w, err := s.lockChanged(tx, p, change, now)
			if err != nil {
				return err
			}
			changed, err := in.Revert(w)
			if err != nil {
				return err
			}
			changed.Seller = before.Seller
			if reflect.DeepEqual(w, changed) {
				return nil
			}
			return s.saveUpdate(tx, p, w, &changed, "", now)
		})
	})
	s.wakeMail()
	return err
}

func (s *Service) undoOffer(ctx context.Context, p warranty.Principal, change store.JobChange, before undoing) error {
	now := s.now()
	cancelled := s.event(p, warranty.HandoverCancelled, change.Record, now)
	return s.writeMailing(ctx, p, warranty.Member, func(tx *store.Tx, from *sender) error {
		w, err := s.lockChanged(tx, p, change, now)
		if err != nil {
			return err
		}
		if err := w.Roles.May(warranty.HandOver); err != nil {
			return err
		}
		if change.Mail != nil {
			waits, err := tx.HeldOffer(change.Job, *change.Mail)
			if err == nil && !waits {
				err = errMailed
			}
			if err != nil {
				return err
			}
			if err := tx.DropOfferMail(from.ID, w.ID, *change.Mail); err != nil {
				return err
			}
		}
		if err := tx.UndoOffer(w.ID, change.Job, *before.Offer, now); err != nil {
			return err
		}
		w.CustomerName, w.Offer.Email = before.Offer.CustomerName, before.Offer.CustomerEmail
		if w.CustomerName != nil || w.Offer.Email != nil {
			if err := s.linkCustomer(tx, p, w, now); err != nil {
				return err
			}
		}
		return tx.InsertEvent(w.ID, cancelled)
	})
}

func (s *Service) undoDelete(ctx context.Context, p warranty.Principal, change store.JobChange, _ undoing) error {
	now, deleted := s.now(), time.UnixMicro(change.Version).UTC()
	_, err := s.restore(ctx, p, warranty.WarrantyKey{ID: change.Record}, now, func(tx *store.Tx) (warranty.Warranty, error) {
		w, err := tx.RestoreDeleted(p.Account.ID, change.Record, deleted, now)
		if err != nil {
			return w, err
		}
		return w, markUndone(tx, change, now)
	})
	return err
}

// undoDecision makes a warranty that the principal's account confirmed or declined wait for it again. Its owner is told
// of no confirmation then.
func (s *Service) undoDecision(
	ctx context.Context, p warranty.Principal, change store.JobChange, before undoing,
) error {
	now := s.now()
	left := s.event(p, warranty.SellerLeft, change.Record, now)
	return s.writeAs(ctx, p, func(tx *store.Tx) error {
		if _, _, err := tx.LockConfirmation(p.Account.ID, warranty.WarrantyKey{ID: change.Record}); err != nil {
			return err
		}
		is, err := tx.SellerState(p.Account.ID, change.Record)
		if err == nil && is.Version != change.Version {
			err = errWarrantyChanged
		}
		if err != nil {
			return err
		}
		if err := markUndone(tx, change, now); err != nil {
			return err
		}
		err = tx.RestoreSeller(p.Account.ID, change.Record, is, *before.Decided, now)
		if err != nil || !is.Confirmed(p.Account.ID) {
			return err
		}
		return tx.InsertEvent(change.Record, left)
	})
}
