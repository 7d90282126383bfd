package service

import (
	"context"
	"errors"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// trashStep is the number of deleted warranties that a step of the worker erases, each in its own transaction.
const trashStep = 50

// trashOperations binds the operations on the trash.
func (s *Service) trashOperations() []api.Bound {
	return []api.Bound{
		api.Bind(api.ListTrash, s.ListTrash),
		api.Bind(api.RestoreWarranty, s.RestoreWarranty),
	}
}

// ListTrash lists the warranties in the trash of the principal's account.
func (s *Service) ListTrash(
	ctx context.Context, p warranty.Principal, in warranty.ListTrash,
) (warranty.Page[warranty.Trashed], error) {
	if err := in.Check(); err != nil {
		return warranty.Page[warranty.Trashed]{}, err
	}
	list, total, err := s.Store.Trash(ctx, p.Account.ID, in.Paging, s.now())
	return warranty.PageOf(list, in.Paging, total), err
}

// RestoreWarranty restores a warranty from the trash of the principal's account.
func (s *Service) RestoreWarranty(
	ctx context.Context, p warranty.Principal, in warranty.RestoreWarranty,
) (w warranty.Warranty, err error) {
	if err := p.Account.Require(warranty.Member); err != nil {
		return w, err
	}
	now := s.now()
	return s.restore(ctx, p, in.ID, now, func(tx *store.Tx) (warranty.Warranty, error) {
		return tx.RestoreWarranty(p.Account.ID, in.ID, now)
	})
}

// restore is RestoreWarranty with what restores the record.
func (s *Service) restore(
	ctx context.Context, p warranty.Principal, key warranty.WarrantyKey, now time.Time,
	do func(*store.Tx) (warranty.Warranty, error),
) (w warranty.Warranty, err error) {
	issuer, externalID, err := s.Store.TrashedExternalID(ctx, p.Account.ID, key, now)
	if err != nil {
		return w, err
	}
	restored := s.event(p, warranty.WarrantyRestored, unknownYet, now)
	err = s.unique(ctx, issuer, derefText(externalID), func() error {
		return s.writeAs(ctx, p, func(tx *store.Tx) (err error) {
			if w, err = do(tx); err != nil {
				return err
			}
			restored.SubjectID = w.ID
			return tx.InsertEvent(w.ID, restored)
		})
	})
	var taken *warranty.Error
	if errors.As(err, &taken) && taken.Code == warranty.AlreadyExists {
		return warranty.Warranty{}, &warranty.Error{
			Code:       warranty.AlreadyExists,
			ExistingID: taken.ExistingID,
			Message: "Another warranty that you issued has the external id of this one. " +
				"Delete it or change its external id, then restore this one.",
		}
	}
	s.show(&w)
	return w, err
}

// EmptyTrash erases the warranties that were deleted more than 30 days ago. Every replica may do it at the same
// time.
func (s *Service) EmptyTrash(ctx context.Context) error {
	now := s.now()
	by := now.Add(-warranty.TrashLifetime)
	for {
		ids, err := s.Store.TrashedUntil(ctx, by, trashStep)
		if err != nil || len(ids) == 0 {
			return err
		}
		for _, id := range ids {
			if err := s.Store.Write(ctx, func(tx *store.Tx) error { return tx.EmptyTrash(id, by, now) }); err != nil {
				return err
			}
		}
	}
}

// checkNoOpenClaim returns an error if a locked warranty that is about to be deleted has an open claim.
func checkNoOpenClaim(tx *store.Tx, w warranty.Warranty) error {
	number, err := tx.OpenClaimOn(w.ID)
	if err == nil && number != "" {
		err = warranty.Refuse(warranty.InUse, "The warranty has an open claim (%s). Close the claim first. "+
			"A person can delete the warranty together with its open claim, on its page.", number)
	}
	return err
}
