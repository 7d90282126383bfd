package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"warranty.example/svc/internal/testenv"
)

// newProxy returns a proxy to an empty PostgreSQL database and the address to use.
func newProxy(t *testing.T, settings ...string) (*testenv.Proxy, string) {
	t.Helper()
	return testenv.NewProxy(t, testenv.Postgres(t), settings...)
}

// tally creates a table that accepts duplicate rows.
func tally(t testing.TB, db *DB) {
	t.Helper()
	if err := db.Write(background, func(tx Tx) error {
		return tx.Later(background, `CREATE TABLE tally (k BIGINT NOT NULL)`)
	}); err != nil {
		t.Fatal(err)
	}
}

func count(t testing.TB, db *DB, k int) int64 {
	t.Helper()
	return number(t, db, `SELECT count(*) FROM tally WHERE k = $1`, k)
}

func TestPostgresAwayIsAnOutage(t *testing.T) {
	t.Parallel()
	p, database := newProxy(t)
	db := open(t, database)
	withScratch(t, db)
	ctx := context.Background()
	reads := map[string]func() error{
		"ping":   func() error { return db.Ping(ctx) },
		"a read": func() error { return read(ctx, db) },
	}
	k := 0
	write := func() error { k++; return db.Write(ctx, put(k, "x")) }
	all := func(check func(what string, err error)) {
		for what, read := range reads {
			check(what, read())
		}
		check("a write", write())
	}
	for round := range 3 {
		together(16, func(int) { _ = reads["a read"]() }) // open many connections
		p.Cut()
		all(func(what string, err error) {
			if !isUnavailable(err) {
				t.Errorf("round %d, while PostgreSQL is down, %s: %v", round, what, err)
			}
		})
		p.Restore()
		testenv.Wait(t, "the store to recover", func() bool { return db.Ping(ctx) == nil && write() == nil })
		all(func(what string, err error) {
			if err != nil && !isUnavailable(err) { // some pooled connections are still dead
				t.Errorf("round %d, after PostgreSQL came back, %s: %v", round, what, err)
			}
		})
	}
}

// TestNothingIsDoubledOrLostInAnOutage drops connections under load. Acknowledged rows must exist
// once, rows of Unavailable writes at most once, and there must be no other errors.
func TestNothingIsDoubledOrLostInAnOutage(t *testing.T) {
	t.Parallel()
	p, database := newProxy(t)
	db := open(t, database)
	tally(t, db)
	stop, answered := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stop)
		for range 25 {
			for range rand.IntN(20) {
				<-answered
			}
			p.Drop()
		}
	}()
	var acknowledged, refused atomic.Int64
	var done sync.Map
	together(8, func(i int) {
		for n := 0; ; n++ {
			k := i*100_000 + n
			err := db.Write(context.Background(), func(tx Tx) error {
				// A read first, so that the transaction takes several round trips.
				if err := queryRow(tx, `SELECT count(*) FROM tally WHERE k = $1`, func(*Row) {}, k); err != nil {
					return err
				}
				return tx.Later(background, `INSERT INTO tally (k) VALUES ($1)`, k)
			})
			switch {
			case err == nil:
				acknowledged.Add(1)
			case isUnavailable(err):
				refused.Add(1)
			default:
				t.Errorf("%d: %v", k, err)
			}
			done.Store(int64(k), err == nil)
			select {
			case answered <- struct{}{}:
			case <-stop:
				return
			}
		}
	})
	rows := map[int64]int{}
	for tries := 0; ; tries++ {
		clear(rows)
		err := db.Query(context.Background(), `SELECT k, count(*) FROM tally GROUP BY k`, func(r *Row) error {
			rows[r.Int()] = int(r.Int())
			return nil
		})
		if err == nil {
			break
		}
		if tries == 20 {
			t.Fatal(err)
		}
	}
	done.Range(func(k, ok any) bool {
		if n := rows[k.(int64)]; n > 1 || ok.(bool) && n != 1 {
			t.Errorf("%d: acknowledged %v, %d rows", k, ok, n)
		}
		return true
	})
	if acknowledged.Load() < 20 {
		t.Errorf("only %d writes were acknowledged, too few to test anything", acknowledged.Load())
	}
	t.Logf("%d acknowledged, %d refused", acknowledged.Load(), refused.Load())
}

// TestAConnectionLostAmongRows: a query is not retried after its first rows, which would be
// testenv.Delivered twice.
func TestAConnectionLostAmongRows(t *testing.T) {
	p, database := newProxy(t)
	db := open(t, database)
	last := int64(0)
	err := db.Query(context.Background(), `SELECT i FROM generate_series(1::bigint, 3000000) i`, func(r *Row) error {
		if i := r.Int(); i != last+1 {
			t.Fatalf("%d came after %d", i, last)
		}
		if last++; last == 1 {
			p.Drop()
		}
		return nil
	})
	if !isUnavailable(err) {
		t.Errorf("after %d rows: %v", last, err)
	}
}

// TestAConnectionLostAtCommit: the outcome of a commit whose response is lost is unknown, so the
// transaction is not retried.
func TestAConnectionLostAtCommit(t *testing.T) {
	t.Parallel()
	p, database := newProxy(t, "pool_max_conns", "1")
	db := open(t, database)
	tally(t, db)
	unit := func(k int, atStart, atCommit testenv.Fate) error {
		runs := 0
		return db.Write(context.Background(), func(tx Tx) error {
			runs++
			if runs > 1 { // retries succeed
				atStart, atCommit = testenv.Delivered, testenv.Delivered
			}
			p.Arrange(atStart)
			_, err := tx.Exec(background, `INSERT INTO tally (k) VALUES ($1)`, k)
			p.Arrange(atCommit)
			return err
		})
	}
	if err := unit(0, testenv.Delivered, testenv.Delivered); err != nil { // prepares the statements
		t.Fatal(err)
	}
	k := 0
	for range 5 {
		for _, c := range []struct {
			name              string
			atStart, atCommit testenv.Fate
			unavailable       bool
			rows              int64
		}{
			{"before the commit arrives", testenv.Delivered, testenv.Swallowed, true, 0},
			{"after the commit arrives", testenv.Delivered, testenv.ResponseLost, true, 1},
			{"before anything arrives", testenv.Swallowed, testenv.Delivered, false, 1},
			{"before anything is committed", testenv.ResponseLost, testenv.Delivered, false, 1},
		} {
			k++
			err := unit(k, c.atStart, c.atCommit)
			if isUnavailable(err) != c.unavailable || err != nil && !c.unavailable {
				t.Errorf("lost %s: %v", c.name, err)
			}
			if err := unit(-k, testenv.Delivered, testenv.Delivered); err != nil { // prepares a new connection
				t.Fatal(err)
			}
			// A busy server may still be committing.
			testenv.Wait(t, fmt.Sprintf("%d rows when the response was lost %s", c.rows, c.name),
				func() bool { return count(t, db, k) == c.rows })
		}
	}
}

// TestDeadlocksAreTriedAgain has two transactions lock two rows in opposite order.
func TestDeadlocksAreTriedAgain(t *testing.T) {
	t.Parallel()
	_, database := newProxy(t, "deadlock_timeout", "50ms")
	db := withScratch(t, open(t, database))
	for _, k := range []int{1, 2} {
		if err := db.Write(context.Background(), put(k, "")); err != nil {
			t.Fatal(err)
		}
	}
	var runs atomic.Int64
	meet := meeting(2)
	together(2, func(i int) {
		met := false
		err := db.Write(context.Background(), func(tx Tx) error {
			runs.Add(1)
			if _, err := tx.Exec(background, `UPDATE scratch SET v = v || 'x' WHERE k = $1`, 1+i); err != nil {
				return err
			}
			if !met {
				met = true
				meet()
			}
			_, err := tx.Exec(background, `UPDATE scratch SET v = v || 'x' WHERE k = $1`, 2-i)
			return err
		})
		if err != nil {
			t.Errorf("transaction %d: %v", i, err)
		}
	})
	if rows := values(t, db); rows[1] != "xx" || rows[2] != "xx" {
		t.Errorf("the rows are %v", rows)
	}
	if runs.Load() < 3 { // a busy server may have more than one deadlock
		t.Errorf("two transactions ran %d times: there was no deadlock", runs.Load())
	}
}

// TestSerializationFailuresAreTriedAgain has two transactions read and then change one row, where
// PostgreSQL lets only one commit.
func TestSerializationFailuresAreTriedAgain(t *testing.T) {
	t.Parallel()
	db := withScratch(t, open(t, testenv.Postgres(t)))
	if err := db.Write(context.Background(), put(1, "")); err != nil {
		t.Fatal(err)
	}
	meet := meeting(2)
	var runs atomic.Int64
	together(2, func(i int) {
		met := false
		err := db.Write(context.Background(), func(tx Tx) error {
			runs.Add(1)
			if err := tx.Later(background, `SET TRANSACTION ISOLATION LEVEL SERIALIZABLE`); err != nil {
				return err
			}
			was := ""
			if err := queryRow(tx, `SELECT v FROM scratch WHERE k = 1`, func(r *Row) { was = r.Text() }); err != nil {
				return err
			}
			if !met {
				met = true
				meet()
			}
			return tx.Later(background, `UPDATE scratch SET v = $1 WHERE k = 1`, was+"x") // fails at the commit
		})
		if err != nil {
			t.Errorf("transaction %d: %v", i, err)
		}
	})
	if rows := values(t, db); rows[1] != "xx" || runs.Load() < 3 {
		t.Errorf("the row is %q after %d runs", rows[1], runs.Load())
	}
}

// meeting returns a function in which n goroutines wait for each other.
func meeting(n int) func() {
	var all sync.WaitGroup
	all.Add(n)
	return func() {
		all.Done()
		all.Wait()
	}
}

// TestAnEndlessConflictIsAnOutage: a transaction that always fails to serialize returns
// Unavailable, which callers may retry.
func TestAnEndlessConflictIsAnOutage(t *testing.T) {
	db := open(t, testenv.Postgres(t))
	runs := 0
	err := db.Write(context.Background(), func(tx Tx) error {
		runs++
		_, err := tx.Exec(background, `DO $do$ BEGIN RAISE EXCEPTION 'lost' USING ERRCODE = '40001'; END $do$`)
		return err
	})
	if !isUnavailable(err) || runs != writeTries {
		t.Errorf("after %d runs: %v", runs, err)
	}
	var refusal interface{ Unwrap() []error }
	if !errors.As(err, &refusal) || sqlState(err) != "40001" {
		t.Errorf("the error does not contain the cause: %v", err)
	}
}

// TestACreatedDatabaseHasStatistics: without them, questions about a large copy or restored backup take a minute.
func TestACreatedDatabaseHasStatistics(t *testing.T) {
	t.Parallel()
	database := testenv.Postgres(t)
	latest, err := config.LatestVersion()
	if err != nil {
		t.Fatal(err)
	}
	if err := Create(background, database, config, latest, "", func(*Loader) error { return nil }); err != nil {
		t.Fatal(err)
	}
	const never = `SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
		AND reltuples < 0 AND relname <> 'schema_versions'`
	if n := number(t, open(t, database), never); n != 0 {
		t.Errorf("%d tables were never analyzed", n)
	}
}
