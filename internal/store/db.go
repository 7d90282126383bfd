// Package store is the only one that knows SQL. It keeps the records on SQLite,
// inside the process, or on PostgreSQL, with one text for both.
package store

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"warranty.example/svc/warranty"
)

// The seam between the SQL and the two engines is these three small types.
// database/sql would be a fourth, at two to three times the CPU.

// Row is one row of a result; columns are read by their position.
type Row interface {
	Null(i int) bool
	Int(i int) int64
	Text(i int) string
	Bytes(i int) []byte
	ID(i int) warranty.ID
}

// querier reads rows. The SQL has $n placeholders and /*pg: … */ and /*sqlite: … */
// comments for the few words that are one engine's alone.
type querier interface {
	query(ctx context.Context, sql string, each func(Row) error, args ...any) error
}

// engineTx is a transaction of an engine.
type engineTx interface {
	querier
	// exec runs a statement and counts the rows that it changed.
	exec(ctx context.Context, sql string, args ...any) (int64, error)
	// later is exec for statements whose count does not matter: the engine may
	// send it together with what follows. Its error comes with what follows, too.
	later(ctx context.Context, sql string, args ...any) error
	// expect is later for statements that must find or change one row: the refusal
	// is the error when they do not, and comes before the transaction is committed.
	expect(ctx context.Context, refusal error, sql string, args ...any) error
}

// engine is a database that is open.
type engine interface {
	querier
	// write runs fn in a transaction and returns once it is durable. fn may be run
	// again from its start when the engine lost a race.
	write(ctx context.Context, fn func(engineTx) error) error
	ping(ctx context.Context) error
	// writesFail tells whether the disk has refused a write a moment ago.
	writesFail() bool
	// fence returns a function that tells whether every transaction that was writing
	// access rows when fence was called has ended.
	fence(ctx context.Context) (passed func(context.Context) (bool, error), err error)
	// now is the time by the clock that all users of the database share; zero if
	// that is this machine's.
	now(ctx context.Context) (time.Time, error)
	// isDuplicate tells whether an error says that a key is taken already.
	isDuplicate(err error) bool
	close() error
}

// refusals remembers when the disk last refused a write.
type refusals struct{ at atomic.Int64 } // in Unix nanoseconds

// refusalLasts is how long after a refused write others are expected to fail.
const refusalLasts = 10 * time.Second

func (r *refusals) note() { r.at.Store(time.Now().UnixNano()) }

func (r *refusals) writesFail() bool { return time.Since(time.Unix(0, r.at.Load())) < refusalLasts }

// plain turns an argument into what both engines take: nil, int64, string, []byte or ID.
func plain(v any) any {
	switch v := v.(type) {
	case nil, int64, string, []byte, warranty.ID:
		return v
	case int:
		return int64(v)
	case *string:
		if v == nil {
			return nil
		}
		return *v
	case *warranty.ID:
		if v == nil {
			return nil
		}
		return *v
	case warranty.Hash:
		return v[:]
	case warranty.Date:
		return v.EpochDay()
	case time.Time:
		return v.UnixMicro()
	case *time.Time:
		if v == nil {
			return nil
		}
		return v.UnixMicro()
	case warranty.Reference:
		return string(v)
	case warranty.Status:
		return stored(v)
	case warranty.Roles:
		return v.Mask()
	case warranty.ClaimStatus:
		return stored(v)
	case warranty.ClaimType:
		return stored(v)
	case *warranty.Resolution:
		if v == nil {
			return nil
		}
		return stored(*v)
	case warranty.DocumentType:
		return stored(v)
	case warranty.Door:
		return stored(v)
	case warranty.Action:
		return stored(v)
	case kind:
		return int64(v)
	case Purpose:
		return int64(v)
	}
	panic(fmt.Sprintf("store: an argument of type %T", v))
}

func optionalText(r Row, i int) *string {
	if r.Null(i) {
		return nil
	}
	s := r.Text(i)
	return &s
}

// stored is what an enumeration's value is stored as. Decoders refuse unknown values,
// so one that comes here is a mistake in this program.
func stored[T warranty.Enum](v T) int64 {
	n := warranty.EnumNumber(v)
	if n == 0 && v != "" {
		panic(fmt.Sprintf("store: an unknown %T", v))
	}
	return n
}

func enum[T warranty.Enum](r Row, i int) T { return warranty.EnumOf[T](r.Int(i)) }

func date(r Row, i int) warranty.Date { return warranty.FromEpochDay(r.Int(i)) }

func instant(r Row, i int) time.Time { return time.UnixMicro(r.Int(i)).UTC() }

func optionalInstant(r Row, i int) *time.Time {
	if r.Null(i) {
		return nil
	}
	t := instant(r, i)
	return &t
}
