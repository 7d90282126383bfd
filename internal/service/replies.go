package service

import (
	"context"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// replyOperations binds the operations on saved replies.
func (s *Service) replyOperations() []api.Bound {
	return []api.Bound{
		api.Bind(api.ListReplies, s.ListReplies),
		api.Bind(api.CreateReply, s.CreateReply),
		api.Bind(api.UpdateReply, s.UpdateReply),
		api.Bind(api.DeleteReply, s.DeleteReply),
	}
}

// ListReplies lists the saved replies of the principal's account.
func (s *Service) ListReplies(
	ctx context.Context, p warranty.Principal, in warranty.ListReplies,
) (warranty.Page[warranty.SavedReply], error) {
	if err := in.Check(); err != nil {
		return warranty.Page[warranty.SavedReply]{}, err
	}
	list, total, err := s.Store.Replies(ctx, p.Account.ID, in.Paging)
	return warranty.PageOf(list, in.Paging, total), err
}

// GetReply returns a saved reply of the principal's account, for the web pages.
func (s *Service) GetReply(ctx context.Context, p warranty.Principal, id warranty.ID) (warranty.SavedReply, error) {
	return s.Store.Reply(ctx, p.Account.ID, id)
}

// CreateReply adds a saved reply to the principal's account.
func (s *Service) CreateReply(
	ctx context.Context, p warranty.Principal, in warranty.CreateReply,
) (warranty.SavedReply, error) {
	if err := in.Check(); err != nil {
		return warranty.SavedReply{}, err
	}
	now := s.now()
	reply := warranty.SavedReply{ID: s.NewID(), Title: in.Title, Body: in.Body, CreatedAt: now, UpdatedAt: now}
	return reply, s.writeLocked(ctx, p, func(tx *store.Tx, account store.Account) error {
		n, err := tx.CountReplies(account.ID)
		if err != nil {
			return err
		}
		if n >= warranty.MaxReplies {
			return warranty.Refuse(warranty.InUse,
				"The account has %d saved replies, which is the limit. Delete one first.", n)
		}
		return tx.InsertReply(account.ID, reply)
	})
}

// UpdateReply changes the given fields of a saved reply.
func (s *Service) UpdateReply(
	ctx context.Context, p warranty.Principal, in warranty.UpdateReply,
) (reply warranty.SavedReply, err error) {
	if err := in.Check(); err != nil {
		return reply, err
	}
	now := s.now()
	err = s.writeLocked(ctx, p, func(tx *store.Tx, account store.Account) error {
		before, err := tx.Reply(account.ID, in.ID)
		if err != nil {
			return err
		}
		if reply = in.Apply(before); reply == before {
			return nil
		}
		reply.UpdatedAt = now
		return tx.UpdateReply(account.ID, reply)
	})
	return reply, err
}

// DeleteReply removes a saved reply.
func (s *Service) DeleteReply(
	ctx context.Context, p warranty.Principal, in warranty.DeleteReply,
) (warranty.None, error) {
	return warranty.None{}, s.writeLocked(ctx, p, func(tx *store.Tx, account store.Account) error {
		return tx.DeleteReply(account.ID, in.ID)
	})
}
