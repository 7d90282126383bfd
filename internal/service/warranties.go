package service

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// warrantyOperations binds the operations on warranties.
func (s *Service) warrantyOperations() []api.Bound {
	return []api.Bound{
		api.Bind(api.ListWarranties, s.ListWarranties),
		api.Bind(api.SummarizeWarranties, s.SummarizeWarranties),
		api.Bind(api.CreateWarranty, s.CreateWarranty),
		api.Bind(api.IssueWarranty, s.IssueWarranty),
		api.Bind(api.CreateBatch, s.CreateBatch),
		api.Bind(api.GetWarranty, s.GetWarranty),
		api.Bind(api.UpdateWarranty, s.UpdateWarranty),
		api.Bind(api.CorrectWarranty, s.CorrectWarranty),
		api.Bind(api.DeleteWarranty, s.DeleteWarranty),
		api.Bind(api.ListDeleted, s.ListDeleted),
		api.Bind(api.ListChanges, s.ListChanges),
		api.Bind(api.LookupWarranties, s.LookupWarranties),
		api.Bind(api.VerifyWarranty, s.VerifyWarranty),
		api.Bind(api.ListHistory, s.ListHistory),
	}
}

// ListWarranties lists the warranties that the principal can see.
func (s *Service) ListWarranties(
	ctx context.Context, p warranty.Principal, in warranty.ListWarranties,
) (warranty.Page[warranty.Warranty], error) {
	if err := in.Check(); err != nil {
		return warranty.Page[warranty.Warranty]{}, err
	}
	if in.IsFeed() {
		list, feed, err := s.Store.ChangedWarranties(ctx, p.Account.ID, in.From(), in.Limit)
		return warranty.FeedOf(list, feed), s.showList(ctx, p, in.Selection, list, err)
	}
	list, total, err := s.Store.Warranties(ctx, p.Account.ID, in, s.today())
	return warranty.PageOf(list, in.Paging, total), s.showList(ctx, p, in.Selection, list, err)
}

// showList is showListed for all warranties of a list that was read, with the numbers of their claims if they are
// wanted.
func (s *Service) showList(
	ctx context.Context, p warranty.Principal, fields warranty.Selection, list []warranty.Warranty, err error,
) error {
	for i := range list {
		s.showListed(&list[i])
	}
	if err != nil || !slices.Contains(fields.Selected(), "claim_count") { // counting them takes another query
		return err
	}
	return s.Store.CountClaims(ctx, p.Account.ID, list)
}

// ListChanges lists what changed and what left the principal's account since a cursor.
func (s *Service) ListChanges(
	ctx context.Context, p warranty.Principal, in warranty.ListChanges,
) (out warranty.Changes, err error) {
	if err := in.Check(s.now()); err != nil {
		return out, err
	}
	// Read in this order, a record that leaves in between is in both lists, and not in none.
	list, changed, err := s.Store.ChangedWarranties(ctx, p.Account.ID, in.Cursor.Changed, in.Limit)
	if err != nil {
		return out, err
	}
	left, gone, err := s.Store.DeletedWarranties(ctx, p.Account.ID, in.Cursor.Left, in.Limit)
	if err != nil {
		return out, err
	}
	for i := range list {
		s.showListed(&list[i])
	}
	return warranty.ChangesOf(list, left, changed, gone), nil
}

// SummarizeWarranties counts the warranties that the principal can see, per group.
func (s *Service) SummarizeWarranties(
	ctx context.Context, p warranty.Principal, in warranty.SummarizeWarranties,
) (warranty.Summary, error) {
	if err := in.Check(); err != nil {
		return warranty.Summary{}, err
	}
	return s.Store.Summary(ctx, p.Account.ID, in, s.today())
}

// ListDeleted lists the warranties that left the principal's account.
func (s *Service) ListDeleted(
	ctx context.Context, p warranty.Principal, in warranty.ListDeleted,
) (warranty.Page[warranty.Deletion], error) {
	if err := in.Check(s.now()); err != nil {
		return warranty.Page[warranty.Deletion]{}, err
	}
	list, feed, err := s.Store.DeletedWarranties(ctx, p.Account.ID, in.From(), in.Limit)
	return warranty.FeedOf(list, feed), err
}

// LookupWarranties finds existing records of the principal, for imports.
func (s *Service) LookupWarranties(
	ctx context.Context, p warranty.Principal, in warranty.LookupWarranties,
) (warranty.Lookups, error) {
	if err := in.Check(); err != nil {
		return warranty.Lookups{}, err
	}
	found, err := s.Store.Lookup(ctx, p.Account.ID, in.Items, s.today())
	return warranty.Lookups{Results: found}, err
}

// GetWarranty returns a warranty that the principal can see.
func (s *Service) GetWarranty(
	ctx context.Context, p warranty.Principal, in warranty.GetWarranty,
) (warranty.Warranty, error) {
	w, err := s.Store.Warranty(ctx, p.Account.ID, in.ID)
	if err != nil {
		return w, err
	}
	one := []warranty.Warranty{w}
	err = s.showList(ctx, p, in.Selection, one, nil)
	s.setForms(&one[0])
	return one[0], err
}

// show sets the derived fields of a stored warranty and removes those that the reader
// cannot see.
func (s *Service) show(w *warranty.Warranty) {
	s.showListed(w)
	s.setForms(w)
}

// showListed is show for a warranty in a list.
func (s *Service) showListed(w *warranty.Warranty) {
	w.ShowTo(s.now())
	s.setURLs(w)
}

// setForms sets the URLs of the forms that people fill in.
func (s *Service) setForms(w *warranty.Warranty) {
	w.UploadURL = s.PublicURL + "/documents/new?warranty_id=" + w.ID.String()
	if w.Standing == warranty.Active && w.Roles.May(warranty.FileAClaim) == nil {
		w.ClaimURL = s.PublicURL + "/claims/new?warranty_id=" + w.ID.String()
	}
}

// setURLs sets the URLs of the record's pages.
func (s *Service) setURLs(w *warranty.Warranty) {
	w.VerifyURL = s.PublicURL + "/verify/" + string(w.ReferenceNumber)
	w.WebURL = s.warrantyPage(w.ID)
}

// warrantyPage returns the URL of a warranty's page for signed-in people.
func (s *Service) warrantyPage(id warranty.ID) string {
	return s.PublicURL + "/warranties/" + id.String()
}

// uniqueTries is how often a write is tried if its external id was taken by a record
// that has since been deleted.
const uniqueTries = 3

// unique runs a write that may set an external id of an issuer. A unique index decides
// whether the id is taken, so that of two concurrent writes one fails.
func (s *Service) unique(ctx context.Context, issuer warranty.ID, externalID string, write func() error) error {
	for try := 1; ; try++ {
		err := write()
		if err == nil || externalID == "" || !s.Store.IsDuplicate(err) {
			return err
		}
		existing, missing := s.Store.ExternalID(ctx, issuer, externalID)
		switch {
		case missing == nil:
			var c warranty.Checks
			c.Add("external_id", "taken", "Another warranty that you issued has this external id.")
			taken := warranty.AsError(c.Err())
			taken.Code, taken.ExistingID = warranty.AlreadyExists, &existing
			return taken
		case !errors.Is(missing, warranty.ErrNotFound) || try == uniqueTries:
			return err
		}
	}
}

// newWarranty returns the record to create. ownSeller means that the account that creates it is also its
// seller.
func (s *Service) newWarranty(in warranty.CreateWarranty, ownSeller bool) (warranty.Warranty, error) {
	reference, err := warranty.NewReference(warranty.WarrantyPrefix, s.Random)
	now := s.now()
	w := warranty.Warranty{
		ID:              s.NewID(),
		ReferenceNumber: reference,
		ProductName:     in.ProductName,
		Description:     warranty.Optional(in.Description),
		SerialNumber:    warranty.Optional(in.SerialNumber),
		ExternalID:      warranty.Optional(in.ExternalID),
		Category:        warranty.Optional(in.Category),
		Supplier:        warranty.Optional(in.Supplier),
		SellerName:      warranty.Optional(in.SellerName),
		SellerEmail:     warranty.Optional(in.SellerEmail),
		Brand:           warranty.Optional(in.Brand),
		Model:           warranty.Optional(in.Model),
		GTIN:            warranty.Optional(in.GTIN),
		Price:           warranty.Optional(in.Price),
		Currency:        warranty.Optional(in.Currency),
		CustomerName:    warranty.Optional(in.CustomerName),
		StartDate:       in.StartDate,
		EndDate:         in.EndDate,
		Standing:        warranty.Active,
		Version:         1,
		CreatedAt:       now,
		UpdatedAt:       now,
		Roles:           warranty.NewRoles(warranty.Owner, warranty.Issuer),
	}
	if ownSeller {
		w.Roles = w.Roles.With(warranty.Seller)
	}
	if !in.PurchaseDate.IsZero() {
		w.PurchaseDate = &in.PurchaseDate
	}
	return w, err
}

// UpdateWarranty changes the given fields.
func (s *Service) UpdateWarranty(
	ctx context.Context, p warranty.Principal, in warranty.UpdateWarranty,
) (warranty.Warranty, error) {
	return s.updateWarranty(ctx, p, in, nil)
}

// updateWarranty is UpdateWarranty, for a row of a job if there is one.
func (s *Service) updateWarranty(
	ctx context.Context, p warranty.Principal, in warranty.UpdateWarranty, row *JobRow,
) (changed warranty.Warranty, err error) {
	if err := in.Check(); err != nil {
		return changed, err
	}
	now := s.now()
	write := func(tx *store.Tx) error {
		w, err := tx.LockWarranty(p.Account.ID, in.ID)
		if err != nil {
			return err
		}
		if !w.Matches(in.IfMatch) {
			return warranty.ErrChanged
		}
		if changed, err = in.Apply(w); err != nil || reflect.DeepEqual(w, changed) {
			return err
		}
		if changed.Seller != nil && *changed.Seller != p.Account.ID && warranty.PromiseDiffers(w, changed) {
			changed.Seller = nil // they confirmed something else
		}
		if err := s.saveUpdate(tx, p, w, &changed, in.StatusReason, now); err != nil {
			return err
		}
		update := warranty.Inverse(w, changed)
		return row.note(tx, w.ID, changed.Version, undoing{Update: &update, Seller: w.Seller}, nil)
	}
	// Only the issuer can set an external id, so the caller is the issuer.
	err = s.unique(ctx, p.Account.ID, derefText(in.ExternalID), func() error {
		return s.writeAs(ctx, p, write)
	})
	s.wakeMail()
	s.show(&changed)
	return changed, err
}

// saveUpdate writes what changed in a locked warranty, and tells its owner.
func (s *Service) saveUpdate(
	tx *store.Tx, p warranty.Principal, w warranty.Warranty, changed *warranty.Warranty, reason string, now time.Time,
) error {
	changed.Version, changed.UpdatedAt = w.Version+1, now
	if err := tx.UpdateWarranty(w, *changed); err != nil {
		return err
	}
	if derefText(changed.CustomerName) != derefText(w.CustomerName) {
		if err := s.linkCustomer(tx, p, *changed, now); err != nil {
			return err
		}
	}
	updated := s.event(p, warranty.WarrantyUpdated, w.ID, now, warranty.Differences(w, *changed)...)
	if reason != "" && changed.Standing != w.Standing {
		updated.Changes = append(updated.Changes, warranty.Change{Field: "status_reason", To: &reason})
	}
	if err := tx.InsertEvent(w.ID, updated); err != nil {
		return err
	}
	return s.tellOwner(tx, p, w, updated)
}

func derefText(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// DeleteWarranty moves a self-recorded warranty to the trash. The owner of an issued one removes it from their
// account; its issuer keeps the record.
func (s *Service) DeleteWarranty(
	ctx context.Context, p warranty.Principal, in warranty.DeleteWarranty,
) (warranty.None, error) {
	return warranty.None{}, s.deleteWarranty(ctx, p, in, nil)
}

// deleteWarranty is DeleteWarranty, for a row of a job if there is one.
func (s *Service) deleteWarranty(
	ctx context.Context, p warranty.Principal, in warranty.DeleteWarranty, row *JobRow,
) error {
	if err := in.Check(); err != nil {
		return err
	}
	return s.deleteIf(ctx, p, in.ID, row, func(tx *store.Tx, w warranty.Warranty) error {
		if !w.Matches(in.IfMatch) {
			return warranty.ErrChanged
		}
		if err := w.Roles.May(warranty.Delete); err != nil || in.Force != nil && *in.Force {
			return err
		}
		return checkNoOpenClaim(tx, w)
	})
}

// deleteIf is deleteWarranty if check permits it for the locked record.
func (s *Service) deleteIf(
	ctx context.Context, p warranty.Principal, key warranty.WarrantyKey, row *JobRow,
	check func(*store.Tx, warranty.Warranty) error,
) error {
	now := s.now()
	deleted := s.event(p, warranty.WarrantyDeleted, unknownYet, now)
	return s.writeAs(ctx, p, func(tx *store.Tx) error {
		w, err := tx.LockWarranty(p.Account.ID, key)
		if err != nil {
			return err
		}
		if err := check(tx, w); err != nil {
			return err
		}
		if err := w.Roles.May(warranty.Delete); err != nil {
			return err
		}
		remove := tx.DeleteWarranty
		if !w.Roles.SelfRecorded() {
			deleted.Action = warranty.WarrantyRemoved
			remove = func(w warranty.Warranty, now time.Time) error { return tx.RemoveFromOwner(p.Account.ID, w, now) }
		}
		if err := remove(w, now); err != nil {
			return err
		}
		deleted.SubjectID = w.ID
		if err := tx.InsertEvent(w.ID, deleted); err != nil {
			return err
		}
		return row.note(tx, w.ID, now.UnixMicro(), undoing{Deleted: true}, nil)
	})
}

// DeleteUntouched deletes a warranty that nobody registered, changed or used since a time. Otherwise it is ErrChanged.
func (s *Service) DeleteUntouched(
	ctx context.Context, p warranty.Principal, key warranty.WarrantyKey, since time.Time,
) error {
	return s.deleteIf(ctx, p, key, nil, func(tx *store.Tx, w warranty.Warranty) error {
		touched, err := tx.TouchedSince(w.ID, since)
		if err == nil && touched {
			err = warranty.ErrChanged
		}
		return err
	})
}
