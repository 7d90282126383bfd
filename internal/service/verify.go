package service

import (
	"context"
	"errors"

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
const productMost = 20

// VerifyProduct is VerifyPublicly by GTIN and serial number, as in a GS1 Digital Link. It finds the only
// warranty in force whose issuer has a verified domain, or the only one if none is in force. Unknown,
// unverified and ambiguous products return the same error.
func (s *Service) VerifyProduct(
	ctx context.Context, p warranty.Principal, in warranty.VerifyProduct,
) (warranty.Verification, error) {
	var none warranty.Verification
	if err := s.Throttle(ctx, VerifyAttempts, p.Address); err != nil {
		return none, err
	}
	if err := in.Check(); err != nil {
		return none, err
	}
	gtins, ok := warranty.GTINForms(in.GTIN)
	if !ok {
		return none, warranty.ErrUnknownReference
	}
	now := s.now()
	list, by, err := s.Store.WarrantiesOfProduct(ctx, gtins, in.Number, productMost, now)
	if err != nil {
		return none, err
	}
	found, active := -1, 0
	for i := range list {
		if list[i].Show(s.today()); list[i].Status == warranty.Active {
			found = i
			active++
		}
	}
	switch {
	case active == 0 && len(list) == 1:
		found = 0
	case active != 1:
		return none, warranty.ErrUnknownReference
	}
	return list[found].Verified(by[found], in.Serial, now), nil
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
