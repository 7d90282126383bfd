package service

import (
	"context"
	"slices"
	"time"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// deleteStep is the number of records that one transaction of DeleteUser changes, so that it does not
// block other writes for long.
const deleteStep = 50

// UserRecords returns an account and what deleting it affects, for the operator.
func (s *Service) UserRecords(ctx context.Context, email string) (store.Account, store.UserRecords, error) {
	account, err := s.Store.AccountByEmail(ctx, email)
	if err != nil {
		return account, store.UserRecords{}, err
	}
	n, err := s.Store.UserRecords(ctx, account.ID)
	return account, n, err
}

// DeleteUser deletes an account for the operator. All its credentials end first. Records that only
// this account can see are deleted and their content is erased; records that others can see stay, and
// the account's roles on them end. The account's name, address, password and devices are erased. If it
// is interrupted, deleting the account again continues.
func (s *Service) DeleteUser(ctx context.Context, email string) error {
	account, err := s.Store.AccountByEmail(ctx, email)
	if err != nil {
		return err
	}
	now := s.now()
	err = s.Store.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.LockUser(account.ID); err != nil {
			return err
		}
		if err := tx.DisableUser(account.ID, now); err != nil {
			return err
		}
		return s.endCredentials(tx, account.User, warranty.DoorOperator, now)
	})
	for done := false; err == nil && !done; {
		err = s.Store.Write(ctx, func(tx *store.Tx) (err error) {
			done, err = s.leaveSome(tx, account, now)
			return err
		})
	}
	if err == nil {
		err = s.eraseDeleted(ctx, account)
	}
	for done := false; err == nil && !done; {
		err = s.Store.Write(ctx, func(tx *store.Tx) (err error) {
			// A record that names the account's address as its seller may be under way.
			if err := tx.HoldWarranties(); err != nil {
				return err
			}
			if done, err = s.leaveSome(tx, account, now); err != nil || !done {
				return err
			}
			if err := tx.EraseUser(account.ID, account.Email, now); err != nil {
				return err
			}
			return s.operatorEvent(tx, warranty.AccountDeleted, account.ID, now)
		})
	}
	return err
}

// leaveSome removes the account from some of its records and reports whether it had none.
func (s *Service) leaveSome(tx *store.Tx, account store.Account, now time.Time) (done bool, err error) {
	if _, err := tx.LockUser(account.ID); err != nil {
		return false, err
	}
	ids, err := tx.WarrantiesOf(account.ID, deleteStep)
	if err != nil {
		return false, err
	}
	for _, id := range ids {
		w, err := tx.LockWarranty(account.ID, warranty.WarrantyKey{ID: id})
		if err != nil {
			return false, err
		}
		if err := tx.LeaveWarranty(account.ID, w, now); err != nil {
			return false, err
		}
	}
	return len(ids) == 0, nil
}

// eraseDeleted erases what is left of records that the account issued and that were deleted earlier.
func (s *Service) eraseDeleted(ctx context.Context, account store.Account) error {
	ids, err := s.Store.DeletedOf(ctx, account.ID)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(ids, deleteStep) {
		if err := s.Store.Write(ctx, func(tx *store.Tx) error { return tx.EraseWarranties(some) }); err != nil {
			return err
		}
	}
	return nil
}
