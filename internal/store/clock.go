package store

import (
	"context"
	"time"
)

// Replicas on one PostgreSQL share its clock: whether a token has expired may not
// depend on which replica is asked, and a machine's own clock may be wrong.

// clockNoise is a difference that may come from the way to the database and back.
const clockNoise = 50 * time.Millisecond

// Now is the time by the database's clock.
func (s *Store) Now() time.Time { return s.Clock().Add(time.Duration(s.offset.Load())) }

// SyncClock measures how far this machine's clock is from the database's.
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

// now is zero: SQLite has no clock but the machine's.
func (e *sqliteEngine) now(context.Context) (time.Time, error) { return time.Time{}, nil }

func (e *postgresEngine) now(ctx context.Context) (now time.Time, err error) {
	err = one(ctx, e, `SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`, func(r Row) { now = instant(r, 0) })
	return now, err
}
