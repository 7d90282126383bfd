package service

import (
	"context"
	"errors"
	"time"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// secondStep is what a person sends to complete a sign-in, or to confirm a session: one of its fields.
type secondStep struct {
	TOTP, RecoveryCode string
}

// signInBySecondStep completes a sign-in whose first step was right.
func (s *Service) signInBySecondStep(
	ctx context.Context, p warranty.Principal, in warranty.SignIn,
) (warranty.Session, error) {
	now := s.now()
	flow, err := s.flowOf(ctx, p, in.Flow, store.FlowSecondStep, now)
	if err != nil {
		return warranty.Session{}, err
	}
	c, err := s.continuing(p, flow)
	if err != nil {
		return warranty.Session{}, err
	}
	step := secondStep{TOTP: in.TOTP, RecoveryCode: in.RecoveryCode}
	if err := s.countSecondStep(ctx, *flow.User, step, now); err != nil {
		return warranty.Session{}, err
	}
	err = s.Store.Write(ctx, func(tx *store.Tx) error {
		account, err := tx.LockUser(*flow.User)
		if err != nil {
			return err
		}
		if err := tx.UseFlow(flow.Hash, now); err != nil {
			return codeGone(err, errFlow)
		}
		if c.second, err = s.checkSecondStep(tx, account, step, now); err != nil {
			return err
		}
		_, err = c.complete(tx, account.ID)
		return err
	})
	s.wakeMail()
	if err != nil {
		account, _ := s.Store.Account(ctx, *flow.User)
		s.logFailedSignIn(ctx, p, account, "wrong second step")
		return warranty.Session{}, err
	}
	return c.session(ctx)
}

// The tries of second factors that a person has, over all forms and doors. They are only counted after a right first
// factor or in a session, so that strangers lock nobody out.
const (
	totpOfHour     = 10
	totpOfDay      = 30
	recoveryOfHour = 10
)

// budgets returns what a second step counts against.
func (step secondStep) budgets() []factorBudget {
	if step.RecoveryCode != "" {
		return []factorBudget{{store.RecoveryOfHour, recoveryOfHour, time.Hour}}
	}
	return []factorBudget{{store.TOTPOfHour, totpOfHour, time.Hour}, {store.TOTPOfDay, totpOfDay, 24 * time.Hour}}
}

type factorBudget struct {
	what   store.FactorBudget
	tries  int
	period time.Duration
}

// countSecondStep counts a try of a second step before it is checked, in a transaction of its own. checkSecondStep takes
// back a try that was right.
func (s *Service) countSecondStep(ctx context.Context, user warranty.ID, step secondStep, now time.Time) error {
	var refusal *warranty.Error
	err := s.Store.Write(ctx, func(tx *store.Tx) error {
		refusal = nil
		if _, err := tx.LockUser(user); err != nil {
			return err
		}
		for _, b := range step.budgets() {
			tries, since, err := tx.CountFactorTry(user, b.what, now, b.period)
			if err != nil {
				return err
			}
			if tries > b.tries && refusal == nil {
				wait := max(time.Second, since.Add(b.period).Sub(now))
				refusal = warranty.Refuse(warranty.RateLimited,
					"Too many wrong codes were entered for this account. Use a passkey or a recovery code, or try again later.").After(wait)
			}
		}
		return nil
	})
	if err == nil && refusal != nil {
		err = refusal
	}
	return err
}

// checkSecondStep checks and uses the second step of a locked person, and returns which one it was. countSecondStep
// comes first.
func (s *Service) checkSecondStep(
	tx *store.Tx, account store.Account, step secondStep, now time.Time,
) (warranty.SecondFactor, error) {
	var factor warranty.SecondFactor
	var err error
	switch {
	case step.RecoveryCode != "":
		factor, err = warranty.SecondRecoveryCode, s.useRecoveryCode(tx, account, step.RecoveryCode, now)
	default:
		factor, err = warranty.SecondTOTP, s.useTOTP(tx, account, step.TOTP, now)
	}
	if err != nil {
		return "", err
	}
	for _, b := range step.budgets() {
		if err := tx.ReturnFactorTry(account.ID, b.what); err != nil {
			return "", err
		}
	}
	return factor, nil
}

// useRecoveryCode uses a recovery code of a locked person.
func (s *Service) useRecoveryCode(tx *store.Tx, account store.Account, code string, now time.Time) error {
	err := tx.UseRecoveryCode(account.ID, warranty.HashRecoveryCode(code), now)
	if errors.Is(err, warranty.ErrNotFound) {
		err = warranty.WrongCode("recovery_code", "This recovery code is wrong or was used before.")
	}
	return err
}

// useTOTP uses the code of the authenticator app of a locked person.
func (s *Service) useTOTP(_ *store.Tx, _ store.Account, _ string, _ time.Time) error {
	return warranty.WrongCode("totp", "This code is wrong or was used before. Enter the code that the app shows now.")
}
