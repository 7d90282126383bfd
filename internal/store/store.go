package store

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"warranty.example/svc/warranty"
)

// Store holds everything that the service remembers.
type Store struct {
	// Clock is this machine's clock, which Now corrects.
	Clock func() time.Time

	engine engine
	offset atomic.Int64 // of the database's clock from this machine's, in nanoseconds
	lists  *lists
	// searches and ends are the turns of the two things that go through everything.
	searches, ends *turns

	credentials credentials
	// concurrent says that several transactions write at once, which is PostgreSQL.
	concurrent bool
}

// Open opens a PostgreSQL database by its address, or else a SQLite file by its
// path, and brings its schema up to date.
func Open(ctx context.Context, database string) (*Store, error) {
	if strings.HasPrefix(database, "postgres://") || strings.HasPrefix(database, "postgresql://") {
		e, err := openPostgres(ctx, database)
		if err != nil {
			return nil, err
		}
		return opened(ctx, e, migratePostgres(ctx, e))
	}
	return openFile(ctx, sqliteFile{path: database})
}

func openFile(ctx context.Context, f sqliteFile) (*Store, error) {
	e, err := openSQLite(f)
	if err != nil {
		return nil, err
	}
	return opened(ctx, e, migrateSQLite(ctx, f, e.dialect))
}

func opened(ctx context.Context, e engine, err error) (*Store, error) {
	_, concurrent := e.(*postgresEngine)
	s := &Store{Clock: time.Now, engine: e, concurrent: concurrent, lists: newLists(), searches: newTurns(), ends: newTurns(), credentials: credentials{tokens: map[warranty.Hash]rememberedToken{}}}
	if err == nil {
		err = s.SyncClock(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, e.close())
	}
	return s, nil
}

// Close ends what is under way and closes the database.
func (s *Store) Close() error { return s.engine.close() }

// WritesFail tells whether the disk has refused a write a moment ago: it is full or
// failing. Reads may go on all the same.
func (s *Store) WritesFail() bool { return s.engine.writesFail() }

// Ping tells whether the database answers to reads.
func (s *Store) Ping(ctx context.Context) error { return s.engine.ping(ctx) }

// Failed is closed when the disk can not be trusted any more and the process should end.
func (s *Store) Failed() <-chan struct{} {
	if e, ok := s.engine.(*sqliteEngine); ok {
		return e.failed
	}
	return nil
}

// Tx is a transaction. Its methods are the writes, and the reads that lock.
type Tx struct {
	ctx   context.Context
	store *Store
	tx    engineTx
	ended []awaited
}

// Write runs fn in one transaction. All of it is durable when Write returns nil,
// and no write is under way that holds a credential which fn ended. Otherwise none
// of it is there, except when the wait for those writes failed: then the credential
// has ended, and ending it again waits again. fn may be run more than once, so it
// keeps nothing from a run that failed.
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
	return s.outlast(ctx, ended)
}

// IsDuplicate tells whether an error says that a key is taken already.
func (s *Store) IsDuplicate(err error) bool { return s.engine.isDuplicate(err) }

// later sends a write whose count is known beforehand.
func (t *Tx) later(sql string, args ...any) error { return t.tx.later(t.ctx, sql, args...) }

// exec sends a write and counts the rows that it changed.
func (t *Tx) exec(sql string, args ...any) (int64, error) { return t.tx.exec(t.ctx, sql, args...) }

// exactlyOne is a statement that is an error unless it finds or changes one row:
// zero rows is an answer, not a success. The error may come with a later statement,
// but always before the commit.
func (t *Tx) exactlyOne(sql string, args ...any) error {
	return t.tx.expect(t.ctx, warranty.ErrNotFound, sql, args...)
}

// one reads the only row of a result, or says that there is none.
func one(ctx context.Context, q querier, sql string, read func(Row), args ...any) error {
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

// outage is an Unavailable that remembers its cause for the log.
type outage struct {
	refusal *warranty.Error
	cause   error
}

// Error is the refusal and its cause in one line, for the log.
func (o outage) Error() string { return o.refusal.Error() + ": " + o.cause.Error() }

// Unwrap gives both.
func (o outage) Unwrap() []error { return []error{o.refusal, o.cause} }

func unavailable(cause error) error {
	return outage{cause: cause, refusal: &warranty.Error{Code: warranty.Unavailable, Wait: 2 * time.Second,
		Message: "The service can not use its database right now. Try again in a moment; with an Idempotency-Key nothing is made twice."}}
}

// like is a pattern that finds text anywhere; % and _ in it are plain characters.
func like(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(warranty.Fold(text)) + "%"
}
