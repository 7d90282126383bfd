package service

import (
	"context"
	"errors"
	"time"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

const (
	// linkStep is the number of records that one transaction links to a seller. It takes about 20 ms,
	// during which SQLite has no other writer.
	linkStep = 100
	// linkSteps is how many more of them a request waits for.
	linkSteps = 50
)

// linkSeller gives a user access to the records that name their address as the seller's, and adds an
// event to the history of each. If there are many, LinkSellers continues. Records that are created
// meanwhile are linked by their own transactions, because the address is verified.
func (s *Service) linkSeller(tx *store.Tx, user warranty.User, door warranty.Door, now time.Time) error {
	return s.linkAfter(tx, user, store.SellerLink{User: user.ID, Door: door}, now)
}

func (s *Service) linkAfter(tx *store.Tx, user warranty.User, l store.SellerLink, now time.Time) error {
	linked, last, err := tx.LinkSeller(user.ID, user.Email, l.After, linkStep)
	if err != nil {
		return err
	}
	for _, id := range linked {
		e := s.event(warranty.Principal{User: user, Door: l.Door}, warranty.SellerLinked, id, now)
		if err := tx.InsertEvent(id, e, user.ID); err != nil {
			return err
		}
	}
	if last == nil {
		return tx.DeleteSellerLink(user.ID)
	}
	l.After = *last
	return tx.SaveSellerLink(l)
}

// LinkSellers links the remaining records of all sellers. Every replica may do it at the same time.
func (s *Service) LinkSellers(ctx context.Context) error {
	users, err := s.Store.SellerLinks(ctx)
	for _, user := range users {
		for done := false; !done && err == nil; {
			done, err = s.linkStep(ctx, user)
		}
	}
	return err
}

// linkMore links records of a seller for a moment, so that most sellers see all of them at once. If it
// fails, LinkSellers continues.
func (s *Service) linkMore(ctx context.Context, user warranty.ID) {
	for range linkSteps {
		if done, err := s.linkStep(ctx, user); done || err != nil {
			return
		}
	}
}

// linkStep links the next records of a seller and reports whether there are no more.
func (s *Service) linkStep(ctx context.Context, user warranty.ID) (done bool, err error) {
	now := s.now()
	err = s.Store.Write(ctx, func(tx *store.Tx) error {
		done = false
		account, err := tx.LockUser(user)
		if errors.Is(err, warranty.ErrNotFound) { // the account was deleted
			done = true
			return tx.DeleteSellerLink(user)
		}
		if err != nil {
			return err
		}
		l, err := tx.LockSellerLink(user)
		if errors.Is(err, warranty.ErrNotFound) {
			done = true
			return nil
		}
		if err != nil {
			return err
		}
		if account.Disabled || !account.EmailVerified {
			done = true
			return tx.DeleteSellerLink(user)
		}
		return s.linkAfter(tx, account.User, l, now)
	})
	return done, err
}
