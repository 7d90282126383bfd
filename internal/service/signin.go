package service

import (
	"context"
	"errors"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

var (
	errSignIn     = warranty.Refuse(warranty.InvalidCredential, "The e-mail address or the password is wrong.")
	errSignInCode = warranty.Refuse(warranty.InvalidCredential, "The code is wrong, already used or expired. Request a new one.")
)

// SignIn opens a session, by a password or by a mailed code. An unknown address
// costs the same work as a wrong password and gets the same answer.
func (s *Service) SignIn(ctx context.Context, p warranty.Principal, in warranty.SignIn) (warranty.Session, error) {
	if err := in.CheckWhole(); err != nil {
		return warranty.Session{}, err
	}
	if err := s.throttleSignIn(ctx, p, in); err != nil {
		return warranty.Session{}, err
	}
	account, err := s.Store.AccountByEmail(ctx, in.Email)
	if err != nil && !errors.Is(err, warranty.ErrNotFound) {
		return warranty.Session{}, err
	}
	if in.Code != "" {
		return s.signInByCode(ctx, p, account, warranty.HashCode(in.Code))
	}
	right, err := s.passwords.verify(ctx, s.PasswordCost, account.PasswordHash, in.Password)
	if err != nil {
		return warranty.Session{}, err
	}
	if !right || account.Disabled {
		s.logFailedSignIn(ctx, p, account, "wrong password")
		return warranty.Session{}, errSignIn
	}
	session, err := s.newSession(account.User, p.Door)
	if err != nil {
		return warranty.Session{}, err
	}
	err = s.Store.Write(ctx, func(tx *store.Tx) error {
		// Looking at a password takes long, and meanwhile there may be another one.
		now, err := tx.LockUser(account.ID)
		if err != nil {
			return err
		}
		if now.PasswordHash != account.PasswordHash || now.Disabled {
			return errSignIn
		}
		if err := session.insert(tx); err != nil {
			return err
		}
		return s.seeDevice(tx, p, now.User, session.created)
	})
	s.wakeMail()
	return session.Session, err
}

// logFailedSignIn lets the operator see which account is attacked, and from where.
// Of an address without an account nothing is logged: people mistype, and some type
// their password there.
func (s *Service) logFailedSignIn(ctx context.Context, p warranty.Principal, account store.Account, reason string) {
	attrs := []any{"request_id", api.CallerOf(ctx).RequestID, "ip", p.Address, "door", p.Door.String()}
	switch {
	case account.ID.IsZero():
		attrs = append(attrs, "reason", "unknown account")
	case account.Disabled:
		attrs = append(attrs, "reason", "account disabled", "user", account.ID.String())
	default:
		attrs = append(attrs, "reason", reason, "user", account.ID.String())
	}
	s.Log.WarnContext(ctx, "sign-in failed", attrs...)
}

// signInByCode opens a session for whoever reads the mailbox. Where the address was
// never verified, that is the first proof of whose it is, and the account starts over.
func (s *Service) signInByCode(ctx context.Context, p warranty.Principal, account store.Account, code warranty.Hash) (warranty.Session, error) {
	now := s.now()
	owner, err := s.Store.CodeOwner(ctx, code, store.ForSignIn, now)
	if err != nil && !errors.Is(err, warranty.ErrNotFound) {
		return warranty.Session{}, err
	}
	if err != nil || owner != account.ID || account.Disabled {
		s.logFailedSignIn(ctx, p, account, "wrong code")
		return warranty.Session{}, errSignInCode
	}
	session, err := s.newSession(account.User, p.Door)
	if err != nil {
		return warranty.Session{}, err
	}
	fresh := s.NewID()
	err = s.Store.Write(ctx, func(tx *store.Tx) error {
		locked, err := lockByCode(tx, account.ID, code, store.ForSignIn, now)
		if err != nil {
			return codeGone(err, errSignInCode)
		}
		session.User = locked.User
		if !locked.EmailVerified {
			if session.User, err = s.startOver(tx, p, locked, fresh, "", now); err != nil {
				return err
			}
		}
		if err := session.insert(tx); err != nil {
			return err
		}
		return s.seeDevice(tx, p, session.User, now)
	})
	s.wakeMail()
	return session.Session, err
}

// lockByCode locks an account and uses a code that was mailed to it.
func lockByCode(tx *store.Tx, account warranty.ID, code warranty.Hash, purpose store.Purpose, now time.Time) (store.Account, error) {
	locked, err := tx.LockUser(account)
	if err != nil {
		return locked, err
	}
	id, err := tx.UseCode(code, purpose, now)
	if err == nil && (id != account || locked.Disabled) {
		err = warranty.ErrNotFound
	}
	return locked, err
}

// codeGone is the refusal of a code that another request has used meanwhile.
func codeGone(err, refusal error) error {
	if errors.Is(err, warranty.ErrNotFound) {
		return refusal
	}
	return err
}

// RequestSignInCode mails a code to sign in with, if the address has an account.
func (s *Service) RequestSignInCode(ctx context.Context, p warranty.Principal, in warranty.RequestSignInCode) (warranty.None, error) {
	if err := in.Check(); err != nil {
		return warranty.None{}, err
	}
	return warranty.None{}, s.mailCode(ctx, p, store.ForSignIn, in.Email, warranty.SignInCodeLifetime)
}

// mailCode mails a code to an address that anyone may name. Whether it has an
// account shows neither in the answer nor in the work: an unknown one gets a code
// that nobody hears of.
func (s *Service) mailCode(ctx context.Context, p warranty.Principal, purpose store.Purpose, email string, lifetime time.Duration) error {
	if err := s.throttleCode(ctx, p, purpose, email); err != nil {
		return err
	}
	account, err := s.Store.AccountByEmail(ctx, email)
	if err != nil && !errors.Is(err, warranty.ErrNotFound) {
		return err
	}
	code, err := s.newCode(purpose, account.User, lifetime)
	if err != nil {
		return err
	}
	if account.ID.IsZero() || account.Disabled {
		code.user, code.mail = s.NewID(), nil
	}
	err = s.Store.Write(ctx, code.insert)
	s.wakeMail()
	return err
}

// throttleSignIn counts an attempt against the caller's network and against the
// account. A browser that has signed in to the account before has a window of its
// own, so that strangers who try passwords do not lock its owner out. A mailed code
// cannot be guessed, so it is not counted against the account: whoever reads the
// mailbox always gets in.
func (s *Service) throttleSignIn(ctx context.Context, p warranty.Principal, in warranty.SignIn) error {
	if err := s.Throttle(ctx, SignInAttempts, p.Address); err != nil || in.Code != "" {
		return err
	}
	refusal := s.Throttle(ctx, AccountAttempts, in.Email)
	if refusal == nil || p.Device == "" {
		return refusal
	}
	known, err := s.Store.KnowsDevice(ctx, in.Email, deviceHash(p))
	if err != nil || !known {
		return either(err, refusal)
	}
	return s.Throttle(ctx, AccountAttempts, in.Email+" "+p.Device)
}

// throttleCode counts a request for a mailed code against the caller's network, and
// against what an address may be mailed for this purpose.
func (s *Service) throttleCode(ctx context.Context, p warranty.Principal, purpose store.Purpose, email string) error {
	if err := s.Throttle(ctx, CodeRequests, p.Address); err != nil {
		return err
	}
	return s.Throttle(ctx, CodeMails, purpose.String()+" "+email)
}
