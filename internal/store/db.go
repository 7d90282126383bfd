// Package store is the only package that contains SQL. It keeps the records in SQLite, inside the
// process, or in PostgreSQL, with one set of statements for both.
package store

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"warranty.example/svc/warranty"
)

// Row, engineTx and engine separate the SQL from the two databases. database/sql would do the same
// at two to three times the CPU.

// Row is one row of a result. Columns are read by position.
type Row interface {
	Null(i int) bool
	Int(i int) int64
	Text(i int) string
	Bytes(i int) []byte
	ID(i int) warranty.ID
}

// querier reads rows. Statements use $n placeholders, and /*pg: … */ and /*sqlite: … */ comments
// for the few words that only one database needs.
type querier interface {
	query(ctx context.Context, sql string, each func(Row) error, args ...any) error
}

// engineTx is a transaction.
type engineTx interface {
	querier
	// exec runs a statement and returns the number of rows it changed.
	exec(ctx context.Context, sql string, args ...any) (int64, error)
	// later is exec for statements whose row count does not matter. The engine may send the
	// statement together with a following one, which then also returns its error.
	later(ctx context.Context, sql string, args ...any) error
	// expect is later for statements that must find or change exactly one row. Otherwise the
	// transaction fails with refusal before it is committed.
	expect(ctx context.Context, refusal error, sql string, args ...any) error
}

// engine is an open database.
type engine interface {
	querier
	// write runs fn in a transaction and returns once it is durable. fn may run more than once,
	// after a serialization failure or a lost connection.
	write(ctx context.Context, fn func(engineTx) error) error
	ping(ctx context.Context) error
	// writesFail reports whether the disk rejected a write recently.
	writesFail() bool
	// fence returns a function that reports whether every transaction that was writing access rows
	// when fence was called has ended.
	fence(ctx context.Context) (passed func(context.Context) (bool, error), err error)
	// now returns the time of the clock shared by all users of the database, or the zero time if
	// that is this machine's clock.
	now(ctx context.Context) (time.Time, error)
	// isDuplicate reports whether err is a unique constraint violation.
	isDuplicate(err error) bool
	close() error
}

// writeFailures records when the disk last rejected a write.
type writeFailures struct{ at atomic.Int64 } // in Unix nanoseconds

// writeFailureWindow is how long after a rejected write others are expected to fail.
const writeFailureWindow = 10 * time.Second

func (r *writeFailures) note() { r.at.Store(time.Now().UnixNano()) }

func (r *writeFailures) writesFail() bool {
	return time.Since(time.Unix(0, r.at.Load())) < writeFailureWindow
}

// plain converts an argument to a type that both engines bind: nil, int64, string, []byte or ID.
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
		return enumNumber(v)
	case warranty.Roles:
		return v.Mask()
	case warranty.ClaimStatus:
		return enumNumber(v)
	case warranty.ClaimType:
		return enumNumber(v)
	case *warranty.Resolution:
		if v == nil {
			return nil
		}
		return enumNumber(*v)
	case warranty.DocumentType:
		return enumNumber(v)
	case warranty.Door:
		return enumNumber(v)
	case warranty.Action:
		return enumNumber(v)
	case kind:
		return int64(v)
	case Purpose:
		return int64(v)
	}
	panic(fmt.Sprintf("store: unsupported argument type %T", v))
}

func optionalText(r Row, i int) *string {
	if r.Null(i) {
		return nil
	}
	s := r.Text(i)
	return &s
}

// enumNumber returns the number that is enumNumber for an enum value. Decoders reject unknown values,
// so an unknown value here is a bug.
func enumNumber[T warranty.Enum](v T) int64 {
	n := warranty.EnumNumber(v)
	if n == 0 && v != "" {
		panic(fmt.Sprintf("store: unknown %T", v))
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
