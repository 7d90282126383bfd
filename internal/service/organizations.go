package service

import (
	"context"
	"errors"
	"slices"
	"strings"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// organizationOperations binds the operations on organizations.
func (s *Service) organizationOperations() []api.Bound {
	return []api.Bound{
		api.Bind(api.ListOrganizations, s.ListOrganizations),
		api.Bind(api.CreateOrganization, s.CreateOrganization),
		api.Bind(api.GetOrganization, s.GetOrganization),
		api.Bind(api.UpdateOrganization, s.UpdateOrganization),
		api.Bind(api.DeleteOrganization, s.DeleteOrganization),
		api.Bind(api.RestoreOrganization, s.RestoreOrganization),
		api.Bind(api.ListMembers, s.ListMembers),
		api.Bind(api.UpdateMember, s.UpdateMember),
		api.Bind(api.RemoveMember, s.RemoveMember),
		api.Bind(api.ListInvitations, s.ListInvitations),
		api.Bind(api.CreateInvitation, s.CreateInvitation),
		api.Bind(api.CancelInvitation, s.CancelInvitation),
		api.Bind(api.AcceptInvitation, s.AcceptInvitation),
		api.Bind(api.ListAddresses, s.ListAddresses),
		api.Bind(api.AddAddress, s.AddAddress),
		api.Bind(api.VerifyAddress, s.VerifyAddress),
		api.Bind(api.RemoveAddress, s.RemoveAddress),
		api.Bind(api.ConvertAccount, s.ConvertAccount),
		api.Bind(api.CancelConversion, s.CancelConversion),
		api.Bind(api.ConfirmConversion, s.ConfirmConversion),
	}
}

// as returns the principal acting for the organization of a path. An organization that the person is not a
// member of does not exist for them.
func (s *Service) as(ctx context.Context, p warranty.Principal, organization warranty.ID) (warranty.Principal, error) {
	acting, err := s.Store.Membership(ctx, organization, p.User.ID)
	p.Account = acting
	return p, err
}

// manageOrganization runs a transaction of an admin on the locked organization of a path.
func (s *Service) manageOrganization(
	ctx context.Context, p warranty.Principal, organization warranty.ID,
	fn func(*store.Tx, warranty.Principal, store.Account) error,
) error {
	p, err := s.as(ctx, p, organization)
	if err != nil {
		return err
	}
	return s.manage(ctx, p, func(tx *store.Tx, account store.Account) error { return fn(tx, p, account) })
}

// organizationEvent adds an event to the history of an organization.
func (s *Service) organizationEvent(
	tx *store.Tx, p warranty.Principal, action warranty.Action, subject warranty.ID, changes ...warranty.Change,
) error {
	return tx.InsertEvent(p.Account.ID, s.event(p, action, subject, s.now(), changes...))
}

// Accounts lists what the person can act for: their own account first, then organizations by name. With an
// error, the list has their own account.
func (s *Service) Accounts(ctx context.Context, p warranty.Principal) ([]warranty.AccountChoice, error) {
	list, err := s.Store.Accounts(ctx, p.User.ID)
	if err != nil {
		list = []warranty.AccountChoice{{Acting: warranty.OwnAccount(p.User)}}
	}
	return list, err
}

// Issuer returns the profile of the organization that issued a warranty, for everyone who has access to the
// warranty. It is nil if a person did.
func (s *Service) Issuer(
	ctx context.Context, p warranty.Principal, key warranty.WarrantyKey,
) (*warranty.Profile, error) {
	w, err := s.GetWarranty(ctx, p, warranty.GetWarranty{ID: key})
	if err != nil {
		return nil, err
	}
	profile, err := s.Store.Issuer(ctx, w.ID)
	if errors.Is(err, warranty.ErrNotFound) {
		return nil, nil
	}
	return &profile, err
}

// ListOrganizations lists the organizations of the person.
func (s *Service) ListOrganizations(
	ctx context.Context, p warranty.Principal, in warranty.ListOrganizations,
) (warranty.Page[warranty.Organization], error) {
	if err := in.Check(); err != nil {
		return warranty.Page[warranty.Organization]{}, err
	}
	list, total, err := s.Store.Organizations(ctx, p.User.ID, in.Paging)
	return warranty.PageOf(list, in.Paging, total), err
}

// GetOrganization returns an organization of the person.
func (s *Service) GetOrganization(
	ctx context.Context, p warranty.Principal, in warranty.GetOrganization,
) (warranty.Organization, error) {
	return s.Store.Organization(ctx, in.ID, p.User.ID)
}

var (
	allMails = warranty.MailChoices{WarrantyEnd: true, Claims: true, TokenExpiry: true}
	noMails  warranty.MailChoices
)

// CreateOrganization creates an organization, whose first admin is the person.
func (s *Service) CreateOrganization(
	ctx context.Context, p warranty.Principal, in warranty.CreateOrganization,
) (warranty.Organization, error) {
	if err := in.Check(); err != nil {
		return warranty.Organization{}, err
	}
	if err := checkNamedDomains("name", in.Name, nil); err != nil {
		return warranty.Organization{}, err
	}
	if err := s.mayFound(ctx, p); err != nil {
		return warranty.Organization{}, err
	}
	p = p.Self()
	o := warranty.Organization{
		ID:           s.NewID(),
		Name:         in.Name,
		Website:      warranty.Optional(in.Website),
		ContactEmail: warranty.Optional(in.ContactEmail),
		ContactPhone: warranty.Optional(in.ContactPhone),
		Role:         warranty.Admin,
		Mails:        allMails,
		Members:      1,
		CreatedAt:    s.now(),
	}
	key := in.IdempotencyKey
	in.IdempotencyKey = nil
	return once(s, p, api.CreateOrganization.Name, key, in, o, func(replay func(*store.Tx) (bool, error)) error {
		return s.writeLocked(ctx, p, func(tx *store.Tx, person store.Account) error {
			if done, err := replay(tx); err != nil || done {
				return err
			}
			if err := s.requireVerified(person); err != nil {
				return err
			}
			if err := s.checkOrganizations(tx, p.User.ID); err != nil {
				return err
			}
			if err := tx.InsertOrganization(o, person.EmailVerified); err != nil {
				return err
			}
			if err := tx.InsertMember(o.ID, p.User.ID, warranty.Admin, o.Mails, o.CreatedAt); err != nil {
				return err
			}
			p.Account = warranty.Acting{ID: o.ID, Name: o.Name, Kind: warranty.OrganizationKind, Role: warranty.Admin}
			return s.organizationEvent(tx, p, warranty.OrganizationCreated, o.ID)
		})
	})
}

// checkOrganizations returns an error if a locked person is a member of too many organizations.
func (s *Service) checkOrganizations(tx *store.Tx, user warranty.ID) error {
	n, err := tx.CountOrganizations(user)
	if err == nil && s.OrganizationLimit > 0 && n >= int64(s.OrganizationLimit) {
		err = warranty.Refuse(warranty.InUse,
			"You are a member of %d organizations, which is the limit. Leave one first.", n)
	}
	return err
}

// UpdateOrganization changes the profile, which needs an admin, and the member's own email settings.
func (s *Service) UpdateOrganization(
	ctx context.Context, p warranty.Principal, in warranty.UpdateOrganization,
) (warranty.Organization, error) {
	if err := in.Check(); err != nil {
		return warranty.Organization{}, err
	}
	p, err := s.as(ctx, p, in.ID)
	if err != nil {
		return warranty.Organization{}, err
	}
	needed := warranty.Viewer
	if in.ChangesProfile() {
		needed = warranty.Admin
	}
	var changed warranty.Organization
	err = s.WriteToAccount(ctx, p, needed, func(tx *store.Tx, account store.Account) error {
		o, err := tx.Organization(in.ID, p.User.ID)
		if err != nil {
			return err
		}
		changed = in.Apply(o)
		if changed.Mails != o.Mails {
			if err := tx.SetMemberMails(o.ID, p.User.ID, changed.Mails); err != nil {
				return err
			}
		}
		changes := profileChanges(o, changed)
		if len(changes) == 0 {
			return nil
		}
		if changed.Name != o.Name {
			if err := s.rename(tx, p, account, changed.Name); err != nil {
				return err
			}
		}
		if err := tx.UpdateOrganization(changed); err != nil {
			return err
		}
		return s.organizationEvent(tx, p, warranty.OrganizationUpdated, o.ID, changes...)
	})
	s.wakeMail()
	return changed, err
}

// profileChanges lists the fields of the profile that differ.
func profileChanges(before, after warranty.Organization) (list []warranty.Change) {
	for _, f := range []struct {
		name     string
		from, to *string
	}{
		{"name", &before.Name, &after.Name},
		{"website", before.Website, after.Website},
		{"contact_email", before.ContactEmail, after.ContactEmail},
		{"contact_phone", before.ContactPhone, after.ContactPhone},
	} {
		if derefText(f.from) != derefText(f.to) {
			list = append(list, warranty.Change{Field: f.name, From: f.from, To: f.to})
		}
	}
	return list
}

// DeleteOrganization disables an organization, ends its credentials and plans its erasure. It is refused
// while the organization stands behind records of others.
func (s *Service) DeleteOrganization(
	ctx context.Context, p warranty.Principal, in warranty.DeleteOrganization,
) (warranty.None, error) {
	now := s.now()
	return warranty.None{}, s.manageConfirmed(ctx, p, in.ID,
		func(tx *store.Tx, p warranty.Principal, account store.Account) error {
			if err := s.mayDelete(tx, account); err != nil {
				return err
			}
			if err := tx.DisableUser(account.ID, now); err != nil {
				return err
			}
			if err := s.endCredentials(tx, p, account.User, false, now); err != nil {
				return err
			}
			if err := tx.PlanErasure(account.ID, now.Add(store.ErasureDelay), true); err != nil {
				return err
			}
			return s.organizationEvent(tx, p, warranty.OrganizationDeleted, account.ID)
		})
}

// mayDelete returns an error if a locked organization stands behind records of others.
func (s *Service) mayDelete(tx *store.Tx, organization store.Account) error {
	stands, err := tx.StandsBehind(organization.ID, s.today())
	if err == nil && stands {
		err = warranty.Refuse(warranty.InUse, "The organization issued warranties that others own and that have "+
			"not ended. It can be deleted once they have ended or were cancelled.")
	}
	return err
}

// RestoreOrganization takes back the deletion of an organization. Its tokens stay revoked.
func (s *Service) RestoreOrganization(
	ctx context.Context, p warranty.Principal, in warranty.RestoreOrganization,
) (warranty.Organization, error) {
	var restored warranty.Organization
	deleted, err := s.Store.Organization(ctx, in.ID, p.User.ID)
	if err != nil {
		return restored, err
	}
	if deleted.DeletedAt == nil {
		return deleted, warranty.Acting{Name: deleted.Name, Role: deleted.Role}.Require(warranty.Admin)
	}
	now := s.now()
	p = p.Self()
	lock := func(tx *store.Tx) error { _, err := tx.LockUser(in.ID); return err }
	restore := func(tx *store.Tx) error {
		// Only admins see a deleted organization.
		o, err := tx.Organization(in.ID, p.User.ID)
		if err != nil {
			return err
		}
		if o.DeletedAt == nil {
			restored = o
			return nil
		}
		if !o.ErasedAt.After(now) {
			return warranty.ErrNotFound
		}
		if err := tx.EnableUser(o.ID); err != nil {
			return err
		}
		if err := tx.DropErasure(o.ID); err != nil {
			return err
		}
		by := p
		by.Account = warranty.Acting{ID: o.ID, Name: o.Name, Kind: warranty.OrganizationKind, Role: o.Role}
		if err := s.organizationEvent(tx, by, warranty.OrganizationRestored, o.ID); err != nil {
			return err
		}
		if err := s.reclaimDomains(tx, by, o.ID); err != nil {
			return err
		}
		restored, err = tx.Organization(in.ID, p.User.ID)
		return err
	}
	err = s.enabling(func() error { return s.writeWithLocks(ctx, p, warranty.Admin, lock, restore) })
	return restored, err
}

// organizationEvents is the number of events in OrganizationHistory.
const organizationEvents = 30

// OrganizationHistory lists the latest events of an organization for its members, without those of operators.
func (s *Service) OrganizationHistory(
	ctx context.Context, p warranty.Principal, organization warranty.ID,
) ([]warranty.Event, error) {
	if _, err := s.as(ctx, p, organization); err != nil {
		return nil, err
	}
	list, err := s.Store.AccountHistory(ctx, organization, organizationEvents)
	return slices.DeleteFunc(list, func(e warranty.Event) bool {
		kind, _, _ := strings.Cut(e.Action.String(), ".")
		return kind == "account"
	}), err
}

// isOwnAddress reports whether an address is a verified one of the account that the principal acts for.
func (s *Service) isOwnAddress(ctx context.Context, p warranty.Principal, email string) (bool, error) {
	switch {
	case email == "":
		return false, nil
	case !p.ActsForOrganization():
		return p.User.EmailVerified && email == p.User.Email, nil
	}
	return s.Store.HasAddress(ctx, p.Account.ID, email)
}

// IsOwnAddress reports whether an address is verified by the account that the principal acts for.
func (s *Service) IsOwnAddress(ctx context.Context, p warranty.Principal, email string) (bool, error) {
	return s.isOwnAddress(ctx, p, email)
}
