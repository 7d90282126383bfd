package lists

import (
	"context"
	"slices"

	"warranty.example/svc/internal/find"
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// The pending records of an index are read by every question, and looking each of them up takes longer
// than everything else. So a process caches them and reads only those that changed.
//
// Rows of index_pending are removed only by the transaction that replaces the segment which contains
// their record, and any other change increases n. So while the version of its segment is the same, a row
// with the same n stands for the same state of the record, and while all versions and the sum of all n
// are the same, nothing changed.

// pendingSet is the pending records of an index in one snapshot. It is immutable once published.
type pendingSet struct {
	versions []int64 // of the segments
	sum      int64   // of n
	changes  []find.Change
	places   find.Places
	rows     map[warranty.ID]pendingRow
}

// pendingRow is a row of index_pending.
type pendingRow struct {
	n       int64
	version int64 // of the segment that contains the record
	at      int   // in changes
}

// maxCached is the number of pending records of all lists that a process caches.
const maxCached = 1 << 15

// readPending reads the records that changed since the segments were made. sum is that of their
// numbers.
func (x *Index) readPending(
	ctx context.Context, q engine.Querier, s *Snapshot, key Key, sum int64,
) error {
	known := &pendingSet{}
	if len(s.versions) > 0 { // otherwise no version tells that rows were removed
		known = x.pendingOf(s.list)
	}
	if slices.Equal(known.versions, s.versions) && known.sum == sum {
		s.usePending(known)
		return nil
	}
	next := &pendingSet{versions: s.versions, sum: sum, rows: map[warranty.ID]pendingRow{}}
	var changed []warranty.ID
	read := func(r *engine.Row) error {
		id := r.ID()
		row := pendingRow{r.Int(), s.versionOf(id), len(next.changes)}
		change := find.Change{ID: id}
		if before, ok := known.rows[id]; ok && before.n == row.n && before.version == row.version {
			change = known.changes[before.at]
		} else {
			changed = append(changed, id)
		}
		next.rows[id], next.changes = row, append(next.changes, change)
		return nil
	}
	if err := q.Query(ctx, `SELECT item_id, n FROM index_pending WHERE list = $1 ORDER BY item_id`,
		read, s.list); err != nil {
		return err
	}
	records, err := Rows(ctx, q, key, changed, sources[key.Kind].shape())
	if err != nil {
		return err
	}
	for _, record := range records {
		next.changes[next.rows[record.ID].at].Record = record
	}
	s.usePending(next)
	x.setPending(s.list, next)
	return nil
}

func (s *Snapshot) usePending(set *pendingSet) {
	s.pendingSet, s.Pending, s.Places = set, set.changes, &set.places
}

// versionOf returns the version of the segment that contains an id, or would.
func (s *Snapshot) versionOf(id warranty.ID) int64 {
	if len(s.versions) == 0 {
		return 0
	}
	return s.versions[s.SegmentOf(id)]
}

// pendingOf returns the cached pending records of an index, or an empty set.
func (x *Index) pendingOf(list int64) *pendingSet {
	x.mu.Lock()
	defer x.mu.Unlock()
	if set := x.pending[list]; set != nil {
		return set
	}
	return &pendingSet{}
}

// setPending caches the pending records of an index and evicts others, in no order, while there are too
// many.
func (x *Index) setPending(list int64, set *pendingSet) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.pending[list] = set
	total := 0
	for _, other := range x.pending {
		total += 1 + len(other.changes)
	}
	for other, evicted := range x.pending {
		if total <= maxCached {
			return
		}
		if other != list || len(set.changes) >= maxCached {
			delete(x.pending, other)
			total -= 1 + len(evicted.changes)
		}
	}
}
