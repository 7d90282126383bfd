package store

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// longList is a user with a list that two readers count in tiny blocks up to its end, while a
// writer adds entries that never look late by their ids: correct totals depend on the horizon
// alone. Without a second address, the writer is also the reader.
type longList struct {
	t       *testing.T
	user    warranty.User
	writer  *Store
	readers []*Store
	rows    int64 // acknowledged
}

func newLongList(t *testing.T, writer, direct string) *longList {
	t.Helper()
	l := &longList{t: t, writer: open(t, writer),
		user: warranty.User{ID: newID(), Email: fmt.Sprintf("late%d@people.example", ids.Add(1)), CreatedAt: time.Now()}}
	l.readers = []*Store{l.writer}
	if direct != "" {
		l.readers = []*Store{open(t, direct), open(t, direct)}
	}
	for _, r := range l.readers {
		r.BlockLists(4, 0)
	}
	l.writer.BlockLists(4, 1000*time.Hour)
	if err := l.readers[0].Write(t.Context(), func(tx *Tx) error { return tx.InsertUser(l.user, "x") }); err != nil {
		t.Fatal(err)
	}
	return l
}

// record returns a new record.
func (l *longList) record() warranty.Warranty {
	l.t.Helper()
	reference, err := warranty.NewReference(warranty.WarrantyPrefix, strings.NewReader(fmt.Sprintf("%015d", ids.Add(1))))
	if err != nil {
		l.t.Fatal(err)
	}
	return warranty.Warranty{
		ID:              warranty.ID(uuid.Must(uuid.NewV7())),
		ReferenceNumber: reference,
		ProductName:     "x",
		Standing:        warranty.Active,
		StartDate:       1,
		EndDate:         2,
		Version:         1,
	}
}

// grow adds records on another connection than the writer's.
func (l *longList) grow(n int) {
	l.t.Helper()
	for range n {
		w := l.record()
		err := l.readers[0].Write(l.t.Context(), func(tx *Tx) error { return tx.InsertWarranty(w, l.user.ID) })
		if err != nil {
			l.t.Fatal(err)
		}
		l.rows++
	}
}

// check compares every page of every reader.
func (l *longList) check(when string) {
	l.t.Helper()
	for i, r := range l.readers {
		for page := 1; page <= 3; page++ {
			in := warranty.ListWarranties{Paging: warranty.Paging{Page: page, Limit: 10}}
			list, total, err := r.Warranties(l.t.Context(), l.user.ID, in, 1)
			if want := max(0, min(10, l.rows-in.Offset())); err != nil || total != l.rows || int64(len(list)) != want {
				l.t.Fatalf("%s, reader %d, page %d: total %d, want %d; %d entries, want %d: %v",
					when, i, page, total, l.rows, len(list), want, err)
			}
		}
	}
}

// counted waits until every reader has counted the list in blocks.
func (l *longList) counted() {
	l.t.Helper()
	for i, r := range l.readers {
		testenv.Wait(l.t, fmt.Sprintf("reader %d to count the list in blocks", i), func() bool {
			l.check("while counting")
			return r.lists.blocksOf(l.user.ID) > 0
		})
	}
}

func (c *listCache) blocksOf(user warranty.ID) int {
	c.mu.Lock()
	entry := c.entries[listKey{user, kindWarranty}]
	c.mu.Unlock()
	if entry == nil || entry.current.Load() == nil {
		return 0
	}
	return len(entry.current.Load().ends)
}

// TestALateCommitIsCounted // D2: a transaction makes its id and is then delayed while others count
// the list around it, either before its first statement or between its last statement and its
// commit.
func TestALateCommitIsCounted(t *testing.T) {
	t.Run("postgres", func(t *testing.T) {
		for _, first := range []bool{true, false} {
			database := testenv.Postgres(t)
			l := newLongList(t, database, database)
			l.lateCommit(first, func() { l.grow(20) })
		}
	})
	t.Run("sqlite", func(t *testing.T) {
		// SQLite has one writer: while it is delayed, for example by the disk, others only read.
		l := newLongList(t, newFile(t), "")
		l.lateCommit(false, func() { l.writer.BlockLists(4, 0) })
	})
}

// lateCommit writes an entry, delays the transaction while others count, and checks that they see
// the entry afterwards.
func (l *longList) lateCommit(first bool, meanwhile func()) {
	l.t.Helper()
	l.grow(20)
	late, held, release, done := l.record(), make(chan struct{}), make(chan struct{}), make(chan error, 1)
	wait := func() { close(held); <-release }
	go func() {
		done <- l.writer.Write(context.Background(), func(tx *Tx) error {
			if first {
				wait()
			}
			if err := tx.InsertWarranty(late, l.user.ID); err != nil || first {
				return err
			}
			if _, err := tx.exec(`UPDATE mails SET attempts = 0`); err != nil { // flushes the queue
				return err
			}
			wait()
			return nil
		})
	}()
	testenv.Receive(l.t, "the transaction to start", held)
	meanwhile()
	l.check("while it is delayed")
	close(release)
	if err := testenv.Receive(l.t, "the late commit", done); err != nil {
		l.t.Fatal(err)
	}
	l.rows++
	l.check("after the commit")
	l.counted()
	l.check("after counting")
}

// TestALateBatchIsCounted // D2: the connection to PostgreSQL is silently interrupted. The writer
// gives up, others count, and then the sent data arrives after all.
func TestALateBatchIsCounted(t *testing.T) {
	for _, at := range []string{"all of it", "the commit"} {
		t.Run(strings.ReplaceAll(at, " ", "_"), func(t *testing.T) {
			direct := testenv.Postgres(t)
			p, proxied := testenv.NewProxy(t, direct, "pool_max_conns", "1")
			l := newLongList(t, proxied, direct)
			// The pulse would be delayed too, and could mistake a busy machine for an unresponsive
			// server.
			l.writer.db.StopPulse()
			l.grow(20)
			ctx, giveUp := context.WithCancel(context.Background())
			defer giveUp()
			write := func(w warranty.Warranty, cut func()) error {
				return l.writer.Write(ctx, func(tx *Tx) error {
					if at == "all of it" {
						cut()
						return tx.InsertWarranty(w, l.user.ID)
					}
					if err := tx.InsertWarranty(w, l.user.ID); err != nil {
						return err
					}
					_, err := tx.exec(`UPDATE mails SET attempts = 0`) // flushes the queue
					cut()
					return err
				})
			}
			if err := write(l.record(), func() {}); err != nil { // prepares the statements
				t.Fatal(err)
			}
			l.rows++
			late, done := l.record(), make(chan error, 1)
			go func() { done <- write(late, p.Hold) }()
			p.AwaitHeld(t)
			l.grow(20)
			l.check("while the connection is interrupted")
			p.Seal() // or the driver could still send a cancel request
			giveUp()
			if err := testenv.Receive(t, "the writer to give up", done); err == nil {
				t.Fatal("a write without a response was acknowledged")
			}
			p.Release()
			testenv.Wait(t, "the late commit", func() bool {
				return number(t, l.readers[0], `SELECT count(*) FROM access WHERE item_id = $1`, late.ID) == 1
			})
			l.rows++
			l.check("after the late commit")
			l.counted()
			l.check("after counting")
		})
	}
}

// TestCountsAreRenewed // D2: wrong counts do not persist, whatever caused them. Here rows are
// changed behind the service's back.
func TestCountsAreRenewed(t *testing.T) {
	eachDatabase(t, func(t *testing.T, database string) {
		l := newLongList(t, database, database)
		l.grow(40)
		l.counted()
		if err := l.writer.Write(t.Context(), func(tx *Tx) error {
			return tx.later(`DELETE FROM access WHERE item_id IN
				(SELECT item_id FROM access WHERE user_id = $1 ORDER BY item_id LIMIT 3)`, l.user.ID)
		}); err != nil {
			t.Fatal(err)
		}
		for _, r := range l.readers {
			in := warranty.ListWarranties{Paging: warranty.Paging{Page: 1, Limit: 10}}
			_, total, err := r.Warranties(t.Context(), l.user.ID, in, 1)
			if err != nil || total != l.rows {
				t.Fatalf("the list was not counted in blocks: %d, %v", total, err)
			}
			r.lists.maxAge = 0
		}
		l.rows -= 3
		l.check("after the counts expired")
	})
}
