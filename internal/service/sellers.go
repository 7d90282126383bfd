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

// linkSeller gives an account access to the records that name one of its addresses as the seller's, and
// adds an event to the history of each. If there are many, LinkSellers continues. Records that are created
// meanwhile are linked by their own transactions, because the address is verified.
func (s *Service) linkSeller(
	tx *store.Tx, account warranty.Acting, email string, door warranty.Door, now time.Time,
) error {
	return s.linkAfter(tx, account, store.SellerLink{Email: email, Account: account.ID, Door: door}, now)
}

func (s *Service) linkAfter(tx *store.Tx, account warranty.Acting, l store.SellerLink, now time.Time) error {
	linked, last, err := tx.LinkSeller(account.ID, l.Email, l.After, linkStep)
	if err != nil {
		return err
	}
	by := warranty.Principal{User: warranty.User{ID: account.ID, Name: account.Name}, Door: l.Door}
	for _, id := range linked {
		if err := tx.InsertEvent(id, s.event(by, warranty.SellerLinked, id, now), account.ID); err != nil {
			return err
		}
	}
	if last == nil {
		return tx.DeleteSellerLink(l.Email)
	}
	l.After = *last
	return tx.SaveSellerLink(l)
}

// LinkSellers links the remaining records of all sellers. Every replica may do it at the same time.
func (s *Service) LinkSellers(ctx context.Context) error {
	links, err := s.Store.SellerLinks(ctx)
	for _, l := range links {
		for done := false; !done && err == nil; {
			done, err = s.linkStep(ctx, l.Email)
		}
	}
	return err
}

// linkMore links records of a seller for a moment, so that most sellers see all of them at once. If it
// fails, LinkSellers continues.
func (s *Service) linkMore(ctx context.Context, email string) {
	for range linkSteps {
		if done, err := s.linkStep(ctx, email); done || err != nil {
			return
		}
	}
}

// linkStep links the next records that name an address and reports whether there are no more.
func (s *Service) linkStep(ctx context.Context, email string) (done bool, err error) {
	now := s.now()
	err = s.Store.Write(ctx, func(tx *store.Tx) error {
		done = true
		id, verified, err := tx.VerifiedAccount(email)
		if err != nil {
			return err
		}
		if !verified { // the account was deleted, or the address was removed
			return tx.DeleteSellerLink(email)
		}
		account, err := tx.LockUser(id)
		if err != nil {
			return err
		}
		l, err := tx.LockSellerLink(email)
		if errors.Is(err, warranty.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		// The address may have been removed while this waited for the lock.
		if id, verified, err = tx.VerifiedAccount(email); err != nil {
			return err
		}
		if account.Disabled || !verified || id != l.Account || id != account.ID {
			return tx.DeleteSellerLink(email)
		}
		done = false
		return s.linkAfter(tx, account.Acting(), l, now)
	})
	return done, err
}
