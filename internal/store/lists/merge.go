package lists

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"warranty.example/svc/internal/find"
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// mergeAtOnce is the number of segments that are read before they are merged, and mergeChanges the
// number of changes that one transaction merges: it must not hold SQLite's writer for long.
const (
	mergeAtOnce  = 8
	mergeChanges = 2048
)

// mergeList merges the changes of the segments with the most of them, until half of what may stay is
// left. It returns the number of changes that were merged.
func (x *Index) mergeList(ctx context.Context, l *indexedList) (merged int, err error) {
	var snapshot *Snapshot
	old := map[int]find.Parts{}
	var order []int
	changes := map[int][]find.Change{}
	err = x.db.Read(ctx, func(q engine.Querier) error {
		if snapshot, err = x.Open(ctx, q, l.Key); err != nil || snapshot == nil || snapshot.list != l.list {
			return err
		}
		clear(changes)
		for _, p := range snapshot.Pending {
			if n := snapshot.SegmentOf(p.ID); len(changes[n]) < mergeChanges {
				changes[n] = append(changes[n], p)
			}
		}
		order = slices.SortedFunc(maps.Keys(changes), func(a, b int) int { return len(changes[b]) - len(changes[a]) })
		left, keep := len(snapshot.Pending), max(x.Limits.Merge, x.Limits.PerSegment*l.count)/2
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
		made, err := find.Apply(old[n], changes[n], x.Limits.Segment)
		if err == nil {
			err = x.db.Write(ctx, func(tx engine.Tx) error {
				return snapshot.replace(ctx, tx, *l.builtTo, n, old[n], made, changes[n])
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
func (s *Snapshot) readParts(ctx context.Context, q engine.Querier, n int) (find.Parts, error) {
	parts := find.Parts{}
	if len(s.Segments) == 0 {
		return parts, nil
	}
	err := q.Query(ctx, `SELECT part, data FROM index_parts WHERE list = $1 AND seg = $2`, func(r *engine.Row) error {
		key := string(r.Bytes())
		parts[key] = r.Bytes()
		return nil
	}, s.list, s.keys[s.Segments[n]].number)
	return parts, err
}

// replace writes the segments that replace one and removes the pending rows that they include.
func (s *Snapshot) replace(
	ctx context.Context, tx engine.Tx, builtTo warranty.ID, n int,
	old find.Parts, made []find.Made, changes []find.Change,
) error {
	if len(s.Segments) == 0 {
		// Only one replica may make the first segment.
		if err := tx.Expect(ctx, errOvertaken, `UPDATE index_lists SET built_to = $3 WHERE list = $1 AND built_to = $2`,
			s.list, builtTo, randomID()); err != nil {
			return err
		}
	} else {
		key := s.keys[s.Segments[n]]
		version := s.entries[key].version
		if len(made) == 0 {
			if err := tx.Expect(ctx, errOvertaken,
				`DELETE FROM index_segments WHERE list = $1 AND seg = $2 AND version = $3`,
				s.list, key.number, version); err != nil {
				return err
			}
			if err := tx.Later(ctx, `DELETE FROM index_parts WHERE list = $1 AND seg = $2`,
				s.list, key.number); err != nil {
				return err
			}
		} else {
			if err := tx.Expect(ctx, errOvertaken, `UPDATE index_segments SET first_id = $4, size = $5, version = $6
				WHERE list = $1 AND seg = $2 AND version = $3`,
				s.list, key.number, version, made[0].First, made[0].Size, randomNumber()); err != nil {
				return err
			}
			if err := changeParts(ctx, tx, s.list, key.number, old, made[0].Parts); err != nil {
				return err
			}
			made = made[1:]
		}
	}
	if err := insertSegments(ctx, tx, s.list, made); err != nil {
		return err
	}
	return s.removePending(ctx, tx, changes)
}

// changeParts writes the parts that differ.
func changeParts(ctx context.Context, tx engine.Tx, list, number int64, old, updated find.Parts) error {
	changed, gone := find.Diff(old, updated)
	for _, key := range gone {
		if err := tx.Later(ctx, `DELETE FROM index_parts WHERE list = $1 AND seg = $2 AND part = $3`,
			list, number, []byte(key)); err != nil {
			return err
		}
	}
	return putParts(ctx, tx, list, number, changed)
}

// removePending removes the pending rows of merged changes, except of records that changed again. It
// does not wait for transactions that are changing them.
func (s *Snapshot) removePending(ctx context.Context, tx engine.Tx, changes []find.Change) error {
	rows := make([][2]any, len(changes))
	for i, c := range changes {
		rows[i] = [2]any{c.ID, s.rows[c.ID].n}
	}
	param, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	return tx.Later(ctx, `DELETE FROM index_pending WHERE list = $1 AND (item_id, n) IN (
		/*pg: SELECT p.item_id, p.n FROM json_array_elements($2) v JOIN index_pending p
			ON p.item_id = CAST(v->>0 AS UUID) AND p.n = CAST(v->>1 AS BIGINT)
			WHERE p.list = $1 FOR UPDATE OF p SKIP LOCKED */
		/*sqlite: SELECT unhex(json_extract(value, '$[0]'), '-'), json_extract(value, '$[1]') FROM json_each($2) */)`,
		s.list, string(param))
}
