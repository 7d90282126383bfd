package servertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/uuid"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// All migrations together take longer than most tests, so that tests get copies of a database that has them.

// template is an empty SQLite file with the newest schema, and its database id.
type template struct {
	file []byte
	id   warranty.ID
}

// migrated returns the template, created once per process.
var migrated = sync.OnceValues(func() (t template, err error) {
	folder, err := os.MkdirTemp("", "svc-template")
	if err != nil {
		return t, err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "svc.db")
	st, err := store.Open(context.Background(), path)
	if err != nil {
		return t, err
	}
	installation, err := st.Folder(context.Background())
	if err := errors.Join(err, st.Close()); err != nil {
		return t, err
	}
	t.id = installation.Database
	t.file, err = os.ReadFile(path)
	if n := bytes.Count(t.file, t.id[:]); err == nil && n != 1 {
		err = fmt.Errorf("the file contains its database id %d times, want once", n)
	}
	return t, err
})

// SQLite returns the path of an empty SQLite file with the newest schema, so that opening it runs no migrations.
func SQLite(t testing.TB) string {
	t.Helper()
	empty, err := migrated()
	if err != nil {
		t.Fatal(err)
	}
	id := uuid.New() // each file gets its own database id
	path := filepath.Join(t.TempDir(), "svc.db")
	if err := os.WriteFile(path, bytes.Replace(empty.file, empty.id[:], id[:], 1), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Postgres returns the URL of an empty PostgreSQL database with the newest schema. It is dropped when the test ends.
func Postgres(t testing.TB) string {
	t.Helper()
	return testenv.PostgresMigrated(t, func(ctx context.Context, database string) error {
		st, err := store.Open(ctx, database)
		if err != nil {
			return err
		}
		return st.Close()
	})
}
