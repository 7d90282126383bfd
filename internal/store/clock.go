package store

import (
	"context"
	"time"
)

// Replicas that share a PostgreSQL database share its clock: whether a token has expired must not
// depend on which replica handles the request, and a machine's clock may be wrong.

// clockNoise is a difference that network latency can explain.
const clockNoise = 50 * time.Millisecond

// Now returns the time of the database's clock.
func (s *Store) Now() time.Time { return s.Clock().Add(time.Duration(s.offset.Load())) }

// SyncClock measures the offset between this machine's clock and the database's.
func (s *Store) SyncClock(ctx context.Context) error {
	before := s.Clock()
	theirs, err := s.engine.now(ctx)
	if err != nil || theirs.IsZero() {
		return err
	}
	took := s.Clock().Sub(before)
	offset := theirs.Sub(before.Add(took / 2))
	if offset.Abs() < clockNoise+took {
		offset = 0
	}
	s.offset.Store(int64(offset))
	return nil
}

// now returns the zero time: SQLite uses the machine's clock.
func (e *sqliteEngine) now(context.Context) (time.Time, error) { return time.Time{}, nil }

func (e *postgresEngine) now(ctx context.Context) (now time.Time, err error) {
	err = queryRow(ctx, e, `SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`,
		func(r Row) { now = instant(r, 0) })
	return now, err
}
