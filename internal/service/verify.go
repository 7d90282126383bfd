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
