package store

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// eachKind runs a test for each database, with a function that creates empty databases.
func eachKind(t *testing.T, test func(t *testing.T, fresh func(testing.TB) string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, newFile) })
	t.Run("postgres", func(t *testing.T) { test(t, testenv.Postgres) })
}

// eachDatabase runs a test on an empty database of each kind.
func eachDatabase(t *testing.T, test func(t *testing.T, database string)) {
	t.Helper()
	eachKind(t, func(t *testing.T, fresh func(testing.TB) string) { test(t, fresh(t)) })
}

// each is like eachDatabase, with the database opened.
func each(t *testing.T, test func(t *testing.T, s *Store)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, open(t, newFile(t))) })
	t.Run("postgres", func(t *testing.T) { test(t, open(t, testenv.PostgresMigrated(t, migrated))) })
}

func migrated(ctx context.Context, database string) error {
	s, err := Open(ctx, database)
	if err != nil {
		return err
	}
	return s.Close()
}

func newFile(t testing.TB) string { return filepath.Join(t.TempDir(), "svc.db") }

func open(t testing.TB, database string) *Store {
	t.Helper()
	soon, cancel := context.WithTimeout(context.Background(), testenv.Patience)
	defer cancel()
	s, err := Open(soon, database)
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
