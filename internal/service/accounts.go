package service

import (
	"context"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// accountOperations binds the operations on accounts and sessions.
func (s *Service) accountOperations() []api.Bound {
	return []api.Bound{
		api.Bind(api.GetAuthStatus, s.GetAuthStatus),
		api.Bind(api.Register, s.Register),
		api.Bind(api.SignIn, s.SignIn),
		api.Bind(api.RequestSignInCode, s.RequestSignInCode),
		api.Bind(api.SignOut, s.SignOut),
		api.Bind(api.VerifyEmail, s.VerifyEmail),
		api.Bind(api.SendVerification, s.SendVerification),
		api.Bind(api.RequestPasswordReset, s.RequestPasswordReset),
		api.Bind(api.ResetPassword, s.ResetPassword),
		api.Bind(api.ChangePassword, s.ChangePassword),
		api.Bind(api.ConfirmSession, s.ConfirmSession),
		api.Bind(api.GetAccount, s.GetAccount),
		api.Bind(api.UpdateAccount, s.UpdateAccount),
		api.Bind(api.ListSessions, s.ListSessions),
		api.Bind(api.EndSession, s.EndSession),
		api.Bind(api.EndOtherSessions, s.EndOtherSessions),
		api.Bind(api.ChangeEmail, s.ChangeEmail),
		api.Bind(api.ConfirmEmail, s.ConfirmEmail),
		api.Bind(api.DeleteAccount, s.DeleteAccount),
		api.Bind(api.RestoreAccount, s.RestoreAccount),
		api.Bind(api.NotMe, s.NotMe),
	}
}

// Register creates an account, emails a verification code and signs in.
func (s *Service) Register(ctx context.Context, p warranty.Principal, in warranty.Register) (warranty.Session, error) {
	if err := in.Check(); err != nil {
		return warranty.Session{}, err
	}
	if err := s.throttle(ctx, SignUpAttempts, p.Address); err != nil {
		return warranty.Session{}, err
	}
	if err := s.refuseClosed(ctx); err != nil {
		return warranty.Session{}, err
	}
	if err := s.throttleMailbox(ctx, p, in.Email); err != nil {
		return warranty.Session{}, err
	}
	hash, err := s.passwords.hash(ctx, s.PasswordCost, in.Password, s.Random)
	if err != nil {
		return warranty.Session{}, err
	}
	user := warranty.User{ID: s.NewID(), Name: in.Name, Email: in.Email, CreatedAt: s.now()}
	c, err := s.completing(p, firstFactor{Method: warranty.MethodRegistration})
	if err != nil {
		return warranty.Session{}, err
	}
	code, err := s.newCode(store.ForVerification, user, p.Locale, warranty.VerifyLifetime)
	if err != nil {
		return warranty.Session{}, err
	}
	err = s.Store.Write(ctx, func(tx *store.Tx) error {
		if err := insertUser(tx, p, user, hash); err != nil {
			return err
		}
		if _, err := c.complete(tx, user.ID); err != nil {
			return err
		}
		return code.insert(tx)
	})
	if s.Store.IsDuplicate(err) {
		return warranty.Session{}, warranty.Refuse(warranty.AlreadyExists,
			"This address already has an account. Sign in, or reset the password.")
	}
	s.wakeMail()
	if err != nil {
		return warranty.Session{}, err
	}
	return c.session(ctx)
}

var errSignupClosed = warranty.Refuse(warranty.RoleNotAllowed,
	"Sign-up is closed. Ask the administrator for an account.")

// refuseClosed rejects registrations before the service is set up, and all of them if sign-up is closed.
func (s *Service) refuseClosed(ctx context.Context) error {
	done, err := s.IsSetUp(ctx)
	switch {
	case err != nil:
		return err
	case !done:
		return errNotSetUp
	}
	closed, err := s.signupClosed(ctx)
	if err == nil && closed {
		err = errSignupClosed
	}
	return err
}

var errFoundingClosed = warranty.Refuse(warranty.RoleNotAllowed,
	"While sign-up is closed, only an administrator of the service can create organizations.")

// mayFound refuses people who cannot create organizations. While sign-up is closed only administrators can, because
// customers of an organization register with its codes.
func (s *Service) mayFound(ctx context.Context, p warranty.Principal) error {
	closed, err := s.signupClosed(ctx)
	if err == nil && closed && !p.Admin {
		return errFoundingClosed
	}
	return err
}

// signupClosed reports whether nobody can register: as the operator set it, or else as it was chosen at the set-up.
func (s *Service) signupClosed(ctx context.Context) (bool, error) {
	if s.SignupSet || s.SignupClosed {
		return s.SignupClosed, nil
	}
	set, err := s.Store.ServiceSettings(ctx)
	return set.SignupClosed, err
}

// VerifyEmail verifies the principal's address with an emailed code. The records that
// name it as the seller's then wait for the account's confirmation. It requires a session of the account, so that
// reading the mailbox is not enough to verify an account that someone else registered.
func (s *Service) VerifyEmail(
	ctx context.Context, p warranty.Principal, in warranty.VerifyEmail,
) (warranty.User, error) {
	var user warranty.User
	if err := in.Check(); err != nil {
		return user, err
	}
	now := s.now()
	err := s.writeLocked(ctx, p.Self(), func(tx *store.Tx, account store.Account) error {
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
		return nil
	})
	return user, err
}

// SendVerification emails a new code to the principal's address, unless it is verified.
func (s *Service) SendVerification(
	ctx context.Context, p warranty.Principal, _ warranty.SendVerification,
) (warranty.None, error) {
	if err := s.throttleCode(ctx, p, store.ForVerification, p.User.Email); err != nil {
		return warranty.None{}, err
	}
	if p.User.EmailVerified {
		return warranty.None{}, nil
	}
	code, err := s.newCode(store.ForVerification, p.User, p.Locale, warranty.VerifyLifetime)
	if err != nil {
		return warranty.None{}, err
	}
	err = s.writeAs(ctx, p.Self(), code.insert)
	s.wakeMail()
	return warranty.None{}, err
}

// insertUser adds an account that a request created. It keeps the language of the page, so that emails are in it,
// unless it is the first one, which is that of emails anyway.
func insertUser(tx *store.Tx, p warranty.Principal, user warranty.User, hash string) error {
	if err := tx.InsertUser(user, hash); err != nil {
		return err
	}
	if l := p.Locale.Language; warranty.KnownLanguage(l) && l != warranty.Languages()[0] {
		return tx.SetLanguage(user.ID, l)
	}
	return nil
}

// newCode is a one-time code that is not stored yet, and the email that contains it.
type newCode struct {
	hash    warranty.Hash
	purpose store.Purpose
	user    warranty.ID
	expires time.Time
	mail    *store.Mail
}

func (s *Service) newCode(
	purpose store.Purpose, user warranty.User, reader warranty.Locale, lifetime time.Duration,
) (newCode, error) {
	code, err := warranty.NewCode(s.Random)
	texts := mail.In(reader)
	message := texts.VerifyEmail(user.Email, user.Name, code, s.PublicURL)
	switch purpose {
	case store.ForReset:
		message = texts.ResetPassword(user.Email, user.Name, code, s.PublicURL)
	case store.ForSignIn:
		message = texts.SignInCode(user.Email, user.Name, code, s.PublicURL)
	}
	expires := s.now().Add(lifetime)
	outgoing := s.outgoing(message)
	outgoing.Expires, outgoing.Urgent = &expires, true
	return newCode{
		hash:    warranty.HashCode(code),
		purpose: purpose,
		user:    user.ID,
		expires: expires,
		mail:    &outgoing,
	}, err
}

// outgoing returns a message for the outbox.
func (s *Service) outgoing(m mail.Message) store.Mail {
	return store.Mail{
		ID: s.NewID(), To: m.To, Subject: m.Subject, Text: m.Text, HTML: m.HTML, Code: m.Code, Language: m.Language,
	}
}

func (n newCode) insert(tx *store.Tx) error {
	if err := tx.InsertCode(n.hash, n.purpose, n.user, n.expires); err != nil || n.mail == nil {
		return err
	}
	return tx.InsertMail(*n.mail)
}

// GetAccount returns the principal's account.
func (s *Service) GetAccount(
	ctx context.Context, p warranty.Principal, _ warranty.GetAccount,
) (warranty.Account, error) {
	a, err := s.Store.Account(ctx, p.User.ID)
	return a.Public(), err
}

// UpdateAccount changes the principal's name, email settings, language and time zone.
func (s *Service) UpdateAccount(
	ctx context.Context, p warranty.Principal, in warranty.UpdateAccount,
) (warranty.Account, error) {
	var changed warranty.Account
	if err := in.Check(); err != nil {
		return changed, err
	}
	err := s.writeLocked(ctx, p.Self(), func(tx *store.Tx, a store.Account) error {
		changed = in.Apply(a.Public())
		return tx.UpdateAccount(changed)
	})
	return changed, err
}
