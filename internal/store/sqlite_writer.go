package store

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/ncruces/go-sqlite3"
)

// writeUnit is one transaction that somebody waits for.
type writeUnit struct {
	ctx    context.Context
	fn     func(engineTx) error
	err    error
	result chan error
}

var (
	errClosed = errors.New("the database is closed")
	errFailed = errors.New("the disk failed to make a write durable; restart after it is mended")
)

// write hands the unit to the writer and waits until it is durable.
func (e *sqliteEngine) write(ctx context.Context, fn func(engineTx) error) error {
	u := &writeUnit{ctx: ctx, fn: fn, result: make(chan error, 1)}
	select {
	case e.units <- u:
	case <-e.stop:
		return unavailable(errClosed)
	case <-ctx.Done():
		return ctx.Err()
	}
	// From here the unit may be committed, so the caller hears what became of it.
	return e.explain(<-u.result)
}

// run is the writer: it takes all units that wait, runs them in one transaction
// and syncs once for all of them. While it syncs, the next ones gather.
func (e *sqliteEngine) run(conn *sqliteConn) {
	defer close(e.done)
	for {
		select {
		case <-e.stop:
			return
		case u := <-e.units:
			e.serve(conn, e.gather(u))
		}
	}
}

// gather takes the units that wait already.
func (e *sqliteEngine) gather(first *writeUnit) []*writeUnit {
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

func (e *sqliteEngine) serve(conn *sqliteConn, group []*writeUnit) {
	err := e.commit(conn, group)
	if errors.Is(err, sqlite3.IOERR_FSYNC) {
		// What the disk holds now is unknown, and a second sync may lie. Stop writing for good.
		e.failure.Do(func() { close(e.failed) })
	}
	for _, u := range group {
		if u.err == nil {
			u.err = err
		}
		if errors.Is(u.err, sqlite3.FULL) || errors.Is(u.err, sqlite3.IOERR) {
			e.note()
		}
		u.result <- u.err
	}
}

// commit runs a group in one transaction. A unit that fails is undone alone; an
// error of the whole is returned and means that none of the group was kept.
func (e *sqliteEngine) commit(conn *sqliteConn, group []*writeUnit) error {
	select {
	case <-e.failed:
		return unavailable(errFailed)
	default:
	}
	ctx := context.Background()
	conn.SetInterrupt(ctx)
	if err := conn.later(ctx, `BEGIN IMMEDIATE`); err != nil {
		return err
	}
	for _, u := range group {
		u.err = conn.runUnit(u)
		if conn.GetAutocommit() {
			// A full disk or a failed read made SQLite give up the whole transaction.
			return fmt.Errorf("the transaction was given up: %w", errors.Join(u.err, sqlite3.IOERR))
		}
	}
	err := conn.later(ctx, `COMMIT`)
	if err != nil && !conn.GetAutocommit() {
		err = also(err, conn.later(ctx, `ROLLBACK`))
	}
	return err
}

// runUnit runs one unit behind a savepoint, so that its failure is its own.
func (c *sqliteConn) runUnit(u *writeUnit) (err error) {
	if err := u.ctx.Err(); err != nil {
		return err
	}
	if err := c.later(u.ctx, `SAVEPOINT unit`); err != nil {
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
			err = also(err, c.later(u.ctx, `ROLLBACK TO unit`))
		}
		err = also(err, c.later(u.ctx, `RELEASE unit`))
	}()
	return u.fn(c)
}

// also adds a second error to a first without wrapping where there is but one.
func also(err, second error) error {
	if second == nil {
		return err
	}
	return errors.Join(err, second)
}
