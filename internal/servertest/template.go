package servertest

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/testenv"
)

// SQLite returns the path of an empty SQLite file with the newest schema, so that opening it runs no migrations.
func SQLite(t testing.TB) string {
	t.Helper()
	return testenv.SQLiteMigrated(t, migrate)
}

// Postgres returns the URL of an empty PostgreSQL database with the newest schema. It is dropped when the test ends.
func Postgres(t testing.TB) string {
	t.Helper()
	return testenv.PostgresMigrated(t, func(ctx context.Context, database string) error {
		_, err := migrate(ctx, database)
		return err
	})
}

// migrate makes the newest schema and returns the database id.
func migrate(ctx context.Context, database string) (uuid.UUID, error) {
	st, err := store.OpenUnsynced(ctx, database)
	if err != nil {
		return uuid.Nil, err
	}
	installation, err := st.Folder(ctx)
	return uuid.UUID(installation.Database), errors.Join(err, st.Close())
}
