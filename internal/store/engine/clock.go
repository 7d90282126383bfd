package engine

import (
	"context"
	"time"
)

// Replicas that share a PostgreSQL database share its clock: whether a token has expired must not
// depend on which replica handles the request, and a machine's clock may be wrong.

// clockNoise is a difference that network latency can explain.
const clockNoise = 50 * time.Millisecond

// Now returns the time of the database's clock.
func (db *DB) Now() time.Time { return db.Clock().Add(time.Duration(db.offset.Load())) }

// SyncClock measures the offset between this machine's clock and the database's.
func (db *DB) SyncClock(ctx context.Context) error {
	before := db.Clock()
	theirs, err := db.backend.now(ctx)
	if err != nil || theirs.IsZero() {
		return err
	}
	took := db.Clock().Sub(before)
	offset := theirs.Sub(before.Add(took / 2))
	if offset.Abs() < clockNoise+took {
		offset = 0
	}
	db.offset.Store(int64(offset))
	return nil
}

// now returns the zero time: SQLite uses the machine's clock.
func (e *sqliteBackend) now(context.Context) (time.Time, error) { return time.Time{}, nil }

func (e *postgresBackend) now(ctx context.Context) (now time.Time, err error) {
	err = e.Query(ctx, `SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`, func(r *Row) error {
		now = r.Time()
		return nil
	})
	return now, err
}

// ClockOffset returns how far the database's clock is ahead of this machine's.
func (db *DB) ClockOffset() time.Duration { return time.Duration(db.offset.Load()) }
