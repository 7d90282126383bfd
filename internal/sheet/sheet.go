// Package sheet imports warranties from CSV files of other programs and exports them
// as CSV. The command line and the web pages both use it.
package sheet

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"warranty.example/svc/warranty"
)

// Fault is an error that makes a whole sheet unreadable, and its fix.
type Fault struct{ What, Fix warranty.Text }

// Error returns What.
func (f *Fault) Error() string { return f.What.String() }

// MissingColumns is the error for a sheet without a column for required fields. The
// caller explains how to choose the columns.
type MissingColumns struct {
	Fields []string
	Header []string
	Found  map[string]string // columns of the other fields
}

// Error lists the fields without a column.
func (m *MissingColumns) Error() string { return m.Text(m.Fields).String() }

// Text lists the fields without a column by the names that a reader knows.
func (m *MissingColumns) Text(names []string) warranty.Text {
	return warranty.Textf("No column was found for %s.", strings.Join(names, ", "))
}

// Options override what is detected in a sheet.
type Options struct {
	// Columns maps a field to its column, or to "" to leave the field out. The
	// columns of other fields are guessed.
	Columns  map[string]string
	Order    DateOrder
	Encoding Encoding
}

// Reader reads a sheet row by row.
type Reader struct {
	mapping
	table   *table
	order   DateOrder
	serials bool               // some dates are Excel day numbers
	seen    map[[8]byte]uint32 // occurrences of each row, by a prefix of its hash
	// external maps each external id to its line.
	external map[string]int
	total    int // rows of the sheet
	// repeatedSerials has the products with several coverage periods in the sheet.
	repeatedSerials map[string]bool
}

// Row is a row of a sheet: a warranty to create, a row to skip, or an error.
type Row struct {
	Line   int
	Input  warranty.CreateWarranty // with its idempotency key
	Status warranty.Status         // active, void or cancelled
	// Reference is the reference number of the exported record, if any.
	Reference warranty.Reference
	Repeat    bool // equal to an earlier row
	// OtherDates means that the row is already imported, and its record covers other days.
	OtherDates bool
	// Differs has the fields in which the row and the record with its external id differ.
	Differs []string
	// NotEmailed says why the customer got no email, if so.
	NotEmailed string
	Skip       SkipReason
	Err        error

	item  warranty.LookupItem
	cells []string
	from  *mapping
}

// SkipReason is the reason why a valid row is not imported.
type SkipReason string

// The reasons.
const (
	NoCover SkipReason = "no_cover" // the item has no warranty
	Blank   SkipReason = "blank"    // Excel writes such rows after the last one with a value
)

// Text returns the reason as text.
func (s SkipReason) Text() string {
	switch s {
	case NoCover:
		return "the row has no warranty"
	case Blank:
		return "the row is empty"
	}
	return string(s)
}

// Assumed reports how a sheet is read, as detected or chosen, for people to check.
type Assumed struct {
	Encoding  Encoding  `json:"encoding"`
	Separator string    `json:"separator"`
	Order     DateOrder `json:"date_order"`
	// SerialDates reports whether some dates are Excel day numbers.
	SerialDates bool `json:"excel_dates"`
	// Months reports whether lengths without a unit are months.
	Months bool `json:"numbers_are_months"`
}

// Assumed reports how the rows so far were read.
func (r *Reader) Assumed() Assumed {
	return Assumed{
		Encoding:    r.table.encoding,
		Separator:   string(r.table.reader.Comma),
		Order:       r.order,
		SerialDates: r.serials,
		Months:      r.lengthUnit() == months && len(r.columns["duration"]) > 0,
	}
}

// Open scans the whole sheet once, and then returns a Reader at its first row. The
// error for an unreadable sheet is a *Fault or a *MissingColumns.
func Open(file io.ReadSeeker, o Options) (*Reader, error) {
	start, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, err
	}
	first, err := open(file, o)
	if err != nil {
		return nil, err
	}
	repeated, total, err := first.scan()
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
	r.repeatedSerials, r.total = repeated, total
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
	return &Reader{
		mapping:  m,
		table:    t,
		order:    o.Order,
		seen:     map[[8]byte]uint32{},
		external: map[string]int{},
	}, nil
}

// scan reads and counts all rows, and returns the products with several coverage periods: a warranty that was
// extended has two rows with the same serial number.
func (r *Reader) scan() (repeatedSerials map[string]bool, rows int, err error) {
	type period struct{ start, end warranty.Date }
	periods, repeated := map[string]period{}, map[string]bool{}
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			return repeated, rows, nil
		}
		if err != nil {
			return nil, 0, err
		}
		rows++
		if row.Err != nil || row.Skip != "" || !isSerialNumber(row.Input.SerialNumber) {
			continue
		}
		serial, now := row.serial(), period{row.Input.StartDate, row.Input.EndDate}
		if before, seen := periods[serial]; seen && before != now {
			repeated[serial] = true
		}
		periods[serial] = now
	}
}

// Next reads the next row. It returns io.EOF at the end of the sheet. The error of an
// invalid row is in Row.Err.
func (r *Reader) Next() (Row, error) {
	row, err := r.table.next()
	row.from = &r.mapping
	if err == nil && row.Err == nil && row.Skip == "" {
		r.read(&row)
	}
	if err != nil || row.Err != nil || row.Skip != "" {
		return row, err
	}
	return row, r.identify(&row)
}

// Source returns the program that exported the sheet, or "" if it is unknown.
func (r *Reader) Source() string { return r.source }

// Header returns the names of the columns.
func (r *Reader) Header() []string { return r.header }

// Total returns the number of rows of the sheet.
func (r *Reader) Total() int { return r.total }

// CellFault is an error in a cell, or in the whole row if Field is empty.
type CellFault struct {
	Field, Column string
	Message       warranty.Text
	Value         string // the content of the cells that the field was read from
}

// Faults returns the errors of a row.
func (r Row) Faults() []CellFault {
	var refusal *warranty.Error
	switch {
	case r.Err == nil:
		return nil
	case !errors.As(r.Err, &refusal):
		return []CellFault{{Message: warranty.Text{Format: fmt.Sprint(r.Err)}}}
	case len(refusal.Fields) == 0:
		return []CellFault{{Message: refusal.Text()}}
	}
	var list []CellFault
	for _, f := range refusal.Fields {
		column, value := r.columnOf(f.Field)
		list = append(list, CellFault{Field: f.Field, Column: column, Message: f.Text(), Value: value})
	}
	return list
}

// Reason returns the errors of a row in one line.
func (r Row) Reason() string {
	var parts []string
	for _, f := range r.Faults() {
		switch {
		case f.Field == "":
			parts = append(parts, f.Message.String())
		case f.Column == "" || normalize(f.Column) == normalize(f.Field):
			parts = append(parts, f.Field+": "+f.Message.String())
		default:
			parts = append(parts, f.Field+" (column "+f.Column+"): "+f.Message.String())
		}
	}
	return strings.Join(parts, " ")
}

// columnOf names the columns that a field was read from, and returns their content: those with a value in this
// row, or else all columns of the field.
func (r Row) columnOf(field string) (column, value string) {
	if r.from == nil {
		return "", ""
	}
	fields := []string{field}
	if field == "end_date" && r.from.day(r.cells, field) == "" {
		fields = append(slices.Clone(lengthFields), field)
	}
	var filled, all, values []string
	for _, f := range fields {
		for _, i := range r.from.columns[f] {
			all = append(all, r.from.header[i])
			if i < len(r.cells) && cell(r.cells, i) != "" {
				filled, values = append(filled, r.from.header[i]), append(values, cell(r.cells, i))
			}
		}
	}
	if len(filled) > 0 {
		return strings.Join(filled, ", "), strings.Join(values, ", ")
	}
	return strings.Join(all, ", "), ""
}
