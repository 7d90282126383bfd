package service

import (
	"context"
	"errors"
	"time"

	"warranty.example/svc/api"
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
		return code.insert(tx)
	})
	if s.Store.IsDuplicate(err) {
		return warranty.Session{}, warranty.Refuse(warranty.AlreadyExists, "This address has an account already; sign in, or reset the password.")
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

var errSignIn = warranty.Refuse(warranty.InvalidCredential, "The e-mail address or the password is wrong.")

// SignIn opens a session. An unknown address costs the same work as a wrong
// password and gets the same answer.
func (s *Service) SignIn(ctx context.Context, p warranty.Principal, in warranty.SignIn) (warranty.Session, error) {
	if err := in.Check(); err != nil {
		return warranty.Session{}, err
	}
	if err := s.throttleAccount(ctx, p, in.Email); err != nil {
		return warranty.Session{}, err
	}
	account, err := s.Store.AccountByEmail(ctx, in.Email)
	if err != nil && !errors.Is(err, warranty.ErrNotFound) {
		return warranty.Session{}, err
	}
	right, err := s.passwords.verify(ctx, s.PasswordCost, account.PasswordHash, in.Password)
	if err != nil {
		return warranty.Session{}, err
	}
	if !right || account.Disabled {
		s.logFailedSignIn(ctx, p, account)
		return warranty.Session{}, errSignIn
	}
	session, err := s.newSession(account.User, p.Door)
	if err != nil {
		return warranty.Session{}, err
	}
	return session.Session, s.Store.Write(ctx, func(tx *store.Tx) error {
		// Looking at a password takes long, and meanwhile there may be another one.
		now, err := tx.LockUser(account.ID)
		if err != nil {
			return err
		}
		if now.PasswordHash != account.PasswordHash || now.Disabled {
			return errSignIn
		}
		return session.insert(tx)
	})
}

// logFailedSignIn lets the operator see which account is attacked, and from where.
// Of an address without an account nothing is logged: people mistype, and some type
// their password there.
func (s *Service) logFailedSignIn(ctx context.Context, p warranty.Principal, account store.Account) {
	attrs := []any{"request_id", api.CallerOf(ctx).RequestID, "ip", p.Address, "door", p.Door.String()}
	switch {
	case account.ID.IsZero():
		attrs = append(attrs, "reason", "unknown account")
	case account.Disabled:
		attrs = append(attrs, "reason", "account disabled", "user", account.ID.String())
	default:
		attrs = append(attrs, "reason", "wrong password", "user", account.ID.String())
	}
	s.Log.WarnContext(ctx, "sign-in failed", attrs...)
}

// throttleAccount counts an attempt against the caller's network and against the account.
func (s *Service) throttleAccount(ctx context.Context, p warranty.Principal, email string) error {
	if err := s.Throttle(ctx, SignInAttempts, p.Address); err != nil {
		return err
	}
	return s.Throttle(ctx, AccountAttempts, email)
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
	return s.writeAs(ctx, p, func(tx *store.Tx) error { return tx.DeleteSessions(p.User.ID) })
}

// VerifyEmail takes a mailed code, and shows the person every record that names
// their address as the seller's.
func (s *Service) VerifyEmail(ctx context.Context, p warranty.Principal, in warranty.VerifyEmail) (warranty.User, error) {
	var user warranty.User
	if err := in.Check(); err != nil {
		return user, err
	}
	now := s.now()
	err := s.Store.Write(ctx, func(tx *store.Tx) error {
		id, err := tx.UseCode(warranty.HashCode(in.Code), store.ForVerification, now)
		if err != nil {
			return badCode(err)
		}
		// The update waits for creates that looked at this account; what they wrote is
		// then there to be linked.
		if err := tx.VerifyUser(id, now); err != nil {
			return err
		}
		account, err := tx.LockUser(id)
		if err != nil {
			return err
		}
		user = account.User
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

func badCode(err error) error {
	if !errors.Is(err, warranty.ErrNotFound) {
		return err
	}
	var c warranty.Checks
	c.Add("code", "invalid_code", "This code is mistyped, used or too old; ask for a new one.")
	return c.Err()
}

// SendVerification mails a new code to the principal's address, unless it is verified.
func (s *Service) SendVerification(ctx context.Context, p warranty.Principal, _ warranty.SendVerification) (warranty.None, error) {
	if err := s.throttleAccount(ctx, p, p.User.Email); err != nil {
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

// RequestPasswordReset mails a code, if the address has an account. Whether it
// has shows neither in the answer nor in the work: an unknown one gets a code
// that nobody hears of.
func (s *Service) RequestPasswordReset(ctx context.Context, p warranty.Principal, in warranty.RequestPasswordReset) (warranty.None, error) {
	if err := in.Check(); err != nil {
		return warranty.None{}, err
	}
	if err := s.throttleAccount(ctx, p, in.Email); err != nil {
		return warranty.None{}, err
	}
	account, err := s.Store.AccountByEmail(ctx, in.Email)
	if err != nil && !errors.Is(err, warranty.ErrNotFound) {
		return warranty.None{}, err
	}
	code, err := s.newCode(store.ForReset, account.User, warranty.ResetLifetime)
	if err != nil {
		return warranty.None{}, err
	}
	if account.ID.IsZero() || account.Disabled {
		code.user, code.mail = s.NewID(), nil
	}
	err = s.Store.Write(ctx, code.insert)
	s.wakeMail()
	return warranty.None{}, err
}

// ResetPassword sets a new password by a mailed code and ends every session.
func (s *Service) ResetPassword(ctx context.Context, p warranty.Principal, in warranty.ResetPassword) (warranty.None, error) {
	if err := in.Check(); err != nil {
		return warranty.None{}, err
	}
	// Whoever asks has shown nothing yet, and a password is costly to hash.
	if err := s.Throttle(ctx, SignInAttempts, p.Address); err != nil {
		return warranty.None{}, err
	}
	hash, err := s.passwords.hash(ctx, s.PasswordCost, in.Password, s.Random)
	if err != nil {
		return warranty.None{}, err
	}
	now := s.now()
	return warranty.None{}, s.Store.Write(ctx, func(tx *store.Tx) error {
		user, err := tx.UseCode(warranty.HashCode(in.Code), store.ForReset, now)
		if err != nil {
			return badCode(err)
		}
		if err := tx.SetPassword(user, hash); err != nil {
			return badCode(err)
		}
		return tx.DeleteSessions(user)
	})
}

// ChangePassword sets a new password, ends every session and opens a new one.
func (s *Service) ChangePassword(ctx context.Context, p warranty.Principal, in warranty.ChangePassword) (warranty.Session, error) {
	if err := in.Check(); err != nil {
		return warranty.Session{}, err
	}
	if err := s.throttleAccount(ctx, p, p.User.Email); err != nil {
		return warranty.Session{}, err
	}
	account, err := s.Store.Account(ctx, p.User.ID)
	if err != nil {
		return warranty.Session{}, err
	}
	if right, err := s.passwords.verify(ctx, s.PasswordCost, account.PasswordHash, in.CurrentPassword); err != nil || !right {
		return warranty.Session{}, either(err, warranty.Refuse(warranty.InvalidCredential, "The current password is wrong; nothing was changed."))
	}
	hash, err := s.passwords.hash(ctx, s.PasswordCost, in.NewPassword, s.Random)
	if err != nil {
		return warranty.Session{}, err
	}
	session, err := s.newSession(account.User, p.Door)
	if err != nil {
		return warranty.Session{}, err
	}
	return session.Session, s.writeAlone(ctx, p, func(tx *store.Tx, _ store.Account) error {
		if err := tx.SetPassword(p.User.ID, hash); err != nil {
			return err
		}
		if err := tx.DeleteSessions(p.User.ID); err != nil {
			return err
		}
		return session.insert(tx)
	})
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
	if purpose == store.ForReset {
		message = mail.ResetPassword(user.Email, user.Name, code, s.PublicURL)
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
