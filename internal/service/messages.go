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

// ListMessages lists the messages of a claim that the principal may read, newest first.
func (s *Service) ListMessages(
	ctx context.Context, p warranty.Principal, in warranty.ListMessages,
) (warranty.Page[warranty.Message], error) {
	if err := in.Check(); err != nil {
		return warranty.Page[warranty.Message]{}, err
	}
	c, err := s.Store.Claim(ctx, p.Account.ID, in.ID)
	if err != nil {
		return warranty.Page[warranty.Message]{}, err
	}
	list, total, err := s.messages(ctx, p, c, in.Paging)
	return warranty.PageOf(list, in.Paging, total), err
}

// messages reads messages of a claim, with their documents if the principal may read those.
func (s *Service) messages(
	ctx context.Context, p warranty.Principal, c warranty.Claim, paging warranty.Paging,
) ([]warranty.Message, int64, error) {
	list, total, err := s.Store.Messages(ctx, p.Account.ID, c, paging)
	if !p.Scopes.Has(warranty.DocumentsRead) {
		for i := range list {
			list[i].Documents = []warranty.MessageDocument{}
		}
	}
	return list, total, err
}

// withMessages adds the latest messages to a claim.
func (s *Service) withMessages(ctx context.Context, p warranty.Principal, c warranty.Claim) (warranty.Claim, error) {
	list, _, err := s.messages(ctx, p, c, warranty.Paging{Page: 1, Limit: warranty.LatestMessages})
	c.Messages = append([]warranty.Message{}, list...)
	if len(list) > 0 {
		c.LastMessage = list[0].Excerpt()
	}
	return c, err
}

// NewMessages counts the messages about a claim after one that the principal has seen, without their own.
func (s *Service) NewMessages(
	ctx context.Context, p warranty.Principal, c warranty.Claim, after warranty.ID,
) (int64, error) {
	return s.Store.NewMessages(ctx, p.Account.ID, c, after)
}

// newMessage returns a message of the principal. Its side is not known yet.
func (s *Service) newMessage(p warranty.Principal, body string, now time.Time) warranty.Message {
	return warranty.Message{
		ID:        s.NewID(),
		Author:    warranty.Author{Name: p.User.Name, Account: organizationName(p)},
		Body:      body,
		Documents: []warranty.MessageDocument{},
		CreatedAt: now,
		Mine:      true,
	}
}

// WriteMessage writes a message about a claim. The reply of an owner who was asked for information continues
// the review in the same transaction; the claim is locked, so that a decision comes before or after it.
func (s *Service) WriteMessage(
	ctx context.Context, p warranty.Principal, in warranty.WriteMessage,
) (warranty.Message, error) {
	if err := in.Check(); err != nil {
		return warranty.Message{}, err
	}
	now := s.now()
	message := s.newMessage(p, in.Body, now)
	key := in.IdempotencyKey
	in.IdempotencyKey = nil
	earlier, err := once(s, p, api.WriteMessage.Name, key, in, message, func(replay func(*store.Tx) (bool, error)) error {
		return s.writeMailing(ctx, p, warranty.Member, func(tx *store.Tx, actor *sender) error {
			if done, err := replay(tx); err != nil || done {
				return err
			}
			if err := s.writeMessage(tx, p, actor, in, &message); err != nil {
				return err
			}
			return complete(tx, p, api.WriteMessage.Name, key, message)
		})
	})
	s.wakeMail()
	if earlier.Replay {
		return earlier, err
	}
	return message, err
}

func (s *Service) writeMessage(
	tx *store.Tx, p warranty.Principal, actor *sender, in warranty.WriteMessage, m *warranty.Message,
) error {
	c, roles, err := tx.LockClaim(p.Account.ID, in.ID)
	if err != nil {
		return err
	}
	if m.Author.Role, err = c.Writes(roles); err != nil {
		return err
	}
	m.ClaimID = c.ID
	if m.Documents, err = s.insertMessage(tx, p, c, *m, in.Documents, in.DocumentIDs); err != nil {
		return err
	}
	before := c.Status
	replied := c.Says(m.Author.Role, m.CreatedAt)
	if err := tx.UpdateClaim(c, before); err != nil {
		return err
	}
	if replied {
		moved := s.event(p, warranty.ClaimMoved, c.ID, m.CreatedAt)
		err = insertMove(tx, c, moved, before, c.Status)
	} else {
		err = tx.InsertEvent(c.WarrantyID, s.event(p, warranty.ClaimMessaged, c.ID, m.CreatedAt))
	}
	if err != nil {
		return err
	}
	news := mail.ClaimNews{Claim: c, From: before, Moved: replied, Side: m.Author.Role, Message: m.Body}
	return s.mailClaim(tx, p, actor, claimMail{ClaimNews: news, message: m.ID}, m.CreatedAt)
}

// insertMessage writes a message about a locked claim with new documents and stored ones of the warranty, and returns them.
func (s *Service) insertMessage(
	tx *store.Tx, p warranty.Principal, c warranty.Claim, m warranty.Message, sent, stored []string,
) ([]warranty.MessageDocument, error) {
	ids, err := s.attachDrafts(tx, p, c, warranty.DocumentIDs(sent), m.CreatedAt)
	if err != nil {
		return nil, err
	}
	if err := tx.InsertMessage(c, m, p.Account.ID, p.User.ID, ids); err != nil {
		return nil, err
	}
	if m.Author.Role == warranty.OwnerSide {
		if err := tx.NoteClaimant(c.ID, m.CreatedAt, s.NewID); err != nil {
			return nil, err
		}
	}
	if err := tx.AttachDocuments(c, p.Account.ID, &m.ID, warranty.DocumentIDs(stored)); err != nil {
		return nil, err
	}
	list, err := tx.MessageDocuments(m.ID, ids)
	if err != nil {
		return nil, err
	}
	attached, err := tx.AttachedDocuments(c, m.ID)
	return append(list, attached...), err
}

// DetachDocument takes a stored document of the principal's warranty back from a claim. The businesses lose it, unless they
// see it otherwise.
func (s *Service) DetachDocument(
	ctx context.Context, p warranty.Principal, in warranty.DetachDocument,
) (warranty.None, error) {
	detached := s.event(p, warranty.DocumentDetached, in.DocumentID, s.now())
	return warranty.None{}, s.writeAs(ctx, p, func(tx *store.Tx) error {
		c, roles, err := tx.LockClaim(p.Account.ID, in.ID)
		if err != nil {
			return err
		}
		if !roles.Has(warranty.Owner) {
			return warranty.Refuse(warranty.RoleNotAllowed, "Only the owner of the warranty can do this.")
		}
		f, err := tx.LockFile(p.Account.ID, in.DocumentID)
		if err != nil {
			return err
		}
		if err := tx.DetachDocument(c, in.DocumentID); err != nil {
			return err
		}
		detached.Changes = []warranty.Change{{Field: "file_name", From: &f.Document.FileName}}
		return tx.InsertEvent(c.WarrantyID, detached)
	})
}

// MuteClaim stops or resumes the emails about a claim to the principal, for the account that they act for.
func (s *Service) MuteClaim(
	ctx context.Context, p warranty.Principal, in warranty.MuteClaim,
) (m warranty.ClaimMute, err error) {
	if err := in.Check(); err != nil {
		return m, err
	}
	c, err := s.Store.Claim(ctx, p.Account.ID, in.ID)
	if err != nil {
		return m, err
	}
	m = warranty.ClaimMute{ClaimID: c.ID, Muted: *in.Muted}
	return m, s.WriteToAccount(ctx, p, warranty.Viewer, func(tx *store.Tx, _ store.Account) error {
		return tx.SetMuted(store.Mute{Claim: c.ID, Account: p.Account.ID, User: p.User.ID}, m.Muted)
	})
}

// Muted reports whether the principal gets no emails about a claim.
func (s *Service) Muted(ctx context.Context, p warranty.Principal, claim warranty.ID) (bool, error) {
	return s.Store.Muted(ctx, store.Mute{Claim: claim, Account: p.Account.ID, User: p.User.ID})
}

// GetClaimHandling returns whose claim it is and who works on it, for those who decide it.
func (s *Service) GetClaimHandling(
	ctx context.Context, p warranty.Principal, in warranty.GetClaimHandling,
) (warranty.ClaimHandling, error) {
	c, roles, err := s.Store.ClaimWithRoles(ctx, p.Account.ID, in.ID)
	if err == nil {
		err = mayHandle(c, roles)
	}
	if err != nil {
		return warranty.ClaimHandling{}, err
	}
	return s.Store.Handling(ctx, p.Account.ID, c)
}

// mayHandle returns an error unless an account with these roles is a business that decides the claim.
func mayHandle(c warranty.Claim, roles warranty.Roles) error {
	if roles.Has(warranty.Owner) {
		return warranty.Refuse(warranty.RoleNotAllowed, "Only the issuer or a confirmed seller can do this.")
	}
	return roles.MayDecide(c.ManagedBy)
}

// AssignClaim says which member of the principal's organization works on a claim.
func (s *Service) AssignClaim(
	ctx context.Context, p warranty.Principal, in warranty.AssignClaim,
) (warranty.ClaimHandling, error) {
	if in.UserID != nil && in.UserID.IsZero() {
		in.UserID = nil // null
	}
	var c warranty.Claim
	err := s.writeLocked(ctx, p, func(tx *store.Tx, account store.Account) error {
		claim, roles, err := tx.LockClaim(p.Account.ID, in.ID)
		if err != nil {
			return err
		}
		c = claim
		if err := mayHandle(claim, roles); err != nil {
			return err
		}
		if !p.ActsForOrganization() {
			return errAssigns
		}
		if err := checkAssignee(tx, account.ID, in.UserID, "user_id"); err != nil {
			return err
		}
		return tx.AssignClaim(account.ID, claim.ID, in.UserID)
	})
	if err != nil {
		return warranty.ClaimHandling{}, err
	}
	return s.Store.Handling(ctx, p.Account.ID, c)
}

var errAssigns = warranty.Refuse(warranty.RoleNotAllowed, "Only organizations can assign claims to their members.")

// checkAssignee returns an error for a field if a person cannot work on claims of a locked organization. nil is nobody.
func checkAssignee(tx *store.Tx, organization warranty.ID, user *warranty.ID, field string) error {
	if user == nil {
		return nil
	}
	m, err := tx.Member(organization, *user)
	if err != nil && !errors.Is(err, warranty.ErrNotFound) {
		return err
	}
	if err != nil || m.Disabled || !m.Role.Includes(warranty.Member) {
		var check warranty.Checks
		check.Add(field, "not_a_member", "Choose a member of the organization who can change records.")
		return check.Err()
	}
	return nil
}
