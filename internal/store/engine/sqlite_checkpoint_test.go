package engine

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/testenv"
)

// TestTheLogIsCopied writes much more than the log may hold, without a pause, and then waits until the
// log is copied without a further write.
func TestTheLogIsCopied(t *testing.T) {
	path := newFile(t)
	db := withScratch(t, open(t, path))
	const page = 4096
	text := strings.Repeat("x", duePages/2*page)
	for k := range 4 * mostPages / (duePages / 2) {
		if err := db.Write(context.Background(), put(k+1, text)); err != nil {
			t.Fatal(err)
		}
	}
	size := func(path string) int64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size() / page
	}
	if log := size(path + "-wal"); log > 2*mostPages {
		t.Errorf("the log has %d pages, and the limit is %d", log, mostPages)
	}
	testenv.Wait(t, "the copy of the log", func() bool { return size(path) > 4*mostPages })
	checkIntegrity(t, db)
}

// TestSettle: after it, the log is in the database. After closing, it does nothing.
func TestSettle(t *testing.T) {
	path := newFile(t)
	db := withScratch(t, open(t, path))
	e := db.backend.(*sqliteBackend)
	e.log.mu.Lock() // so that nothing else copies
	if err := db.Write(background, put(1, strings.Repeat("x", duePages*4096))); err != nil {
		t.Fatal(err)
	}
	settled := make(chan struct{})
	go func() { db.Settle(); close(settled) }()
	select {
	case <-settled:
		t.Error("it did not wait for the copy under way")
	case <-time.After(10 * time.Millisecond):
	}
	e.log.mu.Unlock()
	testenv.Receive(t, "it to finish", settled)
	if info, err := os.Stat(path); err != nil || info.Size() < duePages*4096 {
		t.Errorf("the database has %d bytes: %v", info.Size(), err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db.Settle()
}
