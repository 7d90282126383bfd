package service

import (
	"context"
	"errors"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// ListMembers lists the members of an organization for its members.
func (s *Service) ListMembers(
	ctx context.Context, p warranty.Principal, in warranty.ListMembers,
) (warranty.Page[warranty.Membership], error) {
	if err := in.Check(); err != nil {
		return warranty.Page[warranty.Membership]{}, err
	}
	if _, err := s.as(ctx, p, in.ID); err != nil {
		return warranty.Page[warranty.Membership]{}, err
	}
	list, total, err := s.Store.Members(ctx, in.ID, in.Paging, s.now())
	return warranty.PageOf(list, in.Paging, total), err
}

var errLastAdmin = warranty.Refuse(warranty.LastAdmin,
	"An organization needs an admin, and this is the only one. Make another member admin first.")

// UpdateMember changes the role of a member. The organization is locked, so that of two admins who demote
// each other one is refused. What the member made and could not make with the lower role ends: the calendar feed and
// invitations, tokens unless they are kept and, for a viewer, transfer offers. Connected apps have the new role.
func (s *Service) UpdateMember(
	ctx context.Context, p warranty.Principal, in warranty.UpdateMember,
) (warranty.Membership, error) {
	var m warranty.Membership
	if err := in.Check(); err != nil {
		return m, err
	}
	now := s.now()
	err := s.manageOrganization(ctx, p, in.ID, func(tx *store.Tx, p warranty.Principal, account store.Account) (err error) {
		if m, err = tx.Member(account.ID, in.UserID); err != nil || m.Role == in.Role {
			return err
		}
		if in.Role == warranty.Admin {
			if err := s.requireConfirmed(p); err != nil {
				return err
			}
		}
		if m.Role == warranty.Admin {
			if err := requireOtherAdmin(tx, account.ID, in.UserID); err != nil {
				return err
			}
		}
		if !in.Role.Includes(m.Role) {
			if err := s.endManagedBy(tx, p, in.UserID, in.KeepTokens != nil && *in.KeepTokens, now); err != nil {
				return err
			}
		}
		if in.Role == warranty.Viewer {
			if err := s.cancelTransfersBy(tx, p, in.UserID, now); err != nil {
				return err
			}
		}
		from, to := m.Role.String(), in.Role.String()
		m.Role = in.Role
		if err := tx.SetRole(account.ID, in.UserID, in.Role); err != nil {
			return err
		}
		return s.organizationEvent(tx, p, warranty.MemberChanged, in.UserID, memberChange(m),
			warranty.Change{Field: "role", From: &from, To: &to})
	})
	return m, err
}

// memberChange names a member in an event.
func memberChange(m warranty.Membership) warranty.Change {
	return warranty.Change{Field: "member", To: &m.Name}
}

func requireOtherAdmin(tx *store.Tx, organization, user warranty.ID) error {
	other, err := tx.HasOtherAdmin(organization, user)
	if err == nil && !other {
		err = errLastAdmin
	}
	return err
}

// RemoveMember removes a member, or lets the person leave. When it returns, no replica accepts the member
// and no write of the member for the organization commits. Printed codes that the member made stay, unless the admin
// ends them.
func (s *Service) RemoveMember(
	ctx context.Context, p warranty.Principal, in warranty.RemoveMember,
) (warranty.None, error) {
	p, err := s.as(ctx, p, in.ID)
	if err != nil {
		return warranty.None{}, err
	}
	needed := warranty.Admin
	if in.UserID == p.User.ID {
		needed = warranty.Viewer
	}
	keep := in.KeepTokens != nil && *in.KeepTokens
	if err := p.Account.Require(needed); err != nil {
		return warranty.None{}, err
	}
	now := s.now()
	err = s.WriteToAccount(ctx, p, needed, func(tx *store.Tx, account store.Account) error {
		m, err := tx.Member(account.ID, in.UserID)
		if err != nil {
			return err
		}
		if m.Role == warranty.Admin {
			if err := requireOtherAdmin(tx, account.ID, in.UserID); err != nil {
				return err
			}
		}
		if err := s.endMadeBy(tx, p, in.UserID, keep && needed == warranty.Admin, now); err != nil {
			return err
		}
		if err := tx.RemoveMember(account.ID, in.UserID); err != nil {
			return err
		}
		return s.organizationEvent(tx, p, warranty.MemberRemoved, in.UserID, memberChange(m))
	})
	if err == nil && needed == warranty.Admin && in.EndPrintedCodes != nil && *in.EndPrintedCodes {
		return s.EndPrintedCodes(ctx, p, warranty.EndPrintedCodes{ID: in.ID, MadeBy: in.UserID})
	}
	return warranty.None{}, err
}

// ListInvitations lists the open invitations of an organization for its members.
func (s *Service) ListInvitations(
	ctx context.Context, p warranty.Principal, in warranty.ListInvitations,
) (warranty.Page[warranty.Invitation], error) {
	if err := in.Check(); err != nil {
		return warranty.Page[warranty.Invitation]{}, err
	}
	if _, err := s.as(ctx, p, in.ID); err != nil {
		return warranty.Page[warranty.Invitation]{}, err
	}
	list, total, err := s.Store.Invitations(ctx, in.ID, in.Paging, s.now())
	return warranty.PageOf(list, in.Paging, total), err
}

// CreateInvitation emails a code with which a person becomes a member.
func (s *Service) CreateInvitation(
	ctx context.Context, p warranty.Principal, in warranty.CreateInvitation,
) (warranty.Invitation, error) {
	if err := in.Check(); err != nil {
		return warranty.Invitation{}, err
	}
	p, err := s.as(ctx, p, in.ID)
	if err != nil {
		return warranty.Invitation{}, err
	}
	if err := p.Account.Require(warranty.Admin); err != nil {
		return warranty.Invitation{}, err
	}
	if in.Role == warranty.Admin {
		if err := s.requireConfirmed(p); err != nil {
			return warranty.Invitation{}, err
		}
	}
	if err := s.throttle(ctx, MailsToOthers, p.User.ID.String()); err != nil {
		return warranty.Invitation{}, err
	}
	code, err := warranty.NewCode(s.Random)
	if err != nil {
		return warranty.Invitation{}, err
	}
	now := s.now()
	i := warranty.Invitation{
		ID:        s.NewID(),
		Email:     in.Email,
		Role:      in.Role,
		InvitedBy: p.User.Name,
		CreatedAt: now,
		ExpiresAt: now.Add(warranty.InvitationLifetime),
	}
	texts, err := s.textsAt(ctx, i.Email, p)
	if err != nil {
		return warranty.Invitation{}, err
	}
	message := s.outgoing(texts.Invited(i.Email, p.User.Name, p.Account.Name, code, s.PublicURL))
	message.Expires = &i.ExpiresAt
	key := in.IdempotencyKey
	in.IdempotencyKey = nil
	i, err = once(s, p, api.CreateInvitation.Name, key, in, i, func(replay func(*store.Tx) (bool, error)) error {
		return s.writeMailing(ctx, p, warranty.Admin, func(tx *store.Tx, from *sender) error {
			if done, err := replay(tx); err != nil || done {
				return err
			}
			if err := mayInvite(tx, from.ID, i, now); err != nil {
				return err
			}
			if err := tx.InsertInvitation(from.ID, p.User.ID, i, warranty.HashCode(code)); err != nil {
				return err
			}
			if err := s.contact(tx, from, message, i.ID, now); err != nil {
				return err
			}
			return s.organizationEvent(tx, p, warranty.MemberInvited, i.ID, warranty.Change{Field: "email", To: &i.Email})
		})
	})
	s.wakeMail()
	return i, err
}

// mayInvite returns an error if a locked organization is full or has the member already.
func mayInvite(tx *store.Tx, organization warranty.ID, i warranty.Invitation, now time.Time) error {
	member, err := tx.IsMember(organization, i.Email)
	if err != nil {
		return err
	}
	if member {
		return warranty.Refuse(warranty.AlreadyExists, "This person is already a member.")
	}
	n, err := tx.CountMembers(organization, now)
	if err == nil && n >= warranty.MaxMembers {
		err = warranty.Refuse(warranty.InUse,
			"The organization has %d members and invitations, which is the limit.", n)
	}
	return err
}

// CancelInvitation removes an open invitation.
func (s *Service) CancelInvitation(
	ctx context.Context, p warranty.Principal, in warranty.CancelInvitation,
) (warranty.None, error) {
	return warranty.None{}, s.manageOrganization(ctx, p, in.ID,
		func(tx *store.Tx, p warranty.Principal, account store.Account) error {
			email, err := tx.DeleteInvitation(account.ID, in.InvitationID)
			if err != nil {
				return err
			}
			return s.organizationEvent(tx, p, warranty.InvitationCancelled, in.InvitationID,
				warranty.Change{Field: "email", To: &email})
		})
}

// AcceptInvitation makes the person a member. The code works only for the address that was invited.
func (s *Service) AcceptInvitation(
	ctx context.Context, p warranty.Principal, in warranty.AcceptInvitation,
) (warranty.Organization, error) {
	var joined warranty.Organization
	if err := in.Check(); err != nil {
		return joined, err
	}
	p = p.Self()
	if err := s.throttle(ctx, CodeRequests, p.Address); err != nil {
		return joined, err
	}
	now, code := s.now(), warranty.HashCode(in.Code)
	_, organization, err := s.Store.InvitationByCode(ctx, code, now)
	if err != nil {
		return joined, badCode(err)
	}
	var person store.Account
	lock := func(tx *store.Tx) error {
		locked, err := tx.LockUsers(p.User.ID, organization.ID)
		person = locked[p.User.ID]
		if err == nil && locked[organization.ID].Disabled {
			err = badCode(warranty.ErrNotFound)
		}
		return err
	}
	err = s.writeWithLocks(ctx, p, warranty.Admin, lock, func(tx *store.Tx) error {
		if err := s.requireVerified(person); err != nil {
			return err
		}
		i, err := tx.UseInvitation(organization.ID, code, now)
		if err != nil {
			return badCode(err)
		}
		if i.Email != person.Email {
			return warranty.Refuse(warranty.RoleNotAllowed,
				"This invitation is for another email address. Sign in with that address.")
		}
		if _, err := tx.Member(organization.ID, p.User.ID); !errors.Is(err, warranty.ErrNotFound) {
			return orElse(err, warranty.Refuse(warranty.AlreadyExists, "You are already a member of this organization."))
		}
		if err := s.checkOrganizations(tx, p.User.ID); err != nil {
			return err
		}
		if err := tx.InsertMember(organization.ID, p.User.ID, i.Role, noMails, now); err != nil {
			return err
		}
		p.Account = organization
		role := i.Role.String()
		if err := s.organizationEvent(tx, p, warranty.MemberJoined, p.User.ID,
			warranty.Change{Field: "member", To: &p.User.Name}, warranty.Change{Field: "role", To: &role}); err != nil {
			return err
		}
		joined, err = tx.Organization(organization.ID, p.User.ID)
		return err
	})
	return joined, err
}

// orElse returns err, or other if there is none.
func orElse(err, other error) error {
	if err != nil {
		return err
	}
	return other
}
