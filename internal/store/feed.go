package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/store/lists"
	"warranty.example/svc/warranty"
)

// The feed lists what changed for a user, in the order of access.changed_at, and what the user lost,
// in the order of gone.at. Both are by the database's clock.
//
// A change is stamped before it is committed, so a reader may pass a stamp whose change is not
// visible yet. The next read must therefore begin at a time before which every stamp is committed.
// Clocks and timeouts cannot tell such a time, because a commit may take any time. The order of
// transactions can:
//
//  1. A process raises feed_marks.floor to the current time and commits.
//  2. A transaction that locks the table access after that sees the floor, and its stamps are not
//     below it, even if the clock is set back. The process waits for the transactions that hold
//     the lock at this point (fence).
//  3. Now every change with a stamp below the floor is committed. The process stores the floor in
//     feed_marks.settled.
//
// A page and settled are read in one snapshot. It contains every change with a stamp below settled,
// and later changes are not below it, so the next read can begin there.

// changeStamp is the stamp of a change.
const changeStamp = `/*pg: greatest((extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
		(SELECT floor FROM feed_marks)) */
	/*sqlite: max(CAST(unixepoch('subsec') * 1000000 AS INTEGER), coalesce((SELECT floor FROM feed_marks), 0)) */`

// changesPage and lossesPage read a page after a position. Each is a range of an index. The form of
// the second keeps PostgreSQL from reading everybody's latest losses by the index on their age.
const (
	changesPage = `SELECT a.item_id, a.changed_at, a.roles /*sqlite: , a.item_row */ FROM access a
		WHERE a.user_id = $1 AND a.kind = ` + kindWarranty + ` AND (a.changed_at, a.item_id) > ($2, $3)
		ORDER BY a.changed_at, a.item_id LIMIT $4`
	lossesPage = `SELECT g.item_id, g.at FROM gone g
		WHERE g.user_id = $1 AND /*sqlite: (g.at, g.item_id) > ($2, $3) */
			/*pg: (g.user_id, g.at, g.item_id) > ($1, $2, $3) */ AND NOT EXISTS (
			SELECT 1 FROM access a WHERE a.user_id = g.user_id
			AND a.kind = ` + kindWarranty + ` AND a.item_id = g.item_id)
		ORDER BY g.at, g.item_id LIMIT $4`
)

// goneKept is longer than losses are promised to be kept, in case a clock is corrected.
const goneKept = warranty.GoneLifetime + 24*time.Hour

// feedState is what a process knows about the feed's marks.
type feedState struct {
	mu sync.Mutex // held while the marks are advanced
	// floor was committed, and passed reports whether all earlier transactions have ended. passed
	// is nil if there is nothing to wait for.
	floor  int64
	passed func(context.Context) (bool, error)
}

// ChangedWarranties lists the warranties that changed for a user after a position, in the order of
// the changes.
func (s *Store) ChangedWarranties(
	ctx context.Context, user warranty.ID, from warranty.FeedPosition, limit int,
) ([]warranty.Warranty, warranty.Feed, error) {
	return readFeed(ctx, s, user, from, limit, `SELECT m.settled, a.changed_at, `+warrantyColumns+`, a.roles
		FROM feed_marks m LEFT JOIN (`+changesPage+`) a ON 1 = 1
		LEFT `+lists.JoinWarranty+` ORDER BY a.changed_at, a.item_id`,
		readWarrantyRoles, func(w warranty.Warranty) warranty.ID { return w.ID })
}

// DeletedWarranties lists the warranties that a user lost access to after a position, except those
// that the user has again.
func (s *Store) DeletedWarranties(
	ctx context.Context, user warranty.ID, from warranty.FeedPosition, limit int,
) ([]warranty.Deletion, warranty.Feed, error) {
	return readFeed(ctx, s, user, from, limit, `SELECT m.settled, g.at, w.id, w.reference, g.at
		FROM feed_marks m LEFT JOIN (`+lossesPage+`) g ON 1 = 1
		LEFT JOIN warranties w ON w.id = g.item_id ORDER BY g.at, g.item_id`,
		func(r *engine.Row) warranty.Deletion {
			return warranty.Deletion{
				ID:              r.ID(),
				ReferenceNumber: warranty.Reference(r.Text()),
				DeletedAt:       r.Time(),
			}
		}, func(d warranty.Deletion) warranty.ID { return d.ID })
}

// feedPage is a page of the feed, with one record more than requested if there are more.
type feedPage[T any] struct {
	settled time.Time
	stamps  []time.Time
	rows    []T
}

// readFeed reads a page after a position. The statement takes the user, the position and the limit,
// and returns settled, and for each record its stamp and its columns.
func readFeed[T any](
	ctx context.Context, s *Store, user warranty.ID, from warranty.FeedPosition, limit int, sql string,
	read func(*engine.Row) T, id func(T) warranty.ID,
) ([]T, warranty.Feed, error) {
	query := func() (p feedPage[T], err error) {
		err = s.db.Query(ctx, sql, func(r *engine.Row) error {
			p.settled = r.Time()
			if r.Null() {
				return nil
			}
			p.stamps = append(p.stamps, r.Time())
			p.rows = append(p.rows, read(r))
			return nil
		}, user, from.At, from.ID, limit+1)
		if err == nil && p.settled.IsZero() {
			err = errNoMarks
		}
		return p, err
	}
	p, err := query()
	if n := len(p.stamps); err == nil && n > 0 && from.Settled.IsZero() &&
		(n > limit || !p.stamps[n-1].Before(p.settled)) && s.settle(ctx) {
		p, err = query() // so that the next walk does not repeat all of this one
	}
	if err != nil {
		return nil, warranty.Feed{}, err
	}
	if !from.Settled.IsZero() {
		p.settled = from.Settled
	}
	feed := warranty.Feed{SyncedTo: p.settled}
	if len(p.rows) > limit {
		p.rows = p.rows[:limit]
		last := warranty.FeedPosition{At: p.stamps[limit-1], ID: id(p.rows[limit-1]), Settled: p.settled}
		feed.Next = &last
		if last.At.Before(feed.SyncedTo) {
			feed.SyncedTo = last.At // for a reader that stops here
		}
	}
	return p.rows, feed, nil
}

var errNoMarks = errors.New("the table feed_marks has no row")

// settle advances the marks and reports whether it did. It fails if transactions take long, if
// another request is advancing the marks, or if the database is not writable; the feed then repeats
// more than necessary.
func (s *Store) settle(ctx context.Context) bool {
	if !s.feed.mu.TryLock() {
		return false
	}
	defer s.feed.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	if s.feed.passed == nil {
		floor, err := s.raiseFloor(ctx)
		if err != nil {
			return false
		}
		passed, err := s.db.Fence(ctx, "access")
		if err != nil {
			return false
		}
		s.feed.floor, s.feed.passed = floor, passed
	}
	if passed, err := engine.AwaitFence(ctx, s.feed.passed); err != nil || !passed {
		return false
	}
	err := s.Write(ctx, func(t *Tx) error {
		return t.later(`UPDATE feed_marks SET settled = $1 WHERE settled < $1`, s.feed.floor)
	})
	if err == nil {
		s.feed.passed = nil
	}
	return err == nil
}

// settleTimeout is how long a reader waits if nothing can be written.
const settleTimeout = time.Second

// raiseFloor raises the floor to the current time and returns it.
func (s *Store) raiseFloor(ctx context.Context) (floor int64, err error) {
	err = s.Write(ctx, func(t *Tx) error {
		return queryRow(t.ctx, t.tx, `UPDATE feed_marks SET floor = `+changeStamp+` RETURNING floor`,
			func(r *engine.Row) { floor = r.Int() })
	})
	return floor, err
}
