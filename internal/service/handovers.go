package service

import (
	"context"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// handoverOperations binds the operations on hand-overs.
func (s *Service) handoverOperations() []api.Bound {
	return []api.Bound{
		api.Bind(api.OfferHandover, s.OfferHandover),
		api.Bind(api.CancelHandover, s.CancelHandover),
		api.Bind(api.TakeHandover, s.Take),
		api.Bind(api.PreviewHandover, s.PreviewHandover),
		api.Bind(api.EmailHandover, s.EmailHandover),
		api.Bind(api.RegisterHandover, s.RegisterHandover),
	}
}

// checkIssues returns an error unless the principal acts for an organization, which can hand over.
func checkIssues(p warranty.Principal, customerEmail string) error {
	if p.ActsForOrganization() || p.Account.Kind == warranty.OrganizationKind {
		return nil
	}
	const advice = "Only organizations can hand over warranties. Create an organization first, and act for it."
	if customerEmail == "" {
		return warranty.Refuse(warranty.RoleNotAllowed, advice)
	}
	var c warranty.Checks
	c.Add("customer_email", "organization_required", advice)
	return c.Err()
}

// OfferHandover offers a warranty that the principal's organization issued and still owns to a customer.
func (s *Service) OfferHandover(
	ctx context.Context, p warranty.Principal, in warranty.OfferHandover,
) (warranty.HandoverOffer, error) {
	return s.offerHandover(ctx, p, in, nil)
}

// offerHandover is OfferHandover, for a row of a job if there is one. Its email then waits until it can no longer be undone.
func (s *Service) offerHandover(
	ctx context.Context, p warranty.Principal, in warranty.OfferHandover, row *JobRow,
) (warranty.HandoverOffer, error) {
	var out warranty.HandoverOffer
	if err := in.Check(); err != nil {
		return out, err
	}
	if err := p.Account.Require(warranty.Member); err != nil {
		return out, err
	}
	now := s.now()
	found, err := s.Store.Warranty(ctx, p.Account.ID, in.ID)
	if err != nil {
		return out, err
	}
	if err := checkIssues(p, in.CustomerEmail); err != nil {
		return out, err
	}
	o, err := s.newOffer(ctx, p, &found, in.CustomerEmail, in.CustomerName, now)
	if err != nil {
		return out, err
	}
	offered := s.event(p, warranty.HandoverWasOffered, found.ID, now)
	// The response is stored without the code, which is shown only once.
	out = warranty.HandoverOffer{WarrantyID: found.ID, Email: found.Offer.Email, ExpiresAt: *found.Offer.ExpiresAt}
	key := in.IdempotencyKey
	in.IdempotencyKey = nil
	out, err = once(s, p, api.OfferHandover.Name, key, in, out, func(replay func(*store.Tx) (bool, error)) error {
		return s.writeMailing(ctx, p, warranty.Member, func(tx *store.Tx, from *sender) error {
			if done, err := replay(tx); err != nil || done {
				return err
			}
			w, err := tx.LockWarranty(p.Account.ID, warranty.WarrantyKey{ID: found.ID})
			if err != nil {
				return err
			}
			if err := w.MayHandOver(); err != nil {
				return err
			}
			before, err := row.keepOffers(tx, w.ID)
			if err != nil {
				return err
			}
			w.Offer, w.CustomerName = found.Offer, found.CustomerName
			mail, err := s.mailAgain(tx, from, w, o, row, now)
			if err != nil {
				return err
			}
			if err := s.endTransfer(tx, p, w.ID, now); err != nil {
				return err
			}
			if err := tx.OfferHandover(w, o.stored(p, w.ID), now); err != nil {
				return err
			}
			if err := s.linkCustomer(tx, p, w, now); err != nil {
				return err
			}
			if err := tx.InsertEvent(w.ID, offered); err != nil {
				return err
			}
			return row.note(tx, w.ID, w.Version+1, undoing{Offer: before}, mail)
		})
	})
	switch {
	case err != nil || o.mailed():
	case out.Replay:
		out.Note = warranty.Optional(warranty.CodeShownOnce)
	default:
		url := s.PublicURL + "/take#" + o.code
		out.Code, out.TakeURL = &o.code, &url
	}
	s.wakeMail()
	return out, err
}

// CancelHandover cancels the open offer of a warranty that the principal's organization still owns.
func (s *Service) CancelHandover(
	ctx context.Context, p warranty.Principal, in warranty.CancelHandover,
) (warranty.None, error) {
	now := s.now()
	cancelled := s.event(p, warranty.HandoverCancelled, unknownYet, now)
	return warranty.None{}, s.writeAs(ctx, p, func(tx *store.Tx) error {
		w, err := tx.LockWarranty(p.Account.ID, in.ID)
		if err != nil {
			return err
		}
		if err := w.Roles.May(warranty.HandOver); err != nil {
			return err
		}
		if !w.Offer.Open(now) {
			return warranty.ErrNotFound
		}
		if err := tx.CancelHandover(w.ID, now); err != nil {
			return err
		}
		cancelled.SubjectID = w.ID
		return tx.InsertEvent(w.ID, cancelled)
	})
}

// PrintedCode returns the warranty of the principal's organization that a printed code hands over. A code that was used
// or replaced is not found.
func (s *Service) PrintedCode(ctx context.Context, p warranty.Principal, code string) (warranty.ID, error) {
	return s.Store.PrintedCode(ctx, p.Account.ID, warranty.HashCode(code), s.now())
}
