package service

import (
	"context"
	"errors"
	"time"

	"warranty.example/svc/internal/mail"
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
	try, err := s.countSecondStep(ctx, *flow.User, step, now)
	if err != nil {
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
		if c.second, err = s.checkSecondStep(ctx, tx, p, account, step, now); err != nil {
			return err
		}
		_, err = c.complete(tx, account.ID)
		return err
	})
	s.wakeMail()
	if err != nil {
		account, _ := s.Store.Account(ctx, *flow.User)
		s.logFailedSignIn(ctx, p, account, "wrong second step")
		return warranty.Session{}, s.failedStep(ctx, p, *flow.User, try, err)
	}
	return c.session(ctx)
}

// The tries of second factors that a person has, over all forms and doors. They are only counted after a right first
// factor or in a session, so that strangers lock nobody out.
const (
	totpOfHour     = 10
	totpOfDay      = 30
	recoveryOfHour = 10
	// toldAfter is after how many wrong second steps of a day, of all kinds together, the person gets an email.
	toldAfter = 10
)

// budgets returns what a second step counts against.
func (step secondStep) budgets() []factorBudget {
	const day = 24 * time.Hour
	all := factorBudget{what: store.StepsOfDay, period: day}
	if step.RecoveryCode != "" {
		return []factorBudget{{store.RecoveryOfHour, recoveryOfHour, time.Hour}, all}
	}
	return []factorBudget{{store.TOTPOfHour, totpOfHour, time.Hour}, {store.TOTPOfDay, totpOfDay, day}, all}
}

type factorBudget struct {
	what   store.FactorBudget
	tries  int // 0: they are only counted
	period time.Duration
}

// stepTry is the number of a try among the second steps of a day. Right ones are not counted.
type stepTry int

// countSecondStep counts a try of a second step before it is checked, in a transaction of its own. checkSecondStep takes
// back a try that was right.
func (s *Service) countSecondStep(
	ctx context.Context, user warranty.ID, step secondStep, now time.Time,
) (try stepTry, err error) {
	var refusal *warranty.Error
	err = s.Store.Write(ctx, func(tx *store.Tx) error {
		refusal = nil
		if _, err := tx.LockUser(user); err != nil {
			return err
		}
		for _, b := range step.budgets() {
			tries, since, err := tx.CountFactorTry(user, b.what, now, b.period)
			if err != nil {
				return err
			}
			if b.tries == 0 {
				try = stepTry(tries)
			} else if tries > b.tries { // it is not checked, so it does not count against the others
				wait := max(time.Second, since.Add(b.period).Sub(now))
				refusal = warranty.Refuse(warranty.RateLimited,
					"Too many wrong codes were entered for this account. Use a passkey or a recovery code, or try again later.").After(wait)
				return nil
			}
		}
		return nil
	})
	if err == nil && refusal != nil {
		err = refusal
	}
	return try, err
}

// returnTry takes back the try of a second step that was right.
func returnTry(tx *store.Tx, user warranty.ID, step secondStep) error {
	for _, b := range step.budgets() {
		if err := tx.ReturnFactorTry(user, b.what); err != nil {
			return err
		}
	}
	return nil
}

// failedStep returns the error of a second step. The person gets an email about the tenth wrong one of a day: whoever
// sends them knows the first step.
func (s *Service) failedStep(ctx context.Context, p warranty.Principal, user warranty.ID, try stepTry, err error) error {
	if try != toldAfter || warranty.AsError(err).Code != warranty.InvalidCode {
		return err
	}
	now := s.now()
	failed := s.Store.Write(ctx, func(tx *store.Tx) error {
		account, err := tx.LockUser(user)
		if err != nil {
			return err
		}
		return s.notify(tx, p, account.User, func(t mail.Texts) mail.Message {
			return t.SecondStepsFailed(account.Email, account.Name, toldAfter, s.circumstances(p, now))
		})
	})
	if failed != nil {
		s.Log.ErrorContext(ctx, "the email about wrong second steps was not written", "user", user.String(), "error", failed.Error())
	}
	s.wakeMail()
	return err
}

// checkSecondStep checks and uses the second step of a locked person, and returns which one it was. countSecondStep
// comes first.
func (s *Service) checkSecondStep(
	ctx context.Context, tx *store.Tx, p warranty.Principal, account store.Account, step secondStep, now time.Time,
) (warranty.SecondFactor, error) {
	var factor warranty.SecondFactor
	var err error
	switch {
	case step.RecoveryCode != "":
		factor, err = warranty.SecondRecoveryCode, s.useRecoveryCode(tx, p, account, step.RecoveryCode, now)
	default:
		factor, err = warranty.SecondTOTP, s.useTOTP(ctx, tx, account, step.TOTP, now)
	}
	if err != nil {
		return "", err
	}
	return factor, returnTry(tx, account.ID, step)
}

// useRecoveryCode uses a recovery code of a locked person, who gets an email about it.
func (s *Service) useRecoveryCode(
	tx *store.Tx, p warranty.Principal, account store.Account, code string, now time.Time,
) error {
	err := tx.UseRecoveryCode(account.ID, warranty.HashRecoveryCode(code), now)
	if errors.Is(err, warranty.ErrNotFound) {
		return warranty.WrongCode("recovery_code", "This recovery code is wrong or was used before.")
	}
	if err != nil {
		return err
	}
	sec, err := tx.Security(account.ID)
	if err != nil {
		return err
	}
	return s.notify(tx, p, account.User, func(t mail.Texts) mail.Message {
		return t.RecoveryCodeUsed(account.Email, account.Name, sec.RecoveryCodesLeft, s.circumstances(p, now))
	})
}
