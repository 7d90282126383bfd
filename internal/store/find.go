package store

import (
	"context"

	"warranty.example/svc/internal/find"
	"warranty.example/svc/internal/store/lists"
	"warranty.example/svc/warranty"
)

// This file searches for what a person may look for while typing: the best few of each kind.

// FindWarranties returns the warranties that an account has access to and that fit a query best, and how many fit.
func (s *Store) FindWarranties(
	ctx context.Context, account warranty.ID, q string, limit int, today warranty.Date,
) ([]warranty.Warranty, int64, error) {
	return findBest(ctx, s, lists.Of(account, lists.Warranties), &find.Question{Today: today}, q, limit, warrantyShape)
}

// FindClaims is FindWarranties for claims.
func (s *Store) FindClaims(
	ctx context.Context, account warranty.ID, q string, limit int,
) ([]warranty.Claim, int64, error) {
	return findBest(ctx, s, lists.Of(account, lists.Claims), &find.Question{}, q, limit, claimShape)
}

// FindDocuments is FindWarranties for documents.
func (s *Store) FindDocuments(
	ctx context.Context, account warranty.ID, q string, limit int,
) ([]warranty.Document, int64, error) {
	return findBest(ctx, s, lists.Of(account, lists.Documents), &find.Question{}, q, limit, documentShape)
}

func findBest[T any](
	ctx context.Context, s *Store, l *lists.List, question *find.Question, q string, limit int, sh *lists.Shape[T],
) ([]T, int64, error) {
	question.BestFirst(q)
	return lists.Search(ctx, s.lists, l, question, warranty.Paging{Page: 1, Limit: limit}, sh)
}
