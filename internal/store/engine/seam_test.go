package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// TestPlaceholdersBindByNumber: SQLite numbers $n parameters by first appearance, so "$2, $1" could
// silently bind in the wrong order.
func TestPlaceholdersBindByNumber(t *testing.T) {
	each(t, func(t *testing.T, db *DB) {
		withScratch(t, db)
		ctx := context.Background()
		if err := db.Write(ctx, func(tx Tx) error {
			if err := tx.Later(background, `INSERT INTO scratch (v, k) VALUES ($2, $1)`, 1, "one"); err != nil {
				return err
			}
			n, err := tx.Exec(background, `UPDATE scratch SET v = $3 WHERE v = $2 AND k = $1`, 1, "one", "eins")
			if err == nil && n != 1 {
				err = fmt.Errorf("%d rows changed", n)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		err := db.Query(ctx, `SELECT v, k FROM scratch
			WHERE v = $2 AND k = $1 AND k < $10 AND k + $9 = $3 AND $4 = $5 AND $6 = $7 AND $8 <> ''`, func(r *Row) error {
			if v, k := r.Text(), r.Int(); v != "eins" || k != 1 {
				t.Errorf("read %s, %d", v, k)
			}
			return errFound
		}, 1, "eins", 3, "a", "a", "b", "b", "c", 2, 10)
		if !errors.Is(err, errFound) {
			t.Errorf("no row found: %v", err)
		}
	})
}

var errFound = errors.New("found")

// TestValuesComeBackAsTheyWent stores values that databases treat differently.
func TestValuesComeBackAsTheyWent(t *testing.T) {
	text := func(v string) *string { return &v }
	values := []struct {
		name string
		v    *string
		b    []byte
		u    *warranty.ID
	}{
		{name: "nothing"},
		{name: "empty", v: text(""), b: []byte{}, u: &warranty.ID{}},
		{name: "zero bytes", v: text("a"), b: []byte{0, 1, 0, 0xFF, 0}, u: &warranty.ID{15: 1}},
		{name: "only a zero byte", v: text(" "), b: []byte{0}, u: &warranty.ID{0: 0xFF}},
		{name: "quotes", v: text(`'"\%_;--$1?1`), b: []byte(`'"\`)},
		{name: "unicode", v: text("ſß Ünïcødé \u0301 日本語 🧰 İı K"), b: []byte("日本語")},
		{name: "line breaks", v: text("a\r\n\tb\n"), b: []byte("\n")},
		{name: "long", v: text(strings.Repeat("é", 100_000)), b: bytes.Repeat([]byte{0, 1}, 100_000)},
	}
	each(t, func(t *testing.T, db *DB) {
		withScratch(t, db)
		for i, want := range values {
			if err := db.Write(context.Background(), func(tx Tx) error {
				var b any
				if want.b != nil {
					b = want.b
				}
				return tx.Later(background, `INSERT INTO scratch (k, v, b, u) VALUES ($1, $2, $3, $4)`, i, want.v, b, want.u)
			}); err != nil {
				t.Fatal(err)
			}
			err := queryRow(db, `SELECT v, b, u, k FROM scratch WHERE k = $1`, func(r *Row) {
				if got := r.OptionalText(); (got == nil) != (want.v == nil) || got != nil && *got != *want.v {
					t.Errorf("%s: text is read as %v", want.name, got)
				}
				if null, got := r.Null(), r.Bytes(); null != (want.b == nil) || !bytes.Equal(got, want.b) {
					t.Errorf("%s: bytes are read as %v, null %v", want.name, got, null)
				}
				if got := r.OptionalID(); (got == nil) != (want.u == nil) || got != nil && *got != *want.u {
					t.Errorf("%s: id is read as %v", want.name, got)
				}
				if got := r.Int(); got != int64(i) {
					t.Errorf("%s: key is read as %d", want.name, got)
				}
			}, i)
			if err != nil {
				t.Errorf("%s: %v", want.name, err)
			}
		}
	})
}

func TestNumbersComeBackAsTheyWent(t *testing.T) {
	each(t, func(t *testing.T, db *DB) {
		if err := db.Write(context.Background(), func(tx Tx) error {
			return tx.Later(background, `CREATE TABLE numbers (small SMALLINT, middle INTEGER, big BIGINT)`)
		}); err != nil {
			t.Fatal(err)
		}
		for _, want := range [][3]int64{
			{0, 0, 0}, {-1, -1, -1}, {32767, 1<<31 - 1, 1<<63 - 1}, {-32768, -1 << 31, -1 << 63},
		} {
			err := db.Write(context.Background(), func(tx Tx) error {
				return queryRow(tx, `INSERT INTO numbers (small, middle, big) VALUES ($1, $2, $3)
					RETURNING small, middle, big`, func(r *Row) {
					if got := [3]int64{r.Int(), r.Int(), r.Int()}; got != want {
						t.Errorf("%v is read as %v", want, got)
					}
				}, want[0], want[1], want[2])
			})
			if err != nil {
				t.Error(err)
			}
		}
	})
}

func TestDuplicatesAreRecognised(t *testing.T) {
	each(t, func(t *testing.T, db *DB) {
		ctx := context.Background()
		withScratch(t, db)
		if err := db.Write(ctx, put(1, "a")); err != nil {
			t.Fatal(err)
		}
		if err := db.Write(ctx, put(1, "b")); !db.IsDuplicate(err) {
			t.Errorf("duplicate key: %v", err)
		}
		err := db.Write(ctx, func(tx Tx) error {
			_, err := tx.Exec(ctx, `INSERT INTO scratch (k) VALUES ($1)`, 1)
			return err
		})
		if !db.IsDuplicate(err) {
			t.Errorf("duplicate key with Exec: %v", err)
		}
		err = db.Write(ctx, func(tx Tx) error { return tx.Later(ctx, `CREATE UNIQUE INDEX scratch_v ON scratch (v)`) })
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Write(ctx, put(2, "a")); !db.IsDuplicate(err) {
			t.Errorf("duplicate in a unique index: %v", err)
		}
		err = db.Write(ctx, func(tx Tx) error { return tx.Later(ctx, `INSERT INTO scratch (k) VALUES ($1)`, nil) })
		if err == nil || db.IsDuplicate(err) {
			t.Errorf("null key: %v", err)
		}
		if db.IsDuplicate(nil) || db.IsDuplicate(warranty.ErrNotFound) {
			t.Error("nil and ErrNotFound are not duplicates")
		}
	})
}

func TestAFailedWriteLeavesNothing(t *testing.T) {
	boom := errors.New("boom")
	each(t, func(t *testing.T, db *DB) {
		ctx := context.Background()
		withScratch(t, db)
		fails := map[string]func(tx Tx) error{
			"an error at the end": func(Tx) error { return boom },
			"a panic":             func(Tx) error { panic(boom) },
			"a bad statement":     func(tx Tx) error { return tx.Later(background, `INSERT INTO nowhere (k) VALUES ($1)`, 1) },
			"a duplicate":         put(1, "again"),
			"a missing row": func(tx Tx) error {
				return tx.Expect(background, errNoRow, `UPDATE scratch SET v = $1 WHERE k = $2`, "x", 77)
			},
			"a canceled caller": func(tx Tx) error { return context.Canceled },
		}
		for name, fail := range fails {
			err := db.Write(ctx, func(tx Tx) error {
				if err := put(1, "one")(tx); err != nil {
					return err
				}
				if _, err := tx.Exec(background, `INSERT INTO scratch (k, v) VALUES ($1, $2)`, 2, "two"); err != nil {
					return err
				}
				if err := put(3, "three")(tx); err != nil {
					return err
				}
				return fail(tx)
			})
			if err == nil {
				t.Errorf("%s: no error", name)
			}
			if rows := values(t, db); len(rows) > 0 {
				t.Errorf("%s: left %v", name, rows)
			}
		}
		// The store still works.
		if err := db.Write(ctx, put(1, "one")); err != nil {
			t.Error(err)
		}
		if err := db.Ping(ctx); err != nil {
			t.Error(err)
		}
	})
}

// TestAUnitFailsAlone: on SQLite, transactions share a commit. One that fails must neither affect
// the others nor leave anything behind.
func TestAUnitFailsAlone(t *testing.T) {
	const units = 64
	boom := errors.New("boom")
	each(t, func(t *testing.T, db *DB) {
		withScratch(t, db)
		for round := range 5 {
			base := 1000 * round
			together(units, func(i int) {
				err := db.Write(context.Background(), func(tx Tx) error {
					if err := put(base+2*i, "first")(tx); err != nil {
						return err
					}
					if err := put(base+2*i+1, "second")(tx); err != nil {
						return err
					}
					switch i % 9 {
					case 0:
						return boom
					case 3:
						panic(boom)
					case 6:
						return tx.Later(background, `INSERT INTO scratch (k) VALUES ($1)`, base+2*i) // duplicate of its own row
					}
					return nil
				})
				if (err != nil) != (i%3 == 0) {
					t.Errorf("unit %d: %v", i, err)
				}
			})
			rows := values(t, db)
			for i := range units {
				_, first := rows[int64(base+2*i)]
				_, second := rows[int64(base+2*i+1)]
				if want := i%3 != 0; first != want || second != want {
					t.Errorf("unit %d: rows exist: %v, %v; want %v", i, first, second, want)
				}
			}
		}
	})
}

// TestReadsSeeWhatWasAcknowledged: acknowledged writes are visible to reads.
func TestReadsSeeWhatWasAcknowledged(t *testing.T) {
	each(t, func(t *testing.T, db *DB) {
		withScratch(t, db)
		together(16, func(i int) {
			for n := range 20 {
				k := i*1000 + n
				if err := db.Write(context.Background(), put(k, "x")); err != nil {
					t.Error(err)
					return
				}
				found := false
				err := db.Query(context.Background(), `SELECT 1 FROM scratch WHERE k = $1`,
					func(*Row) error { found = true; return nil }, k)
				if err != nil || !found {
					t.Errorf("%d is missing: %v", k, err)
				}
			}
		})
	})
}

// TestReadsDoNotSeeWhatIsUnderWay: uncommitted writes are not visible to others.
func TestReadsDoNotSeeWhatIsUnderWay(t *testing.T) {
	each(t, func(t *testing.T, db *DB) {
		withScratch(t, db)
		err := db.Write(context.Background(), func(tx Tx) error {
			if _, err := tx.Exec(background, `INSERT INTO scratch (k) VALUES ($1)`, 1); err != nil {
				return err
			}
			if rows := values(t, db); len(rows) != 0 {
				t.Errorf("read %v before it was committed", rows)
			}
			return queryRow(tx, `SELECT 1 FROM scratch WHERE k = $1`, func(*Row) {}, 1) // the transaction sees its own writes
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestACancelledCallerWritesNothing(t *testing.T) {
	each(t, func(t *testing.T, db *DB) {
		withScratch(t, db)
		cancelled, cancel := context.WithCancel(context.Background())
		cancel()
		if err := db.Write(cancelled, put(1, "x")); !errors.Is(err, context.Canceled) {
			t.Errorf("write with a canceled context: %v", err)
		}
		if err := db.Query(cancelled, `SELECT 1`, func(*Row) error { return nil }); err == nil {
			t.Error("read with a canceled context succeeded")
		}
		if rows := values(t, db); len(rows) != 0 {
			t.Errorf("wrote %v", rows)
		}
	})
}

// TestACallerMayGoWhileWaiting occupies every connection or the writer and cancels a write that
// waits for them.
func TestACallerMayGoWhileWaiting(t *testing.T) {
	each(t, func(t *testing.T, db *DB) {
		withScratch(t, db)
		ctx := context.Background()
		release, holders := make(chan struct{}), 0
		done := make(chan error)
		hold := func() {
			entered := make(chan struct{})
			holders++
			go func() {
				done <- db.Write(ctx, func(tx Tx) error {
					if _, err := tx.Exec(background, `UPDATE scratch SET k = 0 WHERE k < 0`); err != nil {
						return err
					}
					close(entered)
					<-release
					return nil
				})
			}()
			testenv.Receive(t, "a transaction to hold its connection", entered)
		}
		hold()
		if e, ok := db.backend.(*postgresBackend); ok {
			for int32(holders) < e.pool.Config().MaxConns {
				hold()
			}
		}
		waiting, giveUp := context.WithCancel(ctx)
		refused := make(chan error)
		var ran atomic.Bool
		go func() {
			refused <- db.Write(waiting, func(tx Tx) error { ran.Store(true); return put(1, "x")(tx) })
		}()
		giveUp()
		if err := testenv.Receive(t, "the canceled write to return", refused); !errors.Is(err, context.Canceled) {
			t.Errorf("canceled write: %v", err)
		}
		close(release)
		for range holders {
			if err := testenv.Receive(t, "the other writes to return", done); err != nil {
				t.Errorf("other write: %v", err)
			}
		}
		if rows := values(t, db); len(rows) != 0 || ran.Load() {
			t.Errorf("the canceled write wrote %v", rows)
		}
	})
}

// TestCloseLosesNothing closes the store under load: each write is acknowledged and stored, or
// Unavailable and not stored.
func TestCloseLosesNothing(t *testing.T) {
	eachDatabase(t, func(t *testing.T, database string) {
		for round := range 5 {
			db, err := Open(context.Background(), database, config)
			if err != nil {
				t.Fatal(err)
			}
			if round == 0 {
				withScratch(t, db)
			}
			var acknowledged atomic.Int64
			base := 100_000 * round
			enough := make(chan struct{})
			closed := make(chan error)
			go func() {
				<-enough
				closed <- db.Close()
			}()
			fate := make([][]bool, 16)
			together(len(fate), func(i int) {
				for n := 0; ; n++ {
					err := db.Write(context.Background(), put(base+1000*i+n, "x"))
					fate[i] = append(fate[i], err == nil)
					if err != nil {
						if !isUnavailable(err) {
							t.Errorf("while closing: %v", err)
						}
						return
					}
					if acknowledged.Add(1) == 100 {
						close(enough)
					}
				}
			})
			if err := testenv.Receive(t, "the store to close", closed); err != nil {
				t.Errorf("close: %v", err)
			}
			if err := db.Close(); err != nil {
				t.Errorf("close again: %v", err)
			}
			soon, cancel := context.WithTimeout(context.Background(), testenv.Patience)
			if err := db.Query(soon, `SELECT 1`, func(*Row) error { return nil }); !isUnavailable(err) {
				t.Errorf("read after close: %v", err)
			}
			if err := db.Ping(soon); !isUnavailable(err) {
				t.Errorf("ping after close: %v", err)
			}
			cancel()
			rows := values(t, open(t, database))
			for i := range fate {
				for n, was := range fate[i] {
					if _, is := rows[int64(base+1000*i+n)]; is != was {
						t.Errorf("write %d of %d: acknowledged %v, stored %v", n, i, was, is)
					}
				}
			}
		}
	})
}

// TestReadSeesOneMoment changes the database between the queries of one read: they all see it as it
// was at the first. The connection is usable afterwards, also after an error.
func TestReadSeesOneMoment(t *testing.T) {
	each(t, func(t *testing.T, db *DB) {
		withScratch(t, db)
		count := func(q Querier) (n int64) {
			if err := q.Query(background, `SELECT count(*) FROM scratch`, func(r *Row) error {
				n = r.Int()
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			return n
		}
		for round := range int64(20) {
			failure := errors.New("failed")
			err := db.Read(background, func(q Querier) error {
				if n := count(q); n != round {
					t.Errorf("%d rows, want %d", n, round)
				}
				if err := db.Write(background, func(tx Tx) error {
					return tx.Later(background, `INSERT INTO scratch (k, v) VALUES ($1, 'x')`, round)
				}); err != nil {
					t.Fatal(err)
				}
				if n := count(q); n != round {
					t.Errorf("%d rows in the same read, want %d", n, round)
				}
				return failure
			})
			if !errors.Is(err, failure) {
				t.Errorf("the error is %v", err)
			}
			if n := count(db); n != round+1 {
				t.Errorf("%d rows after the read, want %d", n, round+1)
			}
		}
		canceled, cancel := context.WithCancel(background)
		cancel()
		if err := db.Read(canceled, func(q Querier) error {
			return q.Query(canceled, `SELECT 1`, func(*Row) error { return nil })
		}); err == nil {
			t.Error("a canceled read succeeded")
		}
		if n := count(db); n != 20 {
			t.Errorf("%d rows in the end", n)
		}
	})
}
