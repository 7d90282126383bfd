// Package testenv gives tests the real services they run against, which
// scripts/test-services (so "make test") starts. Where a service is not there the
// test is skipped with a line that says so; with CI set it fails, so that a green
// run has tested everything.
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

// Postgres returns the URL of a PostgreSQL schema that is new, empty and the
// test's own. It is dropped when the test ends.
func Postgres(t testing.TB) string {
	t.Helper()
	server := require(t, "SVC_TEST_POSTGRES", "PostgreSQL")
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal("SVC_TEST_POSTGRES is not a URL") // err would print a password
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

// PostgresDatabase is Postgres with a whole database instead of a schema, for what PostgreSQL counts for
// databases alone.
func PostgresDatabase(t testing.TB) string {
	t.Helper()
	server := require(t, "SVC_TEST_POSTGRES", "PostgreSQL")
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal("SVC_TEST_POSTGRES is not a URL") // err would print a password
	}
	database := "test_" + strings.ToLower(rand.Text())
	execute(t, server, "CREATE DATABASE "+database)
	t.Cleanup(func() {
		execute(t, server, "DROP DATABASE "+database+" WITH (FORCE)")
	})
	u.Path = "/" + database
	return u.String()
}

// Redis returns the URL of a Redis server. All tests share its one database: a
// test keeps to keys with a prefix of its own.
func Redis(t testing.TB) string {
	t.Helper()
	return require(t, "SVC_TEST_REDIS", "Redis")
}

// Chromium returns the path of a browser that can run headless.
func Chromium(t testing.TB) string {
	t.Helper()
	return require(t, "SVC_TEST_CHROMIUM", "Chromium")
}

// HAProxy returns the path of the load balancer.
func HAProxy(t testing.TB) string {
	t.Helper()
	return require(t, "SVC_TEST_HAPROXY", "HAProxy")
}

// require returns the variable's value, or ends the test.
func require(t testing.TB, variable, service string) string {
	t.Helper()
	value := os.Getenv(variable)
	switch {
	case value != "":
	case os.Getenv("CI") != "":
		t.Fatalf("%s is not set and CI is: no test may be skipped for want of %s", variable, service)
	default:
		t.Skipf("no %s: run make test, which starts one, or set %s", service, variable)
	}
	return value
}

// execute runs one statement on a connection of its own. The time limit turns a
// transaction that a test left open, and that would hold up the DROP for ever,
// into a failure of that test.
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
