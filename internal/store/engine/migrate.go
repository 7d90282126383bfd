package engine

import (
	"context"
	"database/sql"
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

// migrations is a file system of migrations, translated to one dialect.
type migrations struct {
	fs.FS
	dialect *dialect
}

// up precedes the statements of a migration.
const up = "-- +goose Up\n"

// Open opens and translates a migration.
func (m migrations) Open(name string) (fs.File, error) {
	file, err := m.FS.Open(name)
	if err != nil || path.Ext(name) != ".sql" {
		return file, err
	}
	text, err := io.ReadAll(file)
	script := strings.Replace(m.dialect.translate(string(text)), up, up+m.dialect.beforeMigration, 1)
	return translated{File: file, text: strings.NewReader(script)}, err
}

// ReadDir lists the migrations.
func (m migrations) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(m.FS, name) }

// translated is a file whose content is its translation.
type translated struct {
	fs.File
	text *strings.Reader
}

// Read reads the translation.
func (t translated) Read(b []byte) (int, error) { return t.text.Read(b) }

// migrationTries is how often a migration is tried if other processes made it fail, and migrationPause the time in
// between, in which those that waited behind it go on. A statement or transaction of a replica ends after 90
// seconds at most, so that its locks never outlast all tries.
const (
	migrationTries = 60
	migrationPause = 2 * time.Second
)

// migratePostgres migrates the schema. One of several replicas that start together does the work. A
// table lock makes the others wait; its short lease frees them soon if that replica is killed.
func migratePostgres(ctx context.Context, e *postgresBackend, files fs.FS) error {
	locker, err := lock.NewPostgresTableLocker(
		lock.WithTableLeaseDuration(6*time.Second), lock.WithTableHeartbeatInterval(time.Second),
		lock.WithTableLockTimeout(100*time.Millisecond, 1200), lock.WithTableUnlockTimeout(100*time.Millisecond, 100))
	if err != nil {
		return err
	}
	// Not from the pool: the lock and the migration need a connection each, and the pool may have
	// only one.
	db := stdlib.OpenDB(*e.pool.Config().ConnConfig)
	// The machine may be so busy that the lease expires, and a migration that locks several tables may
	// deadlock with the transactions of other replicas or wait for a long one. Each migration is a transaction,
	// so a retry is safe.
	for range migrationTries {
		err = migrate(ctx, goose.DialectPostgres, db, migrations{files, e.dialect}, goose.WithLocker(locker))
		busy := sqlState(err) == "55P03"
		if err == nil || !strings.Contains(err.Error(), "not held by this instance") && !isSerializationFailure(err) && !busy {
			break
		}
		if busy {
			select {
			case <-ctx.Done():
			case <-time.After(migrationPause):
			}
		}
	}
	return errors.Join(err, db.Close())
}

// migrateSQLite migrates the schema. Each migration is an immediate transaction, so a second
// process waits and then finds nothing to do.
func migrateSQLite(ctx context.Context, f sqliteFile, d *dialect, files fs.FS) error {
	db, err := driver.Open(f.uri(), f.configure)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	steps, err := fs.ReadDir(files, ".")
	if err != nil {
		return errors.Join(err, db.Close())
	}
	// Another process may apply a migration between our check and our attempt, at most once per
	// migration.
	for range len(steps) + 1 {
		err = migrate(ctx, goose.DialectSQLite3, db, migrations{files, d})
		if err == nil || errors.Is(err, errNewer) || errors.Is(err, errForeign) || errors.Is(err, sqlite3.FULL) {
			break
		}
	}
	return errors.Join(err, db.Close())
}

var errNewer = errors.New("the database was migrated by a newer version of svcd; " +
	"start that version, or restore a backup from before the upgrade")

func migrate(
	ctx context.Context, kind goose.Dialect, db *sql.DB, files migrations, options ...goose.ProviderOption,
) error {
	options = append(options, goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	provider, err := goose.NewProvider(kind, db, files, options...)
	if err != nil {
		return err
	}
	if err := checkOwnTables(ctx, kind, db); err != nil {
		return err
	}
	if err := checkOwnVersion(ctx, kind, db, provider); err != nil {
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

var errForeign = errors.New("the database has tables of another program; " +
	"give svcd an empty database, or in PostgreSQL a schema of its own")

// ownTable is a table of the first migration, whose name other programs hardly use. They may use goose, too.
const ownTable = "token_secrets"

// foreignTables count the tables of a database that svcd has never migrated, without those of extensions
// and of goose, which another replica may just have made.
var foreignTables = map[goose.Dialect]string{
	goose.DialectSQLite3: `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'goose~_%' ESCAPE '~'
		AND name NOT LIKE 'sqlite~_%' ESCAPE '~' AND NOT EXISTS (SELECT 1 FROM sqlite_master WHERE name = '` + ownTable + `')`,
	goose.DialectPostgres: `SELECT count(*) FROM pg_class c WHERE c.relkind IN ('r', 'p')
		AND c.relnamespace = to_regnamespace(current_schema()) AND NOT starts_with(c.relname::text, 'goose_')
		AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
		AND NOT EXISTS (SELECT 1 FROM pg_class g WHERE g.relname = '` + ownTable + `' AND g.relnamespace = c.relnamespace)`,
}

// checkOwnTables rejects a database of another program.
func checkOwnTables(ctx context.Context, kind goose.Dialect, db *sql.DB) error {
	var count int
	if err := db.QueryRowContext(ctx, foreignTables[kind]).Scan(&count); err != nil {
		return fmt.Errorf("read the tables: %w", err)
	}
	if count > 0 {
		return errForeign
	}
	return nil
}

// countOwn counts the table ownTable.
var countOwn = map[goose.Dialect]string{
	goose.DialectSQLite3: `SELECT count(*) FROM sqlite_master WHERE name = '` + ownTable + `'`,
	goose.DialectPostgres: `SELECT count(*) FROM pg_class WHERE relname = '` + ownTable + `'
		AND relnamespace = to_regnamespace(current_schema())`,
}

// checkOwnVersion rejects a database that has the versions of another program, or lost its tables: later migrations
// would make some tables before one of them fails.
func checkOwnVersion(ctx context.Context, kind goose.Dialect, db *sql.DB, provider *goose.Provider) error {
	have, err := provider.GetDBVersion(ctx)
	if err != nil || have == 0 {
		return err
	}
	var count int
	if err := db.QueryRowContext(ctx, countOwn[kind]).Scan(&count); err != nil || count > 0 {
		return err
	}
	return errForeign
}

// newerSchema reports whether the schema is newer than this binary. A newer schema is an error
// unless it is marked compatible: during a rolling upgrade, an old replica may restart after a new
// one has migrated.
func newerSchema(ctx context.Context, db *sql.DB, provider *goose.Provider) (bool, error) {
	have, err := provider.GetDBVersion(ctx)
	if err != nil {
		return false, fmt.Errorf("read the schema version: %w", err)
	}
	sources := provider.ListSources()
	known := sources[len(sources)-1].Version
	if have <= known {
		return false, nil
	}
	var oldest int64
	if err := db.QueryRowContext(ctx, `SELECT oldest FROM schema_compatibility`).Scan(&oldest); err != nil {
		return true, fmt.Errorf("schema %d, but this svcd supports up to %d: %w (%w)", have, known, errNewer, err)
	}
	if oldest > known {
		return true, fmt.Errorf("schema %d requires a svcd that supports schema %d, but this one supports up to %d: %w",
			have, oldest, known, errNewer)
	}
	return true, nil
}
