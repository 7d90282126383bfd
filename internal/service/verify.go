package service

import (
	"context"
	"errors"

	"warranty.example/svc/warranty"
)

// VerifyWarranty tells what a reference number stands for, to anybody who has it.
// Mistyped, unknown and deleted ones get the same answer.
func (s *Service) VerifyWarranty(ctx context.Context, _ warranty.Principal, in warranty.VerifyWarranty) (warranty.Verification, error) {
	if err := in.Check(); err != nil {
		return warranty.Verification{}, err
	}
	reference, err := warranty.ParseReference(in.Reference)
	if err != nil {
		return warranty.Verification{}, warranty.ErrUnknownReference
	}
	w, issuer, err := s.Store.WarrantyByReference(ctx, reference)
	if errors.Is(err, warranty.ErrNotFound) {
		return warranty.Verification{}, warranty.ErrUnknownReference
	}
	if err != nil {
		return warranty.Verification{}, err
	}
	w.Show(s.today())
	return w.Verified(issuer, in.Serial, s.now()), nil
}

// VerifyPublicly is VerifyWarranty for callers without a credential, who are
// throttled by their address.
func (s *Service) VerifyPublicly(ctx context.Context, p warranty.Principal, in warranty.VerifyWarranty) (warranty.Verification, error) {
	if err := s.Throttle(ctx, VerifyAttempts, p.Address); err != nil {
		return warranty.Verification{}, err
	}
	return s.VerifyWarranty(ctx, p, in)
}
