package service

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// RequestPasswordReset emails a reset code if the address has an account.
func (s *Service) RequestPasswordReset(
	ctx context.Context, p warranty.Principal, in warranty.RequestPasswordReset,
) (warranty.None, error) {
	if err := in.Check(); err != nil {
		return warranty.None{}, err
	}
	return warranty.None{}, s.mailCode(ctx, p, store.ForReset, in.Email, warranty.ResetLifetime)
}

// ResetPassword sets a new password with an emailed code and ends all credentials of the
// account. It signs nobody in, and second factors stay. The code proves control of the mailbox, so the address becomes
// verified. If it was not verified before, the account starts over.
func (s *Service) ResetPassword(
	ctx context.Context, p warranty.Principal, in warranty.ResetPassword,
) (warranty.None, error) {
	if err := in.Check(); err != nil {
		return warranty.None{}, err
	}
	if err := s.throttle(ctx, CodeRequests, p.Address); err != nil {
		return warranty.None{}, err
	}
	now, code := s.now(), warranty.HashCode(in.Code)
	owner, err := s.Store.CodeOwner(ctx, code, store.ForReset, now)
	if err != nil {
		return warranty.None{}, badCode(err)
	}
	account, err := s.Store.Account(ctx, owner)
	if err != nil {
		return warranty.None{}, badCode(err)
	}
	if err := warranty.CheckPassword("password", in.Password, account.User); err != nil {
		return warranty.None{}, err
	}
	hash, err := s.passwords.hash(ctx, s.PasswordCost, in.Password, s.Random)
	if err != nil {
		return warranty.None{}, err
	}
	fresh := s.NewID()
	err = s.Store.Write(ctx, func(tx *store.Tx) error {
		locked, err := lockByCode(tx, owner, code, store.ForReset, true, now)
		if err == nil && locked.Disabled {
			err = warranty.ErrNotFound
		}
		if err != nil {
			return badCode(err)
		}
		user := locked.User
		if locked.EmailVerified {
			if err := tx.SetPassword(user.ID, hash); err != nil {
				return err
			}
			if err := s.endCredentials(tx, byHolder(user, p), user, true, now); err != nil {
				return err
			}
			if err := s.tellAdmins(tx, p, user, s.circumstances(p, now), mail.Texts.MemberReset); err != nil {
				return err
			}
		} else if user, err = s.startOver(tx, p, locked, fresh, hash, now); err != nil {
			return err
		}
		return s.notify(tx, p, user, func(t mail.Texts) mail.Message {
			return t.PasswordWasReset(user.Email, user.Name, s.circumstances(p, now))
		})
	})
	s.wakeMail()
	if err == nil {
		s.logEnd(ctx, p, account.ID, "password reset")
	}
	return warranty.None{}, err
}

// startOver moves the address of a locked, unverified account to a new account: the
// caller controls the mailbox, and whoever registered the old account never proved it.
// The old account's records are set aside, and the new account can restore them
// (ADR 16).
func (s *Service) startOver(
	tx *store.Tx, p warranty.Principal, old store.Account, id warranty.ID, hash string, now time.Time,
) (warranty.User, error) {
	name, _, _ := strings.Cut(old.Email, "@")
	user := warranty.User{ID: id, Name: name, Email: old.Email, EmailVerified: true, CreatedAt: now}
	if err := s.endCredentials(tx, byHolder(old.User, p), old.User, true, now); err != nil {
		return user, err
	}
	if err := tx.SetAside(old.ID, id, now); err != nil {
		return user, err
	}
	return user, insertUser(tx, p, user, hash)
}

// HasPassword reports whether the person has a password. Without one, they sign in with emailed codes, and set
// one by a password reset.
func (s *Service) HasPassword(ctx context.Context, p warranty.Principal) (bool, error) {
	account, err := s.Store.Account(ctx, p.User.ID)
	return account.PasswordHash != "", err
}

// ChangePassword sets a new password, ends all other sessions and emailed codes, and gives the session of the request a
// new secret. Tokens, connected apps and calendar feeds keep working unless in.RevokeTokens is set.
func (s *Service) ChangePassword(
	ctx context.Context, p warranty.Principal, in warranty.ChangePassword,
) (warranty.Session, error) {
	if err := in.Check(); err != nil {
		return warranty.Session{}, err
	}
	// A separate window, so that failed sign-ins by others do not block a signed-in user.
	if err := s.throttle(ctx, AccountAttempts, "signed in "+p.User.ID.String()); err != nil {
		return warranty.Session{}, err
	}
	account, err := s.Store.Account(ctx, p.User.ID)
	if err != nil {
		return warranty.Session{}, err
	}
	if err := warranty.CheckPassword("new_password", in.NewPassword, account.User); err != nil {
		return warranty.Session{}, err
	}
	right, err := s.passwords.verify(ctx, s.PasswordCost, account.PasswordHash, in.CurrentPassword)
	if err != nil || !right {
		return warranty.Session{}, cmp.Or[error](err,
			warranty.Refuse(warranty.InvalidCredential, "The current password is wrong."))
	}
	hash, err := s.passwords.hash(ctx, s.PasswordCost, in.NewPassword, s.Random)
	if err != nil {
		return warranty.Session{}, err
	}
	secret, err := warranty.NewSecret(warranty.SessionSecret, s.Random)
	if err != nil {
		return warranty.Session{}, err
	}
	var session warranty.Session
	now, revoke := s.now(), in.RevokeTokens != nil && *in.RevokeTokens
	err = s.writeLocked(ctx, p.Self(), func(tx *store.Tx, account store.Account) error {
		if err := tx.SetPassword(p.User.ID, hash); err != nil {
			return err
		}
		if err := s.endOthers(tx, p, account, revoke, now); err != nil {
			return err
		}
		var err error
		if session, err = s.renewSession(tx, p, secret); err != nil {
			return err
		}
		return s.notify(tx, p, account.User, func(t mail.Texts) mail.Message {
			return t.PasswordChanged(account.Email, account.Name, s.circumstances(p, now))
		})
	})
	s.wakeMail()
	if err == nil {
		s.logEnd(ctx, p, p.User.ID, "password changed")
	}
	return session, err
}

// SetAside counts the warranties that were set aside when the principal's account
// started over, and that the principal can restore.
func (s *Service) SetAside(ctx context.Context, p warranty.Principal) (int64, error) {
	return s.Store.SetAsideWarranties(ctx, p.Account.ID)
}

// RestoreSetAside moves these warranties to the principal's account.
func (s *Service) RestoreSetAside(ctx context.Context, p warranty.Principal) (int, error) {
	moved := 0
	err := s.writeLocked(ctx, p, func(tx *store.Tx, _ store.Account) (err error) {
		moved, err = tx.RestoreSetAside(p.Account.ID)
		return err
	})
	return moved, err
}

func badCode(err error) error {
	if !errors.Is(err, warranty.ErrNotFound) {
		return err
	}
	var c warranty.Checks
	c.Add("code", "invalid_code", "The code is wrong, already used or expired. Request a new one.")
	return c.Err()
}
