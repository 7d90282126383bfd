package engine

import (
	"errors"

	"github.com/ncruces/go-sqlite3"
)

// checkpointer copies the write-ahead log into the database file. The writer calls it between transactions, when
// the callers of the last one have their results: SQLite would copy in the commit that fills the log.
type checkpointer struct {
	pages  int // in the log, after the last commit
	copied int // of them, when the log was last copied
}

// duePages is how many new pages of 4 KB the log has when it is copied. A log that readers still need cannot be
// reused and grows; what was copied is not copied again.
const duePages = 1000

// newCheckpointer lets the writer's commits report the length of the log, instead of copying it.
func newCheckpointer(writer *sqliteConn) *checkpointer {
	c := &checkpointer{}
	writer.WALHook(func(_ *sqlite3.Conn, _ string, pages int) error {
		if pages < c.pages { // SQLite began the log again
			c.copied = 0
		}
		c.pages = pages
		return nil
	})
	return c
}

func (c *checkpointer) due() bool { return c.pages-c.copied >= duePages }

// copy copies what readers allow.
func (c *checkpointer) copy(writer *sqliteConn) error {
	_, _, err := writer.WALCheckpoint("main", sqlite3.CHECKPOINT_PASSIVE)
	if errors.Is(err, sqlite3.BUSY) { // another process copies it
		err = nil
	}
	c.copied = c.pages
	return err
}
