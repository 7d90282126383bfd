package lists

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"warranty.example/svc/internal/find"
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

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

// fence waits until every transaction has ended that changes records and may not have seen the
// row in index_lists. It returns nil if some are still open.
func (x *Index) fence(ctx context.Context, list int64) (*warranty.ID, error) {
	for _, table := range []string{"access", "warranties", "index_pending"} {
		passed, err := x.passFence(ctx, table)
		if err != nil || !passed {
			return nil, err
		}
	}
	err := x.db.Write(ctx, func(tx engine.Tx) error {
		return tx.Expect(ctx, errOvertaken,
			`UPDATE index_lists SET built_to = $2 WHERE list = $1 AND built_to IS NULL`, list, warranty.ID{})
	})
	return &warranty.ID{}, err
}

// passFence waits a short time until the current writers of a table have ended, and reports whether
// they have.
func (x *Index) passFence(ctx context.Context, table string) (bool, error) {
	passed, err := x.db.Fence(ctx, table)
	if err != nil {
		return false, err
	}
	return engine.AwaitFence(ctx, passed)
}

// build makes the next segment of a new index.
func (x *Index) build(ctx context.Context, l *indexedList) error {
	var changes []find.Change
	src := sources[l.Kind]
	// The query reads the access rows in order and then looks up each record, instead of sorting all.
	err := x.db.Query(ctx, `SELECT `+src.selected(wholeRecord)+`
		FROM (SELECT * FROM access a WHERE a.user_id = $1 AND a.kind = $2 AND a.item_id > $3
			ORDER BY a.item_id LIMIT $4) a `+src.joins+` ORDER BY a.item_id`, func(r *engine.Row) error {
		record := src.record(r, wholeRecord)
		changes = append(changes, find.Change{ID: record.ID, Record: &record})
		return nil
	}, l.User, l.Kind, *l.builtTo, x.Limits.Build)
	if err != nil {
		return err
	}
	made, err := find.Apply(nil, changes, x.Limits.Segment)
	if err != nil {
		return err
	}
	next := *l.builtTo
	if len(changes) > 0 {
		next = changes[len(changes)-1].ID
	}
	last := len(changes) < x.Limits.Build
	var readyAt *time.Time
	if now := x.db.Now(); last {
		readyAt = &now
	}
	err = x.db.Write(ctx, func(tx engine.Tx) error {
		if err := tx.Expect(ctx, errOvertaken, `UPDATE index_lists SET built_to = $3, ready_at = $4
			WHERE list = $1 AND built_to = $2 AND ready_at IS NULL`, l.list, *l.builtTo, next, readyAt); err != nil {
			return err
		}
		return insertSegments(ctx, tx, l.list, made)
	})
	l.builtTo, l.ready = &next, last
	return err
}

func insertSegments(ctx context.Context, tx engine.Tx, list int64, made []find.Made) error {
	for _, m := range made {
		number := randomNumber()
		if err := tx.Later(ctx, `INSERT INTO index_segments (list, seg, first_id, size, version)
			VALUES ($1, $2, $3, $4, $5)`, list, number, m.First, m.Size, randomNumber()); err != nil {
			return err
		}
		if err := putParts(ctx, tx, list, number, m.Parts); err != nil {
			return err
		}
	}
	return nil
}

func putParts(ctx context.Context, tx engine.Tx, list, number int64, parts find.Parts) error {
	for _, key := range slices.Sorted(maps.Keys(parts)) {
		if err := tx.Later(ctx, `INSERT INTO index_parts (list, seg, part, data) VALUES ($1, $2, $3, $4)
			ON CONFLICT (list, seg, part) DO UPDATE SET data = excluded.data`,
			list, number, []byte(key), parts[key]); err != nil {
			return err
		}
	}
	return nil
}
