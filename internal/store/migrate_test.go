package store

import (
	"context"
	"database/sql"
	"fmt"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"
	"github.com/pressly/goose/v3"

	"warranty.example/svc/internal/testenv"
)

// schema describes all tables, columns, indexes and applied migrations, one per line.
func schema(t testing.TB, s *Store) string {
	t.Helper()
	questions := []string{`SELECT coalesce(sql, name) FROM sqlite_master`}
	if _, ok := s.engine.(*postgresEngine); ok {
		questions = []string{
			`SELECT concat_ws(' ', table_name, ordinal_position, column_name, data_type, is_nullable, collation_name, column_default)
				FROM information_schema.columns WHERE table_schema = current_schema()`,
			`SELECT replace(indexdef, current_schema() || '.', '') FROM pg_indexes WHERE schemaname = current_schema()`,
		}
	}
	lines := []string{}
	for _, question := range append(questions, `SELECT concat('applied ', version_id) FROM goose_db_version`) {
		err := s.engine.query(context.Background(), question, func(r Row) error {
			lines = append(lines, strings.Join(strings.Fields(r.Text(0)), " "))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// appliedOnce checks that each migration was applied exactly once.
func appliedOnce(t testing.TB, s *Store) {
	t.Helper()
	steps, err := migrationFiles.ReadDir("migrations")
	if err != nil {
		t.Fatal(err)
	}
	rows := number(t, s, `SELECT count(*) FROM goose_db_version WHERE version_id > 0`)
	versions := number(t, s, `SELECT count(DISTINCT version_id) FROM goose_db_version WHERE version_id > 0`)
	if rows != int64(len(steps)) || versions != rows {
		t.Errorf("%d migrations, but %d rows and %d versions", len(steps), rows, versions)
	}
}

func TestAFreshDatabaseIsMigrated(t *testing.T) {
	eachDatabase(t, func(t *testing.T, database string) {
		s := open(t, database)
		appliedOnce(t, s)
		before := schema(t, s)
		again := open(t, database)
		if diff := cmp.Diff(before, schema(t, again)); diff != "" {
			t.Errorf("opening again changed the schema:\n%s", diff)
		}
		for _, table := range []string{"users", "warranties", "access", "claims", "documents", "idempotency", "mails"} {
			if !strings.Contains(before, table) {
				t.Errorf("table %s is missing", table)
			}
		}
	})
}

func TestThreeMigrateAtOnce(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, fresh func(testing.TB) string) {
		for range 3 {
			database := fresh(t)
			children := make([]*child, 3)
			for i := range children {
				children[i] = startChild(t, "open", database)
			}
			for _, c := range children {
				c.release()
			}
			for i, c := range children {
				if err := c.Wait(); err != nil {
					t.Errorf("process %d: %v: %s", i, err, &c.stderr)
				}
			}
			appliedOnce(t, open(t, database))
		}
	})
}

// TestOpeningWaitsForAnotherProcess: SQLite does not wait for a writer when it switches a file to
// WAL, but Open does.
func TestOpeningWaitsForAnotherProcess(t *testing.T) {
	path := newFile(t)
	writer, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	for _, statement := range []string{`CREATE TABLE other (x)`, `BEGIN IMMEDIATE`} {
		if err := writer.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	opened := make(chan error, 1)
	go func() {
		s, err := Open(context.Background(), path)
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		t.Fatalf("Open did not wait: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	// Open reads the file now and then, and a commit does not wait for that.
	testenv.Wait(t, "the commit", func() bool { return writer.Exec(`COMMIT`) == nil })
	if err := testenv.Receive(t, "Open to finish after the commit", opened); err != nil {
		t.Error(err)
	}
}

// TestAKilledMigrationIsFinished kills a process at random points of its migration. On PostgreSQL
// the next process waits for the lease of the killed one, so the rounds run in parallel.
func TestAKilledMigrationIsFinished(t *testing.T) {
	t.Parallel()
	const rounds = 10
	eachKind(t, func(t *testing.T, fresh func(testing.TB) string) {
		start := time.Now()
		s := open(t, fresh(t))
		usual, want := time.Since(start), schema(t, s)
		var all sync.WaitGroup
		for range rounds {
			database := fresh(t)
			all.Go(func() {
				c := startChild(t, "open", database)
				c.release()
				time.Sleep(upTo(2 * usual)) // a random point of the migration
				c.kill()
				s, err := Open(context.Background(), database)
				if err != nil {
					t.Errorf("after the kill: %v", err)
					return
				}
				defer s.Close()
				if diff := cmp.Diff(want, schema(t, s)); diff != "" {
					t.Errorf("uninterrupted (-) and interrupted (+) migration:\n%s", diff)
				}
			})
		}
		all.Wait()
	})
}

// pretendNewer makes the schema newer than this binary.
func pretendNewer(t testing.TB, s *Store, oldest int) {
	t.Helper()
	if err := s.Write(context.Background(), func(tx *Tx) error {
		if err := tx.later(`DELETE FROM goose_db_version WHERE version_id = $1`, 9000); err != nil {
			return err
		}
		if err := tx.exactlyOne(`UPDATE schema_compatibility SET oldest = $1`, oldest); err != nil {
			return err
		}
		return tx.later(`INSERT INTO goose_db_version (version_id, is_applied) VALUES ($1, /*pg: true *//*sqlite: 1 */)`, 9000)
	}); err != nil {
		t.Fatal(err)
	}
}

func TestAnOlderBinaryRefusesANewerSchema(t *testing.T) {
	eachDatabase(t, func(t *testing.T, database string) {
		pretendNewer(t, open(t, database), 8999)
		newer, err := Open(context.Background(), database)
		if err == nil {
			newer.Close()
			t.Fatal("an older binary opened a newer schema")
		}
		for _, word := range []string{"newer version of svcd", "schema 9000", "schema 8999"} {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("error does not contain %q: %v", word, err)
			}
		}
	})
}

// TestAnOlderBinaryStartsOnACompatibleSchema // D9: an old replica that restarts during a rolling
// upgrade, after a new one has migrated, starts.
func TestAnOlderBinaryStartsOnACompatibleSchema(t *testing.T) {
	eachDatabase(t, func(t *testing.T, database string) {
		s := open(t, database)
		pretendNewer(t, s, int(number(t, s, `SELECT oldest FROM schema_compatibility`)))
		before := schema(t, s)
		old := open(t, database)
		if err := old.Write(context.Background(), func(tx *Tx) error { return tx.InsertMail(Mail{ID: newID()}) }); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(before, schema(t, old)); diff != "" {
			t.Errorf("the older binary changed the schema:\n%s", diff)
		}
	})
}

func TestMigrationsGoDownAgain(t *testing.T) {
	eachDatabase(t, func(t *testing.T, database string) {
		s := open(t, database)
		before := schema(t, s)
		kind, d := goose.DialectSQLite3, sqliteDialect()
		var db *sql.DB
		if e, ok := s.engine.(*postgresEngine); ok {
			kind, d, db = goose.DialectPostgres, e.dialect, stdlib.OpenDBFromPool(e.pool)
		} else {
			var err error
			if db, err = driver.Open(sqliteFile{path: database}.uri()); err != nil {
				t.Fatal(err)
			}
		}
		defer db.Close()
		files, err := migrationFS(d)
		if err != nil {
			t.Fatal(err)
		}
		provider, err := goose.NewProvider(kind, db, files, goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := provider.DownTo(context.Background(), 0); err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(schema(t, s), "\n") {
			if !strings.Contains(line, "goose") && !strings.Contains(line, "sqlite_") && line != "applied 0" {
				t.Errorf("left behind: %s", line)
			}
		}
		if _, err := provider.Up(context.Background()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, schema(t, s)); diff != "" {
			t.Errorf("down and up changed the schema:\n%s", diff)
		}
	})
}

func Example_translation() {
	const text = `SELECT $2, $1 /*pg: FOR UPDATE *//*sqlite: LIMIT 1 */`
	fmt.Println(strings.TrimSpace(postgresDialect().sql(text)))
	fmt.Println(strings.TrimSpace(sqliteDialect().sql(text)))
	// Output:
	// SELECT $2, $1  FOR UPDATE
	// SELECT ?2, ?1  LIMIT 1
}
