package store

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

// writers is how many people write at once: enough for groups to form.
const writers = 8

// write adds rows to the scratch table from several goroutines until a write is
// refused, and tells each acknowledged key. It returns when all have stopped.
func write(s *Store, first int64, acknowledged func(k int64)) {
	next := atomic.Int64{}
	next.Store(first)
	together(writers, func(int) {
		for {
			k := next.Add(1)
			if s.Write(context.Background(), put(int(k), strings.Repeat("x", 300))) != nil {
				return
			}
			acknowledged(k)
		}
	})
}

// childWrites writes from where the table ends, and acknowledges each write on
// its standard output, until it is killed.
func childWrites(path string) error {
	s, err := Open(context.Background(), path)
	if err != nil {
		return err
	}
	var last int64
	err = one(context.Background(), s.engine, `SELECT coalesce(max(k), 0) FROM scratch`, func(r Row) { last = r.Int(0) })
	if err != nil {
		return err
	}
	startingLine()
	write(s, last, func(k int64) { _, _ = io.WriteString(os.Stdout, strconv.FormatInt(k, 10)+"\n") })
	return fmt.Errorf("a write was refused")
}

// lost counts what was acknowledged and is not there.
func lost(t testing.TB, s *Store, acknowledged []int64) int {
	t.Helper()
	rows, missing := values(t, s), 0
	for _, k := range acknowledged {
		if _, ok := rows[k]; !ok {
			missing++
		}
	}
	return missing
}

func checkIntegrity(t testing.TB, s *Store) {
	t.Helper()
	err := s.engine.query(context.Background(), `PRAGMA integrity_check`, func(r Row) error {
		if r.Text(0) != "ok" {
			t.Errorf("integrity: %s", r.Text(0))
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestNothingAcknowledgedIsLostByKill(t *testing.T) {
	const rounds, least = 10, 300
	path := newFile(t)
	s := withScratch(t, open(t, path))
	if err := s.Close(); err != nil {
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
				break // a line that the kill cut off
			}
			acknowledged = append(acknowledged, k)
			if n == stop {
				_ = c.Process.Kill() // and read on: what is in the pipe was acknowledged
			}
		}
		c.kill()
		s, err := Open(context.Background(), path)
		if err != nil {
			t.Fatal(err)
		}
		if n := lost(t, s, acknowledged); n > 0 {
			t.Errorf("%d of %d acknowledged writes are lost", n, len(acknowledged))
		}
		checkIntegrity(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d acknowledged in %d rounds", len(acknowledged), rounds)
}

// powerCut writes on a disk until its power goes, at a random moment, and tells
// how many acknowledged writes are lost afterwards.
func powerCut(t testing.TB, synchronous string) (acknowledged, missing int) {
	t.Helper()
	ctx := context.Background()
	d, path := newDisk(t), newFile(t)
	s, err := openFile(ctx, sqliteFile{path: path, vfs: d.name, synchronous: synchronous})
	if err != nil {
		t.Fatal(err)
	}
	withScratch(t, s)
	d.settle()
	d.mu.Lock()
	d.cutAt = d.calls + 100 + rand.Int64N(3000)
	d.mu.Unlock()
	var mu sync.Mutex
	var known []int64
	write(s, 0, func(k int64) {
		mu.Lock()
		defer mu.Unlock()
		known = append(known, k)
	})
	_ = s.Close() // its files are gone from under it
	if err := os.Remove(path + "-shm"); err != nil && !os.IsNotExist(err) {
		t.Fatal(err) // memory does not survive either
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
			t.Errorf("%d of %d acknowledged writes are lost", missing, n)
		}
		total += n
	}
	if total < 20*rounds {
		t.Errorf("only %d writes were acknowledged in %d rounds: the test is no test", total, rounds)
	}
	t.Logf("%d acknowledged in %d rounds", total, rounds)
}

// TestThePowerCutIsFelt is the proof that the test above can fail.
func TestThePowerCutIsFelt(t *testing.T) {
	for range 20 {
		if _, missing := powerCut(t, "NORMAL"); missing > 0 {
			return
		}
	}
	t.Error("20 power cuts with synchronous=NORMAL lost nothing: the disk of the test forgets too little")
}

func TestAFailedSyncEndsAllWriting(t *testing.T) {
	ctx := context.Background()
	d, path := newDisk(t), newFile(t)
	s, err := openFile(ctx, sqliteFile{path: path, vfs: d.name})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	withScratch(t, s)
	if err := s.Write(ctx, put(1, "before")); err != nil {
		t.Fatal(err)
	}
	d.syncBroken.Store(true)
	// Those who wait for the sync that fails, and those who come after, are all refused.
	together(writers, func(i int) {
		if err := s.Write(ctx, put(100+i, "while")); !isUnavailable(err) {
			t.Errorf("while the sync fails: %v", err)
		}
	})
	testenv.Receive(t, "Failed is closed", s.Failed())
	d.syncBroken.Store(false) // a second sync may succeed and mean nothing
	for i := range 10 {
		if err := s.Write(ctx, put(200+i, "after")); !isUnavailable(err) {
			t.Errorf("after a failed sync: %v", err)
		}
	}
	if err := s.Ping(ctx); !isUnavailable(err) {
		t.Errorf("ping after a failed sync: %v", err)
	}
	if rows := values(t, s); rows[1] != "before" || len(rows) != 1 {
		t.Errorf("the table holds %v", rows)
	}
}

func TestAFullDiskIsSurvived(t *testing.T) {
	ctx := context.Background()
	d, path := newDisk(t), newFile(t)
	s, err := openFile(ctx, sqliteFile{path: path, vfs: d.name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	withScratch(t, s)
	if err := s.Write(ctx, put(1, "before")); err != nil {
		t.Fatal(err)
	}
	d.full.Store(true)
	together(writers, func(i int) {
		if err := s.Write(ctx, put(100+i, "while")); !isUnavailable(err) {
			t.Errorf("while the disk is full: %v", err)
		}
	})
	// A unit that is larger than the cache meets the full disk before its commit.
	large := make([]byte, 1<<20)
	err = s.Write(ctx, func(tx *Tx) error {
		for i := range 20 {
			if err := tx.later(`INSERT INTO scratch (k, b) VALUES ($1, $2)`, 1000+i, large); err != nil {
				return err
			}
		}
		return nil
	})
	if !isUnavailable(err) {
		t.Errorf("a large unit while the disk is full: %v", err)
	}
	if rows := values(t, s); len(rows) != 1 || rows[1] != "before" {
		t.Errorf("the table holds %d rows", len(rows))
	}
	if err := s.Ping(ctx); err != nil || !s.WritesFail() { // C7
		t.Errorf("while the disk is full, writes fail: %v, and reads: %v", s.WritesFail(), err)
	}
	d.full.Store(false)
	together(writers, func(i int) {
		if err := s.Write(ctx, put(200+i, "after")); err != nil {
			t.Errorf("when there is space again: %v", err)
		}
	})
	select {
	case <-s.Failed():
		t.Error("a full disk is no broken disk")
	default:
	}
	if rows := values(t, s); len(rows) != 1+writers {
		t.Errorf("the table holds %d rows", len(rows))
	}
	checkIntegrity(t, s)
}
