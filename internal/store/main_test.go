package store

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// eachKind runs a test for each database in parallel, with a function that creates empty databases with the newest
// schema.
func eachKind(t *testing.T, test func(t *testing.T, fresh func(testing.TB) string)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); test(t, newFile) })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); test(t, newPostgres) })
}

// eachDatabase runs a test on an empty database of each kind.
func eachDatabase(t *testing.T, test func(t *testing.T, database string)) {
	t.Helper()
	eachKind(t, func(t *testing.T, fresh func(testing.TB) string) { test(t, fresh(t)) })
}

// each is like eachDatabase, with the database opened.
func each(t *testing.T, test func(t *testing.T, s *Store)) {
	t.Helper()
	eachDatabase(t, func(t *testing.T, database string) { test(t, open(t, database)) })
}

// newFile returns the path of an empty SQLite file with the newest schema.
func newFile(t testing.TB) string {
	t.Helper()
	return testenv.SQLiteMigrated(t, migrate)
}

// newPostgres returns the URL of an empty PostgreSQL database with the newest schema.
func newPostgres(t testing.TB) string {
	t.Helper()
	return testenv.PostgresMigrated(t, func(ctx context.Context, database string) error {
		_, err := migrate(ctx, database)
		return err
	})
}

// migrate makes the newest schema and returns the database id.
func migrate(ctx context.Context, database string) (uuid.UUID, error) {
	s, err := OpenUnsynced(ctx, database)
	if err != nil {
		return uuid.Nil, err
	}
	installation, err := s.Folder(ctx)
	return uuid.UUID(installation.Database), errors.Join(err, s.Close())
}

func open(t testing.TB, database string) *Store {
	t.Helper()
	soon, cancel := context.WithTimeout(context.Background(), testenv.Patience)
	defer cancel()
	s, err := OpenUnsynced(soon, database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// checks returns the number of checks of a property on a database. A check takes several times as long on PostgreSQL.
func checks(database string, sqlite, postgres int) int {
	if engine.IsPostgres(database) {
		return testenv.Times(postgres, sqlite)
	}
	return sqlite
}

// ids makes ordered ids.
var ids atomic.Uint64

func newID() (id warranty.ID) {
	n := ids.Add(1)
	for i := range 8 {
		id[15-i] = byte(n >> (8 * i))
	}
	return id
}

// number reads a single number.
func number(t testing.TB, s *Store, sql string, args ...any) (n int64) {
	t.Helper()
	if err := queryRow(context.Background(), s.db, sql, func(r *engine.Row) { n = r.Int() }, args...); err != nil {
		t.Fatal(err)
	}
	return n
}

// together runs fn n times concurrently and waits.
func together(n int, fn func(i int)) { testenv.Together(n, fn) }
