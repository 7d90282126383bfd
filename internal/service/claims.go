package service

import (
	"context"

	"warranty.example/svc/warranty"
)

// ListClaims lists the claims on what the principal may see.
func (s *Service) ListClaims(ctx context.Context, p warranty.Principal, in warranty.ListClaims) (warranty.Page[warranty.Claim], error) {
	if err := in.Check(); err != nil {
		return warranty.Page[warranty.Claim]{}, err
	}
	list, total, err := s.Store.Claims(ctx, p.User.ID, in)
	return warranty.PageOf(list, in.Paging, total), err
}

// GetClaim gets one claim that the principal may see.
func (s *Service) GetClaim(ctx context.Context, p warranty.Principal, in warranty.GetClaim) (warranty.Claim, error) {
	return s.Store.Claim(ctx, p.User.ID, in.ID)
}
