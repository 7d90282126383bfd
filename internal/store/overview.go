package store

import (
	"context"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// OpenClaims counts the claims that the user has access to and that are not closed.
func (s *Store) OpenClaims(ctx context.Context, user warranty.ID) (int64, error) {
	l := listOf(user, kindClaim)
	l.and(`a.status IN (` + openStatuses + `)`)
	_, total, err := page(ctx, s, l, `a.item_id`, ``, warranty.Paging{Page: 1, Limit: 1},
		func(r *engine.Row) warranty.ID { return r.ID() })
	return total, err
}
