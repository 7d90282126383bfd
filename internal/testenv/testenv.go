// Package testenv gives tests the services they run against: PostgreSQL, Redis and
// others, started by scripts/test-services ("make test"). When a service is missing
// the test is skipped; when CI is set it fails instead, so that a green run has
// tested everything.
package testenv

import (
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Postgres creates an empty PostgreSQL schema for the test and returns its URL. The
// schema is dropped when the test ends.
func Postgres(t testing.TB) string {
	t.Helper()
	server := require(t, "SVC_TEST_POSTGRES", "PostgreSQL")
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal("SVC_TEST_POSTGRES is not a URL") // err would contain the password
	}
	schema := "test_" + strings.ToLower(rand.Text())
	execute(t, server, "CREATE SCHEMA "+schema)
	t.Cleanup(func() {
		execute(t, server, "DROP SCHEMA "+schema+" CASCADE")
	})
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	return u.String()
}

// PostgresDatabase is Postgres with a database instead of a schema, for tests that read PostgreSQL's
// statistics per database.
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
	execute(t, server, "CREATE DATABASE "+database+" TEMPLATE "+template)
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

// execute runs one statement on a new connection. The timeout fails a test that left a
// transaction open, which would block the DROP forever.
func execute(t testing.TB, server, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		t.Fatalf("connect to SVC_TEST_POSTGRES: %v", err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(ctx, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}
