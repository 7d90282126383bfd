package service

import (
	"context"
	"slices"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/identity"
	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// securityOperations binds the operations on second factors.
func (s *Service) securityOperations() []api.Bound {
	return []api.Bound{
		api.Bind(api.GetSecurity, s.GetSecurity),
		api.Bind(api.UpdateSecurity, s.UpdateSecurity),
		api.Bind(api.AddTOTP, s.AddTOTP),
		api.Bind(api.ConfirmTOTP, s.ConfirmTOTP),
		api.Bind(api.RemoveTOTP, s.RemoveTOTP),
		api.Bind(api.CreateRecoveryCodes, s.CreateRecoveryCodes),
	}
}

// The people of whom the service requires two-step sign-in.
const (
	TwoStepOfOperators = "operators"
	TwoStepOfAll       = "all"
)

// requiresTwoStep reports whether the service requires two-step sign-in of a person.
func (s *Service) requiresTwoStep(admin bool) bool {
	return s.RequireTwoStep == TwoStepOfAll || s.RequireTwoStep == TwoStepOfOperators && admin
}

// GetSecurity returns what the person has beside the first step of a sign-in.
func (s *Service) GetSecurity(
	ctx context.Context, p warranty.Principal, _ warranty.GetSecurity,
) (warranty.Security, error) {
	sec, err := s.Store.Security(ctx, p.User.ID)
	return s.shown(sec, p), err
}

// shown adds what the store does not know.
func (s *Service) shown(sec warranty.Security, p warranty.Principal) warranty.Security {
	sec.TwoStepRequired, sec.TOTPAvailable = s.requiresTwoStep(p.Admin), !s.Secrets.IsZero()
	return sec
}

// UpdateSecurity turns two-step sign-in of the person on or off, in a confirmed session. Setting what it is already
// changes nothing.
func (s *Service) UpdateSecurity(
	ctx context.Context, p warranty.Principal, in warranty.UpdateSecurity,
) (warranty.SecurityChange, error) {
	if err := in.Check(); err != nil {
		return warranty.SecurityChange{}, err
	}
	if err := s.requireConfirmed(p); err != nil {
		return warranty.SecurityChange{}, err
	}
	codes, hashes, err := identity.NewRecoveryCodes()
	if err != nil {
		return warranty.SecurityChange{}, err
	}
	now, revoke, changed := s.now(), in.RevokeTokens != nil && *in.RevokeTokens, false
	out := warranty.SecurityChange{Codes: []string{}}
	err = s.writeLocked(ctx, p.Self(), func(tx *store.Tx, account store.Account) error {
		if changed = account.TwoStep != *in.TwoStep; changed {
			if err := s.switchTwoStep(tx, p, account, hashes, now); err != nil {
				return err
			}
			if err := s.endOthers(tx, p, account, revoke, now); err != nil {
				return err
			}
		}
		sec, err := tx.Security(account.ID)
		out.Security = s.shown(sec, p)
		return err
	})
	s.wakeMail()
	if err != nil {
		return warranty.SecurityChange{}, err
	}
	switch {
	case changed && *in.TwoStep:
		out.Codes = codes
		s.logEnd(ctx, p, p.User.ID, "two-step sign-in turned on")
	case changed:
		s.logEnd(ctx, p, p.User.ID, "two-step sign-in turned off")
	}
	return out, nil
}

// switchTwoStep turns two-step sign-in of a locked person on, with recovery codes, or off.
func (s *Service) switchTwoStep(
	tx *store.Tx, p warranty.Principal, account store.Account, codes []warranty.Hash, now time.Time,
) error {
	message, since := mail.Texts.TwoStepOff, (*time.Time)(nil)
	if account.TwoStep {
		if s.requiresTwoStep(account.Admin) {
			return warranty.Refuse(warranty.TwoStepRequired, "This service requires two-step sign-in of you.")
		}
		if err := removeTwoStep(tx, account.ID); err != nil {
			return err
		}
	} else {
		if err := s.requireFactor(tx, account, warranty.Refuse(warranty.InvalidTransition,
			"Add an authenticator app or a passkey first.")); err != nil {
			return err
		}
		if err := replaceRecoveryCodes(tx, account.ID, codes, now); err != nil {
			return err
		}
		message, since = mail.Texts.TwoStepOn, &now
	}
	if err := tx.SetTwoStep(account.ID, since); err != nil {
		return err
	}
	return s.notify(tx, p, account.User, func(t mail.Texts) mail.Message {
		return message(t, account.Email, account.Name, s.circumstances(p, now))
	})
}

// removeTwoStep removes what only two-step sign-in uses. Passkeys also sign in alone, so they stay.
func removeTwoStep(tx *store.Tx, user warranty.ID) error {
	if _, err := tx.DeleteTOTP(user); err != nil {
		return err
	}
	return tx.DeleteRecoveryCodes(user)
}

// requireFactor returns refusal unless a locked person has a passkey or an authenticator app. Recovery codes alone do
// not count.
func (s *Service) requireFactor(tx *store.Tx, account store.Account, refusal error) error {
	factors, err := tx.SecondFactors(account.ID)
	if err != nil {
		return err
	}
	if slices.Contains(factors, warranty.SecondPasskey) || slices.Contains(factors, warranty.SecondTOTP) {
		return nil
	}
	return refusal
}

// CreateRecoveryCodes makes new recovery codes for a person with two-step sign-in, in a confirmed session. The old
// ones end.
func (s *Service) CreateRecoveryCodes(
	ctx context.Context, p warranty.Principal, _ warranty.CreateRecoveryCodes,
) (warranty.RecoveryCodes, error) {
	if err := s.requireConfirmed(p); err != nil {
		return warranty.RecoveryCodes{}, err
	}
	codes, hashes, err := identity.NewRecoveryCodes()
	if err != nil {
		return warranty.RecoveryCodes{}, err
	}
	now := s.now()
	err = s.writeLocked(ctx, p.Self(), func(tx *store.Tx, account store.Account) error {
		if !account.TwoStep {
			return warranty.Refuse(warranty.InvalidTransition, "Turn on two-step sign-in first: it comes with recovery codes.")
		}
		if err := replaceRecoveryCodes(tx, account.ID, hashes, now); err != nil {
			return err
		}
		return s.notify(tx, p, account.User, func(t mail.Texts) mail.Message {
			return t.RecoveryCodesMade(account.Email, account.Name, s.circumstances(p, now))
		})
	})
	s.wakeMail()
	if err != nil {
		return warranty.RecoveryCodes{}, err
	}
	s.logEnd(ctx, p, p.User.ID, "recovery codes made")
	return warranty.RecoveryCodes{Codes: codes}, nil
}

// replaceRecoveryCodes gives a locked person new recovery codes.
func replaceRecoveryCodes(tx *store.Tx, user warranty.ID, codes []warranty.Hash, now time.Time) error {
	if err := tx.DeleteRecoveryCodes(user); err != nil {
		return err
	}
	for _, code := range codes {
		if err := tx.InsertRecoveryCode(user, code, now); err != nil {
			return err
		}
	}
	return nil
}

// ResetSecondFactors removes the second factors of a person for the operator: the only way for someone who has lost
// all of them and the recovery codes. It ends their sessions and emailed codes; identities, tokens and apps stay.
func (s *Service) ResetSecondFactors(ctx context.Context, email string) error {
	err := s.operate(ctx, email, func(tx *store.Tx, account store.Account, now time.Time) error {
		if account.Kind != warranty.PersonKind {
			return warranty.ErrNotFound
		}
		if err := tx.DeleteSessions(account.ID); err != nil {
			return err
		}
		if err := tx.DeleteCodes(account.ID); err != nil {
			return err
		}
		if err := tx.DeleteSecondFactors(account.ID); err != nil {
			return err
		}
		if err := s.operatorEvent(tx, warranty.AccountFactorsReset, account.ID, now); err != nil {
			return err
		}
		by := warranty.Principal{}
		return s.notify(tx, by, account.User, func(t mail.Texts) mail.Message {
			return t.FactorsReset(account.Email, account.Name, s.circumstances(by, now))
		})
	})
	s.wakeMail()
	return err
}
