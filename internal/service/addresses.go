package service

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// ListAddresses lists the verified addresses of an organization for its members.
func (s *Service) ListAddresses(
	ctx context.Context, p warranty.Principal, in warranty.ListAddresses,
) (warranty.Page[warranty.Address], error) {
	if err := in.Check(); err != nil {
		return warranty.Page[warranty.Address]{}, err
	}
	if _, err := s.as(ctx, p, in.ID); err != nil {
		return warranty.Page[warranty.Address]{}, err
	}
	list, total, err := s.Store.Addresses(ctx, in.ID, in.Paging)
	return warranty.PageOf(list, in.Paging, total), err
}

// AddAddress emails a code to an address that an organization wants to have. Whether the address belongs to
// someone else is only told to who has the code.
func (s *Service) AddAddress(
	ctx context.Context, p warranty.Principal, in warranty.AddAddress,
) (warranty.None, error) {
	if err := in.Check(); err != nil {
		return warranty.None{}, err
	}
	p, err := s.as(ctx, p, in.ID)
	if err != nil {
		return warranty.None{}, err
	}
	if err := p.Account.Require(warranty.Admin); err != nil {
		return warranty.None{}, err
	}
	if err := s.throttleCode(ctx, p, store.ForVerification, in.Email); err != nil {
		return warranty.None{}, err
	}
	code, err := warranty.NewCode(s.Random)
	if err != nil {
		return warranty.None{}, err
	}
	now := s.now()
	c := store.AddressCode{Account: in.ID, Email: in.Email, Expires: now.Add(warranty.VerifyLifetime)}
	texts, err := s.textsAt(ctx, in.Email, p)
	if err != nil {
		return warranty.None{}, err
	}
	message := s.outgoing(texts.VerifyAddress(in.Email, p.Account.Name, code, s.PublicURL))
	message.Expires = &c.Expires
	err = s.writeMailing(ctx, p, warranty.Admin, func(tx *store.Tx, from *sender) error {
		if err := s.checkAddresses(tx, from.ID); err != nil {
			return err
		}
		if err := tx.InsertAddressCode(c, warranty.HashCode(code)); err != nil {
			return err
		}
		return s.contact(tx, from, message, from.ID, now)
	})
	s.wakeMail()
	return warranty.None{}, err
}

func (s *Service) checkAddresses(tx *store.Tx, organization warranty.ID) error {
	n, err := tx.CountAddresses(organization)
	if err == nil && n >= warranty.MaxAddresses {
		err = warranty.Refuse(warranty.InUse,
			fmt.Sprintf("The organization has %d addresses, which is the limit. Remove one first.", n))
	}
	return err
}

var errAddressTaken = warranty.Refuse(warranty.AlreadyExists, "This address belongs to another account.")

// VerifyAddress gives an address to an organization with the emailed code. The records that name it as the
// seller's then wait for the organization's confirmation.
func (s *Service) VerifyAddress(
	ctx context.Context, p warranty.Principal, in warranty.VerifyAddress,
) (warranty.Address, error) {
	var verified warranty.Address
	if err := in.Check(); err != nil {
		return verified, err
	}
	now, code := s.now(), warranty.HashCode(in.Code)
	sent, err := s.Store.AddressCode(ctx, code, now)
	if err == nil {
		p, err = s.as(ctx, p, sent.Account) // not found for a conversion, whose account is a person's
	}
	if err != nil {
		return verified, badCode(err)
	}
	lock := func(tx *store.Tx) error { return s.lockWithOwner(tx, sent.Account, sent.Email) }
	verified = warranty.Address{ID: s.NewID(), Email: sent.Email, VerifiedAt: now}
	err = s.writeWithLocks(ctx, p, warranty.Admin, lock, func(tx *store.Tx) error {
		if _, err := tx.UseAddressCode(sent.Account, code, now); err != nil {
			return badCode(err)
		}
		if err := s.checkAddresses(tx, sent.Account); err != nil {
			return err
		}
		if err := s.freeAddress(tx, p, sent.Email, sent.Account, now); err != nil {
			return err
		}
		if err := tx.InsertAddress(sent.Account, verified); err != nil {
			return err
		}
		return s.organizationEvent(tx, p, warranty.AddressVerified, verified.ID, warranty.Change{Field: "email", To: &sent.Email})
	})
	if s.Store.IsDuplicate(err) {
		err = errAddressTaken
	}
	return verified, err
}

// lockWithOwner locks an account and the one that has an address, if any, in one order.
func (s *Service) lockWithOwner(tx *store.Tx, account warranty.ID, email string) error {
	ids := []warranty.ID{account}
	owner, err := tx.AddressOwner(email)
	if err == nil && owner != account {
		ids = append(ids, owner)
	} else if err != nil && !isMissing(err) {
		return err
	}
	_, err = tx.LockUsers(ids...)
	return err
}

// freeAddress sets an account aside that has an address without having verified it: the caller has the code
// and so controls the mailbox (ADR 16). The account of who verified it keeps it.
func (s *Service) freeAddress(
	tx *store.Tx, p warranty.Principal, email string, successor warranty.ID, now time.Time,
) error {
	owner, err := tx.AddressOwner(email)
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	old, err := tx.LockUser(owner)
	if err != nil {
		return err
	}
	if old.EmailVerified || old.Kind == warranty.OrganizationKind {
		return errAddressTaken
	}
	if err := s.endCredentials(tx, old.User, p.Door, now); err != nil {
		return err
	}
	return tx.SetAside(old.ID, successor, now)
}

// RemoveAddress removes an address of an organization.
func (s *Service) RemoveAddress(
	ctx context.Context, p warranty.Principal, in warranty.RemoveAddress,
) (warranty.None, error) {
	return warranty.None{}, s.manageOrganization(ctx, p, in.ID,
		func(tx *store.Tx, p warranty.Principal, account store.Account) error {
			email, err := tx.DeleteAddress(account.ID, in.AddressID)
			if err != nil {
				return err
			}
			return s.organizationEvent(tx, p, warranty.AddressRemoved, in.AddressID,
				warranty.Change{Field: "email", From: &email})
		})
}

// conversionNames are the names in the code of a conversion.
type conversionNames struct {
	Organization string `json:"organization"`
	Admin        string `json:"admin"`
}

// ConvertAccount emails a code to the person's other address. Their own account becomes an organization
// once the code is confirmed.
func (s *Service) ConvertAccount(
	ctx context.Context, p warranty.Principal, in warranty.ConvertAccount,
) (warranty.None, error) {
	p = p.Self()
	if err := in.CheckFor(p.User.Email); err != nil {
		return warranty.None{}, err
	}
	if err := s.throttleCode(ctx, p, store.ForVerification, in.Email); err != nil {
		return warranty.None{}, err
	}
	code, err := warranty.NewCode(s.Random)
	if err != nil {
		return warranty.None{}, err
	}
	names, err := json.Marshal(conversionNames{Organization: in.OrganizationName, Admin: in.Name})
	if err != nil {
		return warranty.None{}, err
	}
	now := s.now()
	c := store.AddressCode{
		Account: p.User.ID,
		Email:   in.Email,
		Names:   warranty.Optional(string(names)),
		Expires: now.Add(warranty.VerifyLifetime),
	}
	message := s.outgoing(mail.In(p.Locale).ConfirmConversion(in.Email, in.Name, in.OrganizationName, code, s.PublicURL))
	message.Expires = &c.Expires
	err = s.writeMailing(ctx, p, warranty.Member, func(tx *store.Tx, from *sender) error {
		if err := s.mayConvert(tx, from.Account); err != nil {
			return err
		}
		if err := tx.InsertAddressCode(c, warranty.HashCode(code)); err != nil {
			return err
		}
		return s.contact(tx, from, message, from.ID, now)
	})
	s.wakeMail()
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
// which is made if there is none, and keeps this session; all others end.
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
		return s.convert(tx, p, account, made, admin, now)
	})
	if s.Store.IsDuplicate(err) {
		err = errAddressTaken
	}
	if err != nil {
		return made, err
	}
	s.wakeMail()
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
	} else if !isMissing(err) {
		return person, err
	}
	return person, insertUser(tx, p, person, "")
}

// convert makes a locked account an organization with its first admin.
func (s *Service) convert(
	tx *store.Tx, p warranty.Principal, account store.Account, o warranty.Organization, admin warranty.User, now time.Time,
) error {
	if err := tx.MoveSession(p.CredentialID, admin.ID); err != nil {
		return err
	}
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
