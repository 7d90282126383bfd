package engine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// children are the functions that this test binary runs instead of tests when a test starts it as a
// child process. Some faults need a process that can be killed.
var children = map[string]func(database string) error{
	"open":  childOpens,
	"write": childWrites,
	"modes": childShowsModes,
}

const childVariable = "SVC_STORE_TEST_CHILD"

func TestMain(m *testing.M) {
	if what := os.Getenv(childVariable); what != "" {
		name, database, _ := strings.Cut(what, " ")
		if err := children[name](database); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// config is that of package store.
var config = Config{Migrations: os.DirFS("../migrations")}

var background = context.Background()

// child is this test binary, started as a child process.
type child struct {
	*exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
	stderr strings.Builder
}

// startChild starts a child and waits until it is ready.
func startChild(t testing.TB, what, database string) *child {
	t.Helper()
	limited, cancel := context.WithTimeoutCause(context.Background(), testenv.Patience, errors.New("child timed out"))
	t.Cleanup(cancel)
	c := &child{Cmd: exec.CommandContext(limited, os.Args[0])}
	c.Cancel = func() error { return errors.Join(c.Process.Kill(), context.Cause(limited)) }
	c.Env = append(os.Environ(), childVariable+"="+what+" "+database)
	c.Stderr = &c.stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	c.in, c.out = in, bufio.NewScanner(out)
	if !c.out.Scan() || c.out.Text() != "ready" {
		t.Fatalf("child did not become ready: %s", &c.stderr)
	}
	return c
}

// release lets a ready child continue.
func (c *child) release() { _, _ = io.WriteString(c.in, "go\n") } // a dead child is noticed by Wait

// kill kills the child without warning, like a power cut.
func (c *child) kill() {
	_ = c.Process.Kill()
	_ = c.Wait()
}

// startingLine waits for the release of this child.
func startingLine() {
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
}

// eachKind runs a test for each database in parallel, with a function that creates empty databases.
func eachKind(t *testing.T, test func(t *testing.T, fresh func(testing.TB) string)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); test(t, newFile) })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); test(t, testenv.Postgres) })
}

// eachDatabase runs a test on an empty database of each kind.
func eachDatabase(t *testing.T, test func(t *testing.T, database string)) {
	t.Helper()
	eachKind(t, func(t *testing.T, fresh func(testing.TB) string) { test(t, fresh(t)) })
}

// each runs a test on an open database of each kind with the newest schema in parallel.
func each(t *testing.T, test func(t *testing.T, db *DB)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); test(t, open(t, testenv.SQLiteMigrated(t, migrated))) })
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, open(t, testenv.PostgresMigrated(t, func(ctx context.Context, database string) error {
			_, err := migrated(ctx, database)
			return err
		})))
	})
}

// migrated makes the newest schema and returns the database id.
func migrated(ctx context.Context, database string) (id uuid.UUID, err error) {
	db, err := Open(ctx, database, config)
	if err != nil {
		return id, err
	}
	err = queryRow(db, `SELECT id FROM installation`, func(r *Row) { id = uuid.UUID(r.ID()) })
	return id, errors.Join(err, db.Close())
}

func newFile(t testing.TB) string { return filepath.Join(t.TempDir(), "svc.db") }

func open(t testing.TB, database string) *DB {
	t.Helper()
	soon, cancel := context.WithTimeout(context.Background(), testenv.Patience)
	defer cancel()
	db, err := Open(soon, database, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return db
}

// scratch is a table for tests.
const scratch = `CREATE TABLE scratch (k BIGINT NOT NULL PRIMARY KEY, v TEXT, b BYTEA, u UUID)`

// withScratch adds the scratch table.
func withScratch(t testing.TB, db *DB) *DB {
	t.Helper()
	if err := db.Write(context.Background(), func(tx Tx) error { return tx.Later(background, scratch) }); err != nil {
		t.Fatal(err)
	}
	return db
}

// put returns a transaction that adds a row to the scratch table.
func put(k int, v string) func(Tx) error {
	return func(tx Tx) error { return tx.Later(background, `INSERT INTO scratch (k, v) VALUES ($1, $2)`, k, v) }
}

// values reads the scratch table.
func values(t testing.TB, db *DB) map[int64]string {
	t.Helper()
	rows := map[int64]string{}
	err := db.Query(context.Background(), `SELECT k, v FROM scratch`, func(r *Row) error {
		rows[r.Int()] = r.Text()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

var errNoRow = errors.New("no row")

// queryRow reads the only row of a result.
func queryRow(q Querier, sql string, read func(*Row), args ...any) error {
	found := false
	err := q.Query(background, sql, func(r *Row) error { found = true; read(r); return nil }, args...)
	if err == nil && !found {
		err = errNoRow
	}
	return err
}

// read is a small read.
func read(ctx context.Context, q Querier) error {
	return q.Query(ctx, `SELECT 1 FROM users LIMIT 1`, func(*Row) error { return nil })
}

// number reads a single number.
func number(t testing.TB, db *DB, sql string, args ...any) (n int64) {
	t.Helper()
	if err := queryRow(db, sql, func(r *Row) { n = r.Int() }, args...); err != nil {
		t.Fatal(err)
	}
	return n
}

// isUnavailable reports whether err is the only error that an outage may cause.
func isUnavailable(err error) bool {
	var refusal *warranty.Error
	return errors.As(err, &refusal) && refusal.Code == warranty.Unavailable && refusal.Wait > 0
}

// together runs fn n times concurrently and waits.
func together(n int, fn func(i int)) { testenv.Together(n, fn) }

// upTo returns a random duration below limit.
func upTo(limit time.Duration) time.Duration { return rand.N(limit) }

// childOpens opens and so migrates the database.
func childOpens(database string) error {
	startingLine()
	db, err := Open(context.Background(), database, config)
	if err != nil {
		return err
	}
	return db.Close()
}
