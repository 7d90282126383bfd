package service

import (
	"cmp"
	"context"
	"errors"
	"time"

	"warranty.example/svc/internal/identity"
	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

var (
	errTOTPOff = warranty.Refuse(warranty.RoleNotAllowed,
		"Authenticator apps are off. The administrator of this service can turn them on with --secrets-key.")
	errNoPendingTOTP = warranty.Refuse(warranty.InvalidTransition,
		"No authenticator app is being added, or it was begun more than an hour ago. Start again.")
)

// AddTOTP makes the secret of an authenticator app, in a confirmed session. It is not a factor before ConfirmTOTP gets a
// code of the app; an app that the person has stays until then. Nothing returns the secret again.
func (s *Service) AddTOTP(ctx context.Context, p warranty.Principal, _ warranty.AddTOTP) (warranty.NewTOTP, error) {
	if err := s.requireConfirmed(p); err != nil {
		return warranty.NewTOTP{}, err
	}
	secret := identity.NewTOTPSecret()
	sealed, err := s.Secrets.Seal(identity.TOTPSecret, p.User.ID.String(), secret)
	if errors.Is(err, identity.ErrSealed) {
		err = errTOTPOff
	}
	if err != nil {
		return warranty.NewTOTP{}, err
	}
	now := s.now()
	err = s.writeLocked(ctx, p.Self(), func(tx *store.Tx, account store.Account) error {
		return tx.InsertPendingTOTP(account.ID, sealed, now)
	})
	if err != nil {
		return warranty.NewTOTP{}, err
	}
	issuer := cmp.Or(s.Name(ctx), "Warranty Records")
	return warranty.NewTOTP{
		Secret: identity.TOTPText(secret),
		URL:    identity.TOTPURL(issuer, p.User.Email, secret),
	}, nil
}

// ConfirmTOTP adds the authenticator app that the person began to add, with its first code, in a confirmed session.
// Tries are counted with those of all second steps.
func (s *Service) ConfirmTOTP(
	ctx context.Context, p warranty.Principal, in warranty.ConfirmTOTP,
) (warranty.Security, error) {
	if err := in.Check(); err != nil {
		return warranty.Security{}, err
	}
	if err := s.requireConfirmed(p); err != nil {
		return warranty.Security{}, err
	}
	now, step := s.now(), secondStep{TOTP: in.Code}
	pending, err := s.Store.HasPendingTOTP(ctx, p.User.ID, now.Add(-warranty.TOTPPendingLifetime))
	if err != nil {
		return warranty.Security{}, err
	}
	if !pending {
		return warranty.Security{}, errNoPendingTOTP
	}
	try, err := s.countSecondStep(ctx, p.User.ID, step, now)
	if err != nil {
		return warranty.Security{}, err
	}
	var sec warranty.Security
	err = s.writeLocked(ctx, p.Self(), func(tx *store.Tx, account store.Account) error {
		if err := s.enrollTOTP(tx, account.ID, in.Code, now); err != nil {
			return err
		}
		if err := returnTry(tx, account.ID, step); err != nil {
			return err
		}
		if in.EndOthers != nil && *in.EndOthers {
			if err := endSessions(tx, account.ID, p.CredentialID); err != nil {
				return err
			}
		}
		if sec, err = tx.Security(account.ID); err != nil {
			return err
		}
		return s.notify(tx, p, account.User, func(t mail.Texts) mail.Message {
			return t.AuthenticatorAdded(account.Email, account.Name, s.circumstances(p, now))
		})
	})
	if err != nil {
		return warranty.Security{}, s.failedStep(ctx, p, p.User.ID, try, err)
	}
	s.wakeMail()
	s.logEnd(ctx, p, p.User.ID, "authenticator app added")
	return s.shown(sec, p), nil
}

// enrollTOTP makes the app that a locked person is adding a factor if the code is right. The code is used.
func (s *Service) enrollTOTP(tx *store.Tx, user warranty.ID, code string, now time.Time) error {
	sealed, err := tx.PendingTOTP(user, now.Add(-warranty.TOTPPendingLifetime))
	if errors.Is(err, warranty.ErrNotFound) {
		return errNoPendingTOTP
	}
	if err != nil {
		return err
	}
	secret, err := s.Secrets.Open(identity.TOTPSecret, user.String(), sealed)
	if err != nil { // sealed with an earlier key
		return errNoPendingTOTP
	}
	step, ok := identity.Step(secret, code, now)
	if !ok {
		return warranty.WrongCode("code", "This code is wrong. Enter the code that the app shows now.")
	}
	return tx.ConfirmTOTP(user, step, now)
}

// RemoveTOTP removes the authenticator app of the person, in a confirmed session. The last factor goes only with two-
// step sign-in.
func (s *Service) RemoveTOTP(ctx context.Context, p warranty.Principal, in warranty.RemoveTOTP) (warranty.None, error) {
	if err := s.requireConfirmed(p); err != nil {
		return warranty.None{}, err
	}
	now := s.now()
	err := s.writeLocked(ctx, p.Self(), func(tx *store.Tx, account store.Account) error {
		found, err := tx.DeleteTOTP(account.ID)
		if err != nil {
			return err
		}
		if !found {
			return warranty.Refuse(warranty.NotFound, "You have no authenticator app.")
		}
		if err := keepsMethod(tx, account); err != nil {
			return err
		}
		if err := s.endOthers(tx, p, account, in.RevokeTokens, now); err != nil {
			return err
		}
		return s.notify(tx, p, account.User, func(t mail.Texts) mail.Message {
			return t.AuthenticatorRemoved(account.Email, account.Name, s.circumstances(p, now))
		})
	})
	s.wakeMail()
	if err == nil {
		s.logEnd(ctx, p, p.User.ID, "authenticator app removed")
	}
	return warranty.None{}, err
}

// useTOTP uses the code of the authenticator app of a locked person.
func (s *Service) useTOTP(ctx context.Context, tx *store.Tx, account store.Account, code string, now time.Time) error {
	wrong := warranty.WrongCode("totp", "This code is wrong or was used before. Enter the code that the app shows now.")
	sealed, err := tx.TOTP(account.ID)
	if errors.Is(err, warranty.ErrNotFound) {
		return wrong
	}
	if err != nil {
		return err
	}
	secret, err := s.Secrets.Open(identity.TOTPSecret, account.ID.String(), sealed)
	if err != nil {
		s.Log.WarnContext(ctx, "the secret of an authenticator app cannot be opened; is it the right --secrets-key?",
			"user", account.ID.String())
		return warranty.WrongCode("totp", "Codes of apps cannot be checked at the moment. Use a recovery code or a passkey.")
	}
	step, ok := identity.Step(secret, code, now)
	if !ok {
		return wrong
	}
	return codeGone(tx.UseTOTP(account.ID, step), wrong)
}

// resealTOTP seals the secret of an authenticator app for the person to whom it was moved: it is bound to its owner.
func (s *Service) resealTOTP(tx *store.Tx, from, to warranty.ID) error {
	sealed, err := tx.TOTP(to)
	if errors.Is(err, warranty.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	secret, err := s.Secrets.Open(identity.TOTPSecret, from.String(), sealed)
	if err != nil {
		return nil //nolint:nilerr // it could not be opened before either; recovery codes are left
	}
	if sealed, err = s.Secrets.Seal(identity.TOTPSecret, to.String(), secret); err != nil {
		return err
	}
	return tx.ResealTOTP(to, sealed)
}
