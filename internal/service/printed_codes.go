package service

import (
	"context"
	"errors"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// printedCodeOperations binds the operations on printed codes.
func (s *Service) printedCodeOperations() []api.Bound {
	return []api.Bound{
		api.Bind(api.ListPrintedCodes, s.ListPrintedCodes),
		api.Bind(api.EndPrintedCodes, s.EndPrintedCodes),
	}
}

// ListPrintedCodes lists the printed codes of an organization that can be used, for its members. A code works as long as
// it is in this list: printed paper outlives the membership of who printed it.
func (s *Service) ListPrintedCodes(
	ctx context.Context, p warranty.Principal, in warranty.ListPrintedCodes,
) (warranty.Page[warranty.PrintedCode], error) {
	if err := in.Check(); err != nil {
		return warranty.Page[warranty.PrintedCode]{}, err
	}
	if _, err := s.as(ctx, p, in.ID); err != nil {
		return warranty.Page[warranty.PrintedCode]{}, err
	}
	list, total, err := s.Store.PrintedCodes(ctx, in.ID, in.MadeBy, in.Paging, s.now())
	return warranty.PageOf(list, in.Paging, total), err
}

// endPrintedStep is the number of codes that one transaction ends, so that it does not block other writes for long.
const endPrintedStep = 50

// EndPrintedCodes ends the printed codes of an organization that a person made.
func (s *Service) EndPrintedCodes(
	ctx context.Context, p warranty.Principal, in warranty.EndPrintedCodes,
) (warranty.None, error) {
	ctx = AsOneForm(ctx)
	for left := true; left; {
		err := s.manageOrganization(ctx, p, in.ID, func(tx *store.Tx, p warranty.Principal, _ store.Account) error {
			now := s.now()
			ids, err := tx.PrintedBy(in.ID, in.MadeBy, endPrintedStep)
			if err != nil {
				return err
			}
			left = len(ids) == endPrintedStep
			for _, id := range ids {
				end := func() error { return tx.CancelHandover(id, now) }
				_, err := tx.LockWarranty(in.ID, warranty.WarrantyKey{ID: id})
				if errors.Is(err, warranty.ErrNotFound) { // it is in the trash
					end, err = func() error { return tx.EndHandover(id) }, nil
				}
				if err != nil {
					return err
				}
				if err := end(); err != nil {
					return err
				}
			}
			return s.eventOnEach(tx, p, warranty.HandoverCancelled, ids, now)
		})
		if err != nil {
			return warranty.None{}, err
		}
	}
	return warranty.None{}, nil
}
