package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// conversionNames are the names in the code of a conversion.
type conversionNames struct {
	Organization string `json:"organization"`
	Admin        string `json:"admin"`
}

// ConvertAccount emails a code to the person's other address. Their own account becomes an organization
// once the code is confirmed, and its present address no longer signs in. So a session is not enough:
// the person also proves that the account is theirs, and its present address gets an email with a code that stops it.
func (s *Service) ConvertAccount(
	ctx context.Context, p warranty.Principal, in warranty.ConvertAccount,
) (warranty.None, error) {
	p = p.Self()
	if err := in.CheckFor(p.User.Email); err != nil {
		return warranty.None{}, err
	}
	if err := checkNamedDomains("organization_name", in.OrganizationName, nil); err != nil {
		return warranty.None{}, err
	}
	if err := s.mayFound(ctx, p); err != nil {
		return warranty.None{}, err
	}
	if err := s.requireConfirmed(p); err != nil {
		return warranty.None{}, err
	}
	isTheirs, err := s.proveAccount(ctx, p, in.Password, in.Code)
	if err != nil {
		return warranty.None{}, err
	}
	if err := s.throttleCode(ctx, p, store.ForVerification, in.Email); err != nil {
		return warranty.None{}, err
	}
	code, err := warranty.NewCode(s.Random)
	if err != nil {
		return warranty.None{}, err
	}
	stop, err := warranty.NewCode(s.Random)
	if err != nil {
		return warranty.None{}, err
	}
	names, err := json.Marshal(conversionNames{Organization: in.OrganizationName, Admin: in.Name})
	if err != nil {
		return warranty.None{}, err
	}
	now, stopHash := s.now(), warranty.HashCode(stop)
	c := store.AddressCode{
		Account: p.User.ID,
		Email:   in.Email,
		Names:   warranty.Optional(string(names)),
		Stop:    &stopHash,
		Expires: now.Add(warranty.VerifyLifetime),
	}
	message := s.outgoing(mail.In(p.Locale).ConfirmConversion(in.Email, in.Name, in.OrganizationName, code, s.PublicURL))
	message.Expires, message.Urgent = &c.Expires, true
	err = s.writeMailing(ctx, p, warranty.Member, func(tx *store.Tx, from *sender) error {
		if err := isTheirs(tx, from.Account); err != nil {
			return err
		}
		if err := s.mayConvert(tx, from.Account); err != nil {
			return err
		}
		if err := tx.InsertAddressCode(c, warranty.HashCode(code)); err != nil {
			return err
		}
		err := s.notify(tx, p, from.User, func(t mail.Texts) mail.Message {
			return t.ConversionAsked(from.Email, from.Name, in.OrganizationName, in.Email, stop, s.circumstances(p, now))
		})
		if err != nil {
			return err
		}
		return s.contact(tx, from, message, from.ID, now)
	})
	s.wakeMail()
	return warranty.None{}, err
}

// proveAccount checks that the person of a session is the holder of the account: with the password or, if it has none,
// with a sign-in code that was emailed to its present address. The returned function completes the check in the
// transaction. Attempts are counted with those of changing the password.
func (s *Service) proveAccount(
	ctx context.Context, p warranty.Principal, password, code string,
) (func(*store.Tx, store.Account) error, error) {
	if err := s.throttle(ctx, AccountAttempts, "signed in "+p.User.ID.String()); err != nil {
		return nil, err
	}
	account, err := s.Store.Account(ctx, p.User.ID)
	if err != nil {
		return nil, err
	}
	var c warranty.Checks
	switch {
	case account.PasswordHash == "" && code == "":
		c.Add("code", "required", "This account has no password. Request a code with POST /api/auth/codes and send it as code.")
		return nil, c.Err()
	case account.PasswordHash == "":
		owner, err := s.Store.CodeOwner(ctx, warranty.HashCode(code), store.ForSignIn, s.now())
		if err == nil && owner != account.ID {
			err = warranty.ErrNotFound
		}
		if err != nil {
			return nil, badCode(err)
		}
		return func(tx *store.Tx, account store.Account) error {
			owner, err := tx.UseCode(warranty.HashCode(code), store.ForSignIn, s.now())
			if err == nil && owner != account.ID {
				err = warranty.ErrNotFound
			}
			return badCode(err)
		}, nil
	case password == "":
		c.Add("password", "required", "Enter your password.")
		return nil, c.Err()
	}
	right, err := s.passwords.verify(ctx, s.PasswordCost, account.PasswordHash, password)
	if err != nil || !right {
		return nil, cmp.Or[error](err, errWrongPassword)
	}
	hash := account.PasswordHash
	return func(_ *store.Tx, account store.Account) error {
		if account.PasswordHash != hash { // it changed meanwhile
			return errWrongPassword
		}
		return nil
	}, nil
}

var errWrongPassword = warranty.Refuse(warranty.InvalidCredential, "The password is wrong.")

// CancelConversion stops a conversion with the code that was emailed to the present address of the account.
func (s *Service) CancelConversion(
	ctx context.Context, p warranty.Principal, in warranty.CancelConversion,
) (warranty.None, error) {
	if err := in.Check(); err != nil {
		return warranty.None{}, err
	}
	if err := s.throttle(ctx, CodeRequests, p.Address); err != nil {
		return warranty.None{}, err
	}
	now, code := s.now(), warranty.HashCode(in.Code)
	account, err := s.Store.ConversionOf(ctx, code, now)
	if err != nil {
		return warranty.None{}, badCode(err)
	}
	err = s.Store.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.LockUser(account); err != nil {
			return err
		}
		return badCode(tx.StopConversion(account, code, now))
	})
	if err == nil {
		s.Log.WarnContext(ctx, "conversion to an organization stopped", "request_id", api.CallerOf(ctx).RequestID,
			"user", account.String(), "ip", p.Address)
	}
	return warranty.None{}, err
}

// mayConvert returns an error if a locked account cannot become an organization.
func (s *Service) mayConvert(tx *store.Tx, account store.Account) error {
	if !account.EmailVerified {
		return warranty.Refuse(warranty.EmailNotVerified, "Verify your email address first: it goes to the organization.")
	}
	if account.Admin {
		return warranty.Refuse(warranty.RoleNotAllowed,
			"This account may open the admin page of the service and cannot become an organization.")
	}
	n, err := tx.CountOrganizations(account.ID)
	if err == nil && n > 0 {
		err = warranty.Refuse(warranty.InUse,
			"This account is a member of other organizations. Leave them first: an organization cannot be a member.")
	}
	return err
}

// ConfirmConversion makes the person's account an organization with the same id: records, tokens, history
// and the address stay where they are. The person becomes its admin with the account of the other address,
// which is made if there is none, and keeps this session, unless that account has two-step sign-in; all others end.
func (s *Service) ConfirmConversion(
	ctx context.Context, p warranty.Principal, in warranty.ConfirmConversion,
) (warranty.Organization, error) {
	var made warranty.Organization
	if err := in.Check(); err != nil {
		return made, err
	}
	p = p.Self()
	now, code := s.now(), warranty.HashCode(in.Code)
	sent, err := s.Store.AddressCode(ctx, code, now)
	if err == nil && (sent.Names == nil || sent.Account != p.User.ID) {
		err = warranty.ErrNotFound // it is for an address, or for another account
	}
	if err != nil {
		return made, badCode(err)
	}
	var names conversionNames
	if err := json.Unmarshal([]byte(*sent.Names), &names); err != nil {
		return made, err
	}
	fresh := s.NewID()
	var admin warranty.User
	lock := func(tx *store.Tx) error { return s.lockWithOwner(tx, p.User.ID, sent.Email) }
	err = s.writeWithLocks(ctx, p, warranty.Admin, lock, func(tx *store.Tx) error {
		if _, err := tx.UseAddressCode(p.User.ID, code, now); err != nil {
			return badCode(err)
		}
		account, err := tx.LockUser(p.User.ID)
		if err != nil {
			return err
		}
		if err := s.mayConvert(tx, account); err != nil {
			return err
		}
		admin, err = s.adminOf(tx, p, warranty.User{
			ID: fresh, Name: names.Admin, Email: sent.Email, EmailVerified: true, CreatedAt: now,
		}, now)
		if err != nil {
			return err
		}
		made = warranty.Organization{ID: account.ID, Name: names.Organization, CreatedAt: account.CreatedAt}
		if err := s.movePerson(tx, p, account.ID, admin.ID, admin.ID == fresh); err != nil {
			return err
		}
		return s.convert(tx, p, account, made, admin, now)
	})
	if s.Store.IsDuplicate(err) {
		err = errAddressTaken
	}
	if err != nil {
		return made, err
	}
	s.wakeMail()
	s.Log.InfoContext(ctx, "account became an organization", "request_id", api.CallerOf(ctx).RequestID, "ip", p.Address,
		"organization", made.ID.String(), "user", admin.ID.String(), "method", string(warranty.MethodEmailedCode))
	return s.Store.Organization(ctx, made.ID, admin.ID)
}

// adminOf returns the verified person who has an address, or adds one.
func (s *Service) adminOf(tx *store.Tx, p warranty.Principal, person warranty.User, now time.Time) (warranty.User, error) {
	owner, err := tx.AddressOwner(person.Email)
	if err == nil {
		account, err := tx.LockUser(owner)
		if err != nil {
			return person, err
		}
		if account.Kind == warranty.PersonKind && account.EmailVerified && !account.Disabled {
			return account.User, s.checkOrganizations(tx, account.ID)
		}
		if err := s.freeAddress(tx, p, person.Email, person.ID, now); err != nil {
			return person, err
		}
	} else if !errors.Is(err, warranty.ErrNotFound) {
		return person, err
	}
	return person, insertUser(tx, p, person, "")
}

// movePerson makes the person of a locked account the one of another account: they keep this session, and their factors
// if the other account was just made. Otherwise they sign in with the factors that it has.
func (s *Service) movePerson(tx *store.Tx, p warranty.Principal, from, to warranty.ID, fresh bool) error {
	if err := s.moveSession(tx, p, to); err != nil {
		return err
	}
	if fresh {
		if err := tx.MoveFactors(from, to); err != nil {
			return err
		}
		return s.resealTOTP(tx, from, to)
	}
	return tx.DeleteFactors(from)
}

// convert makes a locked account an organization with its first admin.
func (s *Service) convert(
	tx *store.Tx, p warranty.Principal, account store.Account, o warranty.Organization, admin warranty.User, now time.Time,
) error {
	if err := tx.DeleteSessions(account.ID); err != nil {
		return err
	}
	if err := tx.DeleteCodes(account.ID); err != nil {
		return err
	}
	if err := tx.ForgetDevices(account.ID); err != nil {
		return err
	}
	address := warranty.Address{ID: s.NewID(), Email: account.Email, VerifiedAt: now}
	if err := tx.ConvertUser(o, address); err != nil {
		return err
	}
	if err := tx.MakeTokensOf(account.ID, admin.ID); err != nil {
		return err
	}
	if err := tx.InsertMember(o.ID, admin.ID, warranty.Admin, account.Mails, now); err != nil {
		return err
	}
	person := p
	p.User = admin
	p.Account = warranty.Acting{ID: o.ID, Name: o.Name, Kind: warranty.OrganizationKind, Role: warranty.Admin}
	if err := s.organizationEvent(tx, p, warranty.OrganizationConverted, o.ID,
		warranty.Change{Field: "name", From: &account.Name, To: &o.Name}); err != nil {
		return err
	}
	return s.notify(tx, person, account.User, func(t mail.Texts) mail.Message {
		return t.AccountConverted(account.Email, o.Name, s.circumstances(p, now))
	})
}
