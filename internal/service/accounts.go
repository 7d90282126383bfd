package service

import (
	"context"
	"errors"
	"time"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// Register makes an account, mails a code that verifies its address, and signs in.
func (s *Service) Register(ctx context.Context, p warranty.Principal, in warranty.Register) (warranty.Session, error) {
	if err := in.Check(); err != nil {
		return warranty.Session{}, err
	}
	if err := s.Throttle(ctx, SignUpAttempts, p.Address); err != nil {
		return warranty.Session{}, err
	}
	if err := s.refuseClosed(ctx); err != nil {
		return warranty.Session{}, err
	}
	hash, err := s.passwords.hash(ctx, s.PasswordCost, in.Password, s.Random)
	if err != nil {
		return warranty.Session{}, err
	}
	user := warranty.User{ID: s.NewID(), Name: in.Name, Email: in.Email, CreatedAt: s.now()}
	session, err := s.newSession(user, p.Door)
	if err != nil {
		return warranty.Session{}, err
	}
	code, err := s.newCode(store.ForVerification, user, warranty.VerifyLifetime)
	if err != nil {
		return warranty.Session{}, err
	}
	err = s.Store.Write(ctx, func(tx *store.Tx) error {
		if s.SignupClosed {
			if first, err := tx.ReachMilestone("first account", user.CreatedAt); err != nil || !first {
				return either(err, errSignupClosed)
			}
		}
		if err := tx.InsertUser(user, hash); err != nil {
			return err
		}
		if err := session.insert(tx); err != nil {
			return err
		}
		if _, _, err := tx.RecordDevice(user.ID, deviceHash(p), user.CreatedAt); err != nil {
			return err
		}
		return code.insert(tx)
	})
	if s.Store.IsDuplicate(err) {
		return warranty.Session{}, warranty.Refuse(warranty.AlreadyExists, "This address already has an account. Sign in, or reset the password.")
	}
	s.wakeMail()
	return session.Session, err
}

var errSignupClosed = warranty.Refuse(warranty.RoleNotAllowed, "New accounts are made by the operator here; ask for one.")

// refuseClosed spares the work of a registration that can not succeed. The
// transaction decides again, because two may come at once.
func (s *Service) refuseClosed(ctx context.Context) error {
	if !s.SignupClosed {
		return nil
	}
	has, err := s.Store.HasUsers(ctx)
	if err == nil && has {
		err = errSignupClosed
	}
	return err
}

func either(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// SignOut ends the session that asks.
func (s *Service) SignOut(ctx context.Context, p warranty.Principal, _ warranty.SignOut) (warranty.None, error) {
	err := s.Store.Write(ctx, func(tx *store.Tx) error { return tx.DeleteSession(p.CredentialID) })
	if errors.Is(err, warranty.ErrNotFound) {
		err = nil // it ended while this request was under way, which is all that is asked for
	}
	return warranty.None{}, err
}

// SignOutEverywhere ends every session of the principal, also the one that asks.
func (s *Service) SignOutEverywhere(ctx context.Context, p warranty.Principal) error {
	return s.writeAlone(ctx, p, func(tx *store.Tx, _ store.Account) error { return tx.DeleteSessions(p.User.ID) })
}

// VerifyEmail takes a code that was mailed to the principal's address, and shows the
// person every record that names it as the seller's. It takes a session of the
// account: whoever only reads the mail lends the address to nobody's account.
func (s *Service) VerifyEmail(ctx context.Context, p warranty.Principal, in warranty.VerifyEmail) (warranty.User, error) {
	var user warranty.User
	if err := in.Check(); err != nil {
		return user, err
	}
	now := s.now()
	// The lock on the account waits for creates that looked at it; what they wrote is
	// then there to be linked.
	err := s.writeAlone(ctx, p, func(tx *store.Tx, account store.Account) error {
		id, err := tx.UseCode(warranty.HashCode(in.Code), store.ForVerification, now)
		if err == nil && id != p.User.ID {
			err = warranty.ErrNotFound
		}
		if err != nil {
			return badCode(err)
		}
		if err := tx.VerifyUser(id, now); err != nil {
			return err
		}
		user = account.User
		user.EmailVerified = true
		return s.linkSeller(tx, user, p.Door, now)
	})
	return user, err
}

// linkSeller shows a person the records that name their address, and tells so in
// the history of each.
func (s *Service) linkSeller(tx *store.Tx, user warranty.User, door warranty.Door, now time.Time) error {
	linked, err := tx.LinkSeller(user.ID, user.Email)
	if err != nil {
		return err
	}
	for _, id := range linked {
		e := s.event(warranty.Principal{User: user, Door: door}, warranty.SellerLinked, id, now)
		if err := tx.InsertEvent(id, e, user.ID); err != nil {
			return err
		}
	}
	return nil
}

// SendVerification mails a new code to the principal's address, unless it is verified.
func (s *Service) SendVerification(ctx context.Context, p warranty.Principal, _ warranty.SendVerification) (warranty.None, error) {
	if err := s.throttleCode(ctx, p, store.ForVerification, p.User.Email); err != nil {
		return warranty.None{}, err
	}
	if p.User.EmailVerified {
		return warranty.None{}, nil
	}
	code, err := s.newCode(store.ForVerification, p.User, warranty.VerifyLifetime)
	if err != nil {
		return warranty.None{}, err
	}
	err = s.writeAs(ctx, p, code.insert)
	s.wakeMail()
	return warranty.None{}, err
}

// newSession is a session that is not stored yet.
type newSession struct {
	warranty.Session
	id      warranty.ID
	created time.Time
}

// newSession makes a session; in a browser it lasts longer than in a script.
func (s *Service) newSession(user warranty.User, door warranty.Door) (newSession, error) {
	lifetime := warranty.SessionLifetime
	if door == warranty.DoorWeb {
		lifetime = warranty.WebSessionLifetime
	}
	secret, err := warranty.NewSecret(warranty.SessionSecret, s.Random)
	now := s.now()
	return newSession{id: s.NewID(), created: now,
		Session: warranty.Session{AccessToken: secret, ExpiresAt: now.Add(lifetime), User: user}}, err
}

func (n newSession) insert(tx *store.Tx) error {
	return tx.InsertSession(n.id, n.User.ID, warranty.HashSecret(n.AccessToken), n.created, n.ExpiresAt)
}

// newCode is a one-time code that is not stored yet, and the mail that brings it.
type newCode struct {
	hash    warranty.Hash
	purpose store.Purpose
	user    warranty.ID
	expires time.Time
	mail    *store.Mail
}

func (s *Service) newCode(purpose store.Purpose, user warranty.User, lifetime time.Duration) (newCode, error) {
	code, err := warranty.NewCode(s.Random)
	message := mail.VerifyEmail(user.Email, user.Name, code, s.PublicURL)
	switch purpose {
	case store.ForReset:
		message = mail.ResetPassword(user.Email, user.Name, code, s.PublicURL)
	case store.ForSignIn:
		message = mail.SignInCode(user.Email, user.Name, code, s.PublicURL)
	}
	return newCode{hash: warranty.HashCode(code), purpose: purpose, user: user.ID, expires: s.now().Add(lifetime),
		mail: new(s.outgoing(message))}, err
}

// outgoing is a message as it waits in the out-tray.
func (s *Service) outgoing(m mail.Message) store.Mail {
	return store.Mail{ID: s.NewID(), To: m.To, Subject: m.Subject, Text: m.Text, Code: m.Code}
}

func (n newCode) insert(tx *store.Tx) error {
	if err := tx.InsertCode(n.hash, n.purpose, n.user, n.expires); err != nil || n.mail == nil {
		return err
	}
	return tx.InsertMail(*n.mail)
}

// GetAccount gets the principal's own account.
func (s *Service) GetAccount(ctx context.Context, p warranty.Principal, _ warranty.GetAccount) (warranty.Account, error) {
	a, err := s.Store.Account(ctx, p.User.ID)
	return warranty.Account{User: a.User, Mails: a.Mails}, err
}

// UpdateAccount changes the principal's name and choice of mails.
func (s *Service) UpdateAccount(ctx context.Context, p warranty.Principal, in warranty.UpdateAccount) (warranty.Account, error) {
	var changed warranty.Account
	if err := in.Check(); err != nil {
		return changed, err
	}
	err := s.writeAlone(ctx, p, func(tx *store.Tx, a store.Account) error {
		changed = in.Apply(warranty.Account{User: a.User, Mails: a.Mails})
		return tx.UpdateAccount(changed)
	})
	return changed, err
}
