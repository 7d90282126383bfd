package store

import (
	"context"

	"warranty.example/svc/internal/find"
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// OpenClaims counts the claims that the user has access to and that are not closed.
func (s *Store) OpenClaims(ctx context.Context, user warranty.ID) (int64, error) {
	l, open := listOf(user, kindClaim), true
	l.and(`a.status IN (` + openStatuses + `)`)
	_, total, err := plainPage(ctx, s, l, func() *find.Question { return &find.Question{OpenClaim: &open} },
		warranty.Paging{Page: 1, Limit: 1}, idShape)
	return total, err
}

var idShape = &shape[warranty.ID]{
	columns: `a.item_id`,
	read:    func(r *engine.Row) warranty.ID { return r.ID() },
	id:      func(id warranty.ID) warranty.ID { return id },
}
