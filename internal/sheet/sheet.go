// Package sheet reads warranties from CSV as other programs write it, and writes
// them as CSV that can be read again. It is what an import and an export are made
// of, wherever they are asked for.
package sheet

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"warranty.example/svc/warranty"
)

// Fault is what makes a whole sheet unreadable, and how to mend it.
type Fault struct{ What, Fix string }

// Error says what is wrong.
func (f *Fault) Error() string { return f.What }

// MissingColumns is the fault of a sheet from which no warranty can be made. How
// to name the columns that it lacks depends on where it is read.
type MissingColumns struct {
	Fields []string
	Header []string
	Found  map[string]string // the columns of the other fields
}

// Error names the fields that no column was found for.
func (m *MissingColumns) Error() string {
	return "No column was found for " + strings.Join(m.Fields, ", ") + "."
}

// Options say how to read a sheet where guesses are not enough.
type Options struct {
	// Columns names the column of a field, or none to leave the field out. Fields
	// that are not in it are guessed.
	Columns map[string]string
	Order   DateOrder
}

// Reader reads a sheet row by row.
type Reader struct {
	mapping
	table *table
	order DateOrder
	seen  map[[8]byte]uint32 // how often each row was met, by a part of its hash
}

// Row is one row of a sheet: a warranty to create, or what is wrong with it.
type Row struct {
	Line   int
	Input  warranty.CreateWarranty // with its idempotency key
	Repeat bool                    // it says the same as an earlier row
	Err    error
	cells  []string
}

// Open reads the head of a sheet. A sheet that can not be read is a *Fault, or
// *MissingColumns.
func Open(r io.Reader, o Options) (*Reader, error) {
	t, err := openTable(r)
	if err != nil {
		return nil, err
	}
	m, err := mapColumns(t.header, o.Columns)
	if err != nil {
		return nil, err
	}
	return &Reader{mapping: m, table: t, order: o.Order, seen: map[[8]byte]uint32{}}, nil
}

// Next reads a row; io.EOF ends the sheet. An error ends the reading; what is
// wrong with the row alone is in it.
func (r *Reader) Next() (Row, error) {
	row, err := r.table.next()
	if err == nil && row.Err == nil {
		row.Input, row.Err = r.warranty(row.cells)
	}
	if err != nil || row.Err != nil {
		return row, err
	}
	key, repeat, err := r.key(row.Input)
	row.Input.IdempotencyKey, row.Repeat = &key, repeat
	return row, err
}

// Source is the program whose export the sheet seems to be; empty for none.
func (r *Reader) Source() string { return r.source }

// Header names the columns.
func (r *Reader) Header() []string { return r.header }

// BytesRead is how much of the sheet was read.
func (r *Reader) BytesRead() int64 { return r.table.read.n }

// Reason is what is wrong with a row, in one line.
func (r Row) Reason() string {
	var refusal *warranty.Error
	if !errors.As(r.Err, &refusal) {
		return fmt.Sprint(r.Err)
	}
	if len(refusal.Fields) == 0 {
		return refusal.Message
	}
	var parts []string
	for _, f := range refusal.Fields {
		parts = append(parts, f.Field+": "+f.Message)
	}
	return strings.Join(parts, " ")
}
