package servertest

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Lock holds the write lock of a SQLite database until the test ends.
func Lock(t *testing.T, w *World) {
	t.Helper()
	conn, err := w.DB.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := conn.ExecContext(context.Background(), `ROLLBACK`); err != nil {
			t.Error(err)
		}
		_ = conn.Close()
	})
	if _, err := conn.ExecContext(context.Background(), `BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
}

// Direct opens a connection to a database that bypasses the service.
func Direct(t testing.TB, database string) *sql.DB {
	t.Helper()
	driver, source := "sqlite3", "file:"+database+"?_pragma=busy_timeout(10000)&_pragma=synchronous(off)"
	if strings.HasPrefix(database, "postgres") {
		driver, source = "pgx", database
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(4)
	t.Cleanup(func() { _ = db.Close() }) // tests check the errors of their statements
	return db
}

// Exec changes the database directly.
func (w *World) Exec(statement string, args ...any) {
	w.T.Helper()
	if _, err := w.DB.Exec(statement, args...); err != nil {
		w.T.Fatalf("%s: %v", statement, err)
	}
}

// Count queries the database directly for a number.
func (w *World) Count(query string, args ...any) int {
	w.T.Helper()
	var n int
	if err := w.DB.QueryRow(query, args...).Scan(&n); err != nil {
		w.T.Fatalf("%s: %v", query, err)
	}
	return n
}

// IsPostgres reports whether the world runs on PostgreSQL.
func (w *World) IsPostgres() bool { return strings.HasPrefix(w.Database, "postgres") }

// Contents returns a hash of each table's rows, except for the tables of mails and
// usage, which the worker changes. SQLite says whether anything was committed since the last call.
func (w *World) Contents() map[string]string {
	w.T.Helper()
	version := w.commits()
	if version != 0 && version == w.contentsAt {
		return maps.Clone(w.contents)
	}
	sums := map[string]string{}
	for _, table := range w.Tables() {
		if table != "mails" && table != "token_usage" && table != "schema_versions" {
			rows := w.Rows(`SELECT * FROM ` + table)
			slices.Sort(rows)
			sums[table] = fmt.Sprintf("%d rows, %x", len(rows), sha256.Sum256([]byte(strings.Join(rows, "\n"))))
		}
	}
	if len(sums) < 8 {
		w.T.Fatalf("only these tables were found: %v", slices.Collect(maps.Keys(sums)))
	}
	w.contents, w.contentsAt = maps.Clone(sums), version
	return sums
}

// commits returns a number that is another one after every commit to a SQLite database, and 0 for PostgreSQL.
func (w *World) commits() (version int64) {
	w.T.Helper()
	if w.IsPostgres() {
		return 0
	}
	if w.watcher == nil { // the number is one of a connection, and excludes its own commits
		conn, err := w.DB.Conn(context.Background())
		if err != nil {
			w.T.Fatal(err)
		}
		w.T.Cleanup(func() { _ = conn.Close() })
		w.watcher = conn
	}
	if err := w.watcher.QueryRowContext(context.Background(), `PRAGMA data_version`).Scan(&version); err != nil {
		w.T.Fatal(err)
	}
	return version
}

// Tables returns the names of all tables.
func (w *World) Tables() []string {
	w.T.Helper()
	if w.IsPostgres() {
		return w.Rows(`SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()`)
	}
	return w.Rows(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)
}

// Rows returns every row of a query as one string.
func (w *World) Rows(query string) []string {
	w.T.Helper()
	rows, err := w.DB.Query(query)
	if err != nil {
		w.T.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		w.T.Fatal(err)
	}
	var list []string
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(sql.NullString)
		}
		if err := rows.Scan(values...); err != nil {
			w.T.Fatalf("%s: %v", query, err)
		}
		texts := make([]string, len(values))
		for i, v := range values {
			s := v.(*sql.NullString)
			texts[i] = s.String
			if !s.Valid {
				texts[i] = "NULL"
			}
		}
		list = append(list, strings.Join(texts, " | "))
	}
	if err := rows.Err(); err != nil {
		w.T.Fatalf("%s: %v", query, err)
	}
	return list
}

// Unchanged fails the test when do changes the database.
func (w *World) Unchanged(t testing.TB, what string, do func()) {
	t.Helper()
	before := w.Contents()
	do()
	Equal(t, what+" changed the database", w.Contents(), before)
}

// IDLiteral returns an id as a literal in the SQL of the world's database.
func (w *World) IDLiteral(id string) string {
	if w.IsPostgres() {
		return "'" + id + "'"
	}
	return "x'" + strings.ReplaceAll(id, "-", "") + "'"
}
