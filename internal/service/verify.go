package service

import (
	"context"
	"errors"
	"slices"

	"warranty.example/svc/warranty"
)

// VerifyWarranty returns the public facts of a warranty by its reference number.
// Malformed, unknown and deleted numbers return the same error.
func (s *Service) VerifyWarranty(
	ctx context.Context, _ warranty.Principal, in warranty.VerifyWarranty,
) (warranty.Verification, error) {
	if err := in.Check(); err != nil {
		return warranty.Verification{}, err
	}
	reference, err := warranty.ParseReference(in.Reference)
	if err != nil {
		return warranty.Verification{}, warranty.ErrUnknownReference
	}
	now := s.now()
	w, by, err := s.Store.WarrantyByReference(ctx, reference, now)
	if errors.Is(err, warranty.ErrNotFound) {
		return warranty.Verification{}, warranty.ErrUnknownReference
	}
	if err != nil {
		return warranty.Verification{}, err
	}
	w.Show(s.today())
	return w.Verified(by, in.Serial, now), nil
}

// productMost is the number of warranties of one product and serial number that are looked at.
const productMost = 200

// VerifyProduct is VerifyPublicly by GTIN and serial number, as in a GS1 Digital Link. Unknown and unverified
// products return the same error, and so does a product that several organizations issued.
func (s *Service) VerifyProduct(
	ctx context.Context, p warranty.Principal, in warranty.VerifyProduct,
) (warranty.Verification, error) {
	list, err := s.VerifyIssuers(ctx, p, in)
	if err == nil && len(list) > 1 {
		err = warranty.Refuse(warranty.NotFound, "Several organizations issued a warranty for this product. "+
			"Open this address in a browser to choose one, or verify a reference number.")
	}
	if err != nil {
		return warranty.Verification{}, err
	}
	return list[0], nil
}

// VerifyIssuers returns what organizations with a verified domain issued for a product, in the order in which they
// first did: of each the newest warranty in force, or the newest.
func (s *Service) VerifyIssuers(
	ctx context.Context, p warranty.Principal, in warranty.VerifyProduct,
) ([]warranty.Verification, error) {
	if err := s.Throttle(ctx, VerifyAttempts, p.Address); err != nil {
		return nil, err
	}
	if err := in.Check(); err != nil {
		return nil, err
	}
	gtins, ok := warranty.GTINForms(in.GTIN)
	if !ok {
		return nil, warranty.ErrUnknownReference
	}
	now := s.now()
	found, err := s.Store.WarrantiesOfProduct(ctx, gtins, in.Number, productMost, now)
	if err != nil {
		return nil, err
	}
	var list []warranty.Verification
	for _, f := range found {
		f.Warranty.Show(s.today())
		v := f.Warranty.Verified(f.By, in.Serial, now)
		// A verified domain belongs to one organization.
		at := slices.IndexFunc(list, func(other warranty.Verification) bool { return *other.Issuer.Domain == *v.Issuer.Domain })
		switch {
		case at < 0:
			list = append(list, v)
		case v.Status == warranty.Active || list[at].Status != warranty.Active:
			list[at] = v
		}
	}
	if len(list) == 0 {
		return nil, warranty.ErrUnknownReference
	}
	return list, nil
}

// VerifyPublicly is VerifyWarranty for callers without a credential. It is throttled per
// address.
func (s *Service) VerifyPublicly(
	ctx context.Context, p warranty.Principal, in warranty.VerifyWarranty,
) (warranty.Verification, error) {
	if err := s.Throttle(ctx, VerifyAttempts, p.Address); err != nil {
		return warranty.Verification{}, err
	}
	return s.VerifyWarranty(ctx, p, in)
}
