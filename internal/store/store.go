// Package store and package lists below it contain all SQL. Package engine runs it on SQLite or
// PostgreSQL.
package store

import (
	"context"
	"embed"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/store/lists"
	"warranty.example/svc/warranty"
)

// Store is the database.
type Store struct {
	db    *engine.DB
	lists *lists.Index
	// endGate serializes scans for end dates per user, apart from searches (see lists.Index.Scans).
	endGate     *lists.Gate
	credentials credentials
	feed        feedState
}

//go:embed migrations/*.sql
var migrationFiles embed.FS

// Open opens a PostgreSQL database by its address, or a SQLite file by its path, and migrates its
// schema.
func Open(ctx context.Context, database string) (*Store, error) {
	return openStore(ctx, database, false)
}

// OpenUnsynced is Open for tests that are not about durability: it does not wait until SQLite's writes are on the disk.
func OpenUnsynced(ctx context.Context, database string) (*Store, error) {
	return openStore(ctx, database, true)
}

func openStore(ctx context.Context, database string, unsynced bool) (*Store, error) {
	c, err := configuration()
	if err != nil {
		return nil, err
	}
	c.Unsynced = unsynced
	db, err := engine.Open(ctx, database, c)
	if err != nil {
		return nil, err
	}
	return newStore(db), nil
}

func newStore(db *engine.DB) *Store {
	return &Store{
		db:          db,
		lists:       lists.New(db),
		endGate:     lists.NewGate(),
		credentials: credentials{tokens: map[warranty.Hash]rememberedToken{}},
	}
}

// Close waits for the transactions under way and closes the database.
func (s *Store) Close() error { return s.db.Close() }

// Ping checks that the database answers reads.
func (s *Store) Ping(ctx context.Context) error { return s.db.Ping(ctx) }

// WritesFail reports whether the disk rejected a write recently because it is full or failing. Reads
// may still work.
func (s *Store) WritesFail() bool { return s.db.WritesFail() }

// Stats returns the load of the database, as seen by this process.
func (s *Store) Stats() engine.Stats { return s.db.Stats() }

// ObserveWrites calls fn with the time that each transaction took; on SQLite, that it held the only
// writer.
func (s *Store) ObserveWrites(fn func(time.Duration)) { s.db.ObserveWrites(fn) }

// Timing adds up the time that calls spent in the database.
type Timing = engine.Timing

// WithTiming returns a context whose calls are timed.
func WithTiming(ctx context.Context) (context.Context, *Timing) { return engine.WithTiming(ctx) }

// Failed returns a channel that is closed when the disk can no longer be trusted and the process
// should exit.
func (s *Store) Failed() <-chan struct{} { return s.db.Failed() }

// Now returns the time of the database's clock.
func (s *Store) Now() time.Time { return s.db.Now() }

// SyncClock measures the offset between this machine's clock and the database's.
func (s *Store) SyncClock(ctx context.Context) error { return s.db.SyncClock(ctx) }

// SetClock replaces this machine's clock. It is for tests.
func (s *Store) SetClock(clock func() time.Time) { s.db.Clock = clock }

// InjectFaults makes transactions fail as next decides. It is for tests and must be called before
// first use.
func (s *Store) InjectFaults(next func() engine.Fault) { s.db.InjectFaults(next) }

// Tx is a transaction. Its methods are the writes and the reads that lock.
type Tx struct {
	ctx   context.Context
	store *Store
	tx    engine.Tx
	ended []awaited
}

// Write runs fn in one transaction. When Write returns nil, the transaction is durable and no write
// that uses a credential ended by fn is still under way. When it returns an error, nothing was
// written, with two exceptions. If the response to a commit is lost, the error is Unavailable and
// the outcome is unknown. If waiting for the writes of an ended credential fails, the transaction
// is durable, and ending the credential again waits again. fn may run more than once, so it must
// not keep results of a failed run.
func (s *Store) Write(ctx context.Context, fn func(*Tx) error) error {
	var ended []awaited
	err := s.db.Write(ctx, func(tx engine.Tx) error {
		t := &Tx{ctx: ctx, store: s, tx: tx}
		err := fn(t)
		ended = t.ended
		return err
	})
	if err != nil {
		return err
	}
	return s.awaitHolders(ctx, ended)
}

// MaintainSegments indexes lists that became long and updates the index of the others (lists.Index.Maintain).
func (s *Store) MaintainSegments(ctx context.Context) error { return s.lists.Maintain(ctx) }

// SegmentLists sets how long a list must be to be indexed, the number of records in a segment, and how many changes are
// left unmerged. It is for tests, whose lists are short, and must be called before first use.
func (s *Store) SegmentLists(long int64, size, merge int) {
	limits := &s.lists.Limits
	limits.Long, limits.Segment, limits.Build = long, size, size
	limits.Merge, limits.PerSegment = merge, 0
}

// IsDuplicate reports whether err is a unique constraint violation.
func (s *Store) IsDuplicate(err error) bool { return s.db.IsDuplicate(err) }

// later runs a statement whose row count does not matter. Its error may be returned by a following
// statement.
func (t *Tx) later(sql string, args ...any) error { return t.tx.Later(t.ctx, sql, args...) }

// exec runs a statement and returns the number of rows it changed.
func (t *Tx) exec(sql string, args ...any) (int64, error) { return t.tx.Exec(t.ctx, sql, args...) }

// exactlyOne runs a statement that must find or change exactly one row. The error may be returned
// by a following statement, but always before the commit.
func (t *Tx) exactlyOne(sql string, args ...any) error {
	return t.tx.Expect(t.ctx, warranty.ErrNotFound, sql, args...)
}
