package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/ncruces/go-sqlite3"
)

// Loader fills a new database.
type Loader struct {
	Tables map[string]Table
	// SQLite reports which database it is.
	SQLite bool

	querier Querier
	insert  func(ctx context.Context, table string, columns []Column, computed []Computed, next NextRow) error
	exec    func(ctx context.Context, sql string, args ...any) error
}

// Snapshot returns what was loaded.
func (l *Loader) Snapshot(ctx context.Context) (*Snapshot, error) {
	list, err := tables(ctx, l.querier)
	return &Snapshot{Querier: l.querier, Tables: list}, err
}

// NextRow returns the values of the next row, or nil after the last one.
type NextRow func() ([]any, error)

// Computed is a column that is computed when a row is inserted. SQL may use $n for the nth column of the
// row. It is for SQLite.
type Computed struct{ Name, SQL string }

// Insert adds rows to a table.
func (l *Loader) Insert(
	ctx context.Context, table string, columns []Column, computed []Computed, next NextRow,
) error {
	target, ok := l.Tables[table]
	if !ok {
		return fmt.Errorf("the schema has no table %s", table)
	}
	for _, c := range columns {
		if !slices.Contains(target.Columns, c) {
			return fmt.Errorf("the table %s has no column %s for %s", table, c.Name, c.Kind)
		}
	}
	if err := l.insert(ctx, table, columns, computed, next); err != nil {
		return fmt.Errorf("load the table %s: %w", table, err)
	}
	return nil
}

// Exec runs a statement.
func (l *Loader) Exec(ctx context.Context, sql string, args ...any) error {
	return l.exec(ctx, sql, args...)
}

// errNotEmpty rejects a database that has tables.
var errNotEmpty = errors.New("the database is not empty; give an empty one")

// Create makes a database with the schema of a version, calls fill to load its rows, and then migrates it
// to the latest version. On PostgreSQL the database must be empty, and everything happens in one
// transaction; attempt identifies it, see Unfinished. On SQLite the file must not exist; if Create fails, the caller
// removes it.
func Create(ctx context.Context, target string, c Config, version int64, attempt string, fill func(*Loader) error) error {
	if IsPostgres(target) {
		return createPostgres(ctx, target, c, version, attempt, fill)
	}
	return createSQLite(ctx, sqliteFile{path: target}, c, version, fill)
}

// someMigrations is a file system of the migrations up to a version.
type someMigrations struct {
	fs.FS
	version int64
}

// ReadDir lists the migrations.
func (u someMigrations) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(u.FS, name)
	return slices.DeleteFunc(list, func(e fs.DirEntry) bool { return versionOf(e.Name()) > u.version }), err
}

func versionOf(file string) int64 {
	number, _, _ := strings.Cut(file, "_")
	version, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0
	}
	return version
}

// migrationFile is the file of a version.
type migrationFile struct {
	version int64
	name    string
}

// versionsOf lists the migrations in order.
func versionsOf(files fs.FS) ([]migrationFile, error) {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil, err
	}
	var list []migrationFile
	for _, e := range entries {
		if version := versionOf(e.Name()); version > 0 {
			list = append(list, migrationFile{version, e.Name()})
		}
	}
	if len(list) == 0 {
		return nil, errors.New("there are no migrations")
	}
	slices.SortFunc(list, func(a, b migrationFile) int { return cmp.Compare(a.version, b.version) })
	return list, nil
}

func createSQLite(ctx context.Context, f sqliteFile, c Config, version int64, fill func(*Loader) error) (err error) {
	file, err := os.OpenFile(f.path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	d := sqliteDialect()
	if err := migrateSQLite(ctx, f, d, someMigrations{c.Migrations, version}); err != nil {
		return err
	}
	if err := loadSQLite(ctx, f, d, c.Encode, fill); err != nil {
		return err
	}
	if err := migrateSQLite(ctx, f, d, c.Migrations); err != nil {
		return err
	}
	return file.Sync()
}

// loadSQLite loads the rows without a journal: an unfinished file is never used.
func loadSQLite(
	ctx context.Context, f sqliteFile, d *dialect, encode encoder, fill func(*Loader) error,
) (err error) {
	raw, err := sqlite3.Open(f.uri())
	if err != nil {
		return err
	}
	conn := &sqliteConn{Conn: raw, dialect: d, encode: encode, statements: map[string]*sqliteStmt{}}
	defer func() { err = errors.Join(err, conn.close()) }()
	conn.SetInterrupt(ctx)
	if err := conn.Conn.Exec(`PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
		PRAGMA cache_size = -64000; BEGIN`); err != nil {
		return err
	}
	list, err := tables(ctx, conn)
	if err != nil {
		return err
	}
	l := &Loader{
		SQLite:  true,
		Tables:  byName(list),
		querier: conn,
		insert:  conn.insertRows,
		exec: func(ctx context.Context, sql string, args ...any) error {
			return conn.Later(ctx, sql, args...)
		},
	}
	for _, t := range list {
		if err := conn.Conn.Exec(`DELETE FROM ` + t.Name); err != nil { // rows made by migrations
			return err
		}
	}
	if err := fill(l); err != nil {
		return err
	}
	return conn.Conn.Exec(`COMMIT`)
}

func byName(list []Table) map[string]Table {
	m := map[string]Table{}
	for _, t := range list {
		m[t.Name] = t
	}
	return m
}

func (c *sqliteConn) insertRows(
	ctx context.Context, table string, columns []Column, computed []Computed, next NextRow,
) error {
	names, values := make([]string, len(columns)), make([]string, len(columns))
	for i, column := range columns {
		names[i], values[i] = column.Name, "$"+strconv.Itoa(i+1)
	}
	for _, extra := range computed {
		names, values = append(names, extra.Name), append(values, extra.SQL)
	}
	statement := `INSERT INTO ` + table + ` (` + strings.Join(names, ", ") + `) VALUES (` + strings.Join(values, ", ") + `)`
	for {
		row, err := next()
		if err != nil || row == nil {
			return err
		}
		if err := c.Later(ctx, statement, row...); err != nil {
			return err
		}
	}
}

func createPostgres(
	ctx context.Context, url string, c Config, version int64, attempt string, fill func(*Loader) error,
) (err error) {
	config, err := ParsePostgres(url)
	if err != nil {
		return fmt.Errorf("the PostgreSQL URL %w", err)
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }() // rolls an open transaction back
	p := &postgresLoad{conn: conn, dialect: postgresDialect(), encode: c.Encode}
	if err := p.checkEmpty(ctx); err != nil {
		return err
	}
	if err := p.begin(ctx, attempt); err != nil {
		return err
	}
	if err := p.run(ctx, c, version, fill); err != nil {
		p.abandon(ctx)
		return err
	}
	return p.script(ctx, `COMMIT`)
}

// postgresLoad uses one connection: to migrate, or to create a PostgreSQL database in one transaction.
type postgresLoad struct {
	conn    *pgx.Conn
	dialect *dialect
	encode  encoder
	types   map[string]map[string]bool // columns of type UUID, by table
}

// script runs statements without parameters.
func (p *postgresLoad) script(ctx context.Context, statements string) error {
	_, err := p.conn.Exec(ctx, statements)
	return err
}

func (p *postgresLoad) migrator(files fs.FS) *migrator {
	return &migrator{Querier: p, dialect: p.dialect, exec: p.script, files: files}
}

func (p *postgresLoad) run(ctx context.Context, c Config, version int64, fill func(*Loader) error) error {
	if err := p.script(ctx, `BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0;
		SET LOCAL idle_in_transaction_session_timeout = 0`); err != nil {
		return err
	}
	if err := p.lockUnfinished(ctx); err != nil {
		return err
	}
	if err := p.checkEmpty(ctx); err != nil {
		return err
	}
	if err := p.script(ctx, `SET LOCAL lock_timeout = 0; `+createVersions); err != nil {
		return err
	}
	steps, err := versionsOf(c.Migrations)
	if err != nil {
		return err
	}
	m := p.migrator(c.Migrations)
	if err := m.apply(ctx, steps, 0, version); err != nil {
		return err
	}
	list, err := tables(ctx, p)
	if err != nil {
		return err
	}
	for _, t := range list {
		if err := p.script(ctx, `TRUNCATE `+pgx.Identifier{t.Name}.Sanitize()); err != nil {
			return err
		}
	}
	if err := p.readTypes(ctx); err != nil {
		return err
	}
	l := &Loader{Tables: byName(list), querier: p, insert: p.insertRows, exec: p.exec}
	if err := fill(l); err != nil {
		return err
	}
	if err := m.apply(ctx, steps, version, steps[len(steps)-1].version); err != nil {
		return err
	}
	// Without statistics, PostgreSQL would read whole tables until autovacuum has been there.
	for _, t := range list {
		if err := p.script(ctx, `ANALYZE `+pgx.Identifier{t.Name}.Sanitize()); err != nil {
			return err
		}
	}
	return p.script(ctx, `DROP TABLE `+unfinishedTable)
}

// checkEmpty rejects a database that has tables.
func (p *postgresLoad) checkEmpty(ctx context.Context) error {
	list, err := tables(ctx, p)
	if err == nil && len(list) > 0 {
		err = errNotEmpty
	}
	return err
}

// Query implements Querier.
func (p *postgresLoad) Query(ctx context.Context, sql string, each func(*Row) error, args ...any) error {
	// An extended query, which returns binary values.
	rows, err := p.conn.Query(ctx, p.dialect.sql(sql), append([]any{pgx.QueryExecModeCacheDescribe}, args...)...)
	if err != nil {
		return err
	}
	return eachRow(rows, each)
}

func (p *postgresLoad) exec(ctx context.Context, sql string, args ...any) error {
	_, err := p.conn.Exec(ctx, p.dialect.sql(sql), (&postgresBackend{encode: p.encode}).args(args)...)
	return err
}

// readTypes finds the columns of type UUID.
func (p *postgresLoad) readTypes(ctx context.Context) error {
	p.types = map[string]map[string]bool{}
	return p.Query(ctx, tablesQuery, func(r *Row) error {
		table, column, kind := r.Text(), r.Text(), r.Text()
		if kind == "uuid" {
			if p.types[table] == nil {
				p.types[table] = map[string]bool{}
			}
			p.types[table][column] = true
		}
		return nil
	})
}

func (p *postgresLoad) insertRows(
	ctx context.Context, table string, columns []Column, _ []Computed, next NextRow,
) error {
	names, ids := make([]string, len(columns)), make([]bool, len(columns))
	for i, column := range columns {
		names[i], ids[i] = column.Name, p.types[table][column.Name]
	}
	_, err := p.conn.CopyFrom(ctx, pgx.Identifier{table}, names, pgx.CopyFromFunc(func() ([]any, error) {
		row, err := next()
		if err != nil || row == nil {
			return nil, err
		}
		for i, value := range row {
			id, isBytes := value.([]byte)
			if !ids[i] || !isBytes {
				continue
			}
			if len(id) != 16 {
				return nil, fmt.Errorf("the column %s has an id of %d bytes", names[i], len(id))
			}
			row[i] = pgtype.UUID{Bytes: [16]byte(id), Valid: true}
		}
		return row, nil
	}))
	return err
}
