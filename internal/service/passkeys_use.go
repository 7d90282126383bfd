package service

import (
	"context"
	"errors"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/identity"
	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// errPasskey is the answer to everything that is wrong with the answer of a passkey, so that nobody learns which
// passkeys and accounts there are.
var errPasskey = warranty.Refuse(warranty.InvalidCredential,
	"This passkey could not be used. Try again, or sign in another way.")

// PasskeySignIn returns what the sign-in page passes to the browser, in JSON, or "" if there are no passkeys. It writes
// nothing.
func (s *Service) PasskeySignIn(p warranty.Principal) (options string, err error) {
	if s.Passkeys == nil || p.Browser == "" {
		return "", nil
	}
	made, err := s.Passkeys.SignInOptions(p.Browser, s.now())
	return string(made), err
}

// SignInByPasskey signs the person in whose passkey answered the options of the sign-in page.
func (s *Service) SignInByPasskey(ctx context.Context, p warranty.Principal, answer string) (warranty.Session, error) {
	if err := s.throttle(ctx, SignInAttempts, p.Address); err != nil {
		return warranty.Session{}, err
	}
	proven, err := s.provePasskey(ctx, p, identity.SignIn, identity.Bound{Browser: p.Browser}, answer)
	if err != nil {
		return warranty.Session{}, err
	}
	c, err := s.completing(p, firstFactor{Method: warranty.MethodPasskey})
	if err != nil {
		return warranty.Session{}, err
	}
	return s.completeByPasskey(ctx, c, proven, nil)
}

// PasskeySecondStep returns what the page of the second step passes to the browser, in JSON, or "" if the person has no
// passkeys.
func (s *Service) PasskeySecondStep(ctx context.Context, p warranty.Principal, flow string) (options string, err error) {
	user, err := s.userOfFlow(ctx, p, flow)
	if err != nil || s.Passkeys == nil {
		return "", err
	}
	return s.passkeyOptions(ctx, identity.SecondStep, user, func(handle []byte) identity.Bound {
		return identity.Bound{Browser: p.Browser, Handle: handle}
	})
}

// userOfFlow returns who would be signed in by a flow of the browser. It counts no try.
func (s *Service) userOfFlow(ctx context.Context, p warranty.Principal, secret string) (warranty.ID, error) {
	browser, err := browserHash(p)
	if err != nil {
		return warranty.ID{}, errFlow
	}
	flow, err := s.Store.Flow(ctx, warranty.HashSecret(secret), store.FlowSecondStep, browser, s.now())
	if err != nil {
		return warranty.ID{}, codeGone(err, errFlow)
	}
	return *flow.User, nil
}

// SecondStepByPasskey completes a sign-in whose first step was right.
func (s *Service) SecondStepByPasskey(
	ctx context.Context, p warranty.Principal, secret, answer string,
) (warranty.Session, error) {
	if err := s.throttle(ctx, SignInAttempts, p.Address); err != nil {
		return warranty.Session{}, err
	}
	flow, err := s.flowOf(ctx, p, secret, store.FlowSecondStep, s.now())
	if err != nil {
		return warranty.Session{}, err
	}
	handle, err := s.Store.PasskeyHandle(ctx, *flow.User)
	if err != nil {
		return warranty.Session{}, codeGone(err, errPasskey)
	}
	proven, err := s.provePasskey(ctx, p, identity.SecondStep, identity.Bound{Browser: p.Browser, Handle: handle}, answer)
	if err != nil {
		return warranty.Session{}, err
	}
	c, err := s.continuing(p, flow)
	if err != nil {
		return warranty.Session{}, err
	}
	c.second = warranty.SecondPasskey
	return s.completeByPasskey(ctx, c, proven, &flow)
}

// completeByPasskey completes a sign-in with a verified passkey, which is the first step or that of a flow.
func (s *Service) completeByPasskey(
	ctx context.Context, c *completion, proven provenPasskey, flow *store.Flow,
) (warranty.Session, error) {
	now := s.now()
	user := proven.stored.User
	if flow != nil {
		user = *flow.User
	}
	err := s.Store.Write(ctx, func(tx *store.Tx) error {
		account, err := tx.LockUser(user)
		if err != nil {
			return err
		}
		if flow != nil {
			if err := tx.UseFlow(flow.Hash, now); err != nil {
				return err
			}
		}
		if err := proven.use(tx, account.ID, now); err != nil {
			return err
		}
		if _, err = c.complete(tx, account.ID); errors.Is(err, errSignIn) {
			err = errPasskey // a disabled account
		}
		return err
	})
	s.wakeMail()
	if err != nil {
		s.logFailedPasskey(ctx, c.p, user, err)
		return warranty.Session{}, codeGone(err, errPasskey)
	}
	return c.session(ctx)
}

// PasskeyConfirmation returns what the page that asks to confirm passes to the browser, in JSON, or "" if the person has
// no passkeys.
func (s *Service) PasskeyConfirmation(ctx context.Context, p warranty.Principal) (options string, err error) {
	if s.Passkeys == nil || p.Browser == "" {
		return "", nil
	}
	return s.passkeyOptions(ctx, identity.Confirm, p.User.ID, func(handle []byte) identity.Bound {
		return inSession(p, handle)
	})
}

// ConfirmByPasskey is ConfirmSession with a passkey, which is two factors.
func (s *Service) ConfirmByPasskey(ctx context.Context, p warranty.Principal, answer string) (warranty.Session, error) {
	handle, err := s.Store.PasskeyHandle(ctx, p.User.ID)
	if err != nil {
		return warranty.Session{}, err
	}
	proven, err := s.provePasskey(ctx, p, identity.Confirm, inSession(p, handle), answer)
	if err != nil {
		return warranty.Session{}, err
	}
	secret, err := warranty.NewSecret(warranty.SessionSecret, s.Random)
	if err != nil {
		return warranty.Session{}, err
	}
	var session warranty.Session
	now := s.now()
	err = s.writeLocked(ctx, p.Self(), func(tx *store.Tx, account store.Account) (err error) {
		if err := proven.use(tx, account.ID, now); err != nil {
			return err
		}
		session, err = s.confirmSession(tx, p, secret, now)
		return err
	})
	if err != nil {
		return warranty.Session{}, err
	}
	s.logEnd(ctx, p, p.User.ID, "session confirmed", "with", "passkey")
	return session, nil
}

// passkeyOptions returns the options of a ceremony with one of the passkeys of a person, or "" if there are none.
func (s *Service) passkeyOptions(
	ctx context.Context, c identity.Ceremony, user warranty.ID, bound func(handle []byte) identity.Bound,
) (string, error) {
	list, err := s.Store.Passkeys(ctx, user)
	if err != nil || len(list) == 0 {
		return "", err
	}
	options, err := s.Passkeys.RequestOptions(c, bound(list[0].Handle), keysOf(list), s.now())
	return string(options), err
}

// provenPasskey is the right answer of a passkey, which is not used yet.
type provenPasskey struct {
	stored store.Passkey
	now    identity.Passkey
	used   identity.Used
}

// provePasskey verifies the answer of a passkey. Whatever is wrong with it, the error is the same; for an unknown passkey
// it does the same work.
func (s *Service) provePasskey(
	ctx context.Context, p warranty.Principal, c identity.Ceremony, b identity.Bound, answer string,
) (proven provenPasskey, err error) {
	if s.Passkeys == nil {
		return proven, errPasskey
	}
	read, err := s.Passkeys.ReadAssertion(c, b, []byte(answer), s.now())
	if err != nil {
		s.logFailedPasskey(ctx, p, warranty.ID{}, err)
		return proven, errPasskey
	}
	stored, err := s.Store.PasskeyByCredential(ctx, read.ID)
	if err != nil && !errors.Is(err, warranty.ErrNotFound) {
		return proven, err
	}
	var known *identity.Passkey
	if err == nil {
		known = new(keyOf(stored))
	}
	now, err := read.Verify(known)
	if err == nil {
		return provenPasskey{stored, now, read.Used}, nil
	}
	s.logFailedPasskey(ctx, p, stored.User, err)
	if cloned := new(identity.ClonedError); errors.As(err, &cloned) {
		if err := s.tellOfCopy(ctx, p, stored, read.Used); err != nil {
			return proven, err
		}
	}
	return proven, errPasskey
}

// use notes that the passkey of a locked person was used: its challenge works once, and its counter must still be the one
// that was compared.
func (proven provenPasskey) use(tx *store.Tx, user warranty.ID, now time.Time) error {
	first, err := tx.UseOnce(proven.used.Hash, proven.used.Until)
	if err == nil && first {
		err = tx.UsePasskey(user, proven.stored, proven.now.Counter, proven.now.BackedUp, now)
	}
	if err == nil && !first {
		err = errPasskey
	}
	return codeGone(err, errPasskey)
}

// tellOfCopy emails a person whose passkey was copied: its counter did not grow. A challenge makes one email.
func (s *Service) tellOfCopy(ctx context.Context, p warranty.Principal, copied store.Passkey, used identity.Used) error {
	now := s.now()
	err := s.Store.Write(ctx, func(tx *store.Tx) error {
		account, err := tx.LockUser(copied.User)
		if err != nil {
			return codeGone(err, errPasskey)
		}
		if first, err := tx.UseOnce(used.Hash, used.Until); err != nil || !first {
			return err
		}
		return s.notify(tx, p, account.User, func(t mail.Texts) mail.Message {
			return t.PasskeyCopied(account.Email, account.Name, copied.Name, s.circumstances(p, now))
		})
	})
	s.wakeMail()
	return err
}

// logFailedPasskey logs why the answer of a passkey was rejected, which the caller does not learn.
func (s *Service) logFailedPasskey(ctx context.Context, p warranty.Principal, user warranty.ID, why error) {
	attrs := []any{"request_id", api.CallerOf(ctx).RequestID, "ip", p.Address, "door", p.Door.String(),
		"method", string(warranty.MethodPasskey), "reason", why.Error()}
	if !user.IsZero() {
		attrs = append(attrs, "user", user.String())
	}
	s.Log.WarnContext(ctx, "sign-in failed", attrs...)
}
