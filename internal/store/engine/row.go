package engine

import (
	"time"

	"warranty.example/svc/warranty"
)

// Row is a cursor over the columns of a row: each method reads the next column. A reader therefore
// lists its fields in the order of the columns. A Row is only valid during the call that gets it.
type Row struct {
	columns columns
	next    int
}

// columns are the columns of a backend's current row.
type columns interface {
	null(i int) bool
	int(i int) int64
	text(i int) string
	bytes(i int) []byte
	id(i int) warranty.ID
}

func (r *Row) advance() int {
	r.next++
	return r.next - 1
}

// Null reports whether the next column is null. It does not advance the cursor.
func (r *Row) Null() bool { return r.columns.null(r.next) }

// Set reads a column and reports whether it is not null.
func (r *Row) Set() bool { return !r.columns.null(r.advance()) }

// Int reads an integer. Null reads as 0.
func (r *Row) Int() int64 { return r.columns.int(r.advance()) }

// Text reads a text. Null reads as "".
func (r *Row) Text() string { return r.columns.text(r.advance()) }

// Bytes reads bytes. Null reads as nil.
func (r *Row) Bytes() []byte { return r.columns.bytes(r.advance()) }

// ID reads an id. Null reads as the zero ID.
func (r *Row) ID() warranty.ID { return r.columns.id(r.advance()) }

// Date reads a date.
func (r *Row) Date() warranty.Date { return warranty.FromEpochDay(r.Int()) }

// Time reads an instant.
func (r *Row) Time() time.Time { return time.UnixMicro(r.Int()).UTC() }

// OptionalText reads a text that may be null.
func (r *Row) OptionalText() *string {
	i := r.advance()
	if r.columns.null(i) {
		return nil
	}
	s := r.columns.text(i)
	return &s
}

// OptionalDate returns the next column as a date, or nil if it is NULL.
func (r *Row) OptionalDate() *warranty.Date {
	if r.Null() {
		r.advance()
		return nil
	}
	d := r.Date()
	return &d
}

// OptionalID reads an id that may be null.
func (r *Row) OptionalID() *warranty.ID {
	i := r.advance()
	if r.columns.null(i) {
		return nil
	}
	id := r.columns.id(i)
	return &id
}

// OptionalTime reads an instant that may be null.
func (r *Row) OptionalTime() *time.Time {
	i := r.advance()
	if r.columns.null(i) {
		return nil
	}
	t := time.UnixMicro(r.columns.int(i)).UTC()
	return &t
}
