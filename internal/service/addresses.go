package service

import (
	"context"
	"errors"
	"time"

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
	message.Expires, message.Urgent = &c.Expires, true
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
			"The organization has %d addresses, which is the limit. Remove one first.", n)
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

// lockWithOwner locks an account and the one that has an address, if any, with its organizations.
func (s *Service) lockWithOwner(tx *store.Tx, account warranty.ID, email string) error {
	owner, err := tx.AddressOwner(email)
	if errors.Is(err, warranty.ErrNotFound) {
		owner = account
	} else if err != nil {
		return err
	}
	_, err = lockWithOrganizations(tx, owner, account)
	return err
}

// freeAddress sets an account aside that has an address without having verified it: the caller has the code
// and so controls the mailbox (ADR 16). The account of who verified it keeps it.
func (s *Service) freeAddress(
	tx *store.Tx, p warranty.Principal, email string, successor warranty.ID, now time.Time,
) error {
	owner, err := tx.AddressOwner(email)
	if errors.Is(err, warranty.ErrNotFound) {
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
	if err := s.endCredentials(tx, byHolder(old.User, p), old.User, true, now); err != nil {
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
