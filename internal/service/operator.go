package service

import (
	"context"
	"errors"
	"time"

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
		if _, err := tx.ReachFirstAccount(user.CreatedAt); err != nil {
			return err
		}
		if err := tx.InsertUser(user, hash); err != nil {
			return err
		}
		return s.operatorEvent(tx, warranty.AccountAdded, user.ID, user.CreatedAt)
	})
	if s.Store.IsDuplicate(err) {
		err = warranty.Refuse(warranty.AlreadyExists, "This address already has an account.")
	}
	return user, err
}

// DisableUser disables an account for the operator. When it returns, all its credentials
// are rejected and no write made with them commits. Of an organization, its members cannot act for it. What a person
// made in organizations ends too.
func (s *Service) DisableUser(ctx context.Context, name string) error {
	return s.disableUser(ctx, name, false)
}

// DisableUserKeepingTokens is DisableUser, but tokens that the person made in organizations keep working.
func (s *Service) DisableUserKeepingTokens(ctx context.Context, name string) error {
	return s.disableUser(ctx, name, true)
}

func (s *Service) disableUser(ctx context.Context, name string, keepTokens bool) error {
	found, err := s.accountOf(ctx, name)
	if err != nil {
		return err
	}
	now := s.now()
	err = s.Store.Write(ctx, func(tx *store.Tx) error {
		locked, err := lockWithOrganizations(tx, found.ID)
		if err != nil {
			return err
		}
		return s.disable(tx, operator, locked[found.ID], keepTokens, now)
	})
	s.wakeMail()
	return err
}

// disable disables a locked account, whose organizations are locked.
func (s *Service) disable(
	tx *store.Tx, by warranty.Principal, account store.Account, keepTokens bool, now time.Time,
) error {
	if err := s.close(tx, by, account, keepTokens, now); err != nil {
		return err
	}
	if err := tx.KeepDeleted(account.ID); err != nil || account.Disabled {
		return err
	}
	return s.accountEvent(tx, by, warranty.AccountDisabled, account.ID, now)
}

// EnableUser enables a disabled account for the operator, also one that was deleted and is not erased yet.
// What ended with it stays ended; only hand-over codes, which customers have, work again.
func (s *Service) EnableUser(ctx context.Context, name string) error {
	return s.enabling(func() error {
		return s.operate(ctx, name, func(tx *store.Tx, account store.Account, now time.Time) error {
			return s.enable(tx, operator, account, now)
		})
	})
}

// enable enables a locked account.
func (s *Service) enable(tx *store.Tx, by warranty.Principal, account store.Account, now time.Time) error {
	if !account.Disabled {
		return nil
	}
	switch e, err := tx.LockErasure(account.ID); {
	case err == nil && e.Started:
		return warranty.Refuse(warranty.InvalidTransition, "This account is being erased and cannot be enabled.")
	case err != nil && !errors.Is(err, warranty.ErrNotFound):
		return err
	}
	if err := tx.DropErasure(account.ID); err != nil {
		return err
	}
	err := tx.EnableUser(account.ID)
	if errors.Is(err, warranty.ErrNotFound) {
		return warranty.Refuse(warranty.RoleNotAllowed, "This account was set aside and cannot be enabled.")
	}
	if err != nil {
		return err
	}
	if err := s.reclaimDomains(tx, by, account.ID); err != nil {
		return err
	}
	return s.accountEvent(tx, by, warranty.AccountEnabled, account.ID, now)
}

// SetAdmin grants or revokes access to the admin page.
func (s *Service) SetAdmin(ctx context.Context, email string, admin bool) error {
	return s.operate(ctx, email, func(tx *store.Tx, account store.Account, now time.Time) error {
		if account.Kind != warranty.PersonKind {
			return warranty.ErrNotFound
		}
		if account.Admin == admin {
			return nil
		}
		if admin && (account.Disabled || !account.EmailVerified) {
			return warranty.Refuse(warranty.RoleNotAllowed,
				"An administrator needs an enabled account with a verified address.")
		}
		if err := tx.SetAdmin(account.ID, admin, now); err != nil {
			return err
		}
		action := warranty.AccountAdminGranted
		if !admin {
			action = warranty.AccountAdminRevoked
		}
		return s.operatorEvent(tx, action, account.ID, now)
	})
}

// UserTokens lists the tokens and connected apps of an account for the operator, newest first.
func (s *Service) UserTokens(ctx context.Context, name string) ([]warranty.Token, error) {
	account, err := s.accountOf(ctx, name)
	if err != nil {
		return nil, err
	}
	const limit = 100
	var all []warranty.Token
	for page := 1; ; page++ {
		list, total, err := s.Store.TokensAndApps(ctx, account.ID, warranty.Paging{Page: page, Limit: limit}, s.today())
		if err != nil {
			return nil, err
		}
		for i := range list {
			list[i].Show(s.now())
		}
		if all = append(all, list...); len(list) < limit || int64(len(all)) >= total {
			return all, nil
		}
	}
}

// RevokeUserToken revokes one token or connected app of an account for the operator.
func (s *Service) RevokeUserToken(ctx context.Context, name string, id warranty.ID) error {
	return s.operate(ctx, name, func(tx *store.Tx, account store.Account, now time.Time) error {
		token, err := tx.LockTokenOrApp(account.ID, id)
		if errors.Is(err, warranty.ErrNotFound) {
			err = warranty.Refuse(warranty.NotFound, "The account has no such token.")
		}
		if err != nil {
			return err
		}
		if err := tx.RevokeToken(id, now); err != nil || token.RevokedAt != nil {
			return err
		}
		return s.operatorEventOn(tx, id, warranty.TokenWasRevoked, id, now)
	})
}

// operate runs a transaction of the operator on a locked account.
func (s *Service) operate(
	ctx context.Context, name string, fn func(*store.Tx, store.Account, time.Time) error,
) error {
	found, err := s.accountOf(ctx, name)
	if err != nil {
		return err
	}
	now := s.now()
	return s.Store.Write(ctx, func(tx *store.Tx) error {
		account, err := tx.LockUser(found.ID)
		if err != nil {
			return err
		}
		return fn(tx, account, now)
	})
}

// operator is the actor of the operator's events.
var operator = warranty.Principal{User: warranty.User{Name: store.OperatorName}, Door: warranty.DoorOperator}

// operatorEvent adds an event of a command to the history of an account.
func (s *Service) operatorEvent(tx *store.Tx, action warranty.Action, account warranty.ID, now time.Time) error {
	return s.accountEvent(tx, operator, action, account, now)
}

// accountEvent adds an event to the history of an account.
func (s *Service) accountEvent(
	tx *store.Tx, by warranty.Principal, action warranty.Action, account warranty.ID, now time.Time,
) error {
	return tx.InsertEvent(account, s.event(by, action, account, now))
}

// operatorEventOn adds an event of the operator to a history.
func (s *Service) operatorEventOn(
	tx *store.Tx, thread warranty.ID, action warranty.Action, subject warranty.ID, now time.Time,
) error {
	return tx.InsertEvent(thread, s.event(operator, action, subject, now))
}

// SetPassword resets a password for the operator. It ends all sessions and emailed codes and, unless
// keepTokens is set, all tokens, calendar feeds, invitations and open transfers. It does not verify
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
		if _, err := lockWithOrganizations(tx, account.ID); err != nil {
			return err
		}
		if err := tx.SetPassword(account.ID, hash); err != nil {
			return err
		}
		if keepTokens {
			if err := tx.DeleteSessions(account.ID); err != nil {
				return err
			}
			if err := tx.DeleteCodes(account.ID); err != nil {
				return err
			}
		} else if err := s.endCredentials(tx, operator, account.User, true, now); err != nil {
			return err
		}
		if err := s.operatorEvent(tx, warranty.AccountPasswordSet, account.ID, now); err != nil {
			return err
		}
		operator := warranty.Principal{}
		circumstances := s.circumstances(operator, now)
		if !keepTokens {
			if err := s.tellAdmins(tx, operator, account.User, circumstances, mail.Texts.MemberReset); err != nil {
				return err
			}
		}
		return s.notify(tx, operator, account.User, func(t mail.Texts) mail.Message {
			return t.PasswordSetByOperator(account.Email, account.Name, circumstances)
		})
	})
}
