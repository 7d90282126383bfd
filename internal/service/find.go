package service

import (
	"context"
	"strings"
	"unicode/utf8"

	"warranty.example/svc/warranty"
)

// MinFind is the number of characters from which Find finds something.
const MinFind = 2

// Hits are the records of one kind that fit a search best, and how many fit.
type Hits[T any] struct {
	List  []T
	Total int64
}

// Found is what a search over everything finds.
type Found struct {
	Claims     Hits[warranty.Claim]
	Warranties Hits[warranty.Warranty]
	Documents  Hits[warranty.Document]
}

// Total is the number of records that fit.
func (f Found) Total() int64 { return f.Claims.Total + f.Warranties.Total + f.Documents.Total }

// Find searches the records that the principal can see for what they type, and returns up to limit of each kind: whole
// numbers first, then names, then the rest, and of equals what changed last. It stops when the request ends.
func (s *Service) Find(ctx context.Context, p warranty.Principal, q string, limit int) (f Found, err error) {
	in := warranty.ListWarranties{WarrantyFilter: warranty.WarrantyFilter{Q: q}}
	if err := in.Check(); err != nil {
		return f, err
	}
	if q = strings.TrimSpace(in.Q); utf8.RuneCountInString(q) < MinFind {
		return f, nil
	}
	account := p.Account.ID
	if f.Claims.List, f.Claims.Total, err = s.Store.FindClaims(ctx, account, q, limit); err != nil {
		return f, err
	}
	if err := s.Store.Handlings(ctx, account, f.Claims.List); err != nil {
		return f, err
	}
	for i := range f.Claims.List {
		s.showClaim(&f.Claims.List[i])
	}
	if f.Warranties.List, f.Warranties.Total, err = s.Store.FindWarranties(ctx, account, q, limit, s.today()); err != nil {
		return f, err
	}
	for i := range f.Warranties.List {
		s.showListed(&f.Warranties.List[i])
	}
	f.Documents.List, f.Documents.Total, err = s.Store.FindDocuments(ctx, account, q, limit)
	return f, err
}
