package store

import (
	"context"
	"encoding/json"
	"time"

	"warranty.example/svc/internal/store/engine"
)

// While replicas are replaced, some run an older release, which does not note what it changes in
// index_pending. This file finds its changes.

// noted is the end of an event's changes whose transaction noted them in index_pending and stamped
// access.changed_at. With fewer than two spaces, a trigger stamps them.
const noted = "   "

// unnoted selects the events of changes by an older release, which does not note them. The first two
// conditions are those of an index.
const unnoted = `FROM history h WHERE length(rtrim(h.changes)) > length(h.changes) - 3 AND h.at >= 1794787200000000
	AND h.at >= (SELECT older_from FROM index_state)`

// olderRows is the number of rows that one transaction adds to note events of an older release, and
// olderFor how long they are remembered: longer than any transaction takes. olderPause is how long no
// claims and documents are indexed after such an event.
const (
	olderRows  = 2048
	olderFor   = 24 * time.Hour
	olderPause = time.Minute
)

// noteOlder notes the changes of an older release, which runs while replicas are replaced. It finds them
// by their events. The warranty of an event is noted in every list. Its claims and documents may be gone,
// and nothing tells which they were, so that their indexes are dropped.
func (s *Store) noteOlder(ctx context.Context) error {
	for {
		var events [][3]any
		lists := 0
		err := s.db.Query(ctx, `SELECT h.thread_id, h.id, h.at, (SELECT count(*) FROM index_lists WHERE kind = 1) `+unnoted+`
			AND NOT EXISTS (SELECT 1 FROM index_older o WHERE o.event_id = h.id) LIMIT $1`, func(r *engine.Row) error {
			events = append(events, [3]any{r.ID(), r.ID(), r.Int()})
			lists = int(r.Int())
			return nil
		}, olderRows)
		if err != nil || len(events) == 0 {
			return err
		}
		// Each event is noted once, and its record in every list.
		events = events[:min(len(events), max(1, olderRows/(1+lists)))]
		param, err := json.Marshal(events)
		if err != nil {
			return err
		}
		const chosen = `(SELECT
			/*pg: CAST(v->>0 AS UUID) AS thread_id, CAST(v->>1 AS UUID) AS id, CAST(v->>2 AS BIGINT) AS at
				FROM json_array_elements($1) v */
			/*sqlite: unhex(json_extract(value, '$[0]'), '-') AS thread_id,
				unhex(json_extract(value, '$[1]'), '-') AS id, json_extract(value, '$[2]') AS at FROM json_each($1) */) e`
		if err := s.Write(ctx, func(t *Tx) error {
			if err := t.later(`INSERT INTO index_pending (list, item_id, n)
				SELECT x.list, x.thread_id, `+changeNumber+` FROM (SELECT DISTINCT l.list, e.thread_id FROM index_lists l
					CROSS JOIN `+chosen+` WHERE l.kind = 1) x WHERE true
				ORDER BY 1, 2 ON CONFLICT (list, item_id) DO UPDATE SET n = index_pending.n + excluded.n`, string(param)); err != nil {
				return err
			}
			if err := t.later(`DELETE FROM index_lists WHERE kind > 1`); err != nil {
				return err
			}
			return t.later(`INSERT INTO index_older (event_id, at) SELECT e.id, e.at FROM `+chosen+` WHERE true
				ORDER BY 1 ON CONFLICT (event_id) DO NOTHING`, string(param))
		}); err != nil {
			return err
		}
	}
}

// forgetOlder forgets the events of older releases that are so old that no others can follow.
func (s *Store) forgetOlder(ctx context.Context) error {
	from, old := s.Now().Add(-olderFor), false
	err := s.db.Query(ctx, `SELECT 1 FROM index_state WHERE older_from < $1`,
		func(*engine.Row) error { old = true; return nil }, from.Add(-time.Hour))
	if err != nil || !old {
		return err
	}
	return s.Write(ctx, func(t *Tx) error {
		if err := t.later(`UPDATE index_state SET older_from = $1 WHERE older_from < $1`, from); err != nil {
			return err
		}
		return t.later(`DELETE FROM index_older WHERE at < $1`, from)
	})
}
