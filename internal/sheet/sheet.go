// Package sheet reads warranties from CSV as other programs write it, and writes
// them as CSV that can be read again. It is what an import and an export are made
// of, wherever they are asked for.
package sheet

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"warranty.example/svc/warranty"
)

// Fault is what makes a whole sheet unreadable, and how to fix it.
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
	Columns  map[string]string
	Order    DateOrder
	Encoding Encoding
}

// Reader reads a sheet row by row.
type Reader struct {
	mapping
	table   *table
	order   DateOrder
	serials bool               // dates came as Excel's numbers
	seen    map[[8]byte]uint32 // how often each row was met, by a part of its hash
	// external is the line of each external id.
	external map[string]int
	// several are the products with more than one cover in the sheet.
	several map[string]bool
}

// Row is one row of a sheet: a warranty to create, one to skip, or what is wrong
// with it.
type Row struct {
	Line   int
	Input  warranty.CreateWarranty // with its idempotency key
	Status warranty.Status         // active, void or cancelled
	// Reference is of the record that the row was exported from, if any.
	Reference warranty.Reference
	Repeat    bool // it says the same as an earlier row
	Skip      SkipReason
	Err       error

	item  warranty.LookupItem // what it is looked for by
	cells []string
	from  *mapping
}

// SkipReason says why a row is neither imported nor wrong.
type SkipReason string

// NoCover is a row of an inventory that has no warranty.
const NoCover SkipReason = "no_cover"

// Text is the reason in words.
func (s SkipReason) Text() string {
	if s == NoCover {
		return "the row has no warranty"
	}
	return string(s)
}

// Assumed is how a sheet is read: what was found out or chosen, for people to check.
type Assumed struct {
	Encoding  Encoding  `json:"encoding"`
	Separator string    `json:"separator"`
	Order     DateOrder `json:"date_order"`
	// SerialDates tells that dates came as Excel's numbers of days.
	SerialDates bool `json:"excel_dates"`
	// Months tells that numbers without a unit are months, as in this program's exports.
	Months bool `json:"numbers_are_months"`
}

// Assumed tells how the sheet is read, as far as it was read.
func (r *Reader) Assumed() Assumed {
	return Assumed{Encoding: r.table.encoding, Separator: string(r.table.reader.Comma), Order: r.order, SerialDates: r.serials,
		Months: r.lengthUnit() == months && len(r.columns["duration"]) > 0}
}

// Open reads a sheet through, and then its head again. A sheet that cannot be read
// is a *Fault, or *MissingColumns.
func Open(file io.ReadSeeker, o Options) (*Reader, error) {
	start, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, err
	}
	first, err := open(file, o)
	if err != nil {
		return nil, err
	}
	several, err := first.survey()
	if err != nil {
		return nil, err
	}
	if _, err := file.Seek(start, io.SeekStart); err != nil {
		return nil, err
	}
	r, err := open(file, o)
	if err != nil {
		return nil, err
	}
	r.several = several
	return r, nil
}

func open(file io.ReadSeeker, o Options) (*Reader, error) {
	t, err := openTable(file, o.Encoding)
	if err != nil {
		return nil, err
	}
	m, err := mapColumns(t.header, o.Columns)
	if err != nil {
		return nil, err
	}
	return &Reader{mapping: m, table: t, order: o.Order, seen: map[[8]byte]uint32{}, external: map[string]int{}}, nil
}

// survey reads all rows and finds products that have more than one cover: what is
// bought once and extended later stands in a sheet twice, with one serial number.
func (r *Reader) survey() (map[string]bool, error) {
	type cover struct{ start, end warranty.Date }
	covers, several := map[string]cover{}, map[string]bool{}
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			return several, nil
		}
		if err != nil {
			return nil, err
		}
		if row.Err != nil || row.Skip != "" || !identifies(row.Input.SerialNumber) {
			continue
		}
		mark, now := row.serial(), cover{row.Input.StartDate, row.Input.EndDate}
		if before, met := covers[mark]; met && before != now {
			several[mark] = true
		}
		covers[mark] = now
	}
}

// Next reads a row; io.EOF ends the sheet. An error ends the reading; what is
// wrong with the row alone is in it.
func (r *Reader) Next() (Row, error) {
	row, err := r.table.next()
	row.from = &r.mapping
	if err == nil && row.Err == nil {
		r.read(&row)
	}
	if err != nil || row.Err != nil || row.Skip != "" {
		return row, err
	}
	return row, r.identify(&row)
}

// Source is the program whose export the sheet seems to be; empty for none.
func (r *Reader) Source() string { return r.source }

// Header names the columns.
func (r *Reader) Header() []string { return r.header }

// BytesRead is how much of the sheet was read.
func (r *Reader) BytesRead() int64 { return r.table.read.n }

// CellFault is what is wrong with a cell of a row, or with the whole row.
type CellFault struct {
	Field, Column string
	Message       string
}

// Faults are what is wrong with a row.
func (r Row) Faults() []CellFault {
	var refusal *warranty.Error
	switch {
	case r.Err == nil:
		return nil
	case !errors.As(r.Err, &refusal):
		return []CellFault{{Message: fmt.Sprint(r.Err)}}
	case len(refusal.Fields) == 0:
		return []CellFault{{Message: refusal.Message}}
	}
	var list []CellFault
	for _, f := range refusal.Fields {
		list = append(list, CellFault{Field: f.Field, Column: r.columnOf(f.Field), Message: f.Message})
	}
	return list
}

// Reason is what is wrong with a row, in one line.
func (r Row) Reason() string {
	var parts []string
	for _, f := range r.Faults() {
		switch {
		case f.Field == "":
			parts = append(parts, f.Message)
		case f.Column == "" || bare(f.Column) == bare(f.Field):
			parts = append(parts, f.Field+": "+f.Message)
		default:
			parts = append(parts, f.Field+" (column "+f.Column+"): "+f.Message)
		}
	}
	return strings.Join(parts, " ")
}

// columnOf names the columns that a field of the row was read from: those that
// hold something, else all that could.
func (r Row) columnOf(field string) string {
	if r.from == nil {
		return ""
	}
	fields := []string{field}
	if field == "end_date" && r.from.day(r.cells, field) == "" {
		fields = append(slices.Clone(lengthFields), field)
	}
	var filled, all []string
	for _, f := range fields {
		for _, i := range r.from.columns[f] {
			all = append(all, r.from.header[i])
			if i < len(r.cells) && cell(r.cells, i) != "" {
				filled = append(filled, r.from.header[i])
			}
		}
	}
	if len(filled) > 0 {
		return strings.Join(filled, ", ")
	}
	return strings.Join(all, ", ")
}
