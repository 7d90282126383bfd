package service

import (
	"context"
	"errors"
	"strings"
	"time"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

const (
	// eraseStep is the number of records that one transaction of an erasure changes, so that it does not
	// block other writes for long.
	eraseStep = 50
	// eraseTraces is the number of rows without records that one transaction of an erasure deletes.
	eraseTraces = 500
	// erasePages is the number of pages of history that are read between two transactions.
	erasePages = 50
	// eraseAtOnce is the number of accounts that a run of the worker erases.
	eraseAtOnce = 100
)

// UserRecords returns an account and what deleting it affects, for the operator.
func (s *Service) UserRecords(ctx context.Context, name string) (store.Account, store.UserRecords, error) {
	account, err := s.accountOf(ctx, name)
	if err != nil {
		return account, store.UserRecords{}, err
	}
	n, err := s.Store.UserRecords(ctx, account.ID)
	return account, n, err
}

// DeleteUser deletes an account for the operator: all its credentials end, and it is erased after 30 days
// unless it is enabled before. It returns when. A second call changes nothing. The only admin of an
// organization, and an organization that stands behind records, are not deleted.
func (s *Service) DeleteUser(ctx context.Context, name string) (due time.Time, err error) {
	return s.planErasure(ctx, name, store.ErasureDelay)
}

// EraseUser deletes an account for the operator and erases it now. If it is interrupted, the worker
// continues.
func (s *Service) EraseUser(ctx context.Context, name string) error {
	account, err := s.accountOf(ctx, name)
	if err != nil {
		return err
	}
	if _, err := s.planErasure(ctx, name, 0); err != nil {
		return err
	}
	return s.erase(ctx, account.ID)
}

// planErasure ends the credentials of an account and plans its erasure. An earlier one is kept.
func (s *Service) planErasure(ctx context.Context, name string, after time.Duration) (due time.Time, err error) {
	found, err := s.accountOf(ctx, name)
	if err != nil {
		return due, err
	}
	now := s.now()
	err = s.Store.Write(ctx, func(tx *store.Tx) error {
		due = now.Add(after)
		// The organizations are locked also so that of two admins who are deleted at once one is refused.
		locked, err := lockWithOrganizations(tx, found.ID)
		if err != nil {
			return err
		}
		account := locked[found.ID]
		planned, err := tx.LockErasure(account.ID)
		if errors.Is(err, warranty.ErrNotFound) {
			if err := s.mayErase(tx, account); err != nil {
				return err
			}
		}
		if err := s.close(tx, operator, account, false, now); err != nil {
			return err
		}
		if err == nil && (planned.Started || !planned.Due.After(due)) {
			due = planned.Due
			return tx.KeepDeleted(account.ID)
		}
		if err != nil && !errors.Is(err, warranty.ErrNotFound) {
			return err
		}
		if err := tx.PlanErasure(account.ID, due, false); err != nil || after == 0 {
			return err
		}
		e := s.event(operator, warranty.AccountToBeErased, account.ID, now,
			warranty.Change{Field: "erase_at", To: new(warranty.DateOf(due).String())})
		return tx.InsertEvent(account.ID, e)
	})
	return due, err
}

// mayErase returns an error if deleting a locked account would leave an organization without an active admin, or
// records without the organization that stands behind them.
func (s *Service) mayErase(tx *store.Tx, account store.Account) error {
	if account.Kind == warranty.OrganizationKind {
		return s.mayDelete(tx, account)
	}
	left, err := tx.LedOnlyBy(account.ID)
	if err != nil || len(left) == 0 {
		return err
	}
	names := make([]string, len(left))
	for i, o := range left {
		names[i] = o.Name + " (" + o.ID.String() + ")"
	}
	return warranty.Refuse(warranty.LastAdmin, "This person is the only active admin of %s. "+
		"Make someone else admin first, or delete the organization.", strings.Join(names, ", "))
}

// close disables a locked account, whose organizations are locked, and ends its credentials and what the person made in
// organizations. Tokens that they made there stay if keepTokens is set.
func (s *Service) close(
	tx *store.Tx, by warranty.Principal, account store.Account, keepTokens bool, now time.Time,
) error {
	if err := tx.DisableUser(account.ID, now); err != nil {
		return err
	}
	if !keepTokens {
		c := s.circumstances(warranty.Principal{}, now)
		if err := s.tellAdmins(tx, by, account.User, c, mail.Texts.MemberDisabled); err != nil {
			return err
		}
	}
	return s.endCredentials(tx, by, account.User, keepTokens, now)
}

// EraseUsers erases the accounts whose time has come. Every replica may do it at the same time.
func (s *Service) EraseUsers(ctx context.Context) error {
	users, err := s.Store.DueErasures(ctx, s.now(), eraseAtOnce)
	for _, id := range users {
		err = errors.Join(err, s.erase(ctx, id))
	}
	return err
}

// erase erases an account in steps of one transaction each. Every step finds what is left to do, so that
// another process can continue. Records that only this account can see are deleted and their content is
// erased; records that others can see stay, and the account's roles on them end. The account's name,
// address, password and settings are erased.
func (s *Service) erase(ctx context.Context, id warranty.ID) error {
	for _, step := range []func(context.Context, warranty.ID) (bool, error){s.eraseRecords, s.eraseEvents, s.eraseRest} {
		for done := false; !done; {
			var err error
			if done, err = step(ctx, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// eraseWith runs one transaction of an erasure. It reports done without running it if there is nothing to
// erase: the account was enabled, or another process has erased it.
func (s *Service) eraseWith(
	ctx context.Context, id warranty.ID, hold func(*store.Tx) error,
	fn func(*store.Tx, store.Account, store.Erasure, time.Time) (done bool, err error),
) (done bool, err error) {
	now := s.now()
	err = s.Store.Write(ctx, func(tx *store.Tx) error {
		done = true
		if err := hold(tx); err != nil {
			return err
		}
		account, err := tx.LockUser(id)
		if err != nil {
			return err
		}
		e, err := tx.LockErasure(id)
		if errors.Is(err, warranty.ErrNotFound) {
			return tx.DropErasure(id)
		}
		if err != nil || e.Due.After(now) {
			return err
		}
		if !e.Started {
			if err := tx.StartErasure(id, now); err != nil {
				return err
			}
		}
		done, err = fn(tx, account, e, now)
		return err
	})
	return done, err
}

// noHold is for transactions that lock nothing before the account.
func noHold(*store.Tx) error { return nil }

// eraseRecords removes the account from some of its records, or erases some of what it left.
func (s *Service) eraseRecords(ctx context.Context, id warranty.ID) (done bool, err error) {
	return s.eraseWith(ctx, id, noHold, s.eraseSome)
}

func (s *Service) eraseSome(
	tx *store.Tx, account store.Account, _ store.Erasure, now time.Time,
) (done bool, err error) {
	ids, err := tx.WarrantiesOf(account.ID, eraseStep)
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
	if len(ids) > 0 {
		return false, nil
	}
	if ids, err = tx.KeptDocuments(account.ID, eraseStep); err != nil {
		return false, err
	}
	for _, id := range ids {
		f, err := tx.LockFile(account.ID, id)
		if err != nil {
			return false, err
		}
		if err := tx.DeleteDocument(f.Document, now); err != nil {
			return false, err
		}
	}
	if len(ids) > 0 {
		return false, nil
	}
	if ids, err = tx.TrashedBy(account.ID, eraseStep); err != nil {
		return false, err
	}
	for _, id := range ids {
		if err := tx.LeaveTrash(account.ID, id, now); err != nil {
			return false, err
		}
	}
	if len(ids) > 0 {
		return false, nil
	}
	if ids, err = tx.WarrantiesToErase(account.ID, eraseStep); err != nil {
		return false, err
	}
	if len(ids) > 0 {
		return false, tx.EraseWarranties(ids)
	}
	if some, err := tx.EraseSales(account.ID, eraseStep, s.now()); some || err != nil {
		return false, err
	}
	some, err := tx.EraseTraces(account.ID, eraseTraces)
	return !some, err
}

// eraseEvents erases the account's name in some events.
func (s *Service) eraseEvents(ctx context.Context, id warranty.ID) (done bool, err error) {
	read, found, last, err := s.Store.EventsToErase(ctx, id, erasePages)
	if errors.Is(err, warranty.ErrNotFound) {
		return true, nil
	}
	if err != nil || last == nil {
		return last == nil, err
	}
	return s.eraseWith(ctx, id, noHold,
		func(tx *store.Tx, _ store.Account, e store.Erasure, _ time.Time) (bool, error) {
			if e.After != read.After { // another process was faster
				return false, nil
			}
			return false, tx.EraseEvents(id, found, *last)
		})
}

// eraseRest erases the account itself.
func (s *Service) eraseRest(ctx context.Context, id warranty.ID) (done bool, err error) {
	// A record that names the account's address as its seller may be under way.
	hold := func(tx *store.Tx) error { return tx.HoldWarranties() }
	return s.eraseWith(ctx, id, hold,
		func(tx *store.Tx, account store.Account, e store.Erasure, now time.Time) (bool, error) {
			if done, err := s.eraseSome(tx, account, e, now); err != nil || !done {
				return false, err
			}
			if err := tx.EraseUser(account.ID, account.Email, now); err != nil {
				return false, err
			}
			return true, s.operatorEvent(tx, warranty.AccountDeleted, account.ID, now)
		})
}
