// Package testenv gives tests the services they run against: PostgreSQL, Redis and
// others, started by scripts/test-services ("make test"). When a service is missing
// the test is skipped; when CI is set it fails instead, so that a green run has
// tested everything.
package testenv

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Postgres creates an empty PostgreSQL schema for the test and returns its URL. It is in a database of its own, which is
// dropped when the test ends: dropping all tables of a schema takes fifty times as long, and each backend of a
// database follows the changes of every schema in it.
func Postgres(t testing.TB) string {
	t.Helper()
	database := PostgresDatabase(t)
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal("SVC_TEST_POSTGRES is not a URL") // err would contain the password
	}
	schema := strings.TrimPrefix(u.Path, "/")
	if err := onPostgres(database, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "CREATE SCHEMA "+schema)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	return u.String()
}

// PostgresDatabase is Postgres without a search path, for tests that read PostgreSQL's statistics per database.
func PostgresDatabase(t testing.TB) string {
	t.Helper()
	return postgresCopy(t, "template1")
}

// postgresCopy is PostgresDatabase with a copy of another database, which nobody may be connected to.
func postgresCopy(t testing.TB, template string) string {
	t.Helper()
	server := require(t, "SVC_TEST_POSTGRES", "PostgreSQL")
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal("SVC_TEST_POSTGRES is not a URL") // err would contain the password
	}
	database := "test_" + strings.ToLower(rand.Text())
	onServer(t, server, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "CREATE DATABASE "+database+" TEMPLATE "+template+copyStrategy(conn))
		return err
	})
	t.Cleanup(func() {
		execute(t, server, "DROP DATABASE "+database+" WITH (FORCE)")
	})
	u.Path = "/" + database
	if u.RawQuery == "" {
		u.RawQuery = "sslmode=prefer" // the default; tests append parameters
	}
	return u.String()
}

// Redis returns the URL of a Redis server. All tests share one database, so each
// test uses its own key prefix.
func Redis(t testing.TB) string {
	t.Helper()
	return require(t, "SVC_TEST_REDIS", "Redis")
}

// Chromium returns the path of a Chromium binary.
func Chromium(t testing.TB) string {
	t.Helper()
	return require(t, "SVC_TEST_CHROMIUM", "Chromium")
}

// HAProxy returns the path of an haproxy binary.
func HAProxy(t testing.TB) string {
	t.Helper()
	return require(t, "SVC_TEST_HAPROXY", "HAProxy")
}

// Zbarimg returns the path of zbarimg, which reads QR codes in pictures.
func Zbarimg(t testing.TB) string {
	t.Helper()
	return require(t, "SVC_TEST_ZBARIMG", "zbarimg")
}

// Pdftoppm returns the path of pdftoppm, which turns the pages of a PDF into pictures.
func Pdftoppm(t testing.TB) string {
	t.Helper()
	return require(t, "SVC_TEST_PDFTOPPM", "pdftoppm")
}

// require returns the variable's value, or skips or fails the test.
func require(t testing.TB, variable, service string) string {
	t.Helper()
	value := os.Getenv(variable)
	switch {
	case value != "":
	case os.Getenv("CI") != "":
		t.Fatalf("%s is not set: with CI set, tests that need %s must run", variable, service)
	default:
		t.Skipf("no %s: run make test, which starts one, or set %s", service, variable)
	}
	return value
}

// copyStrategy makes PostgreSQL copy the files of the template. By default, it logs every page, which takes three times as
// long. Before PostgreSQL 15 there was no choice.
func copyStrategy(conn *pgx.Conn) string {
	major, _, _ := strings.Cut(conn.PgConn().ParameterStatus("server_version"), ".")
	if n, err := strconv.Atoi(major); err == nil && n < 15 {
		return ""
	}
	return " STRATEGY file_copy"
}

// execute runs one statement.
func execute(t testing.TB, server, statement string) {
	t.Helper()
	onServer(t, server, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, statement)
		if err != nil {
			err = fmt.Errorf("%s: %w", statement, err)
		}
		return err
	})
}

// idle are connections of this process that no test uses now. To connect takes as long as to copy a database.
var idle struct {
	sync.Mutex
	conns map[string][]*pgx.Conn
}

// onServer runs fn with a connection. The timeout fails a test that left a transaction open, which would block a DROP
// forever.
func onServer(t testing.TB, server string, fn func(context.Context, *pgx.Conn) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	conn := takeIdle(server)
	if conn == nil {
		var err error
		if conn, err = pgx.Connect(ctx, server); err != nil {
			t.Fatalf("connect to SVC_TEST_POSTGRES: %v", err)
		}
	}
	if err := fn(ctx, conn); err != nil {
		_ = conn.Close(context.Background())
		t.Fatal(err)
	}
	idle.Lock()
	defer idle.Unlock()
	if idle.conns == nil {
		idle.conns = map[string][]*pgx.Conn{}
	}
	idle.conns[server] = append(idle.conns[server], conn)
}

// takeIdle returns an idle connection that still works, or nil.
func takeIdle(server string) *pgx.Conn {
	idle.Lock()
	defer idle.Unlock()
	for conns := idle.conns[server]; len(conns) > 0; {
		conn := conns[len(conns)-1]
		conns = conns[:len(conns)-1]
		idle.conns[server] = conns
		if !conn.IsClosed() {
			return conn
		}
	}
	return nil
}
