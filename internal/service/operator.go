package service

import (
	"context"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// AddUser creates an account for the operator. Its address counts as verified.
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
		err = warranty.Refuse(warranty.AlreadyExists, "This address already has an account.")
	}
	return user, err
}

// DisableUser disables an account for the operator. When it returns, all its credentials
// are rejected and no write made with them commits.
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

// SetPassword resets a password for the operator. It ends all sessions and, unless
// keepTokens is set, all tokens, calendar feeds and open transfers. It does not verify
// the address.
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
		circumstances := s.circumstances(warranty.Principal{}, now)
		return s.notify(tx, account.User, mail.PasswordSetByOperator(account.Email, account.Name, circumstances))
	})
}
