package lists

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"warranty.example/svc/internal/find"
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// A list that does not change is answered from the latest snapshot that the process knows, and the statement that reads
// the rows also tells whether that was still the state. So a page takes one statement instead of a transaction.
// A list that changed is read in a transaction until two reads in a row find the same state.

// state identifies the content of an index. Versions and changes are random, so no two contents share it.
type state struct {
	list     int64
	sum      int64 // of index_pending.n
	versions int64 // the sum of the lower halves of the versions, so that it does not overflow
	segments int64
}

// stateOf selects the state of the index of the list of the user $1 and the kind $2.
const stateOf = `SELECT l.list, (SELECT CAST(COALESCE(sum(p.n), 0) AS BIGINT) FROM index_pending p WHERE p.list = l.list),
		(SELECT CAST(COALESCE(sum(s.version % 4294967296), 0) AS BIGINT) FROM index_segments s WHERE s.list = l.list),
		(SELECT count(*) FROM index_segments s WHERE s.list = l.list)
	FROM index_lists l WHERE l.user_id = $1 AND l.kind = $2 AND l.ready_at IS NOT NULL LIMIT 1`

func readState(r *engine.Row) state { return state{r.Int(), r.Int(), r.Int(), r.Int()} }

// state returns the state that a snapshot shows.
func (s *Snapshot) state() state {
	is := state{list: s.list, sum: s.sum, segments: int64(len(s.versions))}
	for _, version := range s.versions {
		is.versions += version % (1 << 32)
	}
	return is
}

// errNotLoaded means that a part of a segment has to be read from the database.
var errNotLoaded = errors.New("a part of the index is not in memory")

// seen is the state that was found last, and its snapshot once it was found twice.
type seen struct {
	state    state
	snapshot *Snapshot
}

// note remembers a snapshot that was read.
func (x *Index) note(key Key, s *Snapshot) {
	now := s.state()
	x.mu.Lock()
	defer x.mu.Unlock()
	latest := seen{state: now}
	if x.latest[key].state == now && len(s.versions) > 0 && len(s.Pending) <= x.Limits.Pending {
		latest.snapshot = s
	}
	x.latest[key] = latest
}

// known returns the latest snapshot of a list if it may be unchanged, and nil otherwise. Nothing is read for it.
func (x *Index) known(key Key) *Snapshot {
	x.mu.Lock()
	defer x.mu.Unlock()
	latest := x.latest[key].snapshot
	if latest == nil {
		return nil
	}
	s := *latest
	s.Load = func([]find.Want) error { return errNotLoaded }
	return &s
}

// outdated forgets the snapshot of a list that changed.
func (x *Index) outdated(key Key) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.latest, key)
}

// tryKnown runs fn with the latest snapshot of a list, and reports whether it answered. Whether the list is unchanged is
// left to the caller.
func (x *Index) tryKnown(key Key, fn func(*Snapshot) error) (*Snapshot, error) {
	s := x.known(key)
	if s == nil {
		return nil, nil
	}
	err := fn(s)
	if errors.Is(err, errNotLoaded) || errors.Is(err, find.ErrCorrupt) {
		return nil, nil
	}
	return s, err
}

// Totals runs fn with the index of a list, and reports whether there is one. fn may run twice.
func (x *Index) Totals(ctx context.Context, key Key, fn func(*Snapshot) error) (found bool, err error) {
	s, err := x.tryKnown(key, fn)
	if err != nil {
		return false, err
	}
	if s != nil {
		now := state{}
		if err := x.db.Query(ctx, stateOf, func(r *engine.Row) error { now = readState(r); return nil },
			key.User, key.Kind); err != nil || now == s.state() {
			return err == nil, err
		}
		x.outdated(key)
	}
	return x.With(ctx, key, func(_ engine.Querier, s *Snapshot) error { return fn(s) })
}

// knownPage returns a page from the latest snapshot of a list, and reports whether nothing changed since. dense means that
// the question selects every record, newest first: then a range of the access rows is read, which on PostgreSQL takes half
// the time of looking up each.
func knownPage[T any](
	ctx context.Context, x *Index, key Key, question *find.Question, p warranty.Paging, sh *Shape[T], dense bool,
) (rows []T, total int64, ok bool, err error) {
	var answer find.Answer
	s, err := x.tryKnown(key, func(s *Snapshot) (err error) {
		answer, err = s.Ask(question, p.Offset(), p.Limit)
		return err
	})
	if s == nil || err != nil {
		return nil, 0, false, err
	}
	access, args := accessOf, []any{key.User, key.Kind}
	if n := len(answer.IDs); dense && n > 0 {
		access, args = accessBetween, append(args, answer.IDs[n-1], answer.IDs[0], n)
	} else {
		param, err := json.Marshal(append([]warranty.ID{}, answer.IDs...))
		if err != nil {
			return nil, 0, false, err
		}
		args = append(args, string(param))
	}
	now := state{}
	byID := make(map[warranty.ID]T, len(answer.IDs))
	err = x.db.Query(ctx, `SELECT f.*, `+sh.Columns+` FROM (`+stateOf+`) f LEFT JOIN (`+access+`) a ON 1 = 1 `+
		strings.ReplaceAll(sh.Joins, `JOIN `, `LEFT JOIN `), func(r *engine.Row) error {
		now = readState(r)
		if !r.Null() {
			row := sh.Read(r)
			byID[sh.ID(row)] = row
		}
		return nil
	}, args...)
	if err == nil && now != s.state() {
		x.outdated(key)
		return nil, 0, false, nil
	}
	return inOrderOf(answer.IDs, byID), answer.Total, err == nil, err
}
