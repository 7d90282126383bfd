package engine

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3"
)

// checkpointer copies the write-ahead log into the database file. SQLite would do that in the commit that
// fills the log, and let all writers wait for it.
type checkpointer struct {
	conn  *sqliteConn
	due   chan struct{} // capacity 1
	stop  chan struct{}
	ended sync.WaitGroup
	mu    sync.Mutex   // held during a checkpoint
	pages atomic.Int64 // in the log, after the last commit
}

// Sizes of the log, in pages of 4 KB.
const (
	duePages = 1000
	// mostPages is when the writer waits. While there are always new commits, the log is never copied
	// completely, and therefore not reused but longer.
	mostPages = 8 * duePages
)

func newCheckpointer(writer, conn *sqliteConn) *checkpointer {
	c := &checkpointer{conn: conn, due: make(chan struct{}, 1), stop: make(chan struct{})}
	writer.WALHook(func(_ *sqlite3.Conn, _ string, pages int) error {
		c.pages.Store(int64(pages))
		if pages >= duePages {
			select {
			case c.due <- struct{}{}:
			default: // it is due already
			}
		}
		return nil
	})
	return c
}

// run copies the log whenever it is due, until the checkpointer is closed.
func (c *checkpointer) run(failed func(error)) {
	for {
		select {
		case <-c.stop:
			return
		case <-c.due:
			failed(c.copy(c.conn))
		}
	}
}

// bound is called by the writer between transactions. It copies the rest of a log that has become long,
// so that the next transaction begins a new one, unless a reader still needs it.
func (c *checkpointer) bound(writer *sqliteConn) error {
	if c.pages.Load() < mostPages {
		return nil
	}
	c.pages.Store(0) // until the next commit
	return c.copy(writer)
}

// settle copies a log that is due, and waits for a copy under way.
func (c *checkpointer) settle() error {
	if c.pages.Load() < duePages {
		return nil
	}
	return c.copy(c.conn)
}

func (c *checkpointer) copy(conn *sqliteConn) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.stop:
		return nil // the connections may be closed
	default:
	}
	_, _, err := conn.WALCheckpoint("main", sqlite3.CHECKPOINT_PASSIVE)
	if errors.Is(err, sqlite3.BUSY) { // another process copies it
		return nil
	}
	return err
}

func (c *checkpointer) close() {
	c.mu.Lock()
	close(c.stop)
	c.mu.Unlock()
	c.ended.Wait()
}
