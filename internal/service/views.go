package service

import (
	"context"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// Views lists the saved views of the principal's account.
func (s *Service) Views(ctx context.Context, p warranty.Principal) ([]warranty.SavedView, error) {
	return s.Store.Views(ctx, p.Account.ID)
}

// SaveView saves a view of the principal's account. It replaces the one with the same name.
func (s *Service) SaveView(ctx context.Context, p warranty.Principal, v warranty.SavedView) error {
	if err := v.Check(); err != nil {
		return err
	}
	v.ID = s.NewID()
	now := s.now()
	return s.writeLocked(ctx, p, func(tx *store.Tx, account store.Account) error {
		n, err := tx.CountViews(account.ID, v.Name)
		if err != nil {
			return err
		}
		if n >= warranty.MaxViews {
			return warranty.Refuse(warranty.InUse, "This account has saved too many views. Delete one first.")
		}
		return tx.SaveView(account.ID, v, now)
	})
}

// DeleteView deletes a view of the principal's account.
func (s *Service) DeleteView(ctx context.Context, p warranty.Principal, id warranty.ID) error {
	return s.writeAs(ctx, p, func(tx *store.Tx) error { return tx.DeleteView(p.Account.ID, id) })
}
