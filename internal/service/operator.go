package service

import (
	"context"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// AddUser is how the operator makes an account: its address counts as verified.
func (s *Service) AddUser(ctx context.Context, in warranty.Register) (warranty.User, error) {
	if err := in.Check(); err != nil {
		return warranty.User{}, err
	}
	hash, err := s.passwords.hash(ctx, s.PasswordCost, in.Password, s.Random)
	if err != nil {
		return warranty.User{}, err
	}
	user := warranty.User{ID: s.NewID(), Name: in.Name, Email: in.Email, EmailVerified: true, CreatedAt: s.now()}
	err = s.Store.Write(ctx, func(tx *store.Tx) error {
		if err := tx.HoldWarranties(); err != nil {
			return err
		}
		if _, err := tx.ReachMilestone("first account", user.CreatedAt); err != nil {
			return err
		}
		if err := tx.InsertUser(user, hash); err != nil {
			return err
		}
		return s.linkSeller(tx, user, warranty.DoorAPI, user.CreatedAt)
	})
	if s.Store.IsDuplicate(err) {
		err = warranty.Refuse(warranty.AlreadyExists, "This address has an account already.")
	}
	return user, err
}

// DisableUser is how the operator shuts an account out: every credential of it
// is refused from now on, and nothing that was under way is committed any more.
func (s *Service) DisableUser(ctx context.Context, email string) error {
	account, err := s.Store.AccountByEmail(ctx, email)
	if err != nil {
		return err
	}
	now := s.now()
	return s.Store.Write(ctx, func(tx *store.Tx) error {
		if err := tx.DisableUser(account.ID, now); err != nil {
			return err
		}
		if err := tx.RevokeTokens(account.ID, now); err != nil {
			return err
		}
		return tx.DeleteSessions(account.ID)
	})
}

// SetPassword is how the operator sets a forgotten password. It is a reset: every
// session, token, calendar feed and offer of transfer ends, unless only sessions are
// to. It proves no mailbox, so whether the address is verified stays as it is.
func (s *Service) SetPassword(ctx context.Context, email, password string, keepTokens bool) error {
	account, err := s.Store.AccountByEmail(ctx, email)
	if err != nil {
		return err
	}
	if err := warranty.CheckPassword("password", password, account.User); err != nil {
		return err
	}
	hash, err := s.passwords.hash(ctx, s.PasswordCost, password, s.Random)
	if err != nil {
		return err
	}
	now := s.now()
	return s.Store.Write(ctx, func(tx *store.Tx) error {
		if err := tx.SetPassword(account.ID, hash); err != nil {
			return err
		}
		if keepTokens {
			if err := tx.DeleteSessions(account.ID); err != nil {
				return err
			}
		} else if err := s.endCredentials(tx, account.User, warranty.DoorAPI, now); err != nil {
			return err
		}
		return s.notify(tx, account.User, mail.PasswordSetByOperator(account.Email, account.Name, s.circumstances(warranty.Principal{}, now)))
	})
}
