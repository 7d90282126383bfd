package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/ncruces/go-sqlite3"
)

// writeUnit is one transaction and its result.
type writeUnit struct {
	ctx    context.Context
	fn     func(Tx) error
	err    error
	result chan error
}

var (
	errClosed = errors.New("the database is closed")
	errFailed = errors.New("fsync failed; fix the disk and restart")
)

// write passes the unit to the writer and waits until it is durable.
func (e *sqliteBackend) write(ctx context.Context, fn func(Tx) error) error {
	u := &writeUnit{ctx: ctx, fn: fn, result: make(chan error, 1)}
	started := timeWait(ctx)
	select {
	case e.units <- u:
		started()
	case <-e.stop:
		return unavailable(errClosed)
	case <-ctx.Done():
		return ctx.Err()
	}
	// The unit may be committed from here on, so wait for the result even if ctx ends.
	return e.classify(<-u.result)
}

// run is the writer. It takes all waiting units, runs them in one transaction and syncs once. More
// units queue up during the sync.
func (e *sqliteBackend) run(conn *sqliteConn) {
	defer close(e.done)
	for {
		select {
		case <-e.stop:
			return
		case u := <-e.units:
			e.serve(conn, e.gather(u))
			e.copyLog(conn)
		}
	}
}

// gather collects the units that are already waiting.
func (e *sqliteBackend) gather(first *writeUnit) []*writeUnit {
	group := []*writeUnit{first}
	for len(group) < maxGroup {
		select {
		case u := <-e.units:
			group = append(group, u)
		default:
			return group
		}
	}
	return group
}

func (e *sqliteBackend) serve(conn *sqliteConn, group []*writeUnit) {
	err := e.commit(conn, group)
	for _, u := range group {
		if u.err == nil {
			u.err = err
		}
		e.noteFailure(u.err)
		u.result <- u.err
	}
}

// noteFailure counts failures of the disk. After a failed fsync its state is unknown, and a second one may
// wrongly succeed, so writing ends for good.
func (e *sqliteBackend) noteFailure(err error) {
	if errors.Is(err, sqlite3.IOERR_FSYNC) {
		e.failure.Do(func() { close(e.failed) })
	}
	if errors.Is(err, sqlite3.FULL) || errors.Is(err, sqlite3.IOERR) {
		e.note()
	}
}

// copyLog copies the log into the database file if that is due. It counts as a transaction, because others wait
// for it in the same way.
func (e *sqliteBackend) copyLog(conn *sqliteConn) {
	if e.log.due() {
		defer e.began()()
		e.noteFailure(e.log.copy(conn))
	}
}

// commit runs a group in one transaction. A unit that fails is rolled back alone. An error means
// that the whole group was rolled back.
func (e *sqliteBackend) commit(conn *sqliteConn, group []*writeUnit) error {
	defer e.began()()
	select {
	case <-e.failed:
		return unavailable(errFailed)
	default:
	}
	ctx := context.Background()
	conn.SetInterrupt(ctx)
	if err := conn.Later(ctx, `BEGIN IMMEDIATE`); err != nil {
		return err
	}
	for _, u := range group {
		u.err = conn.runUnit(u)
		if conn.GetAutocommit() {
			// SQLite rolled back the whole transaction because of a full disk or an I/O error.
			return fmt.Errorf("the transaction was rolled back: %w", errors.Join(u.err, sqlite3.IOERR))
		}
	}
	err := conn.Later(ctx, `COMMIT`)
	if err != nil && !conn.GetAutocommit() {
		err = joinErrors(err, conn.Later(ctx, `ROLLBACK`))
	}
	return err
}

// runUnit runs a unit in a savepoint, so that a failure affects only that unit.
func (c *sqliteConn) runUnit(u *writeUnit) (err error) {
	if err := u.ctx.Err(); err != nil {
		return err
	}
	if err := c.Later(u.ctx, `SAVEPOINT unit`); err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a transaction: %v\n%s", p, debug.Stack())
		}
		if c.GetAutocommit() {
			return
		}
		if err != nil {
			err = joinErrors(err, c.Later(u.ctx, `ROLLBACK TO unit`))
		}
		err = joinErrors(err, c.Later(u.ctx, `RELEASE unit`))
	}()
	return u.fn(c)
}
