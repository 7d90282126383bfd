//go:build unix

package store

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/testenv"
)

// TestAFrozenBackendIsCounted // D2: stops the PostgreSQL backend of a write before its commit, for
// SVC_TEST_FREEZE, while replicas with default settings count the list around it. "make freeze"
// runs it for three minutes; the other tests of late commits need no waiting.
func TestAFrozenBackendIsCounted(t *testing.T) {
	freeze, err := time.ParseDuration(os.Getenv("SVC_TEST_FREEZE"))
	if err != nil {
		t.Skip("SVC_TEST_FREEZE is not set: run make freeze")
	}
	for name, setting := range map[string]string{
		"with_timeouts":    "",
		"without_timeouts": "&idle_in_transaction_session_timeout=0",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := testenv.Postgres(t)
			l := newLongList(t, database+setting, database)
			for _, s := range append(l.readers, l.writer) {
				s.lists.block, s.lists.settle = newListCache().block, newListCache().settle
			}
			insertMany := func(s *Store) {
				if err := s.Write(t.Context(), func(tx *Tx) error {
					for range 2500 {
						if err := tx.InsertWarranty(l.record(), l.user.ID); err != nil {
							return err
						}
					}
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				l.rows += 2500
			}
			insertMany(l.readers[0])
			late, stopped, done := l.record(), make(chan int, 1), make(chan error, 1)
			go func() {
				runs := 0
				done <- l.writer.Write(context.Background(), func(tx *Tx) error {
					if runs++; runs > 1 {
						return nil
					}
					if err := tx.InsertWarranty(late, l.user.ID); err != nil {
						return err
					}
					pid := int64(0)
					err := queryRow(tx.ctx, tx.tx, `SELECT pg_backend_pid()`, func(r *engine.Row) { pid = r.Int() })
					if err == nil {
						err = syscall.Kill(int(pid), syscall.SIGSTOP)
					}
					stopped <- int(pid)
					return err
				})
			}()
			pid := <-stopped
			defer syscall.Kill(pid, syscall.SIGCONT) // usually already resumed
			insertMany(l.readers[0])
			for until := time.Now().Add(freeze); time.Now().Before(until); time.Sleep(time.Second) {
				l.check("while the backend is frozen")
			}
			if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			t.Logf("result of the frozen write: %v", <-done)
			l.rows = number(t, l.readers[0], `SELECT count(*) FROM access WHERE user_id = $1`, l.user.ID)
			l.check("after the backend resumed")
			time.Sleep(3 * time.Second) // until blocks may be made again
			l.check("after counting")
			t.Logf("%d rows; readers have %d and %d blocks", l.rows,
				l.readers[0].lists.blocksOf(l.user.ID), l.readers[1].lists.blocksOf(l.user.ID))
		})
	}
}
