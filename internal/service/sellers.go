package service

import (
	"context"
	"errors"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// sellerOperations binds the operations of sellers.
func (s *Service) sellerOperations() []api.Bound {
	return []api.Bound{
		api.Bind(api.ListConfirmations, s.ListConfirmations),
		api.Bind(api.DecideConfirmation, s.DecideConfirmation),
		api.Bind(api.LeaveWarranty, s.LeaveWarranty),
	}
}

// ListConfirmations lists the warranties that wait for the confirmation of the principal's account.
func (s *Service) ListConfirmations(
	ctx context.Context, p warranty.Principal, in warranty.ListConfirmations,
) (warranty.Page[warranty.Confirmation], error) {
	if err := in.Check(); err != nil {
		return warranty.Page[warranty.Confirmation]{}, err
	}
	list, total, err := s.Store.Confirmations(ctx, p.Account.ID, in.Paging)
	return warranty.PageOf(list, in.Paging, total), err
}

// DecideConfirmation makes the principal's account the seller of a warranty that names it, or declines.
// Declining leaves no trace on the record: who named the account learns nothing of it.
func (s *Service) DecideConfirmation(
	ctx context.Context, p warranty.Principal, in warranty.DecideConfirmation,
) (warranty.Confirmation, error) {
	return s.decideConfirmation(ctx, p, in, nil)
}

// decideConfirmation is DecideConfirmation, for a row of a job if there is one.
func (s *Service) decideConfirmation(
	ctx context.Context, p warranty.Principal, in warranty.DecideConfirmation, row *JobRow,
) (c warranty.Confirmation, err error) {
	if err := in.Check(); err != nil {
		return c, err
	}
	now := s.now()
	confirmed := s.event(p, warranty.SellerHasConfirmed, unknownYet, now)
	err = s.writeAs(ctx, p, func(tx *store.Tx) error {
		var from warranty.ID
		if c, from, err = tx.LockConfirmation(p.Account.ID, in.ID); err != nil {
			return err
		}
		if err := c.Decidable(in); err != nil {
			return err
		}
		return row.noteDecision(tx, p.Account.ID, c.WarrantyID, func() error {
			if in.Decision == warranty.Decline {
				return s.decline(tx, p, &c, from, in.All(), now)
			}
			added, err := tx.AddSeller(p.Account.ID, c.WarrantyID, now)
			if err == nil && added {
				c, _, err = tx.LockConfirmation(p.Account.ID, in.ID) // it has a new version
			}
			c.Status = warranty.Confirmed
			if err != nil || !added {
				return err
			}
			confirmed.SubjectID = c.WarrantyID
			if err := tx.InsertEvent(c.WarrantyID, confirmed); err != nil {
				return err
			}
			return s.tellConfirmed(tx, p, confirmed, row)
		})
	})
	return c, err
}

// decline declines a warranty. A seller who has the role without having confirmed the record leaves it.
func (s *Service) decline(
	tx *store.Tx, p warranty.Principal, c *warranty.Confirmation, from warranty.ID, all bool, now time.Time,
) error {
	c.Status = warranty.Declined
	w, err := tx.LockWarranty(p.Account.ID, warranty.WarrantyKey{ID: c.WarrantyID})
	switch {
	case errors.Is(err, warranty.ErrNotFound) || err == nil && !w.Roles.Has(warranty.Seller):
		err = tx.Decline(p.Account.ID, c.WarrantyID)
	case err == nil && w.Seller != nil && *w.Seller == p.Account.ID:
		err = warranty.Refuse(warranty.InvalidTransition,
			"You have confirmed this warranty. Leave it as its seller instead.")
	case err == nil:
		err = s.leave(tx, p, w.ID, s.event(p, warranty.SellerLeft, w.ID, now), now)
	}
	if err != nil || !all {
		return err
	}
	return tx.DeclineFrom(p.Account.ID, from)
}

func (s *Service) leave(
	tx *store.Tx, p warranty.Principal, id warranty.ID, left warranty.Event, now time.Time,
) error {
	if err := tx.RemoveSeller(p.Account.ID, id, now); err != nil {
		return err
	}
	left.SubjectID = id
	return tx.InsertEvent(id, left)
}

// LeaveWarranty ends the role of the principal's account as the seller of a warranty.
func (s *Service) LeaveWarranty(
	ctx context.Context, p warranty.Principal, in warranty.LeaveWarranty,
) (warranty.None, error) {
	now := s.now()
	left := s.event(p, warranty.SellerLeft, unknownYet, now)
	return warranty.None{}, s.writeAs(ctx, p, func(tx *store.Tx) error {
		w, err := tx.LockWarranty(p.Account.ID, in.ID)
		if err != nil {
			return err
		}
		if err := w.Roles.May(warranty.LeaveSeller); err != nil {
			return err
		}
		return s.leave(tx, p, w.ID, left, now)
	})
}
