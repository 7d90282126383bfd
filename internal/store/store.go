package store

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"warranty.example/svc/warranty"
)

// Store is the database.
type Store struct {
	// Clock is this machine's clock. Now corrects it.
	Clock func() time.Time

	engine engine
	offset atomic.Int64 // database clock minus Clock, in nanoseconds
	lists  *listCache
	// searchGate and endGate serialize the two kinds of full scan per user.
	searchGate, endGate *scanGate

	credentials credentials
	concurrent  bool // transactions write concurrently: PostgreSQL
}

// Open opens a PostgreSQL database by its address, or a SQLite file by its path, and migrates its
// schema.
func Open(ctx context.Context, database string) (*Store, error) {
	if strings.HasPrefix(database, "postgres://") || strings.HasPrefix(database, "postgresql://") {
		e, err := openPostgres(ctx, database)
		if err != nil {
			return nil, err
		}
		return newStore(ctx, e, migratePostgres(ctx, e))
	}
	return openFile(ctx, sqliteFile{path: database})
}

func openFile(ctx context.Context, f sqliteFile) (*Store, error) {
	e, err := openSQLite(f)
	if err != nil {
		return nil, err
	}
	return newStore(ctx, e, migrateSQLite(ctx, f, e.dialect))
}

func newStore(ctx context.Context, e engine, err error) (*Store, error) {
	_, concurrent := e.(*postgresEngine)
	s := &Store{
		Clock:       time.Now,
		engine:      e,
		concurrent:  concurrent,
		lists:       newListCache(),
		searchGate:  newScanGate(),
		endGate:     newScanGate(),
		credentials: credentials{tokens: map[warranty.Hash]rememberedToken{}},
	}
	if err == nil {
		err = s.SyncClock(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, e.close())
	}
	return s, nil
}

// Close waits for the transactions under way and closes the database.
func (s *Store) Close() error { return s.engine.close() }

// WritesFail reports whether the disk rejected a write recently because it is full or failing.
// Reads may still work.
func (s *Store) WritesFail() bool { return s.engine.writesFail() }

// Ping checks that the database answers reads.
func (s *Store) Ping(ctx context.Context) error { return s.engine.ping(ctx) }

// Failed returns a channel that is closed when the disk can no longer be trusted and the process
// should exit.
func (s *Store) Failed() <-chan struct{} {
	if e, ok := s.engine.(*sqliteEngine); ok {
		return e.failed
	}
	return nil
}

// Tx is a transaction. Its methods are the writes and the reads that lock.
type Tx struct {
	ctx   context.Context
	store *Store
	tx    engineTx
	ended []awaited
}

// Write runs fn in one transaction. When Write returns nil, the transaction is durable and no write
// that uses a credential ended by fn is still under way. When it returns an error, nothing was
// written, unless waiting for those writes failed: then the credential has ended, and ending it
// again waits again. fn may run more than once, so it must not keep results of a failed run.
func (s *Store) Write(ctx context.Context, fn func(*Tx) error) error {
	var ended []awaited
	err := s.engine.write(ctx, func(tx engineTx) error {
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

// IsDuplicate reports whether err is a unique constraint violation.
func (s *Store) IsDuplicate(err error) bool { return s.engine.isDuplicate(err) }

// later runs a statement whose row count does not matter. Its error may be returned by a following
// statement.
func (t *Tx) later(sql string, args ...any) error { return t.tx.later(t.ctx, sql, args...) }

// exec runs a statement and returns the number of rows it changed.
func (t *Tx) exec(sql string, args ...any) (int64, error) { return t.tx.exec(t.ctx, sql, args...) }

// exactlyOne runs a statement that must find or change exactly one row. The error may be returned
// by a following statement, but always before the commit.
func (t *Tx) exactlyOne(sql string, args ...any) error {
	return t.tx.expect(t.ctx, warranty.ErrNotFound, sql, args...)
}

// queryRow reads the only row of a result. It returns ErrNotFound if there is none.
func queryRow(ctx context.Context, q querier, sql string, read func(Row), args ...any) error {
	found := false
	err := q.query(ctx, sql, func(r Row) error {
		found = true
		read(r)
		return nil
	}, args...)
	if err == nil && !found {
		err = warranty.ErrNotFound
	}
	return err
}

// outage is an Unavailable error that keeps its cause for the log.
type outage struct {
	refusal *warranty.Error
	cause   error
}

// Error returns the refusal and its cause in one line.
func (o outage) Error() string { return o.refusal.Error() + ": " + o.cause.Error() }

// Unwrap returns the refusal and its cause.
func (o outage) Unwrap() []error { return []error{o.refusal, o.cause} }

func unavailable(cause error) error {
	return outage{cause: cause, refusal: &warranty.Error{
		Code: warranty.Unavailable,
		Wait: 2 * time.Second,
		Message: "The database is unavailable. Try again in a moment. " +
			"Retries with the same Idempotency-Key create no duplicates.",
	}}
}

// like returns a LIKE pattern that finds text anywhere. % and _ in text are plain characters.
func like(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(warranty.Fold(text)) + "%"
}
