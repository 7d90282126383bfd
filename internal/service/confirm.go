package service

import (
	"context"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

var errUnconfirmed = warranty.Refuse(warranty.ConfirmationRequired, "Confirm that it is you, then try again.")

// requireConfirmed refuses a session whose person did not prove recently who they are.
func (s *Service) requireConfirmed(p warranty.Principal) error {
	if p.Credential != warranty.BySession || !s.now().Before(p.ConfirmedAt.Add(warranty.ConfirmationLifetime)) {
		return errUnconfirmed
	}
	return nil
}

// requireConfirmedOnWeb is requireConfirmed for what programs may do with a session alone.
func (s *Service) requireConfirmedOnWeb(p warranty.Principal) error {
	if p.Door != warranty.DoorWeb {
		return nil
	}
	return s.requireConfirmed(p)
}

// manageConfirmed is manageOrganization for what a stolen session must not do.
func (s *Service) manageConfirmed(
	ctx context.Context, p warranty.Principal, organization warranty.ID,
	fn func(*store.Tx, warranty.Principal, store.Account) error,
) error {
	acting, err := s.as(ctx, p, organization)
	if err != nil {
		return err
	}
	if err := acting.Account.Require(warranty.Admin); err != nil {
		return err
	}
	if err := s.requireConfirmed(acting); err != nil {
		return err
	}
	return s.manageOrganization(ctx, p, organization, fn)
}

// ConfirmSession confirms the session of the request and gives it a new secret (ADR 72): whoever copied the old one
// has no confirmed session. No write with the old secret commits after the answer.
func (s *Service) ConfirmSession(
	ctx context.Context, p warranty.Principal, in warranty.ConfirmSession,
) (warranty.Session, error) {
	if err := in.Check(); err != nil {
		return warranty.Session{}, err
	}
	isTheirs, err := s.proveAccount(ctx, p, in.Password, in.Code)
	if err != nil {
		return warranty.Session{}, err
	}
	now, step := s.now(), secondStep{TOTP: in.TOTP, RecoveryCode: in.RecoveryCode}
	counted, try, err := s.countConfirmation(ctx, p, step)
	if err != nil {
		return warranty.Session{}, err
	}
	secret, err := warranty.NewSecret(warranty.SessionSecret, s.Random)
	if err != nil {
		return warranty.Session{}, err
	}
	var session warranty.Session
	err = s.writeLocked(ctx, p.Self(), func(tx *store.Tx, account store.Account) error {
		if err := isTheirs(tx, account); err != nil {
			return err
		}
		if account.TwoStep {
			if !counted { // it was turned on meanwhile
				return errSecondStepMissing()
			}
			if _, err := s.checkSecondStep(ctx, tx, p, account, step, now); err != nil {
				return err
			}
		}
		session, err = s.confirmSession(tx, p, secret, now)
		return err
	})
	s.wakeMail()
	if err != nil {
		return warranty.Session{}, s.failedStep(ctx, p, p.User.ID, try, err)
	}
	s.Log.InfoContext(ctx, "session confirmed", "request_id", api.CallerOf(ctx).RequestID, "ip", p.Address,
		"door", p.Door.String(), "user", p.User.ID.String())
	return session, nil
}

// countConfirmation counts the second step of a person who has two-step sign-in, and reports whether it did.
func (s *Service) countConfirmation(
	ctx context.Context, p warranty.Principal, step secondStep,
) (counted bool, try stepTry, err error) {
	account, err := s.Store.Account(ctx, p.User.ID)
	if err != nil || !account.TwoStep {
		return false, 0, err
	}
	if step == (secondStep{}) {
		return false, 0, errSecondStepMissing()
	}
	try, err = s.countSecondStep(ctx, account.ID, step, s.now())
	return true, try, err
}

func errSecondStepMissing() error {
	var c warranty.Checks
	c.Add("totp", "required", "Send either totp or recovery_code.")
	return c.Err()
}
