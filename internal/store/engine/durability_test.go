package engine

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"warranty.example/svc/internal/testenv"
)

// writers is the number of concurrent writers: enough for group commits.
const writers = 8

// write adds rows to the scratch table from several goroutines until a write fails, and reports
// each acknowledged key.
func write(db *DB, first int64, acknowledged func(k int64)) {
	next := atomic.Int64{}
	next.Store(first)
	together(writers, func(int) {
		for {
			k := next.Add(1)
			if db.Write(context.Background(), put(int(k), strings.Repeat("x", 300))) != nil {
				return
			}
			acknowledged(k)
		}
	})
}

// childWrites adds rows after the last one and prints each acknowledged key until it is killed.
func childWrites(path string) error {
	db, err := Open(context.Background(), path, config)
	if err != nil {
		return err
	}
	var last int64
	err = queryRow(db, `SELECT coalesce(max(k), 0) FROM scratch`, func(r *Row) { last = r.Int() })
	if err != nil {
		return err
	}
	startingLine()
	write(db, last, func(k int64) { _, _ = io.WriteString(os.Stdout, strconv.FormatInt(k, 10)+"\n") })
	return fmt.Errorf("a write failed")
}

// lost counts acknowledged rows that are missing.
func lost(t testing.TB, db *DB, acknowledged []int64) int {
	t.Helper()
	rows, missing := values(t, db), 0
	for _, k := range acknowledged {
		if _, ok := rows[k]; !ok {
			missing++
		}
	}
	return missing
}

func checkIntegrity(t testing.TB, db *DB) {
	t.Helper()
	err := db.Query(context.Background(), `PRAGMA integrity_check`, func(r *Row) error {
		if result := r.Text(); result != "ok" {
			t.Errorf("integrity: %s", result)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestNothingAcknowledgedIsLostByKill(t *testing.T) {
	t.Parallel()
	const rounds, least = 10, 300
	path := newFile(t)
	db := withScratch(t, open(t, path))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	var acknowledged []int64
	for range rounds {
		c := startChild(t, "write", path)
		c.release()
		stop := least + rand.IntN(least)
		for n := 0; c.out.Scan(); n++ {
			k, err := strconv.ParseInt(c.out.Text(), 10, 64)
			if err != nil {
				break // truncated by the kill
			}
			acknowledged = append(acknowledged, k)
			if n == stop {
				_ = c.Process.Kill() // keep reading: keys in the pipe were acknowledged
			}
		}
		c.kill()
		db, err := Open(context.Background(), path, config)
		if err != nil {
			t.Fatal(err)
		}
		if n := lost(t, db, acknowledged); n > 0 {
			t.Errorf("%d of %d acknowledged writes were lost", n, len(acknowledged))
		}
		checkIntegrity(t, db)
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d acknowledged in %d rounds", len(acknowledged), rounds)
}

// powerCut writes until the power is cut at a random call, and returns how many writes were
// acknowledged and how many of them were lost.
func powerCut(t testing.TB, synchronous string) (acknowledged, missing int) {
	t.Helper()
	ctx := context.Background()
	d, path := newDisk(t), newFile(t)
	db, err := openFile(ctx, sqliteFile{path: path, vfs: d.name, synchronous: synchronous}, config)
	if err != nil {
		t.Fatal(err)
	}
	withScratch(t, db)
	d.settle()
	d.mu.Lock()
	d.cutAt = d.calls + 100 + rand.Int64N(3000)
	d.mu.Unlock()
	var mu sync.Mutex
	var known []int64
	write(db, 0, func(k int64) {
		mu.Lock()
		defer mu.Unlock()
		known = append(known, k)
	})
	_ = db.Close() // fails, because the power is off
	if err := os.Remove(path + "-shm"); err != nil && !os.IsNotExist(err) {
		t.Fatal(err) // shared memory is lost, too
	}
	after := open(t, path)
	checkIntegrity(t, after)
	return len(known), lost(t, after, known)
}

func TestNothingAcknowledgedIsLostByAPowerCut(t *testing.T) {
	const rounds = 20
	var total int
	for range rounds {
		n, missing := powerCut(t, "")
		if missing > 0 {
			t.Errorf("%d of %d acknowledged writes were lost", missing, n)
		}
		total += n
	}
	if total < 20*rounds {
		t.Errorf("only %d writes were acknowledged in %d rounds, too few to test anything", total, rounds)
	}
	t.Logf("%d acknowledged in %d rounds", total, rounds)
}

// TestThePowerCutIsFelt shows that the test above can fail.
func TestThePowerCutIsFelt(t *testing.T) {
	for range 20 {
		if _, missing := powerCut(t, "NORMAL"); missing > 0 {
			return
		}
	}
	t.Error("20 power cuts with synchronous=NORMAL lost nothing: the test disk loses too little")
}

func TestAFailedSyncEndsAllWriting(t *testing.T) {
	ctx := context.Background()
	d, path := newDisk(t), newFile(t)
	db, err := openFile(ctx, sqliteFile{path: path, vfs: d.name}, config)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	withScratch(t, db)
	if err := db.Write(ctx, put(1, "before")); err != nil {
		t.Fatal(err)
	}
	d.syncBroken.Store(true)
	// Writes that wait for the failing sync, and later writes, must all fail.
	together(writers, func(i int) {
		if err := db.Write(ctx, put(100+i, "while")); !isUnavailable(err) {
			t.Errorf("while the sync fails: %v", err)
		}
	})
	testenv.Receive(t, "Failed to be closed", db.Failed())
	d.syncBroken.Store(false) // a second sync may wrongly succeed
	for i := range 10 {
		if err := db.Write(ctx, put(200+i, "after")); !isUnavailable(err) {
			t.Errorf("after a failed sync: %v", err)
		}
	}
	if err := db.Ping(ctx); !isUnavailable(err) {
		t.Errorf("ping after a failed sync: %v", err)
	}
	if rows := values(t, db); rows[1] != "before" || len(rows) != 1 {
		t.Errorf("the table contains %v", rows)
	}
}

func TestAFullDiskIsSurvived(t *testing.T) {
	ctx := context.Background()
	d, path := newDisk(t), newFile(t)
	db, err := openFile(ctx, sqliteFile{path: path, vfs: d.name}, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	withScratch(t, db)
	if err := db.Write(ctx, put(1, "before")); err != nil {
		t.Fatal(err)
	}
	d.full.Store(true)
	together(writers, func(i int) {
		if err := db.Write(ctx, put(100+i, "while")); !isUnavailable(err) {
			t.Errorf("while the disk is full: %v", err)
		}
	})
	// A transaction larger than the cache hits the full disk before its commit.
	large := make([]byte, 1<<20)
	err = db.Write(ctx, func(tx Tx) error {
		for i := range 20 {
			if err := tx.Later(background, `INSERT INTO scratch (k, b) VALUES ($1, $2)`, 1000+i, large); err != nil {
				return err
			}
		}
		return nil
	})
	if !isUnavailable(err) {
		t.Errorf("large transaction while the disk is full: %v", err)
	}
	if rows := values(t, db); len(rows) != 1 || rows[1] != "before" {
		t.Errorf("the table contains %d rows", len(rows))
	}
	if err := db.Ping(ctx); err != nil || !db.WritesFail() { // C7
		t.Errorf("while the disk is full: WritesFail %v, Ping %v", db.WritesFail(), err)
	}
	d.full.Store(false)
	together(writers, func(i int) {
		if err := db.Write(ctx, put(200+i, "after")); err != nil {
			t.Errorf("after space was freed: %v", err)
		}
	})
	select {
	case <-db.Failed():
		t.Error("a full disk was treated as a failed disk")
	default:
	}
	if rows := values(t, db); len(rows) != 1+writers {
		t.Errorf("the table contains %d rows", len(rows))
	}
	checkIntegrity(t, db)
}
