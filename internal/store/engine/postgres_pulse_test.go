package engine

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"time"

	"warranty.example/svc/internal/testenv"
)

// soonAll runs do n times concurrently and fails unless all calls return. The calls have no
// deadline: without the pulse they would block forever.
func soonAll(t *testing.T, n int, what string, do func(i int)) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		together(n, do)
	}()
	testenv.Receive(t, what, done)
}

// TestAFrozenServerIsGivenUp // D7: calls to a PostgreSQL server that accepts everything and never
// responds fail, later calls fail immediately, and calls work again when the server does.
func TestAFrozenServerIsGivenUp(t *testing.T) {
	t.Parallel()
	p, database := newProxy(t)
	db := open(t, database)
	withScratch(t, db)
	ctx := context.Background()
	together(8, func(int) { _ = read(ctx, db) }) // open connections
	p.Freeze()
	began := time.Now()
	calls := []func(i int) error{
		func(int) error { return db.Ping(ctx) },
		func(int) error { return read(ctx, db) },
		func(i int) error { return db.Write(ctx, put(i, "x")) },
	}
	soonAll(t, 24, "calls to a frozen server", func(i int) {
		if err := calls[i%3](i); !isUnavailable(err) {
			t.Errorf("call %d to a frozen server: %v", i, err)
		}
	})
	t.Logf("failed after %v", time.Since(began).Round(10*time.Millisecond))
	soonAll(t, 24, "calls to a server known to be frozen", func(i int) {
		if err := calls[i%3](i); !errors.Is(err, errNotResponding) || !isUnavailable(err) {
			t.Errorf("call %d to a server known to be frozen: %v", i, err)
		}
	})
	p.Release()
	p.Drop()
	back := time.Now()
	testenv.Wait(t, "the server to work again", func() bool { return db.Write(ctx, put(1000, "x")) == nil })
	t.Logf("works again after %v", time.Since(back).Round(10*time.Millisecond))
}

// TestASlowStatementIsNotGivenUp // D7: a slow statement is not mistaken for a frozen server.
func TestASlowStatementIsNotGivenUp(t *testing.T) {
	t.Parallel()
	db := open(t, testenv.Postgres(t))
	if err := db.Query(context.Background(), `SELECT pg_sleep(6)`, func(*Row) error { return nil }); err != nil {
		t.Error(err)
	}
}

// TestAnotherHostTakesOver // D7: if the first of several hosts in the address is frozen or down,
// the next one is used.
func TestAnotherHostTakesOver(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*testenv.Proxy){
		"frozen": (*testenv.Proxy).Freeze,
		"gone":   (*testenv.Proxy).Cut,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, database := newProxy(t)
			u, err := url.Parse(database)
			if err != nil {
				t.Fatal(err)
			}
			u.Host += "," + first.Target
			db := withScratch(t, open(t, u.String()))
			fail(first)
			began, k := time.Now(), 0
			testenv.Wait(t, "the second host", func() bool { k++; return db.Write(context.Background(), put(k, "x")) == nil })
			t.Logf("switched to the second host after %v", time.Since(began).Round(10*time.Millisecond))
		})
	}
}

// TestTheServerEndsWhatIsLeftOpen // D2: connections have server timeouts, also behind PgBouncer,
// unless the address sets others.
func TestTheServerEndsWhatIsLeftOpen(t *testing.T) {
	t.Parallel()
	database := testenv.Postgres(t)
	setting := func(address, name string) (value string) {
		db := open(t, address)
		if err := db.Write(context.Background(), func(tx Tx) error {
			return queryRow(tx, `SELECT current_setting($1)`, func(r *Row) { value = r.Text() }, name)
		}); err != nil {
			t.Fatal(err)
		}
		return value
	}
	for _, c := range []struct{ more, name, want string }{
		{"", "idle_in_transaction_session_timeout", "10s"},
		{"", "lock_timeout", "10s"},
		{"", "statement_timeout", "1min"},
		{"&default_query_exec_mode=cache_describe", "idle_in_transaction_session_timeout", "10s"},
		{"&default_query_exec_mode=cache_describe", "lock_timeout", "10s"},
		{"&idle_in_transaction_session_timeout=0", "idle_in_transaction_session_timeout", "0"},
		{"&lock_timeout=1234", "lock_timeout", "1234ms"},
	} {
		if got := setting(database+c.more, c.name); got != c.want {
			t.Errorf("%s with %q is %q, want %q", c.name, c.more, got, c.want)
		}
	}
}

// TestATransactionThatIsIdleIsUndone // D2: the server ends an idle transaction, and the
// transaction is retried.
func TestATransactionThatIsIdleIsUndone(t *testing.T) {
	t.Parallel()
	db := withScratch(t, open(t, testenv.Postgres(t)))
	runs := 0
	err := db.Write(context.Background(), func(tx Tx) error {
		runs++
		if _, err := tx.Exec(background, `INSERT INTO scratch (k, v) VALUES ($1, $2)`, 1, "x"); err != nil {
			return err
		}
		if runs > 1 {
			return nil
		}
		if _, err := tx.Exec(background, `SELECT set_config('idle_in_transaction_session_timeout', '50', true)`); err != nil {
			return err
		}
		pid := int64(0)
		if err := queryRow(tx, `SELECT pg_backend_pid()`, func(r *Row) { pid = r.Int() }); err != nil {
			return err
		}
		testenv.Wait(t, "the server to end the transaction", func() bool {
			return number(t, db, `SELECT count(*) FROM pg_stat_activity WHERE pid = $1`, pid) == 0
		})
		_, err := tx.Exec(background, `UPDATE scratch SET v = 'y'`)
		return err
	})
	if rows := values(t, db); err != nil || runs != 2 || rows[1] != "x" {
		t.Errorf("rows after %d runs: %v, %v", runs, rows, err)
	}
}

// TestAFullDiskOfTheServerIsTold // C7: writes fail and reads work.
func TestAFullDiskOfTheServerIsTold(t *testing.T) {
	db := open(t, testenv.Postgres(t))
	if db.WritesFail() {
		t.Error("WritesFail before the first write")
	}
	err := db.Write(context.Background(), func(tx Tx) error {
		_, err := tx.Exec(background, `DO $do$ BEGIN RAISE EXCEPTION 'no space' USING ERRCODE = '53100'; END $do$`)
		return err
	})
	if !isUnavailable(err) || !db.WritesFail() {
		t.Errorf("WritesFail is %v after %v", db.WritesFail(), err)
	}
	if err := db.Ping(context.Background()); err != nil {
		t.Error(err)
	}
}
