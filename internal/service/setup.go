package service

import (
	"cmp"
	"context"
	"time"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// setupLifetime is how long a set-up link works.
const setupLifetime = 24 * time.Hour

var errNotSetUp = warranty.Refuse(warranty.RoleNotAllowed,
	"This service is being set up. Nobody can register before its operator has finished.")

// ErrSetUp refuses to set up a service that has or had an account.
var ErrSetUp = warranty.Refuse(warranty.InvalidTransition, "This service is already set up.")

// IsSetUp reports whether the service ever had an account. Until then, nobody can register.
func (s *Service) IsSetUp(ctx context.Context) (bool, error) {
	if s.setUp.Load() {
		return true, nil
	}
	done, err := s.Store.IsSetUp(ctx)
	if err == nil && done {
		s.setUp.Store(true)
	}
	return done, err
}

// SetupLink returns a new link that makes the first administrator, and until when it works. Earlier links stay valid.
// The code is after #, where it reaches no log. It returns ErrSetUp if the service is set up.
func (s *Service) SetupLink(ctx context.Context) (link string, expires time.Time, err error) {
	done, err := s.IsSetUp(ctx)
	if err == nil && done {
		err = ErrSetUp
	}
	if err != nil {
		return "", expires, err
	}
	code, err := warranty.NewCode(s.Random)
	if err != nil {
		return "", expires, err
	}
	expires = s.now().Add(setupLifetime)
	err = s.Store.Write(ctx, func(tx *store.Tx) error { return tx.InsertSetupCode(warranty.HashCode(code), expires) })
	return s.PublicURL + "/setup#" + code, expires, err
}

// SetUp is what the first administrator chooses.
type SetUp struct {
	Code string // of a set-up link
	warranty.Register
	Settings ServiceSettings
}

// check validates all fields of the form at once.
func (in *SetUp) check() error {
	var c warranty.Checks
	c.Merge(in.Register.Check())
	name, err := checkServiceName(in.Settings.Name)
	in.Settings.Name = name
	c.Merge(err)
	return c.Err()
}

// checkSetupCode returns an error unless a code is that of a set-up link.
func (s *Service) checkSetupCode(ctx context.Context, p warranty.Principal, code string) error {
	if err := s.throttle(ctx, SignInAttempts, p.Address); err != nil {
		return err
	}
	valid, err := s.Store.IsSetupCode(ctx, warranty.HashCode(code), s.now())
	if err == nil && !valid {
		err = errSetupCode()
	}
	return err
}

// TestMail sends an email to someone with the code of a set-up link, from a service with this name. refused is what the
// mail server said instead.
func (s *Service) TestMail(
	ctx context.Context, p warranty.Principal, code, email, name string,
) (refused string, err error) {
	var c warranty.Checks
	in := warranty.RequestSignInCode{Email: email}
	c.Merge(in.Check())
	name, err = checkServiceName(name)
	c.Merge(err)
	if err := c.Err(); err != nil {
		return "", err
	}
	if err := s.checkSetupCode(ctx, p, code); err != nil {
		return "", err
	}
	m := mail.In(p.Locale).TestMail(in.Email, s.PublicURL)
	m.ID, m.Service = s.NewID().String(), name
	if err := s.Mail.Send(ctx, m); err != nil {
		return errorText(err.Error()), nil
	}
	return "", nil
}

// SetUp makes the first administrator with the code of a set-up link, and signs in. The address counts as verified,
// like those of accounts that the operator adds. All links end.
func (s *Service) SetUp(ctx context.Context, p warranty.Principal, in SetUp) (warranty.Session, error) {
	if err := in.check(); err != nil {
		return warranty.Session{}, err
	}
	if err := s.checkSetupCode(ctx, p, in.Code); err != nil {
		return warranty.Session{}, err
	}
	hash, err := s.passwords.hash(ctx, s.PasswordCost, in.Password, s.Random)
	if err != nil {
		return warranty.Session{}, err
	}
	user := warranty.User{ID: s.NewID(), Name: in.Name, Email: in.Email, EmailVerified: true, CreatedAt: s.now()}
	c, err := s.completing(p, firstFactor{Method: warranty.MethodSetUp})
	if err != nil {
		return warranty.Session{}, err
	}
	err = s.Store.Write(ctx, func(tx *store.Tx) error {
		// The code is only deleted by a first account.
		if first, err := tx.ReachFirstAccount(user.CreatedAt); err != nil || !first {
			return cmp.Or(err, errSetupCode())
		}
		if err := insertUser(tx, p, user, hash); err != nil {
			return err
		}
		if err := tx.ChooseServiceSettings(in.Settings); err != nil {
			return err
		}
		return s.welcomeAdmin(tx, p, user, c)
	})
	if err != nil {
		return warranty.Session{}, err
	}
	s.nameChanged()
	s.Log.Info("set up", "administrator", user.ID)
	s.wakeMail()
	return c.session(ctx)
}

// welcomeAdmin makes the person who was just inserted an administrator, signs them in and emails them, which shows
// whether emails arrive.
func (s *Service) welcomeAdmin(tx *store.Tx, p warranty.Principal, user warranty.User, c *completion) error {
	now := user.CreatedAt
	if err := tx.SetAdmin(user.ID, true, now); err != nil {
		return err
	}
	for _, action := range []warranty.Action{warranty.AccountAdded, warranty.AccountAdminGranted} {
		if err := s.operatorEvent(tx, action, user.ID, now); err != nil {
			return err
		}
	}
	if _, err := c.complete(tx, user.ID); err != nil {
		return err
	}
	p.User = user
	return s.notify(tx, p, user, func(t mail.Texts) mail.Message {
		return t.SetUp(user.Email, user.Name, s.circumstances(p, now))
	})
}

// errSetupCode refuses a code that is not valid.
func errSetupCode() error {
	var c warranty.Checks
	c.Add("code", "invalid_code", "This link was already used or has expired. Get a new one with svcd setup-link.")
	return c.Err()
}
