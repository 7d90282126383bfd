package lists

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"

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
	Key
	list    int64
	builtTo *warranty.ID
	ready   bool
	pending int
	count   int // of its segments
}

// Maintain indexes lists that became long, merges what changed in the others, and drops the
// index of lists that became short. It does a bounded amount of work.
func (x *Index) Maintain(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		x.countLists, x.sweep,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	lists, err := x.indexedLists(ctx)
	if err != nil {
		return err
	}
	defer x.setIndexed(lists)
	for i := range lists {
		err := x.maintain(ctx, &lists[i])
		switch {
		case errors.Is(err, errOvertaken):
			err = nil // another replica does it
		case errors.Is(err, find.ErrCorrupt):
			err = x.drop(ctx, &lists[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// setIndexed sets which lists have an index.
func (x *Index) setIndexed(lists []indexedList) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.indexed = map[Key]bool{}
	for _, l := range lists {
		if l.ready {
			x.indexed[l.Key] = true
		}
	}
}

var errOvertaken = errors.New("another replica changed the segment")

func (x *Index) indexedLists(ctx context.Context) (lists []indexedList, err error) {
	err = x.db.Query(ctx, `SELECT l.user_id, l.kind, l.list, l.built_to, l.ready_at,
			(SELECT count(*) FROM (SELECT 1 FROM index_pending p WHERE p.list = l.list LIMIT $1) p),
			(SELECT count(*) FROM index_segments s WHERE s.list = l.list)
		FROM index_lists l ORDER BY l.list`, func(r *engine.Row) error {
		lists = append(lists, indexedList{Key{r.ID(), Kind(r.Int())}, r.Int(), r.OptionalID(), r.Set(),
			int(r.Int()), int(r.Int())})
		return nil
	}, 1<<16)
	return lists, err
}

// maintain builds the index of a list, or merges its changes.
func (x *Index) maintain(ctx context.Context, l *indexedList) error {
	for !l.ready {
		var err error
		if l.builtTo == nil {
			l.builtTo, err = x.fence(ctx, l.list)
		} else {
			err = x.build(ctx, l)
		}
		if err != nil || l.builtTo == nil {
			return err
		}
	}
	if x.isCorrupt(l.list) || l.pending > maxPending {
		return x.drop(ctx, l)
	}
	for l.pending > max(x.Limits.Merge, x.Limits.PerSegment*l.count) {
		merged, err := x.mergeList(ctx, l)
		if err != nil || merged == 0 {
			return err
		}
		l.pending -= merged
	}
	return nil
}

// maxPending is the number of pending records from which a new index is faster than merging.
const maxPending = 1 << 15

func (x *Index) isCorrupt(list int64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.corrupt[list]
}

// drop drops an index. The next run makes a new one if the list is still long.
func (x *Index) drop(ctx context.Context, l *indexedList) error {
	l.ready = false
	x.NoteLength(l.User, math.MaxInt64)
	return x.db.Write(ctx, func(tx engine.Tx) error {
		return tx.Later(ctx, `DELETE FROM index_lists WHERE list = $1`, l.list)
	})
}

// NoteLength notes the length of a list that was read.
func (x *Index) NoteLength(user warranty.ID, length int64) {
	if length <= x.Limits.Long {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.candidates) < 1<<10 {
		x.candidates[user] = true
	}
}

func (x *Index) takeCandidates() []warranty.ID {
	x.mu.Lock()
	defer x.mu.Unlock()
	list := slices.Collect(maps.Keys(x.candidates))
	clear(x.candidates)
	return list
}

// countLists counts the lists that may be long and those of some more users, up to the limit, and
// starts or drops their index. After all users it begins again.
func (x *Index) countLists(ctx context.Context) error {
	users := x.takeCandidates()
	walked := 0
	err := x.db.Query(ctx, `SELECT id FROM users WHERE id > $1 ORDER BY id LIMIT $2`, func(r *engine.Row) error {
		x.walked = r.ID()
		users = append(users, x.walked)
		walked++
		return nil
	}, x.walked, walkUsers)
	if err != nil {
		return err
	}
	if walked < walkUsers {
		x.walked = warranty.ID{}
	}
	param, err := json.Marshal(users)
	if err != nil {
		return err
	}
	var long, short []Key
	err = x.db.Query(ctx, `SELECT u.id, k.kind, l.list,
			(SELECT count(*) FROM (SELECT 1 FROM access a WHERE a.user_id = u.id AND a.kind = k.kind LIMIT $2) a)
		FROM users u CROSS JOIN (SELECT `+SQLWarranties+` AS kind
			UNION ALL SELECT `+SQLClaims+` UNION ALL SELECT `+SQLDocuments+`) k
		LEFT JOIN index_lists l ON l.user_id = u.id AND l.kind = k.kind
		WHERE u.id IN (SELECT /*pg: CAST(value AS UUID) FROM json_array_elements_text($1) */
				/*sqlite: unhex(value, '-') FROM json_each($1) */)`, func(r *engine.Row) error {
		key, indexed, count := Key{r.ID(), Kind(r.Int())}, r.Set(), r.Int()
		if !indexed && count > x.Limits.Long {
			long = append(long, key)
		} else if indexed && count <= x.Limits.Long/4 {
			short = append(short, key)
		}
		return nil
	}, string(param), x.Limits.Long+1)
	if err != nil || len(long)+len(short) == 0 {
		return err
	}
	return x.db.Write(ctx, func(tx engine.Tx) error {
		for _, key := range long {
			if err := tx.Later(ctx, `INSERT INTO index_lists (user_id, kind, list) VALUES ($1, $2, $3)
				ON CONFLICT (user_id, kind) DO NOTHING`, key.User, key.Kind, randomNumber()); err != nil {
				return err
			}
		}
		for _, key := range short {
			if err := tx.Later(ctx, `DELETE FROM index_lists WHERE user_id = $1 AND kind = $2`,
				key.User, key.Kind); err != nil {
				return err
			}
		}
		return nil
	})
}

// sweep removes what is left of dropped indexes, a few segments at a time.
func (x *Index) sweep(ctx context.Context) error {
	const dropped = ` NOT EXISTS (SELECT 1 FROM index_lists l WHERE l.list = x.list)`
	var left []segmentID
	err := x.db.Query(ctx, `SELECT x.list, x.seg FROM index_segments x WHERE`+dropped+` LIMIT 8`,
		func(r *engine.Row) error { left = append(left, segmentID{r.Int(), r.Int()}); return nil })
	if err != nil {
		return err
	}
	for _, key := range left {
		if err := x.db.Write(ctx, func(tx engine.Tx) error {
			if err := tx.Later(ctx, `DELETE FROM index_segments WHERE list = $1 AND seg = $2`,
				key.list, key.number); err != nil {
				return err
			}
			return tx.Later(ctx, `DELETE FROM index_parts WHERE list = $1 AND seg = $2`, key.list, key.number)
		}); err != nil {
			return err
		}
	}
	for {
		orphans := false
		err = x.db.Query(ctx, `SELECT 1 FROM index_pending x WHERE`+dropped+` LIMIT 1`,
			func(*engine.Row) error { orphans = true; return nil })
		if err != nil || !orphans {
			return err
		}
		if err := x.db.Write(ctx, func(tx engine.Tx) error {
			return tx.Later(ctx, `DELETE FROM index_pending WHERE (list, item_id) IN
				(SELECT x.list, x.item_id FROM index_pending x WHERE`+dropped+` LIMIT $1)`, mergeChanges)
		}); err != nil {
			return err
		}
	}
}
