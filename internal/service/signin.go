package service

import (
	"cmp"
	"context"
	"errors"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

var (
	errSignIn     = warranty.Refuse(warranty.InvalidCredential, "Incorrect email address or password.")
	errSignInCode = warranty.Refuse(warranty.InvalidCredential,
		"The code is wrong, already used or expired. Request a new one.")
)

// SignIn starts a session with a password or an emailed code, or completes a sign-in with its second step. An unknown
// address takes the same time as a wrong password and returns the same error.
func (s *Service) SignIn(ctx context.Context, p warranty.Principal, in warranty.SignIn) (warranty.Session, error) {
	if err := in.CheckWhole(); err != nil {
		return warranty.Session{}, err
	}
	if err := s.throttleSignIn(ctx, p, in); err != nil {
		return warranty.Session{}, err
	}
	if in.Flow != "" {
		return s.signInBySecondStep(ctx, p, in)
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
	if !right {
		s.logFailedSignIn(ctx, p, account, "wrong password")
		return warranty.Session{}, errSignIn
	}
	c, err := s.completing(p, firstFactor{Method: warranty.MethodPassword})
	if err != nil {
		return warranty.Session{}, err
	}
	err = s.Store.Write(ctx, func(tx *store.Tx) error {
		// Hashing is slow: the password may have changed meanwhile.
		now, err := tx.LockUser(account.ID)
		if err != nil {
			return err
		}
		if now.PasswordHash != account.PasswordHash {
			return errSignIn
		}
		_, err = c.complete(tx, account.ID)
		return err
	})
	s.wakeMail()
	if err != nil {
		return warranty.Session{}, err
	}
	return c.session(ctx)
}

// logFailedSignIn logs which account was tried, and from where. It never logs an address
// without an account, because users sometimes type their password there.
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

// signInByCode starts a session with an emailed code. If the address was not verified
// before, this is the first proof of who controls it, and the account starts over.
func (s *Service) signInByCode(
	ctx context.Context, p warranty.Principal, account store.Account, code warranty.Hash,
) (warranty.Session, error) {
	now := s.now()
	owner, err := s.Store.CodeOwner(ctx, code, store.ForSignIn, now)
	if err != nil && !errors.Is(err, warranty.ErrNotFound) {
		return warranty.Session{}, err
	}
	if err != nil || owner != account.ID {
		s.logFailedSignIn(ctx, p, account, "wrong code")
		return warranty.Session{}, errSignInCode
	}
	c, err := s.completing(p, firstFactor{Method: warranty.MethodEmailedCode})
	if err != nil {
		return warranty.Session{}, err
	}
	fresh := s.NewID()
	err = s.Store.Write(ctx, func(tx *store.Tx) error {
		locked, err := lockByCode(tx, account.ID, code, store.ForSignIn, !account.EmailVerified, now)
		if err != nil {
			return codeGone(err, errSignInCode)
		}
		user := locked.User
		if locked.Disabled && !locked.EmailVerified {
			return errSignInCode
		}
		if !locked.EmailVerified {
			if user, err = s.startOver(tx, p, locked, fresh, "", now); err != nil {
				return err
			}
		}
		_, err = c.complete(tx, user.ID)
		return err
	})
	s.wakeMail()
	if err != nil {
		return warranty.Session{}, err
	}
	return c.session(ctx)
}

// lockByCode locks an account and uses a code that was emailed to it. If the credentials of the account end, it also
// locks the organizations of the person.
func lockByCode(
	tx *store.Tx, account warranty.ID, code warranty.Hash, purpose store.Purpose, ends bool, now time.Time,
) (store.Account, error) {
	if ends {
		if _, err := lockWithOrganizations(tx, account); err != nil {
			return store.Account{}, err
		}
	}
	locked, err := tx.LockUser(account)
	if err != nil {
		return locked, err
	}
	id, err := tx.UseCode(code, purpose, now)
	if err == nil && id != account {
		err = warranty.ErrNotFound
	}
	return locked, err
}

// codeGone returns refusal if another request has used the code meanwhile.
func codeGone(err, refusal error) error {
	if errors.Is(err, warranty.ErrNotFound) {
		return refusal
	}
	return err
}

// RequestSignInCode emails a sign-in code if the address has an account.
func (s *Service) RequestSignInCode(
	ctx context.Context, p warranty.Principal, in warranty.RequestSignInCode,
) (warranty.None, error) {
	if err := in.Check(); err != nil {
		return warranty.None{}, err
	}
	return warranty.None{}, s.mailCode(ctx, p, store.ForSignIn, in.Email, warranty.SignInCodeLifetime)
}

// mailCode emails a code to an address if it has an account. Neither the response nor
// the time reveals whether it has: for an unknown address it stores a code that is never
// sent.
func (s *Service) mailCode(
	ctx context.Context, p warranty.Principal, purpose store.Purpose, email string, lifetime time.Duration,
) error {
	if err := s.throttleCode(ctx, p, purpose, email); err != nil {
		return err
	}
	account, err := s.Store.AccountByEmail(ctx, email)
	if err != nil && !errors.Is(err, warranty.ErrNotFound) {
		return err
	}
	code, err := s.newCode(purpose, account.User, account.Locale.Or(p.Locale), lifetime)
	if err != nil {
		return err
	}
	closed, err := s.takesNoCode(ctx, purpose, account)
	if err != nil {
		return err
	}
	if account.ID.IsZero() || closed {
		code.user, code.mail = s.NewID(), nil
	}
	err = s.Store.Write(ctx, code.insert)
	s.wakeMail()
	return err
}

// takesNoCode reports whether a code does nothing for an account: it is disabled, and its person cannot restore it with
// a sign-in.
func (s *Service) takesNoCode(ctx context.Context, purpose store.Purpose, account store.Account) (bool, error) {
	if !account.Disabled || purpose != store.ForSignIn || !account.EmailVerified {
		return account.Disabled, nil
	}
	closing, err := s.Store.Closing(ctx, account.ID, s.now())
	return !closing, err
}

// throttleSignIn counts an attempt against the caller's network and against the account.
// A browser that has signed in to the account before has its own window, so that others
// who guess passwords cannot lock the user out. Emailed codes cannot be guessed, so they
// are not counted against the account, and second steps have their own tries.
func (s *Service) throttleSignIn(ctx context.Context, p warranty.Principal, in warranty.SignIn) error {
	if err := s.throttle(ctx, SignInAttempts, p.Address); err != nil || in.Code != "" || in.Flow != "" {
		return err
	}
	return s.orKnownDevice(ctx, p, in.Email, s.throttle(ctx, AccountAttempts, in.Email), func() error {
		return s.throttle(ctx, AccountAttempts, in.Email+" "+p.Device)
	})
}

// throttleCode counts a request for an emailed code against the caller's network, the address and purpose, and
// the mailbox.
func (s *Service) throttleCode(ctx context.Context, p warranty.Principal, purpose store.Purpose, email string) error {
	if err := s.throttle(ctx, CodeRequests, p.Address); err != nil {
		return err
	}
	return s.throttleAddress(ctx, p, purpose, email)
}

// throttleAddress is throttleCode without the network.
func (s *Service) throttleAddress(ctx context.Context, p warranty.Principal, purpose store.Purpose, email string) error {
	if err := s.throttle(ctx, CodeMails, purpose.String()+" "+warranty.Mailbox(email)); err != nil {
		return err
	}
	return s.throttleMailbox(ctx, p, email)
}

// throttleMailbox counts a code of any kind against the day of its mailbox. A browser that has signed in to the
// account before has its own window, so that others who ask for codes cannot keep the user out.
func (s *Service) throttleMailbox(ctx context.Context, p warranty.Principal, email string) error {
	mailbox := warranty.Mailbox(email)
	return s.orKnownDevice(ctx, p, email, s.throttle(ctx, CodeMailsOfDay, mailbox), func() error {
		return s.throttle(ctx, CodeMailsOfDay, mailbox+" "+p.Device)
	})
}

// orKnownDevice returns a refusal, or what again returns if the browser has signed in to the account before.
func (s *Service) orKnownDevice(
	ctx context.Context, p warranty.Principal, email string, refusal error, again func() error,
) error {
	if refusal == nil || p.Device == "" {
		return refusal
	}
	known, err := s.Store.KnowsDevice(ctx, email, deviceHash(p))
	if err != nil || !known {
		return cmp.Or[error](err, refusal)
	}
	return again()
}
