package service

import (
	"context"
	"errors"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// accountOf finds an account by the name that the operator gives: the address of a person, or the id of an
// organization.
func (s *Service) accountOf(ctx context.Context, name string) (store.Account, error) {
	id, err := warranty.ParseID(name)
	if err != nil {
		return s.Store.AccountByEmail(ctx, name)
	}
	return s.Store.OrganizationAccount(ctx, id)
}

// LedOnlyBy lists the enabled organizations that have no enabled admin besides a person, who is one, for the
// operator. After the person was disabled, they have none.
func (s *Service) LedOnlyBy(ctx context.Context, email string) ([]warranty.Acting, error) {
	account, err := s.Store.AccountByEmail(ctx, email)
	if err != nil {
		return nil, err
	}
	return s.Store.LedOnlyBy(ctx, account.ID)
}

// MakeAdmin makes a person an admin of an organization for the operator, whether or not they were a member.
func (s *Service) MakeAdmin(ctx context.Context, organization warranty.ID, email string) error {
	o, err := s.accountOf(ctx, organization.String())
	if err != nil {
		return err
	}
	person, err := s.Store.AccountByEmail(ctx, email)
	if errors.Is(err, warranty.ErrNotFound) {
		return warranty.Refuse(warranty.NotFound, "No account has this address.")
	}
	if err != nil {
		return err
	}
	now := s.now()
	return s.Store.Write(ctx, func(tx *store.Tx) error {
		locked, err := tx.LockUsers(o.ID, person.ID)
		if err != nil {
			return err
		}
		if person := locked[person.ID]; person.Disabled || !person.EmailVerified || person.Kind != warranty.PersonKind {
			return warranty.Refuse(warranty.RoleNotAllowed, "An admin needs an enabled account with a verified address.")
		}
		p := operator
		p.Account = o.Acting()
		admin := warranty.Admin.String()
		role := warranty.Change{Field: "role", To: &admin}
		m, err := tx.Member(o.ID, person.ID)
		switch {
		case errors.Is(err, warranty.ErrNotFound):
			if err := s.checkOrganizations(tx, person.ID); err != nil {
				return err
			}
			if err := tx.InsertMember(o.ID, person.ID, warranty.Admin, noMails, now); err != nil {
				return err
			}
			return s.organizationEvent(tx, p, warranty.MemberJoined, person.ID,
				warranty.Change{Field: "member", To: &person.Name}, role)
		case err != nil || m.Role == warranty.Admin:
			return err
		}
		before := m.Role.String()
		role.From = &before
		if err := tx.SetRole(o.ID, person.ID, warranty.Admin); err != nil {
			return err
		}
		return s.organizationEvent(tx, p, warranty.MemberChanged, person.ID, memberChange(m), role)
	})
}
