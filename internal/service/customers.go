package service

import (
	"context"
	"math"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// customerOperations binds the operations on customers.
func (s *Service) customerOperations() []api.Bound {
	return []api.Bound{
		api.Bind(api.ListCustomers, s.ListCustomers),
		api.Bind(api.GetCustomer, s.GetCustomer),
		api.Bind(api.GetCustomerCard, s.GetCustomerCard),
		api.Bind(api.AddCustomer, s.AddCustomer),
		api.Bind(api.UpdateCustomer, s.UpdateCustomer),
		api.Bind(api.MergeCustomers, s.MergeCustomers),
		api.Bind(api.UnmergeCustomer, s.UnmergeCustomer),
	}
}

// ListCustomers lists the customers of the principal's organization, those of the latest contact first. People have none.
// The warranties of one are ListWarranties with its id as Customer, and the claims ListClaims.
func (s *Service) ListCustomers(
	ctx context.Context, p warranty.Principal, in warranty.ListCustomers,
) (warranty.Page[warranty.CustomerRecord], error) {
	if err := in.Check(); err != nil {
		return warranty.Page[warranty.CustomerRecord]{}, err
	}
	list, total, err := s.Store.Customers(ctx, p.Account.ID, in, seesClaimants(p), s.now())
	return warranty.PageOf(list, in.Paging, total), err
}

// ExportCustomers lists all customers that match in, whatever its page, as they are at one moment.
func (s *Service) ExportCustomers(
	ctx context.Context, p warranty.Principal, in warranty.ListCustomers,
) ([]warranty.CustomerRecord, error) {
	in.Paging = warranty.Paging{Page: 1, Limit: 1}
	if err := in.Check(); err != nil {
		return nil, err
	}
	in.Limit = math.MaxInt32
	list, _, err := s.Store.Customers(ctx, p.Account.ID, in, seesClaimants(p), s.now())
	return list, err
}

// GetCustomer returns a customer of the principal's organization. The id of a merged one returns the customer that it was
// merged into.
func (s *Service) GetCustomer(
	ctx context.Context, p warranty.Principal, in warranty.GetCustomer,
) (warranty.CustomerRecord, error) {
	return s.Store.Customer(ctx, p.Account.ID, in.ID, seesClaimants(p), s.now())
}

// seesClaimants reports whether the principal sees customers who only filed claims. Tokens need the scope of claims.
func seesClaimants(p warranty.Principal) bool {
	return p.Credential != warranty.ByToken || p.Scopes.Has(warranty.ClaimsRead)
}

// GetCustomerCard is GetCustomer with the note, what was merged into the customer, and possible duplicates.
func (s *Service) GetCustomerCard(
	ctx context.Context, p warranty.Principal, in warranty.GetCustomerCard,
) (warranty.CustomerCard, error) {
	return s.Store.CustomerCard(ctx, p.Account.ID, in.ID, s.now())
}

// CustomerOfWarranty returns the id of the customer that the principal's organization issued a warranty to, or
// ErrNotFound.
func (s *Service) CustomerOfWarranty(ctx context.Context, p warranty.Principal, id warranty.ID) (warranty.ID, error) {
	return s.Store.CustomerOfWarranty(ctx, p.Account.ID, id)
}

// CustomerOfClaim returns the id of the customer whose claim the principal's organization decides, or ErrNotFound.
func (s *Service) CustomerOfClaim(ctx context.Context, p warranty.Principal, id warranty.ID) (warranty.ID, error) {
	return s.Store.CustomerOfClaim(ctx, p.Account.ID, id)
}

// AddCustomer adds a customer to the principal's organization. Nothing is sent, and the customer never learns of it.
func (s *Service) AddCustomer(
	ctx context.Context, p warranty.Principal, in warranty.AddCustomer,
) (warranty.CustomerCard, error) {
	if err := in.Check(); err != nil {
		return warranty.CustomerCard{}, err
	}
	if p.Account.Kind != warranty.OrganizationKind {
		return warranty.CustomerCard{}, warranty.Refuse(warranty.RoleNotAllowed,
			"Only organizations have customers. Create an organization first, and act for it.")
	}
	now := s.now()
	c := warranty.CustomerCard{
		CustomerRecord: warranty.CustomerRecord{ID: s.NewID(), Name: warranty.Optional(in.Name), Email: warranty.Optional(in.Email),
			Phone: warranty.Optional(in.Phone), LastContactAt: now},
		Note: warranty.Optional(in.Note), CreatedAt: now, Version: 1,
	}
	err := s.writeLocked(ctx, p, func(tx *store.Tx, account store.Account) error { return tx.AddCustomer(account.ID, c) })
	switch {
	case s.Store.IsDuplicate(err) && in.Email != "":
		var c warranty.Checks
		c.Add("email", "taken", "A customer with this email address is in your list.")
		return warranty.CustomerCard{}, alreadyExists(c)
	case s.Store.IsDuplicate(err):
		var c warranty.Checks
		c.Add("name", "taken", "A customer with this name and no email address is in your list.")
		return warranty.CustomerCard{}, alreadyExists(c)
	case err != nil:
		return warranty.CustomerCard{}, err
	}
	return s.GetCustomerCard(ctx, p, warranty.GetCustomerCard{ID: c.ID})
}

// alreadyExists refuses values that another record of the account has.
func alreadyExists(c warranty.Checks) error {
	taken := warranty.AsError(c.Err())
	taken.Code = warranty.AlreadyExists
	return taken
}

// UpdateCustomer changes the given fields of a customer.
func (s *Service) UpdateCustomer(
	ctx context.Context, p warranty.Principal, in warranty.UpdateCustomer,
) (warranty.CustomerCard, error) {
	if err := in.Check(); err != nil {
		return warranty.CustomerCard{}, err
	}
	err := s.writeLocked(ctx, p, func(tx *store.Tx, account store.Account) error {
		c, err := tx.LockCustomer(account.ID, in.ID)
		if err != nil {
			return err
		}
		if c.Merged {
			return errMerged
		}
		if !c.Matches(in.IfMatch) {
			return warranty.ErrCustomerChanged
		}
		changed, err := in.Apply(c.CustomerCard)
		if err != nil || sameCustomer(changed, c.CustomerCard) {
			return err
		}
		return tx.UpdateCustomer(account.ID, changed)
	})
	switch {
	case s.Store.IsDuplicate(err):
		return warranty.CustomerCard{}, warranty.Refuse(warranty.AlreadyExists,
			"Another customer without an email address has this name. Merge the two instead.")
	case err != nil:
		return warranty.CustomerCard{}, err
	}
	return s.GetCustomerCard(ctx, p, warranty.GetCustomerCard{ID: in.ID})
}

// errMerged refuses to change a customer that was merged into another one.
var errMerged = warranty.Refuse(warranty.InvalidTransition,
	"This customer was merged into another one. Use that one, or undo the merge.")

func sameCustomer(a, b warranty.CustomerCard) bool {
	return derefText(a.Name) == derefText(b.Name) && derefText(a.Phone) == derefText(b.Phone) &&
		derefText(a.Note) == derefText(b.Note)
}

// MergeCustomers merges a customer into another one. Nothing is moved: UnmergeCustomer restores both, with the records
// that came in meanwhile.
func (s *Service) MergeCustomers(
	ctx context.Context, p warranty.Principal, in warranty.MergeCustomers,
) (warranty.CustomerCard, error) {
	if err := in.Check(); err != nil {
		return warranty.CustomerCard{}, err
	}
	now := s.now()
	err := s.writeLocked(ctx, p, func(tx *store.Tx, account store.Account) error {
		for _, id := range []warranty.ID{in.FromID, in.IntoID} {
			c, err := tx.LockCustomer(account.ID, id)
			if err != nil {
				return err
			}
			if c.Merged {
				return errMerged
			}
		}
		return tx.MergeCustomer(account.ID, in.FromID, in.IntoID, now)
	})
	if err != nil {
		return warranty.CustomerCard{}, err
	}
	return s.GetCustomerCard(ctx, p, warranty.GetCustomerCard{ID: in.IntoID})
}

// UnmergeCustomer undoes the merge of a customer within 30 days and returns it.
func (s *Service) UnmergeCustomer(
	ctx context.Context, p warranty.Principal, in warranty.UnmergeCustomer,
) (warranty.CustomerCard, error) {
	now := s.now()
	err := s.writeLocked(ctx, p, func(tx *store.Tx, account store.Account) error {
		c, err := tx.LockCustomer(account.ID, in.ID)
		if err != nil {
			return err
		}
		if !c.Merged {
			return warranty.Refuse(warranty.InvalidTransition, "This customer is not merged into another one.")
		}
		if !c.MergedAt.Add(warranty.CustomerMergeUndo).After(now) {
			return warranty.Refuse(warranty.InvalidTransition, "The customers were merged more than 30 days ago. This cannot be undone.")
		}
		return tx.UnmergeCustomer(account.ID, in.ID)
	})
	if err != nil {
		return warranty.CustomerCard{}, err
	}
	return s.GetCustomerCard(ctx, p, warranty.GetCustomerCard(in))
}

// linkBatch is how many records LinkCustomers links at a time.
const linkBatch = 200

// LinkCustomers finds the customers of records that earlier releases wrote. Afterwards it has nothing to do.
func (s *Service) LinkCustomers(ctx context.Context) error {
	for {
		account, found, err := s.Store.OrganizationToLink(ctx)
		if err != nil || !found {
			break
		}
		n := 0
		if err := s.Store.Write(ctx, func(tx *store.Tx) (err error) {
			n, err = tx.LinkCustomers(account, linkBatch, s.NewID)
			return err
		}); err != nil {
			return err
		}
		if n == 0 {
			break // another replica is at it
		}
	}
	for {
		list, err := s.Store.ClaimsToMeet(ctx, linkBatch)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, id := range list {
			if err := s.Store.Write(ctx, func(tx *store.Tx) error { return tx.MeetClaimant(id, s.NewID) }); err != nil {
				return err
			}
		}
	}
}

// noteContacts notes those that new warranties of the principal's organization are issued to. People have no customers.
func (s *Service) noteContacts(tx *store.Tx, p warranty.Principal, list ...store.Contact) error {
	if p.Account.Kind != warranty.OrganizationKind {
		return nil
	}
	return tx.NoteContacts(p.Account.ID, list, s.NewID)
}

// linkCustomer notes the contact of a locked warranty whose customer changed, and links the two.
func (s *Service) linkCustomer(tx *store.Tx, p warranty.Principal, w warranty.Warranty, now time.Time) error {
	if p.Account.Kind != warranty.OrganizationKind {
		return nil
	}
	if err := s.noteContacts(tx, p, store.ContactOf(w, now)); err != nil {
		return err
	}
	return tx.LinkCustomer(w)
}
