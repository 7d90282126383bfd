package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrations are the files in one engine's words.
type migrations struct {
	fs.FS
	dialect *dialect
}

// Open opens a migration, translated.
func (m migrations) Open(name string) (fs.File, error) {
	file, err := m.FS.Open(name)
	if err != nil || path.Ext(name) != ".sql" {
		return file, err
	}
	text, err := io.ReadAll(file)
	return translated{File: file, text: strings.NewReader(m.dialect.translate(string(text)))}, err
}

// translated is a file that reads as its translation.
type translated struct {
	fs.File
	text *strings.Reader
}

// Read reads the translation.
func (t translated) Read(b []byte) (int, error) { return t.text.Read(b) }

func migrationFS(d *dialect) (fs.FS, error) {
	sub, err := fs.Sub(migrationFiles, "migrations")
	return migrations{FS: sub, dialect: d}, err
}

// migratePostgres brings the schema up to date. Of several replicas that start
// together one does the work; a table lock with a short lease makes the others
// wait, and frees them soon when that one is killed.
func migratePostgres(ctx context.Context, e *postgresEngine) error {
	locker, err := lock.NewPostgresTableLocker(
		lock.WithTableLeaseDuration(6*time.Second), lock.WithTableHeartbeatInterval(time.Second),
		lock.WithTableLockTimeout(100*time.Millisecond, 1200), lock.WithTableUnlockTimeout(100*time.Millisecond, 100))
	if err != nil {
		return err
	}
	// Not from the pool: the lock and the work need connections at the same time, and a pool may have but one.
	db := stdlib.OpenDB(*e.pool.Config().ConnConfig)
	for range 3 {
		err = migrate(ctx, goose.DialectPostgres, db, e.dialect, goose.WithLocker(locker))
		if err == nil || !strings.Contains(err.Error(), "not held by this instance") {
			break
		}
		// The machine was so busy that the lease ran out. Each step is a transaction, so looking again is safe.
	}
	return errors.Join(err, db.Close())
}

// migrateSQLite brings the file's schema up to date. Each step is a transaction,
// begun as a writer: a second process waits, and then finds nothing left to do.
func migrateSQLite(ctx context.Context, f sqliteFile, d *dialect) error {
	db, err := driver.Open(f.uri(), f.configure)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	steps, err := migrationFiles.ReadDir("migrations")
	if err != nil {
		return errors.Join(err, db.Close())
	}
	// Another process may apply a step between our look and our try, and so at most every one of them.
	for range len(steps) + 1 {
		if err = migrate(ctx, goose.DialectSQLite3, db, d); err == nil || errors.Is(err, errNewer) || errors.Is(err, sqlite3.FULL) {
			break
		}
	}
	return errors.Join(err, db.Close())
}

var errNewer = errors.New("the database was written by a newer version of svcd; start that one, or restore a backup from before the upgrade")

func migrate(ctx context.Context, kind goose.Dialect, db *sql.DB, d *dialect, options ...goose.ProviderOption) error {
	files, err := migrationFS(d)
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(kind, db, files, append(options, goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))...)
	if err != nil {
		return err
	}
	newer, err := newerSchema(ctx, db, provider)
	if err != nil || newer {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	_, err = newerSchema(ctx, db, provider)
	return err
}

// newerSchema tells whether the schema is newer than this binary. Such a schema is
// an error unless it says that it is compatible: during an upgrade of replicas, an
// old one may be restarted after the first new one has migrated.
func newerSchema(ctx context.Context, db *sql.DB, provider *goose.Provider) (bool, error) {
	have, err := provider.GetDBVersion(ctx)
	if err != nil {
		return false, fmt.Errorf("read the version of the schema: %w", err)
	}
	sources := provider.ListSources()
	known := sources[len(sources)-1].Version
	if have <= known {
		return false, nil
	}
	var oldest int64
	if err := db.QueryRowContext(ctx, `SELECT oldest FROM schema_compatibility`).Scan(&oldest); err != nil {
		return true, fmt.Errorf("schema %d, this svcd knows up to %d: %w (%w)", have, known, errNewer, err)
	}
	if oldest > known {
		return true, fmt.Errorf("schema %d needs a svcd that knows schema %d, and this one knows up to %d: %w", have, oldest, known, errNewer)
	}
	return true, nil
}
