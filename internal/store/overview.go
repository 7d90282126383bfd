package store

import (
	"context"

	"warranty.example/svc/internal/find"
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/store/lists"
	"warranty.example/svc/warranty"
)

// Statuses counts the warranties that the user has access to, per status that the overview shows, as of today.
type Statuses struct{ Total, Active, Expired int64 }

// CountStatuses counts the warranties that the user has access to. The index of a long list is read once; the counts
// of other lists are remembered.
func (s *Store) CountStatuses(ctx context.Context, user warranty.ID, today warranty.Date) (c Statuses, err error) {
	key := lists.Key{User: user, Kind: lists.Warranties}
	if found, err := s.lists.Totals(ctx, key, func(index *lists.Snapshot) error {
		counts, err := index.Count(&find.Question{Today: today}, warranty.GroupByStatus)
		if err == nil {
			c = Statuses{counts.Total(), counts.Of(warranty.Active.String()), counts.Of(warranty.Expired.String())}
		}
		return err
	}); found || err != nil {
		return c, err
	}
	for _, count := range []struct {
		n      *int64
		status warranty.Status
	}{{&c.Total, ""}, {&c.Active, warranty.Active}, {&c.Expired, warranty.Expired}} {
		in := warranty.ListWarranties{Paging: warranty.Paging{Page: 1, Limit: 1}, WarrantyFilter: warranty.WarrantyFilter{Status: count.status}}
		if _, *count.n, err = s.Warranties(ctx, user, in, today); err != nil {
			return c, err
		}
	}
	return c, nil
}

// OpenClaims counts the claims that the user has access to and that are not closed.
func (s *Store) OpenClaims(ctx context.Context, user warranty.ID) (int64, error) {
	l, open := lists.Of(user, lists.Claims), true
	l.And(`a.status IN (` + lists.OpenStatuses + `)`)
	_, total, err := lists.Page(ctx, s.lists, l, func() *find.Question { return &find.Question{OpenClaim: &open} },
		warranty.Paging{Page: 1, Limit: 1}, idShape)
	return total, err
}

var idShape = &lists.Shape[warranty.ID]{
	Columns: `a.item_id`,
	Read:    func(r *engine.Row) warranty.ID { return r.ID() },
	ID:      func(id warranty.ID) warranty.ID { return id },
}
