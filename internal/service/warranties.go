package service

import (
	"context"
	"crypto/sha256"
	"errors"
	"reflect"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// ListWarranties lists what the principal may see.
func (s *Service) ListWarranties(ctx context.Context, p warranty.Principal, in warranty.ListWarranties) (warranty.Page[warranty.Warranty], error) {
	if err := in.Check(); err != nil {
		return warranty.Page[warranty.Warranty]{}, err
	}
	list, total, err := s.Store.Warranties(ctx, p.User.ID, in, s.today())
	for i := range list {
		s.show(&list[i])
	}
	return warranty.PageOf(list, in.Paging, total), err
}

// Ending lists those of the principal's warranties in force that end within the
// days. Those that end first come first, and no more than are wanted.
func (s *Service) Ending(ctx context.Context, p warranty.Principal, days, most int) ([]warranty.Warranty, error) {
	list, err := s.Store.Ending(ctx, p.User.ID, s.today(), s.today()+warranty.Date(days), most)
	for i := range list {
		s.show(&list[i])
	}
	return list, err
}

// EndDates counts the principal's warranties in force that end within the days,
// for each day on which one does.
func (s *Service) EndDates(ctx context.Context, p warranty.Principal, days int) (map[warranty.Date]int64, error) {
	return s.Store.EndDates(ctx, p.User.ID, s.today(), s.today()+warranty.Date(days))
}

// LookupWarranties finds which of many records the principal has already.
func (s *Service) LookupWarranties(ctx context.Context, p warranty.Principal, in warranty.LookupWarranties) (warranty.Lookups, error) {
	if err := in.Check(); err != nil {
		return warranty.Lookups{}, err
	}
	found, err := s.Store.Lookup(ctx, p.User.ID, in.Items, s.today())
	return warranty.Lookups{Results: found}, err
}

// GetWarranty gets one warranty that the principal may see.
func (s *Service) GetWarranty(ctx context.Context, p warranty.Principal, in warranty.GetWarranty) (warranty.Warranty, error) {
	w, err := s.Store.Warranty(ctx, p.User.ID, in.ID)
	s.show(&w)
	return w, err
}

// show adds to a stored warranty what is derived when it is read, and takes away
// what is not the reader's.
func (s *Service) show(w *warranty.Warranty) {
	if !w.Roles.Has(warranty.Issuer) {
		w.ExternalID = nil
	}
	w.Show(s.today())
	w.VerifyURL = s.PublicURL + "/verify/" + string(w.ReferenceNumber)
}

// CreateWarranty makes a warranty, or repeats the answer that the same key got before.
func (s *Service) CreateWarranty(ctx context.Context, p warranty.Principal, in warranty.CreateWarranty) (warranty.Warranty, error) {
	if err := in.Check(); err != nil {
		return warranty.Warranty{}, err
	}
	w, err := s.newWarranty(p, in)
	if err != nil {
		return w, err
	}
	kept, err := s.answerToKeep(p, in, w)
	if err != nil {
		return w, err
	}
	created := s.event(p, warranty.WarrantyCreated, w.ID, w.CreatedAt)
	var earlier *store.SavedResponse
	holdSeller := func(tx *store.Tx) error {
		if w.SellerEmail == nil {
			return nil
		}
		return tx.HoldSeller(*w.SellerEmail)
	}
	err = s.unique(ctx, p.User.ID, in.ExternalID, func() error {
		return s.writeAfter(ctx, p, holdSeller, func(tx *store.Tx) error { earlier, err = s.create(tx, p, w, kept, created); return err })
	})
	if err != nil || earlier == nil {
		return w, err
	}
	return replay(*kept, *earlier)
}

// create writes a warranty. It returns what was kept when the key was used before.
func (s *Service) create(tx *store.Tx, p warranty.Principal, w warranty.Warranty, kept *store.SavedResponse, created warranty.Event) (*store.SavedResponse, error) {
	if kept != nil {
		if earlier, err := tx.SaveResponse(*kept); err != nil || earlier != nil {
			return earlier, err
		}
	}
	if err := s.insertWarranty(tx, p, w); err != nil {
		return nil, err
	}
	return nil, tx.InsertEvent(w.ID, created, p.User.ID)
}

// uniqueTries is how often a write is tried whose external id was taken by a
// record that is gone a moment later.
const uniqueTries = 3

// unique runs a write that may use an external id of an issuer. The database
// decides whether it is taken, so that of two at once one is refused.
func (s *Service) unique(ctx context.Context, issuer warranty.ID, externalID string, write func() error) error {
	for try := 1; ; try++ {
		err := write()
		if err == nil || externalID == "" || !s.Store.IsDuplicate(err) {
			return err
		}
		existing, missing := s.Store.ExternalID(ctx, issuer, externalID)
		switch {
		case missing == nil:
			return &warranty.Error{Code: warranty.AlreadyExists, ExistingID: &existing, Message: "Fix these fields: external_id.",
				Fields: []warranty.FieldError{{Field: "external_id", Code: "taken", Message: "Another warranty that you issued has this external id."}}}
		case !errors.Is(missing, warranty.ErrNotFound) || try == uniqueTries:
			return err
		}
	}
}

func (s *Service) newWarranty(p warranty.Principal, in warranty.CreateWarranty) (warranty.Warranty, error) {
	reference, err := warranty.NewReference(warranty.WarrantyPrefix, s.Random)
	now := s.now()
	w := warranty.Warranty{ID: s.NewID(), ReferenceNumber: reference, ProductName: in.ProductName, Description: warranty.Optional(in.Description),
		SerialNumber: warranty.Optional(in.SerialNumber), ExternalID: warranty.Optional(in.ExternalID), Category: warranty.Optional(in.Category), Supplier: warranty.Optional(in.Supplier),
		SellerName: warranty.Optional(in.SellerName), SellerEmail: warranty.Optional(in.SellerEmail), StartDate: in.StartDate, EndDate: in.EndDate,
		Standing: warranty.Active, Version: 1, CreatedAt: now, UpdatedAt: now, Roles: warranty.NewRoles(warranty.Owner, warranty.Issuer)}
	if p.User.EmailVerified && in.SellerEmail == p.User.Email {
		w.Roles = w.Roles.With(warranty.Seller)
	}
	s.show(&w)
	return w, err
}

// insertWarranty writes the record and links its seller. The answer was made
// before, so it can not tell whether there is one.
func (s *Service) insertWarranty(tx *store.Tx, p warranty.Principal, w warranty.Warranty) error {
	if err := tx.InsertWarranty(w, p.User.ID); err != nil {
		return err
	}
	if w.SellerEmail == nil {
		return nil
	}
	seller, found, err := tx.VerifiedUser(*w.SellerEmail)
	if err != nil || !found {
		return err
	}
	return tx.AddSeller(w, seller)
}

// answerToKeep is what a repetition of the request will be answered with; nil without a key.
func (s *Service) answerToKeep(p warranty.Principal, in warranty.CreateWarranty, w warranty.Warranty) (*store.SavedResponse, error) {
	if in.IdempotencyKey == nil {
		return nil, nil
	}
	key := *in.IdempotencyKey
	in.IdempotencyKey = nil
	request, err := api.AppendJSON(nil, in)
	if err != nil {
		return nil, err
	}
	response, err := api.AppendJSON(nil, w)
	return &store.SavedResponse{User: p.User.ID, Operation: api.CreateWarranty.Name, Key: key,
		Fingerprint: sha256.Sum256(request), Response: string(response), At: w.CreatedAt}, err
}

func replay(now, earlier store.SavedResponse) (warranty.Warranty, error) {
	var w warranty.Warranty
	if now.Fingerprint != earlier.Fingerprint {
		return w, warranty.Refuse(warranty.IdempotencyKeyReused,
			"This Idempotency-Key was used for another request within 24 hours; nothing was made. Use a new key for a new record.")
	}
	err := api.ReadJSON([]byte(earlier.Response), &w)
	w.Version, w.Replay = 1, true
	return w, err
}

// UpdateWarranty changes the fields that are given.
func (s *Service) UpdateWarranty(ctx context.Context, p warranty.Principal, in warranty.UpdateWarranty) (warranty.Warranty, error) {
	var changed warranty.Warranty
	if err := in.Check(); err != nil {
		return changed, err
	}
	now := s.now()
	updated := s.event(p, warranty.WarrantyUpdated, in.ID, now)
	write := func(tx *store.Tx) error {
		w, err := tx.LockWarranty(p.User.ID, in.ID)
		if err != nil {
			return err
		}
		if !w.Matches(in.IfMatch) {
			return errChanged
		}
		if changed, err = in.Apply(w); err != nil || reflect.DeepEqual(w, changed) {
			return err
		}
		changed.Version, changed.UpdatedAt = w.Version+1, now
		if err := tx.UpdateWarranty(w, changed); err != nil {
			return err
		}
		updated.Changes = warranty.Differences(w, changed)
		return tx.InsertEvent(w.ID, updated, p.User.ID)
	}
	// Only an issuer sets an external id, so it is the caller's.
	err := s.unique(ctx, p.User.ID, derefText(in.ExternalID), func() error { return s.writeAs(ctx, p, write) })
	s.show(&changed)
	return changed, err
}

func derefText(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

var errChanged = warranty.Refuse(warranty.PreconditionFailed, "The warranty has changed since you read it. Read it again and use its new ETag.")

// DeleteWarranty takes a warranty from everybody's sight.
func (s *Service) DeleteWarranty(ctx context.Context, p warranty.Principal, in warranty.DeleteWarranty) (warranty.None, error) {
	if err := in.Check(); err != nil {
		return warranty.None{}, err
	}
	now := s.now()
	deleted := s.event(p, warranty.WarrantyDeleted, in.ID, now)
	err := s.writeAs(ctx, p, func(tx *store.Tx) error {
		w, err := tx.LockWarranty(p.User.ID, in.ID)
		if err != nil {
			return err
		}
		if !w.Matches(in.IfMatch) {
			return errChanged
		}
		if err := w.Roles.May(warranty.Delete); err != nil {
			return err
		}
		if err := tx.DeleteWarranty(w, now); err != nil {
			return err
		}
		return tx.InsertEvent(w.ID, deleted, p.User.ID)
	})
	return warranty.None{}, err
}
