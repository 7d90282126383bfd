package store

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"
)

// TestOpeningWaitsForAnotherProcess: while another process sets up the index of
// the WAL it holds a lock that SQLite does not wait for. Opening does.
func TestOpeningWaitsForAnotherProcess(t *testing.T) {
	const setFileLock, beingSetUp = 37, 128 // F_OFD_SETLK, and SQLite's byte for it
	path := newFile(t)
	index, err := os.OpenFile(path+"-shm", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Start: beingSetUp, Len: 1}
	if err := syscall.FcntlFlock(index.Fd(), setFileLock, &lock); err != nil {
		t.Fatal(err)
	}
	opened := make(chan error)
	go func() {
		s, err := Open(context.Background(), path)
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		t.Fatalf("did not wait: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	if err := index.Close(); err != nil { // and with it the lock
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Error(err)
	}
}
