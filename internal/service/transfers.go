package service

import (
	"context"
	"errors"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// transferOperations binds the operations on transfers.
func (s *Service) transferOperations() []api.Bound {
	return []api.Bound{
		api.Bind(api.OfferTransfer, s.OfferTransfer),
		api.Bind(api.CancelTransfer, s.CancelTransfer),
		api.Bind(api.AcceptTransfer, s.AcceptTransfer),
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
	if err := s.Throttle(ctx, MailsToOthers, p.User.ID.String()); err != nil {
		return warranty.TransferOffer{}, err
	}
	code, err := warranty.NewCode(s.Random)
	if err != nil {
		return warranty.TransferOffer{}, err
	}
	texts, err := s.textsAt(ctx, in.Email, p)
	if err != nil {
		return warranty.TransferOffer{}, err
	}
	now := s.now()
	offer := warranty.TransferOffer{Email: in.Email, Code: code, ExpiresAt: now.Add(warranty.TransferLifetime)}
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
		if err := tx.OfferTransfer(w.ID, warranty.HashCode(code), offer.ExpiresAt); err != nil {
			return err
		}
		if err := tx.InsertEvent(w.ID, offered, p.User.ID); err != nil || !from.EmailVerified {
			return err
		}
		message := s.outgoing(texts.TransferOffered(in.Email, p.Account.Name, w.ProductName, code, s.PublicURL))
		message.Expires = &offer.ExpiresAt
		err = s.contact(tx, from, message, w.ID, now)
		if offer.Mailed = err == nil; isMailLimit(err) {
			return nil // the code is in the response
		}
		return err
	})
	s.wakeMail()
	return offer, err
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
		return tx.InsertEvent(w.ID, cancelled, p.User.ID)
	})
}

// AcceptTransfer makes the principal the owner with the code of an offer. Who recorded the warranty for
// themselves keeps nothing; the issuer of an issued one stays.
func (s *Service) AcceptTransfer(
	ctx context.Context, p warranty.Principal, in warranty.AcceptTransfer,
) (warranty.Warranty, error) {
	if err := in.Check(); err != nil {
		return warranty.Warranty{}, err
	}
	now, code := s.now(), warranty.HashCode(in.Code)
	accepted := s.event(p, warranty.TransferAccepted, unknownYet, now)
	var w warranty.Warranty
	err := s.writeAs(ctx, p, func(tx *store.Tx) error {
		id, err := tx.AcceptTransfer(code, p.Account.ID, now)
		if err != nil {
			return err
		}
		accepted.SubjectID = id
		if err := tx.InsertEvent(id, accepted, p.User.ID); err != nil {
			return err
		}
		w, err = tx.LockWarranty(p.Account.ID, warranty.WarrantyKey{ID: id})
		return err
	})
	s.show(&w)
	return w, s.badTransfer(ctx, code, err)
}

// badTransfer returns why the code of a transfer does not work.
func (s *Service) badTransfer(ctx context.Context, code warranty.Hash, err error) error {
	if !errors.Is(err, warranty.ErrNotFound) {
		return err
	}
	state, err := s.Store.TransferState(ctx, code, s.now())
	if err != nil {
		return err
	}
	if state == "" {
		return badCode(warranty.ErrNotFound)
	}
	return refuseCode(state, "the person who gave you the code")
}
