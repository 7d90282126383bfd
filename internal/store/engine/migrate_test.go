package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"sort"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver of database/sql
	"github.com/ncruces/go-sqlite3"

	"warranty.example/svc/internal/testenv"
)

// schema describes all tables, columns, indexes and applied migrations, one per line.
func schema(t testing.TB, db *DB) string {
	t.Helper()
	questions := []string{`SELECT coalesce(sql, name) FROM sqlite_master`}
	if _, ok := db.backend.(*postgresBackend); ok {
		questions = []string{
			`SELECT concat_ws(' ', table_name, ordinal_position, column_name, data_type, is_nullable, collation_name,
				column_default) FROM information_schema.columns WHERE table_schema = current_schema()`,
			`SELECT replace(indexdef, current_schema() || '.', '') FROM pg_indexes WHERE schemaname = current_schema()`,
		}
	}
	lines := []string{}
	for _, question := range append(questions, `SELECT concat('applied ', version) FROM schema_versions`) {
		err := db.Query(context.Background(), question, func(r *Row) error {
			lines = append(lines, strings.Join(strings.Fields(r.Text()), " "))
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
func appliedOnce(t testing.TB, db *DB) {
	t.Helper()
	steps, err := fs.ReadDir(config.Migrations, ".")
	if err != nil {
		t.Fatal(err)
	}
	if rows := number(t, db, `SELECT count(*) FROM schema_versions`); rows != int64(len(steps)) {
		t.Errorf("%d migrations, but %d versions", len(steps), rows)
	}
}

func TestAFreshDatabaseIsMigrated(t *testing.T) {
	eachDatabase(t, func(t *testing.T, database string) {
		db := open(t, database)
		appliedOnce(t, db)
		before := schema(t, db)
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

// TestAMigrationWaitsForALongOne holds the lock of SQLite longer than SQLite waits for it.
func TestAMigrationWaitsForALongOne(t *testing.T) {
	t.Parallel()
	database := newFile(t)
	other, err := sqlite3.Open("file:" + database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	if err := other.Exec(`PRAGMA journal_mode = WAL; BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	c := startChild(t, "open", database)
	c.release()
	time.Sleep(busyTimeout + time.Second)
	if err := other.Exec(`ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("%v: %s", err, &c.stderr)
	}
	appliedOnce(t, open(t, database))
}

func TestThreeMigrateAtOnce(t *testing.T) {
	eachKind(t, func(t *testing.T, fresh func(testing.TB) string) {
		for range testenv.Times(1, 3) {
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
	for _, statement := range []string{`CREATE TABLE schema_versions (version BIGINT NOT NULL PRIMARY KEY)`, `BEGIN IMMEDIATE`} {
		if err := writer.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	opened := make(chan error, 1)
	go func() {
		db, err := Open(context.Background(), path, config)
		if err == nil {
			err = db.Close()
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

// TestAMigrationHoldsUpNobody: a migration that needs a table which a long transaction reads does not make other
// readers wait until that transaction ends, and is done after it.
func TestAMigrationHoldsUpNobody(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"00001_a.sql": {Data: []byte("CREATE TABLE shelf (a INTEGER);\n" +
		"CREATE TABLE " + ownTable + " (a INTEGER);\n")}}
	database := testenv.Postgres(t)
	db, err := Open(background, database, Config{Migrations: files})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	long, err := sql.Open("pgx", database)
	if err != nil {
		t.Fatal(err)
	}
	defer long.Close()
	reading, err := long.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reading.Exec(`LOCK TABLE shelf IN ACCESS SHARE MODE`); err != nil {
		t.Fatal(err)
	}
	newer := fstest.MapFS{"00001_a.sql": files["00001_a.sql"],
		"00002_b.sql": {Data: []byte("ALTER TABLE shelf ADD COLUMN b INTEGER;\n")}}
	migrated := make(chan error, 1)
	go func() {
		db, err := Open(background, database, Config{Migrations: newer})
		if err == nil {
			err = db.Close()
		}
		migrated <- err
	}()
	testenv.Wait(t, "the migration to wait for the table", func() bool {
		return number(t, db, `SELECT count(*) FROM pg_locks WHERE relation = 'shelf'::regclass AND NOT granted`) == 1
	})
	limited, cancel := context.WithTimeout(background, testenv.Patience)
	defer cancel()
	if _, err := long.ExecContext(limited, `SELECT a FROM shelf`); err != nil {
		t.Fatalf("another reader, while the first one goes on: %v", err)
	}
	if err := reading.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := testenv.Receive(t, "the migration", migrated); err != nil {
		t.Fatal(err)
	}
	if _, err := long.Exec(`SELECT b FROM shelf`); err != nil {
		t.Error(err)
	}
}

// TestAKilledMigrationIsFinished kills a process at random points of its migration. The rounds
// run in parallel.
func TestAKilledMigrationIsFinished(t *testing.T) {
	rounds := testenv.Times(3, 10)
	eachKind(t, func(t *testing.T, fresh func(testing.TB) string) {
		start := time.Now()
		db := open(t, fresh(t))
		usual, want := time.Since(start), schema(t, db)
		var all sync.WaitGroup
		for range rounds {
			database := fresh(t)
			all.Go(func() {
				c := startChild(t, "open", database)
				c.release()
				time.Sleep(upTo(2 * usual)) // a random point of the migration
				c.kill()
				db, err := Open(context.Background(), database, config)
				if err != nil {
					t.Errorf("after the kill: %v", err)
					return
				}
				defer db.Close()
				if diff := cmp.Diff(want, schema(t, db)); diff != "" {
					t.Errorf("uninterrupted (-) and interrupted (+) migration:\n%s", diff)
				}
			})
		}
		all.Wait()
	})
}

// pretendNewer makes the schema newer than this binary.
func pretendNewer(t testing.TB, db *DB, oldest int) {
	t.Helper()
	if err := db.Write(context.Background(), func(tx Tx) error {
		if err := tx.Later(background, `DELETE FROM schema_versions WHERE version = $1`, 9000); err != nil {
			return err
		}
		if err := tx.Expect(background, errNoRow, `UPDATE schema_compatibility SET oldest = $1`, oldest); err != nil {
			return err
		}
		return tx.Later(background, `INSERT INTO schema_versions (version) VALUES ($1)`, 9000)
	}); err != nil {
		t.Fatal(err)
	}
}

func TestAnOlderBinaryRefusesANewerSchema(t *testing.T) {
	eachDatabase(t, func(t *testing.T, database string) {
		pretendNewer(t, open(t, database), 8999)
		newer, err := Open(context.Background(), database, config)
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
		db := open(t, database)
		pretendNewer(t, db, int(number(t, db, `SELECT oldest FROM schema_compatibility`)))
		before := schema(t, db)
		old := open(t, database)
		if err := old.Write(background, func(tx Tx) error { return tx.Later(background, `DELETE FROM mails`) }); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(before, schema(t, old)); diff != "" {
			t.Errorf("the older binary changed the schema:\n%s", diff)
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

// TestAnotherProgramsDatabaseIsRefused opens databases with tables that svcd did not make, and finds them
// unchanged afterwards.
func TestAnotherProgramsDatabaseIsRefused(t *testing.T) {
	eachKind(t, func(t *testing.T, newDatabase func(testing.TB) string) {
		database := newDatabase(t)
		other, err := Open(context.Background(), database, Config{Encode: config.Encode})
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		exec := func(sql string) {
			t.Helper()
			err := other.Write(context.Background(), func(tx Tx) error { return tx.Later(context.Background(), sql) })
			if err != nil {
				t.Fatal(err)
			}
		}
		exec(`CREATE TABLE things (k BIGINT)`)
		count := `/*sqlite: SELECT count(*) FROM sqlite_master *//*pg: SELECT count(*) FROM pg_class
			WHERE relnamespace = to_regnamespace(current_schema()) */`
		before := number(t, other, count)
		if _, err := Open(context.Background(), database, config); !errors.Is(err, errForeign) {
			t.Errorf("opened with the error %v", err)
		}
		if after := number(t, other, count); after != before {
			t.Errorf("%d tables and indexes, then %d", before, after)
		}
		exec(`DROP TABLE things`)
		db, err := Open(context.Background(), database, config)
		if err != nil {
			t.Fatalf("the empty database: %v", err)
		}
		db.Close()
	})
}

// TestADeadlockedMigrationIsRetried: a migration locks two tables, while a transaction of another replica uses them in
// the other order. PostgreSQL ends either; the migration is tried again.
func TestADeadlockedMigrationIsRetried(t *testing.T) {
	t.Parallel()
	database := testenv.Postgres(t)
	db := open(t, database)
	more := fstest.MapFS{"09001_more.sql": &fstest.MapFile{Data: []byte(
		"ALTER TABLE mails ADD COLUMN more TEXT;\nALTER TABLE devices ADD COLUMN more TEXT;\n")}}
	names, err := fs.Glob(config.Migrations, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(config.Migrations, name)
		if err != nil {
			t.Fatal(err)
		}
		more[name] = &fstest.MapFile{Data: text}
	}
	other, err := sql.Open("pgx", database)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	tx, err := other.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(`SELECT 1 FROM devices`); err != nil {
		t.Fatal(err)
	}
	migrated := make(chan error, 1)
	go func() {
		newer, err := Open(background, database, Config{Migrations: more})
		if err == nil {
			err = newer.Close()
		}
		migrated <- err
	}()
	testenv.Wait(t, "the migration waits", func() bool {
		return number(t, db, `SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'devices'::regclass`) > 0
	})
	if _, err := tx.Exec(`SELECT 1 FROM mails`); err == nil {
		err = tx.Commit()
		if err != nil {
			t.Error(err)
		}
	} else if rollback := tx.Rollback(); sqlState(err) != "40P01" || rollback != nil {
		t.Error(err, rollback)
	}
	if err := testenv.Receive(t, "the migration ends", migrated); err != nil {
		t.Fatal(err)
	}
	if n := number(t, db, `SELECT count(more) FROM devices`) + number(t, db, `SELECT count(more) FROM mails`); n != 0 {
		t.Error(n)
	}
}
