package testenv

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// sqliteTemplate is an empty SQLite file with the newest schema, and its database id.
var sqliteTemplate struct {
	once sync.Once
	file []byte
	id   uuid.UUID
	err  error
}

// SQLiteMigrated returns the path of an empty SQLite file with the newest schema. It is a copy of a file that migrate
// makes once in a process. migrate returns the database id; each copy has its own.
func SQLiteMigrated(t testing.TB, migrate func(ctx context.Context, path string) (id uuid.UUID, err error)) string {
	t.Helper()
	template := &sqliteTemplate
	template.once.Do(func() {
		path := filepath.Join(t.TempDir(), "template.db")
		if template.id, template.err = migrate(context.Background(), path); template.err != nil {
			return
		}
		template.file, template.err = os.ReadFile(path)
		if n := bytes.Count(template.file, template.id[:]); template.err == nil && n != 1 {
			template.err = fmt.Errorf("the file contains its database id %d times, want once", n)
		}
	})
	if template.err != nil {
		t.Fatal(template.err)
	}
	id := uuid.New()
	path := filepath.Join(t.TempDir(), "svc.db")
	if err := os.WriteFile(path, bytes.Replace(template.file, template.id[:], id[:], 1), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// PostgresMigrated is Postgres with the newest schema. It is a copy of a database, because all migrations together take
// longer than most tests. migrate makes the schema.
func PostgresMigrated(t testing.TB, migrate func(ctx context.Context, database string) error) string {
	t.Helper()
	name, err := template(require(t, "SVC_TEST_POSTGRES", "PostgreSQL"), migrate)
	if err != nil {
		t.Fatal(err)
	}
	database := postgresCopy(t, name)
	if err := onPostgres(database, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `UPDATE installation SET id = gen_random_uuid()`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return database
}

var (
	templateMu   sync.Mutex
	templateName string
)

// template returns the name of a database on the server that has the newest schema and no rows. The first
// process that needs one makes it; its name contains a hash of the migrations.
func template(server string, migrate func(context.Context, string) error) (string, error) {
	templateMu.Lock()
	defer templateMu.Unlock()
	if templateName != "" {
		return templateName, nil
	}
	sum, err := migrationsSum()
	if err != nil {
		return "", err
	}
	name := "svc_template_" + sum
	err = onPostgres(server, func(ctx context.Context, conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock(hashtext('svc_template'))`); err != nil {
			return err
		}
		exists := false
		if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1)`, name).
			Scan(&exists); err != nil || exists {
			return err
		}
		return makeTemplate(ctx, conn, server, name, migrate)
	})
	if err == nil {
		templateName = name
	}
	return name, err
}

// makeTemplate makes the template. It gets its name when it is complete.
func makeTemplate(
	ctx context.Context, conn *pgx.Conn, server, name string, migrate func(context.Context, string) error,
) error {
	unfinished := name + "_unfinished"
	for _, statement := range []string{"DROP DATABASE IF EXISTS " + unfinished, "CREATE DATABASE " + unfinished} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	u, err := url.Parse(server)
	if err != nil {
		return errors.New("SVC_TEST_POSTGRES is not a URL") // err would contain the password
	}
	u.Path = "/" + unfinished
	if err := migrate(ctx, u.String()); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "ALTER DATABASE "+unfinished+" RENAME TO "+name)
	return err
}

// migrationsSum returns a hash of the files of the migrations. They are found from the folder of the test, not from the
// place of this file, which -trimpath removes.
func migrationsSum() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	var paths []string
	for len(paths) == 0 {
		if paths, err = filepath.Glob(filepath.Join(folder, "internal/store/migrations/*.sql")); err != nil {
			return "", err
		}
		if folder == filepath.Dir(folder) && len(paths) == 0 {
			return "", errors.New("the test runs outside of the repository: no internal/store/migrations")
		}
		folder = filepath.Dir(folder)
	}
	hash := sha256.New()
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		hash.Write(text)
	}
	return hex.EncodeToString(hash.Sum(nil)[:8]), nil
}

// onPostgres runs fn with a connection.
func onPostgres(address string, fn func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close(context.Background())
	return fn(ctx, conn)
}
