package service

import (
	"context"
	"errors"
	"slices"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// transferOperations binds the operations on transfers.
func (s *Service) transferOperations() []api.Bound {
	return []api.Bound{
		api.Bind(api.OfferTransfer, s.OfferTransfer),
		api.Bind(api.CancelTransfer, s.CancelTransfer),
		api.Bind(api.AcceptTransfer, s.Take),
	}
}

// OfferTransfer offers a warranty that the principal owns to an email address.
func (s *Service) OfferTransfer(
	ctx context.Context, p warranty.Principal, in warranty.OfferTransfer,
) (warranty.TransferOffer, error) {
	if err := in.Check(); err != nil {
		return warranty.TransferOffer{}, err
	}
	// Each offer sends an email to an address of the caller's choice.
	if err := s.throttle(ctx, MailsToOthers, p.User.ID.String()); err != nil {
		return warranty.TransferOffer{}, err
	}
	offer, texts, err := s.newTransfer(ctx, p, in)
	if err != nil {
		return offer.TransferOffer, err
	}
	now := s.now()
	offered := s.event(p, warranty.TransferOffered, unknownYet, now)
	err = s.writeMailing(ctx, p, warranty.Member, func(tx *store.Tx, from *sender) error {
		w, err := lockToTransfer(tx, p, in.ID)
		if err != nil {
			return err
		}
		if err := w.MayTransfer(); err != nil {
			return err
		}
		offer.WarrantyID, offered.SubjectID = w.ID, w.ID
		if err := s.insertTransfer(tx, p, w, &offer, in.Documents, now); err != nil {
			return err
		}
		if err := tx.InsertEvent(w.ID, offered); err != nil || !from.EmailVerified {
			return err
		}
		message := s.outgoing(texts.TransferOffered(in.Email, p.Account.Name, w.ProductName, offer.mailed, s.PublicURL))
		message.Expires = &offer.ExpiresAt
		err = s.contact(tx, from, message, w.ID, now)
		if offer.Mailed = err == nil; isMailLimit(err) {
			return nil // the code is in the response
		}
		return err
	})
	s.wakeMail()
	return offer.TransferOffer, err
}

// transferOffer is a transfer with its code for the owner, and the code of the email, which only its address can use.
type transferOffer struct {
	warranty.TransferOffer
	mailed string
}

func (s *Service) newTransfer(
	ctx context.Context, p warranty.Principal, in warranty.OfferTransfer,
) (offer transferOffer, texts mail.Texts, err error) {
	offer.Email, offer.ExpiresAt = in.Email, s.now().Add(warranty.TransferLifetime)
	if offer.Code, err = warranty.NewCode(s.Random); err != nil {
		return offer, texts, err
	}
	if offer.mailed, err = warranty.NewCode(s.Random); err != nil {
		return offer, texts, err
	}
	texts, err = s.textsAt(ctx, in.Email, p)
	return offer, texts, err
}

// insertTransfer replaces the offers of a locked warranty by a transfer.
func (s *Service) insertTransfer(
	tx *store.Tx, p warranty.Principal, w warranty.Warranty, offer *transferOffer, documents []string, now time.Time,
) error {
	along, err := documentsAlong(tx, p.Account.ID, w.ID, documents)
	if err != nil {
		return err
	}
	offer.Documents = len(along)
	if w.Offer.Open(now) {
		if err := tx.CancelHandover(w.ID, now); err != nil {
			return err
		}
		if err := tx.InsertEvent(w.ID, s.event(p, warranty.HandoverCancelled, w.ID, now)); err != nil {
			return err
		}
	}
	if err := tx.EndOffers(w.ID); err != nil {
		return err
	}
	code := store.OfferCode{
		Hash: warranty.HashCode(offer.Code), Warranty: w.ID, Giver: p.Account.ID, By: p.User.ID, Transfer: true,
		Documents: along, Expires: offer.ExpiresAt,
	}
	if err := tx.InsertOfferCode(code); err != nil {
		return err
	}
	until := now.Add(warranty.SignInByOffer)
	code.Hash, code.Email, code.SignsInUntil = warranty.HashCode(offer.mailed), &offer.Email, &until
	return tx.InsertOfferCode(code)
}

// endTransfer ends the open transfer of a locked warranty, if it has one.
func (s *Service) endTransfer(tx *store.Tx, p warranty.Principal, id warranty.ID, now time.Time) error {
	err := tx.CancelTransfer(id, now)
	if errors.Is(err, warranty.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return tx.InsertEvent(id, s.event(p, warranty.TransferCancelled, id, now))
}

// documentsAlong returns the documents that go along with a transfer of a locked warranty.
func documentsAlong(tx *store.Tx, owner, id warranty.ID, chosen []string) (along []string, err error) {
	ids := warranty.DocumentIDs(chosen)
	if len(ids) == 0 {
		return nil, nil
	}
	own, err := tx.OwnDocuments(owner, id)
	if err != nil {
		return nil, err
	}
	for _, d := range ids {
		if !slices.Contains(own, d) {
			var c warranty.Checks
			c.Add("documents", "not_yours", "Only documents of this warranty that you uploaded can go along, and not those of claims.")
			return nil, c.Err()
		}
		along = append(along, d.String())
	}
	return along, nil
}

// DocumentsToGive lists the documents that the owner of a warranty can let go along with a transfer.
func (s *Service) DocumentsToGive(ctx context.Context, p warranty.Principal, id warranty.ID) ([]warranty.Document, error) {
	return s.Store.OwnDocuments(ctx, p.Account.ID, id)
}

func lockToTransfer(tx *store.Tx, p warranty.Principal, key warranty.WarrantyKey) (warranty.Warranty, error) {
	w, err := tx.LockWarranty(p.Account.ID, key)
	if err != nil {
		return w, err
	}
	return w, w.Roles.May(warranty.Transfer)
}

// IsOffered reports whether a warranty that the principal owns has an open transfer, which can be cancelled.
func (s *Service) IsOffered(ctx context.Context, p warranty.Principal, id warranty.ID) (bool, error) {
	return s.Store.IsOffered(ctx, p.Account.ID, id, s.now())
}

// CancelTransfer cancels an open transfer.
func (s *Service) CancelTransfer(
	ctx context.Context, p warranty.Principal, in warranty.CancelTransfer,
) (warranty.None, error) {
	now := s.now()
	cancelled := s.event(p, warranty.TransferCancelled, unknownYet, now)
	return warranty.None{}, s.writeAs(ctx, p, func(tx *store.Tx) error {
		w, err := lockToTransfer(tx, p, in.ID)
		if err != nil {
			return err
		}
		cancelled.SubjectID = w.ID
		if err := tx.CancelTransfer(w.ID, now); err != nil {
			return err
		}
		return tx.InsertEvent(w.ID, cancelled)
	})
}

// Transferred returns when warranties that the principal's organization handed over last went from one owner to another.
func (s *Service) Transferred(
	ctx context.Context, p warranty.Principal, list []warranty.Warranty,
) (map[warranty.ID]time.Time, error) {
	var ids []warranty.ID
	for _, w := range list {
		if w.Offer.TakenAt != nil {
			ids = append(ids, w.ID)
		}
	}
	return s.Store.Transfers(ctx, p.Account.ID, ids)
}
