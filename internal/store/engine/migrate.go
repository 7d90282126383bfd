package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/ncruces/go-sqlite3"
)

// A migration is a file of SQL whose name begins with its version. Each is applied once, in order and in a transaction
// of its own, and noted in versionsTable. Processes that start together wait for one another.

const (
	versionsTable = "schema_versions"
	// ownTable is a table of the first migration, whose name other programs hardly use.
	ownTable = "token_secrets"
)

// createVersions creates the table of applied migrations.
const createVersions = `CREATE TABLE IF NOT EXISTS ` + versionsTable + ` (version BIGINT NOT NULL PRIMARY KEY)`

var (
	errNewer = errors.New("the database was migrated by a newer version of svcd; " +
		"start that version, or restore a backup from before the upgrade")
	errForeign = errors.New("the database has tables of another program; " +
		"give svcd an empty database, or in PostgreSQL a schema of its own")
)

// migrator applies migrations on one connection.
type migrator struct {
	Querier
	dialect *dialect
	exec    func(ctx context.Context, script string) error
	files   fs.FS
	// begin begins a transaction in which no other process migrates.
	begin func(ctx context.Context) error
}

// migrate applies the migrations that are missing.
func (m *migrator) migrate(ctx context.Context) error {
	steps, err := versionsOf(m.files)
	if err != nil {
		return err
	}
	known := steps[len(steps)-1].version
	for {
		have, err := m.version(ctx)
		if err != nil {
			return err
		}
		if have > known {
			return m.checkNewer(ctx, have, known)
		}
		if have == known {
			return nil
		}
		if err := m.advance(ctx, steps); err != nil {
			return fmt.Errorf("migrate the database: %w", errors.Join(err, ctx.Err()))
		}
	}
}

// advance applies the next migration in a transaction, if another process did not.
func (m *migrator) advance(ctx context.Context, steps []migrationFile) error {
	err := m.begin(ctx)
	if err == nil {
		var have int64
		if have, err = m.version(ctx); err == nil {
			err = m.apply(ctx, steps, have, next)
		}
	}
	if err == nil {
		return m.exec(ctx, `COMMIT`)
	}
	_ = m.exec(context.WithoutCancel(ctx), `ROLLBACK`) // why it failed matters, and the connection is closed soon
	return err
}

// next stands for one migration in apply.
const next = -1

// apply applies the migrations after one version, in an open transaction: those up to another one, or the next.
func (m *migrator) apply(ctx context.Context, steps []migrationFile, after, to int64) error {
	for _, step := range steps {
		if step.version <= after || to != next && step.version > to {
			continue
		}
		text, err := fs.ReadFile(m.files, step.name)
		if err != nil {
			return err
		}
		script := m.dialect.translate(string(text)) +
			fmt.Sprintf("\nINSERT INTO %s (version) VALUES (%d);", versionsTable, step.version)
		if err := m.exec(ctx, script); err != nil {
			return fmt.Errorf("migration %d: %w", step.version, err)
		}
		if to == next {
			break
		}
	}
	return nil
}

// stateOf counts the tables of the schema without those of extensions and versionsTable, and looks for ownTable and
// versionsTable.
const stateOf = `/*sqlite: SELECT count(*) FILTER (WHERE name <> '` + versionsTable + `'),
		count(*) FILTER (WHERE name = '` + ownTable + `'), count(*) FILTER (WHERE name = '` + versionsTable + `')
	FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~' */
	/*pg: SELECT count(*) FILTER (WHERE c.relname <> '` + versionsTable + `'),
		count(*) FILTER (WHERE c.relname = '` + ownTable + `'), count(*) FILTER (WHERE c.relname = '` + versionsTable + `')
	FROM pg_class c WHERE c.relkind IN ('r', 'p') AND c.relnamespace = to_regnamespace(current_schema())
		AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e') */`

// version returns the last migration that was applied, or 0. It rejects a database that has tables of another program,
// and one that lost those of the service.
func (m *migrator) version(ctx context.Context) (version int64, err error) {
	var tables, own, versions int64
	err = m.Query(ctx, stateOf, func(r *Row) error { tables, own, versions = r.Int(), r.Int(), r.Int(); return nil })
	if err == nil && versions > 0 {
		version, err = schemaVersion(ctx, m)
	}
	if err != nil {
		return 0, fmt.Errorf("read the schema version: %w", err)
	}
	if own == 0 && (tables > 0 || version > 0) {
		return 0, errForeign
	}
	return version, nil
}

// checkNewer rejects a schema that is newer than this binary, unless it is marked compatible: during a rolling upgrade,
// an old replica may restart after a new one has migrated.
func (m *migrator) checkNewer(ctx context.Context, have, known int64) error {
	var oldest int64
	err := m.Query(ctx, `SELECT oldest FROM schema_compatibility`, func(r *Row) error { oldest = r.Int(); return nil })
	if err != nil {
		return fmt.Errorf("schema %d, but this svcd supports up to %d: %w (%w)", have, known, errNewer, err)
	}
	if oldest > known {
		return fmt.Errorf("schema %d requires a svcd that supports schema %d, but this one supports up to %d: %w",
			have, oldest, known, errNewer)
	}
	return nil
}

// migrationTries is how often a migration is tried if other processes made it fail, and migrationPause the time in
// between, in which those that waited behind it continue. A statement or transaction of a replica ends after 90
// seconds at most, so that its locks never outlast all tries.
const (
	migrationTries = 60
	migrationPause = 2 * time.Second
)

// migratePostgres migrates the schema. One of several replicas that start together does the work; a lock makes the
// others wait.
func migratePostgres(ctx context.Context, e *postgresBackend, files fs.FS) (err error) {
	// Not from the pool, whose connections have timeouts.
	conn, err := pgx.ConnectConfig(ctx, e.pool.Config().ConnConfig.Copy())
	if err != nil {
		return fmt.Errorf("open PostgreSQL: %w", classifyPostgres(err))
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	p := &postgresLoad{conn: conn, dialect: e.dialect, encode: e.encode}
	m := p.migrator(files)
	m.begin = func(ctx context.Context) error {
		// Everyone else waits behind a migration that waits for a table, so it gives up soon and tries again.
		return p.script(ctx, `BEGIN; SET LOCAL lock_timeout = '1s'; `+createVersions+`;
			LOCK TABLE `+versionsTable+` IN SHARE ROW EXCLUSIVE MODE`)
	}
	for range migrationTries {
		err = m.migrate(ctx)
		// A migration may deadlock with the transactions of other replicas, wait for a long one, or create the table
		// of versions at the same time as another one.
		busy := sqlState(err) == "55P03"
		if !busy && !isSerializationFailure(err) && sqlState(err) != "23505" && sqlState(err) != "42P07" {
			break
		}
		if busy {
			select {
			case <-ctx.Done():
			case <-time.After(migrationPause):
			}
		}
	}
	return err
}

// migrateSQLite migrates the schema. Each migration is an immediate transaction, so a second process waits and then
// finds nothing to do. A migration may take longer than SQLite waits, so it is tried again.
func migrateSQLite(ctx context.Context, f sqliteFile, d *dialect, files fs.FS) (err error) {
	raw, err := sqlite3.Open(f.uri())
	if err != nil {
		return err
	}
	conn := &sqliteConn{Conn: raw, dialect: d, statements: map[string]*sqliteStmt{}}
	defer func() { err = errors.Join(err, conn.close()) }()
	if err := f.configure(raw); err != nil {
		return err
	}
	conn.SetInterrupt(ctx)
	exec := func(_ context.Context, script string) error { return raw.Exec(script) }
	m := &migrator{Querier: conn, dialect: d, exec: exec, files: files,
		begin: func(context.Context) error { return raw.Exec(`BEGIN IMMEDIATE; ` + createVersions) }}
	for range migrationTries {
		if err = m.migrate(ctx); !errors.Is(err, sqlite3.BUSY) {
			break
		}
	}
	return err
}
