package store

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"warranty.example/svc/internal/find"
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// This file makes the segments of long lists and keeps them up to date. Every replica may do it at the
// same time: each step is one transaction that fails if another replica was faster.

// walkUsers is the number of lists that one run counts to find long ones.
const walkUsers = 64

// indexedList is a row of index_lists.
type indexedList struct {
	listKey
	list    int64
	builtTo *warranty.ID
	ready   bool
	pending int
	count   int // of its segments
}

// MaintainSegments indexes lists that became long, merges what changed in the others, and drops the
// index of lists that became short. It does a bounded amount of work.
func (s *Store) MaintainSegments(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		s.countLists, s.sweepSegments,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	lists, err := s.indexedLists(ctx)
	if err != nil {
		return err
	}
	defer s.segments.setIndexed(lists)
	for i := range lists {
		err := s.maintain(ctx, &lists[i])
		switch {
		case errors.Is(err, errOvertaken):
			err = nil // another replica does it
		case errors.Is(err, find.ErrCorrupt):
			err = s.dropIndex(ctx, &lists[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// setIndexed sets which lists have an index.
func (c *segmentCache) setIndexed(lists []indexedList) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.indexed = map[listKey]bool{}
	for _, l := range lists {
		if l.ready {
			c.indexed[l.listKey] = true
		}
	}
}

var errOvertaken = errors.New("another replica changed the segment")

func (s *Store) indexedLists(ctx context.Context) (lists []indexedList, err error) {
	err = s.db.Query(ctx, `SELECT l.user_id, l.kind, l.list, l.built_to, l.ready_at,
			(SELECT count(*) FROM (SELECT 1 FROM index_pending p WHERE p.list = l.list LIMIT $1) p),
			(SELECT count(*) FROM index_segments s WHERE s.list = l.list)
		FROM index_lists l ORDER BY l.list`, func(r *engine.Row) error {
		lists = append(lists, indexedList{listKey{r.ID(), kind(r.Int())}, r.Int(), r.OptionalID(), r.Set(),
			int(r.Int()), int(r.Int())})
		return nil
	}, 1<<16)
	return lists, err
}

// maintain builds the index of a list, or merges its changes.
func (s *Store) maintain(ctx context.Context, l *indexedList) error {
	for !l.ready {
		var err error
		if l.builtTo == nil {
			l.builtTo, err = s.fenceList(ctx, l.list)
		} else {
			err = s.buildSegment(ctx, l)
		}
		if err != nil || l.builtTo == nil {
			return err
		}
	}
	if s.segments.isCorrupt(l.list) || l.pending > maxPending {
		return s.dropIndex(ctx, l)
	}
	for l.pending > max(s.segments.merge, s.segments.perSegment*l.count) {
		merged, err := s.mergeList(ctx, l)
		if err != nil || merged == 0 {
			return err
		}
		l.pending -= merged
	}
	return nil
}

// maxPending is the number of pending records from which a new index is faster than merging.
const maxPending = 1 << 15

func (c *segmentCache) isCorrupt(list int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.corrupt[list]
}

// dropIndex drops an index. The next run makes a new one if the list is still long.
func (s *Store) dropIndex(ctx context.Context, l *indexedList) error {
	l.ready = false
	s.segments.noteLength(l.user, math.MaxInt64)
	return s.Write(ctx, func(t *Tx) error { return t.later(`DELETE FROM index_lists WHERE list = $1`, l.list) })
}

// noteLength notes the length of a list that was read.
func (c *segmentCache) noteLength(user warranty.ID, length int64) {
	if length <= c.long {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.candidates) < 1<<10 {
		c.candidates[user] = true
	}
}

func (c *segmentCache) takeCandidates() []warranty.ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := slices.Collect(maps.Keys(c.candidates))
	clear(c.candidates)
	return list
}

// countLists counts the lists that may be long and those of some more users, up to the limit, and
// starts or drops their index. After all users it begins again.
func (s *Store) countLists(ctx context.Context) error {
	c := s.segments
	users := c.takeCandidates()
	walked := 0
	err := s.db.Query(ctx, `SELECT id FROM users WHERE id > $1 ORDER BY id LIMIT $2`, func(r *engine.Row) error {
		c.walked = r.ID()
		users = append(users, c.walked)
		walked++
		return nil
	}, c.walked, walkUsers)
	if err != nil {
		return err
	}
	if walked < walkUsers {
		c.walked = warranty.ID{}
	}
	param, err := json.Marshal(users)
	if err != nil {
		return err
	}
	var long, short []listKey
	err = s.db.Query(ctx, `SELECT u.id, k.kind, l.list,
			(SELECT count(*) FROM (SELECT 1 FROM access a WHERE a.user_id = u.id AND a.kind = k.kind LIMIT $2) a)
		FROM users u CROSS JOIN (SELECT 1 AS kind UNION ALL SELECT 2 UNION ALL SELECT 3) k
		LEFT JOIN index_lists l ON l.user_id = u.id AND l.kind = k.kind
		WHERE u.id IN (SELECT /*pg: CAST(value AS UUID) FROM json_array_elements_text($1) */
				/*sqlite: unhex(value, '-') FROM json_each($1) */)`, func(r *engine.Row) error {
		key, indexed, count := listKey{r.ID(), kind(r.Int())}, r.Set(), r.Int()
		if !indexed && count > c.long {
			long = append(long, key)
		} else if indexed && count <= c.long/4 {
			short = append(short, key)
		}
		return nil
	}, string(param), c.long+1)
	if err != nil || len(long)+len(short) == 0 {
		return err
	}
	return s.Write(ctx, func(t *Tx) error {
		for _, key := range long {
			if err := t.later(`INSERT INTO index_lists (user_id, kind, list) VALUES ($1, $2, $3)
				ON CONFLICT (user_id, kind) DO NOTHING`, key.user, key.kind, randomNumber()); err != nil {
				return err
			}
		}
		for _, key := range short {
			if err := t.later(`DELETE FROM index_lists WHERE user_id = $1 AND kind = $2`, key.user, key.kind); err != nil {
				return err
			}
		}
		return nil
	})
}

// sweepSegments removes what is left of dropped indexes, a few segments at a time.
func (s *Store) sweepSegments(ctx context.Context) error {
	const dropped = ` NOT EXISTS (SELECT 1 FROM index_lists l WHERE l.list = x.list)`
	var left []segmentKey
	err := s.db.Query(ctx, `SELECT x.list, x.seg FROM index_segments x WHERE`+dropped+` LIMIT 8`,
		func(r *engine.Row) error { left = append(left, segmentKey{r.Int(), r.Int()}); return nil })
	if err != nil {
		return err
	}
	for _, key := range left {
		if err := s.Write(ctx, func(t *Tx) error {
			if err := t.later(`DELETE FROM index_segments WHERE list = $1 AND seg = $2`, key.list, key.number); err != nil {
				return err
			}
			return t.later(`DELETE FROM index_parts WHERE list = $1 AND seg = $2`, key.list, key.number)
		}); err != nil {
			return err
		}
	}
	for {
		orphans := false
		err = s.db.Query(ctx, `SELECT 1 FROM index_pending x WHERE`+dropped+` LIMIT 1`,
			func(*engine.Row) error { orphans = true; return nil })
		if err != nil || !orphans {
			return err
		}
		if err := s.Write(ctx, func(t *Tx) error {
			return t.later(`DELETE FROM index_pending WHERE (list, item_id) IN
				(SELECT x.list, x.item_id FROM index_pending x WHERE`+dropped+` LIMIT $1)`, mergeChanges)
		}); err != nil {
			return err
		}
	}
}

// randomNumber returns a number that nothing else uses.
func randomNumber() int64 {
	id := randomID()
	return int64(binary.BigEndian.Uint64(id[:]) >> 1)
}

// randomID returns an id that nothing else uses.
func randomID() (id warranty.ID) {
	_, _ = rand.Read(id[:]) // never fails
	return id
}

// fenceList waits until every transaction has ended that changes records and may not have seen the
// row in index_lists. It returns nil if some are still open.
func (s *Store) fenceList(ctx context.Context, list int64) (*warranty.ID, error) {
	for _, table := range []string{"access", "warranties", "index_pending"} {
		passed, err := s.passFence(ctx, table)
		if err != nil || !passed {
			return nil, err
		}
	}
	err := s.Write(ctx, func(t *Tx) error {
		return t.overtaken(`UPDATE index_lists SET built_to = $2 WHERE list = $1 AND built_to IS NULL`, list, warranty.ID{})
	})
	return &warranty.ID{}, err
}

// passFence waits a short time until the current writers of a table have ended, and reports whether
// they have.
func (s *Store) passFence(ctx context.Context, table string) (bool, error) {
	passed, err := s.db.Fence(ctx, table)
	if err != nil {
		return false, err
	}
	return awaitFence(ctx, passed)
}

// overtaken runs a statement that changes one row unless another replica was faster.
func (t *Tx) overtaken(sql string, args ...any) error {
	return t.tx.Expect(t.ctx, errOvertaken, sql, args...)
}

// buildSegment makes the next segment of a new index.
func (s *Store) buildSegment(ctx context.Context, l *indexedList) error {
	var changes []find.Change
	src := sources[l.kind]
	// The query reads the access rows in order and then looks up each record, instead of sorting all.
	err := s.db.Query(ctx, `SELECT `+src.selected(wholeRecord)+`
		FROM (SELECT * FROM access a WHERE a.user_id = $1 AND a.kind = $2 AND a.item_id > $3
			ORDER BY a.item_id LIMIT $4) a `+src.joins+` ORDER BY a.item_id`, func(r *engine.Row) error {
		record := src.record(r, wholeRecord)
		changes = append(changes, find.Change{ID: record.ID, Record: &record})
		return nil
	}, l.user, l.kind, *l.builtTo, s.segments.build)
	if err != nil {
		return err
	}
	made, err := find.Apply(nil, changes, s.segments.size)
	if err != nil {
		return err
	}
	next := *l.builtTo
	if len(changes) > 0 {
		next = changes[len(changes)-1].ID
	}
	last := len(changes) < s.segments.build
	var readyAt *time.Time
	if now := s.Now(); last {
		readyAt = &now
	}
	err = s.Write(ctx, func(t *Tx) error {
		if err := t.overtaken(`UPDATE index_lists SET built_to = $3, ready_at = $4
			WHERE list = $1 AND built_to = $2 AND ready_at IS NULL`, l.list, *l.builtTo, next, readyAt); err != nil {
			return err
		}
		return t.insertSegments(l.list, made)
	})
	l.builtTo, l.ready = &next, last
	return err
}

func (t *Tx) insertSegments(list int64, made []find.Made) error {
	for _, m := range made {
		number := randomNumber()
		if err := t.later(`INSERT INTO index_segments (list, seg, first_id, size, version) VALUES ($1, $2, $3, $4, $5)`,
			list, number, m.First, m.Size, randomNumber()); err != nil {
			return err
		}
		if err := t.putParts(list, number, m.Parts); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tx) putParts(list, number int64, parts find.Parts) error {
	for _, key := range slices.Sorted(maps.Keys(parts)) {
		if err := t.later(`INSERT INTO index_parts (list, seg, part, data) VALUES ($1, $2, $3, $4)
			ON CONFLICT (list, seg, part) DO UPDATE SET data = excluded.data`,
			list, number, []byte(key), parts[key]); err != nil {
			return err
		}
	}
	return nil
}

// mergeAtOnce is the number of segments that are read before they are merged, and mergeChanges the
// number of changes that one transaction merges: it must not hold SQLite's writer for long.
const (
	mergeAtOnce  = 8
	mergeChanges = 2048
)

// mergeList merges the changes of the segments with the most of them, until half of what may stay is
// left. It returns the number of changes that were merged.
func (s *Store) mergeList(ctx context.Context, l *indexedList) (merged int, err error) {
	var snapshot *segmentList
	old := map[int]find.Parts{}
	var order []int
	changes := map[int][]find.Change{}
	err = s.db.Read(ctx, func(q engine.Querier) error {
		if snapshot, err = s.segmentsOf(ctx, q, l.listKey); err != nil || snapshot == nil || snapshot.list != l.list {
			return err
		}
		clear(changes)
		for _, p := range snapshot.Pending {
			if n := snapshot.SegmentOf(p.ID); len(changes[n]) < mergeChanges {
				changes[n] = append(changes[n], p)
			}
		}
		order = slices.SortedFunc(maps.Keys(changes), func(a, b int) int { return len(changes[b]) - len(changes[a]) })
		left, keep := len(snapshot.Pending), max(s.segments.merge, s.segments.perSegment*l.count)/2
		for i, n := range order {
			if left <= keep || i == mergeAtOnce {
				order = order[:i]
				break
			}
			left -= len(changes[n])
			if old[n], err = snapshot.readParts(ctx, q, n); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || snapshot == nil || snapshot.list != l.list {
		return 0, err
	}
	for _, n := range order {
		made, err := find.Apply(old[n], changes[n], s.segments.size)
		if err == nil {
			err = s.Write(ctx, func(t *Tx) error {
				return t.replaceSegment(snapshot, *l.builtTo, n, old[n], made, changes[n])
			})
		}
		if err != nil {
			return merged, err
		}
		merged += len(changes[n])
	}
	return merged, nil
}

// readParts reads all parts of a segment.
func (l *segmentList) readParts(ctx context.Context, q engine.Querier, n int) (find.Parts, error) {
	parts := find.Parts{}
	if len(l.Segments) == 0 {
		return parts, nil
	}
	err := q.Query(ctx, `SELECT part, data FROM index_parts WHERE list = $1 AND seg = $2`, func(r *engine.Row) error {
		key := string(r.Bytes())
		parts[key] = r.Bytes()
		return nil
	}, l.list, l.keys[l.Segments[n]].number)
	return parts, err
}

// replaceSegment writes the segments that replace one and removes the pending rows that they include.
func (t *Tx) replaceSegment(
	l *segmentList, builtTo warranty.ID, n int, old find.Parts, made []find.Made, changes []find.Change,
) error {
	if len(l.Segments) == 0 {
		// Only one replica may make the first segment.
		if err := t.overtaken(`UPDATE index_lists SET built_to = $3 WHERE list = $1 AND built_to = $2`,
			l.list, builtTo, randomID()); err != nil {
			return err
		}
	} else {
		key := l.keys[l.Segments[n]]
		version := l.entries[key].version
		if len(made) == 0 {
			if err := t.overtaken(`DELETE FROM index_segments WHERE list = $1 AND seg = $2 AND version = $3`,
				l.list, key.number, version); err != nil {
				return err
			}
			if err := t.later(`DELETE FROM index_parts WHERE list = $1 AND seg = $2`, l.list, key.number); err != nil {
				return err
			}
		} else {
			if err := t.overtaken(`UPDATE index_segments SET first_id = $4, size = $5, version = $6
				WHERE list = $1 AND seg = $2 AND version = $3`,
				l.list, key.number, version, made[0].First, made[0].Size, randomNumber()); err != nil {
				return err
			}
			if err := t.changeParts(l.list, key.number, old, made[0].Parts); err != nil {
				return err
			}
			made = made[1:]
		}
	}
	if err := t.insertSegments(l.list, made); err != nil {
		return err
	}
	return t.removePending(l, changes)
}

// changeParts writes the parts that differ.
func (t *Tx) changeParts(list, number int64, old, updated find.Parts) error {
	changed, gone := find.Diff(old, updated)
	for _, key := range gone {
		if err := t.later(`DELETE FROM index_parts WHERE list = $1 AND seg = $2 AND part = $3`,
			list, number, []byte(key)); err != nil {
			return err
		}
	}
	return t.putParts(list, number, changed)
}

// removePending removes the pending rows of merged changes, except of records that changed again. It
// does not wait for transactions that are changing them.
func (t *Tx) removePending(l *segmentList, changes []find.Change) error {
	rows := make([][2]any, len(changes))
	for i, c := range changes {
		rows[i] = [2]any{c.ID, l.rows[c.ID].n}
	}
	param, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	return t.later(`DELETE FROM index_pending WHERE list = $1 AND (item_id, n) IN (
		/*pg: SELECT p.item_id, p.n FROM json_array_elements($2) v JOIN index_pending p
			ON p.item_id = CAST(v->>0 AS UUID) AND p.n = CAST(v->>1 AS BIGINT)
			WHERE p.list = $1 FOR UPDATE OF p SKIP LOCKED */
		/*sqlite: SELECT unhex(json_extract(value, '$[0]'), '-'), json_extract(value, '$[1]') FROM json_each($2) */)`,
		l.list, string(param))
}
