package service

import (
	"context"
	"errors"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// Warranties are created by CreateWarranty, IssueWarranty and CreateBatch. All of them use prepare before the
// transaction and create in it, which also offers the warranty.

// CreateWarranty creates a warranty, or replays the response of an earlier request with
// the same idempotency key.
func (s *Service) CreateWarranty(
	ctx context.Context, p warranty.Principal, in warranty.CreateWarranty,
) (warranty.Warranty, error) {
	return s.createWarranty(ctx, p, in, nil)
}

// createWarranty is CreateWarranty for a row of a job, or for none.
func (s *Service) createWarranty(
	ctx context.Context, p warranty.Principal, in warranty.CreateWarranty, row *JobRow,
) (warranty.Warranty, error) {
	if err := in.Check(); err != nil {
		return warranty.Warranty{}, err
	}
	w, o, err := s.prepare(ctx, p, in, false)
	if err != nil {
		return w, err
	}
	key := in.IdempotencyKey
	in.IdempotencyKey = nil
	made := w
	earlier, err := once(s, p, api.CreateWarranty.Name, key, in, w, func(replay func(*store.Tx) (bool, error)) error {
		return s.createPrepared(ctx, p, issuing{&made, o}, replay, func(tx *store.Tx) error {
			if err := row.noteCreated(tx, made.ID); err != nil || made.Handover.NotEmailed == nil {
				return err
			}
			return complete(tx, p, api.CreateWarranty.Name, key, made)
		})
	})
	s.wakeMail()
	if earlier.Replay {
		earlier.Version = 1
		return earlier, err
	}
	return made, err
}

// IssueWarranty creates a warranty of the principal's organization and offers it to a customer, or replays the
// response of an earlier request with the same idempotency key, without the code.
func (s *Service) IssueWarranty(
	ctx context.Context, p warranty.Principal, in warranty.IssueWarranty,
) (warranty.IssuedWarranty, error) {
	var none warranty.IssuedWarranty
	if err := in.Check(); err != nil {
		return none, err
	}
	if err := checkIssues(p, in.CustomerEmail); err != nil {
		return none, err
	}
	key := in.IdempotencyKey
	in.IdempotencyKey = nil
	// A repetition is answered even if its product was deleted meanwhile or it is another day.
	w, o, refused := s.prepareIssue(ctx, p, in)
	if refused != nil && (key == nil || !isRefusal(refused)) {
		return none, refused
	}
	made := w
	earlier, err := once(s, p, api.IssueWarranty.Name, key, in, issuedAs(w),
		func(replay func(*store.Tx) (bool, error)) error {
			replayOrRefuse := func(tx *store.Tx) (bool, error) {
				done, err := replay(tx)
				if err == nil && !done {
					err = refused
				}
				return done, err
			}
			return s.createPrepared(ctx, p, issuing{&made, o}, replayOrRefuse, func(tx *store.Tx) error {
				if made.Handover.NotEmailed == nil {
					return nil
				}
				return complete(tx, p, api.IssueWarranty.Name, key, issuedAs(made))
			})
		})
	s.wakeMail()
	if err != nil {
		return none, err
	}
	if earlier.Replayed() {
		earlier.Warranty.Version = 1
		if in.Printed() {
			earlier.Note = warranty.Optional(warranty.CodeShownOnce)
		}
		return earlier, nil
	}
	out := issuedAs(made)
	if !o.mailed() {
		out.Code, out.TakeURL = &o.code, warranty.Optional(s.PublicURL+"/take#"+o.code)
	}
	return out, nil
}

// issuedAs returns the response to a request that issued a warranty, without the code.
func issuedAs(w warranty.Warranty) warranty.IssuedWarranty {
	return warranty.IssuedWarranty{Warranty: w, ExpiresAt: w.Offer.ExpiresAt}
}

// prepareIssue is prepare for a warranty whose product may give some of its fields.
func (s *Service) prepareIssue(
	ctx context.Context, p warranty.Principal, in warranty.IssueWarranty,
) (w warranty.Warranty, o offer, err error) {
	var product *warranty.Product
	if in.ProductID != nil {
		found, err := s.Store.Product(ctx, p.Account.ID, *in.ProductID)
		if errors.Is(err, warranty.ErrNotFound) {
			var c warranty.Checks
			c.Add("product_id", "unknown", "Your organization has no product with this ID.")
			err = c.Err()
		}
		if err != nil {
			return w, o, err
		}
		product = &found
	}
	create := in.From(product, s.today())
	if err := create.Check(); err != nil {
		return w, o, err
	}
	return s.prepare(ctx, p, create, in.Printed())
}

// prepare returns the record to create, and the offer to its customer if it has one: emailed if there is an address,
// otherwise printed or none.
func (s *Service) prepare(
	ctx context.Context, p warranty.Principal, in warranty.CreateWarranty, printed bool,
) (w warranty.Warranty, o offer, err error) {
	ownSeller, err := s.isOwnAddress(ctx, p, in.SellerEmail)
	if err != nil {
		return w, o, err
	}
	if w, err = s.newWarranty(in, ownSeller); err != nil {
		return w, o, err
	}
	if ownSeller {
		w.Seller = &p.Account.ID
	}
	if printed || in.CustomerEmail != "" {
		if err := checkIssues(p, in.CustomerEmail); err != nil {
			return w, o, err
		}
		if o, err = s.newOffer(ctx, p, &w, in.CustomerEmail, in.CustomerName, w.CreatedAt); err != nil {
			return w, o, err
		}
	}
	s.show(&w)
	return w, o, nil
}

// createPrepared creates a prepared warranty in a transaction that first calls replay, and ends if it reports true.
// also runs at its end.
func (s *Service) createPrepared(
	ctx context.Context, p warranty.Principal, i issuing,
	replay func(*store.Tx) (bool, error), also func(*store.Tx) error,
) error {
	prepared := *i.Warranty
	created := s.event(p, warranty.WarrantyCreated, prepared.ID, prepared.CreatedAt)
	return s.unique(ctx, p.Account.ID, derefText(prepared.ExternalID), func() error {
		return s.writeIssuing(ctx, p, i.mailed(), func(tx *store.Tx, from *sender) error {
			if done, err := replay(tx); err != nil || done {
				return err
			}
			*i.Warranty = prepared // the transaction may be repeated
			if err := s.create(tx, p, from, []issuing{i}, []warranty.Event{created}); err != nil {
				return err
			}
			return also(tx)
		})
	})
}

// create adds warranties with their offers and events.
func (s *Service) create(
	tx *store.Tx, p warranty.Principal, from *sender, list []issuing, events []warranty.Event,
) error {
	if from != nil {
		if err := s.mailOffers(tx, from, list, list[0].CreatedAt); err != nil {
			return err
		}
	}
	contacts := make([]store.Contact, len(list))
	for i, one := range list {
		contacts[i] = store.ContactOf(*one.Warranty, one.CreatedAt)
	}
	if err := s.noteContacts(tx, p, contacts...); err != nil {
		return err
	}
	for i, one := range list {
		if err := s.insertIssued(tx, p, one); err != nil {
			return err
		}
		if err := tx.InsertEvent(one.ID, events[i]); err != nil {
			return err
		}
		if one.printed() {
			offered := s.event(p, warranty.HandoverWasOffered, one.ID, one.CreatedAt)
			if err := tx.InsertEvent(one.ID, offered); err != nil {
				return err
			}
		}
	}
	return nil
}

// WasIssued reports whether an idempotency key already issued a warranty.
func (s *Service) WasIssued(ctx context.Context, p warranty.Principal, key *string) (bool, error) {
	if key == nil {
		return false, nil
	}
	return s.Store.HasResponse(ctx, p.Account.ID, api.IssueWarranty.Name, *key, s.now())
}
