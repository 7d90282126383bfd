package service

import (
	"context"
	"errors"
	"slices"

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
		along, err := documentsAlong(tx, p.Account.ID, w.ID, in.Documents)
		if err != nil {
			return err
		}
		offer.Documents = len(along)
		if err := tx.OfferTransfer(w.ID, warranty.HashCode(code), offer.ExpiresAt, along); err != nil {
			return err
		}
		if err := tx.InsertEvent(w.ID, offered); err != nil || !from.EmailVerified {
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

// documentsAlong returns the documents that go along with a transfer of a locked warranty.
func documentsAlong(tx *store.Tx, owner, id warranty.ID, chosen []string) ([]warranty.ID, error) {
	along := warranty.DocumentIDs(chosen)
	if len(along) == 0 {
		return nil, nil
	}
	own, err := tx.OwnDocuments(owner, id)
	if err != nil {
		return nil, err
	}
	for _, d := range along {
		if !slices.Contains(own, d) {
			var c warranty.Checks
			c.Add("documents", "not_yours", "Only documents of this warranty that you uploaded can go along, and not those of claims.")
			return nil, c.Err()
		}
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
		id, from, err := tx.AcceptTransfer(code, p.Account.ID, now)
		if err != nil {
			return err
		}
		accepted.SubjectID = id
		if err := tx.InsertEvent(id, accepted); err != nil {
			return err
		}
		if w, err = tx.LockWarranty(p.Account.ID, warranty.WarrantyKey{ID: id}); err != nil || from == p.Account.ID {
			return err
		}
		return s.tellGiver(tx, from, w)
	})
	s.wakeMail()
	s.show(&w)
	return w, s.badTransfer(ctx, code, err)
}

// tellGiver emails the former owner that the warranty has a new owner.
func (s *Service) tellGiver(tx *store.Tx, from warranty.ID, w warranty.Warranty) error {
	if s.Silent {
		return nil
	}
	recipients, err := tx.Recipients(from)
	if err != nil {
		return err
	}
	for _, to := range recipients {
		m := s.outgoing(mail.In(to.Locale).TransferAccepted(to.Email, to.Name, w, s.PublicURL))
		if err := tx.InsertMail(m); err != nil {
			return err
		}
	}
	return nil
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
