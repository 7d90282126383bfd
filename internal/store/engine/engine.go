// Package engine runs SQL on SQLite, inside the process, or on PostgreSQL, with one set of statements
// for both. It knows nothing about the statements: package store has them.
//
// Statements use $n placeholders, and /*pg: … */ and /*sqlite: … */ comments for the few words that
// only one database needs. database/sql would do the same at two to three times the CPU.
package engine

import (
	"context"
	"errors"
	"io/fs"
	"sync/atomic"
	"time"
)

// Querier reads rows. DB and Tx implement it.
type Querier interface {
	// Query calls each for every row of the result.
	Query(ctx context.Context, sql string, each func(*Row) error, args ...any) error
}

// Tx is a transaction.
type Tx interface {
	Querier
	// Exec runs a statement and returns the number of rows it changed.
	Exec(ctx context.Context, sql string, args ...any) (int64, error)
	// Later is Exec for statements whose row count does not matter. The engine may send the
	// statement together with a following one, which then also returns its error.
	Later(ctx context.Context, sql string, args ...any) error
	// Expect is Later for statements that must find or change exactly one row. Otherwise the
	// transaction fails with refusal before it is committed.
	Expect(ctx context.Context, refusal error, sql string, args ...any) error
}

// backend is an open SQLite or PostgreSQL database.
type backend interface {
	Querier
	read(ctx context.Context, fn func(Querier) error) error
	write(ctx context.Context, fn func(Tx) error) error
	ping(ctx context.Context) error
	writesFail() bool
	observeWrites(fn func(time.Duration))
	fence(ctx context.Context, table string) (passed func(context.Context) (bool, error), err error)
	// now returns the time of the clock shared by all users of the database, or the zero time if
	// that is this machine's clock.
	now(ctx context.Context) (time.Time, error)
	isDuplicate(err error) bool
	// connections returns the number of connections in use, and the most that can be.
	connections() (inUse, most int)
	close() error
}

// Config describes a database.
type Config struct {
	// Migrations are the *.sql files that make the schema; nil leaves it as it is.
	Migrations fs.FS
	// Encode converts an argument of a type that the package does not support to one that it does.
	Encode func(any) any
	// Unsynced leaves it to the operating system when a SQLite file is written to the disk, for tests: a power cut
	// may lose acknowledged writes.
	Unsynced bool
}

// DB is an open database.
type DB struct {
	// Clock is this machine's clock. Now corrects it.
	Clock func() time.Time

	backend    backend
	offset     atomic.Int64 // database clock minus Clock, in nanoseconds
	writing    atomic.Int64 // calls of Write under way
	concurrent bool
	failed     <-chan struct{}
	pulse      *pulse
}

// Open opens a PostgreSQL database by its address, or a SQLite file by its path, and migrates its
// schema.
func Open(ctx context.Context, database string, c Config) (*DB, error) {
	if !IsPostgres(database) {
		file := sqliteFile{path: database}
		if c.Unsynced {
			file.synchronous = "OFF"
		}
		return openFile(ctx, file, c)
	}
	b, err := openPostgres(ctx, database, c.Encode)
	if err != nil {
		return nil, err
	}
	db := &DB{backend: b, concurrent: true, pulse: b.pulse}
	if err := b.checkFinished(ctx); err != nil || c.Migrations == nil {
		return db.opened(ctx, err)
	}
	return db.opened(ctx, migratePostgres(ctx, b, c.Migrations))
}

func openFile(ctx context.Context, f sqliteFile, c Config) (*DB, error) {
	b, err := openSQLite(f, c.Encode)
	if err != nil {
		return nil, err
	}
	db := &DB{backend: b, failed: b.failed}
	if c.Migrations == nil {
		return db.opened(ctx, nil)
	}
	return db.opened(ctx, migrateSQLite(ctx, f, b.dialect, c.Migrations))
}

// opened returns db, or closes it if the migration failed.
func (db *DB) opened(ctx context.Context, err error) (*DB, error) {
	db.Clock = time.Now
	if err == nil {
		err = db.SyncClock(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, db.backend.close())
	}
	return db, nil
}

// Close waits for the transactions under way and closes the database.
func (db *DB) Close() error { return db.backend.close() }

// Query implements Querier.
func (db *DB) Query(ctx context.Context, sql string, each func(*Row) error, args ...any) error {
	defer timeTotal(ctx)()
	return db.backend.Query(ctx, sql, each, args...)
}

// Read runs fn in a transaction that only reads: all its queries see the database as it was at the
// first of them. fn may run more than once, after a lost connection.
func (db *DB) Read(ctx context.Context, fn func(Querier) error) error {
	defer timeTotal(ctx)()
	return db.backend.read(ctx, fn)
}

// Write runs fn in a transaction and returns once it is durable. fn may run more than once, after a
// serialization failure or a lost connection.
func (db *DB) Write(ctx context.Context, fn func(Tx) error) error {
	db.writing.Add(1)
	defer db.writing.Add(-1)
	defer timeTotal(ctx)()
	return db.backend.write(ctx, fn)
}

// Stats describes the load of the database, as seen by this process.
type Stats struct {
	ConnectionsInUse, MaxConnections int
	// Writes is the number of transactions that run or wait.
	Writes int64
}

// Stats returns the current load.
func (db *DB) Stats() Stats {
	inUse, most := db.backend.connections()
	return Stats{ConnectionsInUse: inUse, MaxConnections: most, Writes: db.writing.Load()}
}

// Ping checks that the database answers reads.
func (db *DB) Ping(ctx context.Context) error { return db.backend.ping(ctx) }

// WritesFail reports whether the disk rejected a write recently because it is full or failing. Reads
// may still work.
func (db *DB) WritesFail() bool { return db.backend.writesFail() }

// ObserveWrites calls fn with the time that each transaction took, without the time that it waited
// for others to start. On SQLite, transactions that share a commit are one, a copy of the log counts too, and no
// other can write meanwhile.
func (db *DB) ObserveWrites(fn func(time.Duration)) { db.backend.observeWrites(fn) }

// Failed returns a channel that is closed when the disk can no longer be trusted and the process
// should exit.
func (db *DB) Failed() <-chan struct{} { return db.failed }

// Concurrent reports whether several transactions write at the same time, as on PostgreSQL.
func (db *DB) Concurrent() bool { return db.concurrent }

// Fence returns a function that reports whether every transaction that was writing to the table when
// Fence was called has ended.
func (db *DB) Fence(ctx context.Context, table string) (passed func(context.Context) (bool, error), err error) {
	return db.backend.fence(ctx, table)
}

// IsDuplicate reports whether err is a unique constraint violation.
func (db *DB) IsDuplicate(err error) bool { return db.backend.isDuplicate(err) }

// StopPulse stops watching whether PostgreSQL responds. It is for tests that delay its responses.
func (db *DB) StopPulse() {
	if db.pulse != nil {
		db.pulse.close()
	}
}

// writeFailures records when the disk last rejected a write.
type writeFailures struct{ at atomic.Int64 } // in Unix nanoseconds

// writeFailureWindow is how long after a rejected write others are expected to fail.
const writeFailureWindow = 10 * time.Second

func (r *writeFailures) note() { r.at.Store(time.Now().UnixNano()) }

func (r *writeFailures) writesFail() bool {
	return time.Since(time.Unix(0, r.at.Load())) < writeFailureWindow
}

// writeTimes passes the durations of transactions to an observer.
type writeTimes struct {
	observer atomic.Pointer[func(time.Duration)]
}

func (w *writeTimes) observeWrites(fn func(time.Duration)) { w.observer.Store(&fn) }

// began returns a function that ends the observation of a transaction.
func (w *writeTimes) began() (ended func()) {
	observe := w.observer.Load()
	if observe == nil {
		return func() {}
	}
	start := time.Now()
	return func() { (*observe)(time.Since(start)) }
}
