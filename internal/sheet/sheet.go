// Package sheet imports warranties from workbooks (.xlsx) and CSV files of other programs, and exports them as CSV. The
// command line, the web pages and jobs use it.
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

	// Table, HeaderLine, Sheet and Sheets describe the file, to choose the columns from.
	Table      []Column
	HeaderLine int
	Sheet      string
	Sheets     []string
}

// Error lists the fields without a column.
func (m *MissingColumns) Error() string { return m.Text(m.Fields).String() }

// Text lists the fields without a column by the names that a reader knows.
func (m *MissingColumns) Text(names []string) warranty.Text {
	return warranty.Textf("No column was found for %s.", strings.Join(names, ", "))
}

// Options override what is detected in a file.
type Options struct {
	// Columns maps a field to its column, or to "" to leave the field out. The
	// columns of other fields are guessed.
	Columns map[string]string
	// Becomes maps the number of each column to its field. The other columns are not read, and nothing is guessed.
	Becomes  map[int]string `json:",omitempty"`
	Order    DateOrder
	Encoding Encoding
	// Sheet is the name of the sheet of a workbook. By default it is the first one with column names.
	Sheet string `json:",omitempty"`
	// HeaderLine is the line with the column names. By default it is found.
	HeaderLine int `json:",omitempty"`
	// Hidden reads hidden rows of a workbook, too.
	Hidden bool `json:",omitempty"`
	// Currency is that of prices without one.
	Currency string `json:",omitempty"`
	// Length is that of warranties without an end and a length.
	Length string `json:",omitempty"`
	// Unit is that of lengths without one: months or years.
	Unit string `json:",omitempty"`
	// NoCustomers does not take a column that is only named "Email" for the addresses of customers, who would get an email.
	NoCustomers bool `json:",omitempty"`
	// Fixes are values by line and field that take the place of the cells.
	Fixes map[int]map[string]string `json:",omitempty"`
	// Empty lists the optional fields whose invalid values are left empty.
	Empty []string `json:",omitempty"`
	// LeaveOut lists the keys of problems whose rows are left out, or AllProblems.
	LeaveOut []string `json:",omitempty"`
}

// Reader reads a file row by row.
type Reader struct {
	mapping
	table    *table
	options  Options
	style    style
	evidence evidence
	samples  []sampler
	readings Readings
	seen     map[[8]byte]uint32 // occurrences of each row, by a prefix of its hash
	// external maps each external id to its line.
	external map[string]int
	// periods has the products with a serial number and their dates, with their lines.
	periods map[string]int
	first   []string // the cells of the last row that has the data of a Shopify order
	total   int      // rows of the file
	// repeatedSerials has the products with several coverage periods in the file.
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

	item warranty.LookupItem
	record
	from *mapping
}

// SkipReason is the reason why a valid row is not imported.
type SkipReason string

// The reasons.
const (
	NoCover SkipReason = "no_cover" // the item has no warranty
	Blank   SkipReason = "blank"    // Excel writes such rows after the last one with a value
	Total   SkipReason = "total"    // the row sums up others
	Heading SkipReason = "heading"  // the row repeats the column names
	Hidden  SkipReason = "hidden"   // the row is hidden in the workbook
	Double  SkipReason = "double"   // an earlier row has the same product, serial number and dates
	LeftOut SkipReason = "left_out" // the person left the row out
)

// SkipReasons lists the reasons.
func SkipReasons() []SkipReason {
	return []SkipReason{Blank, Total, Heading, Hidden, Double, NoCover, LeftOut}
}

// Text returns the reason as text.
func (s SkipReason) Text() string {
	switch s {
	case NoCover:
		return "the row has no warranty"
	case Blank:
		return "the row is empty"
	case Total:
		return "the row is a total"
	case Heading:
		return "the row repeats the column names"
	case Hidden:
		return "the row is hidden in the workbook"
	case Double:
		return "an earlier row has the same product, serial number and dates"
	case LeftOut:
		return "you left the row out"
	}
	return string(s)
}

// Open scans the whole file once, and then returns a Reader at its first row. The error for an unreadable file is a
// *Fault, a *NoHeader or a *MissingColumns.
func Open(file io.ReadSeeker, o Options) (*Reader, error) {
	start, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, err
	}
	lazy := false
	first, err := scan(file, o, lazy)
	if errors.Is(err, errBareQuote) {
		if _, err := file.Seek(start, io.SeekStart); err != nil {
			return nil, err
		}
		lazy = true
		first, err = scan(file, o, lazy)
	}
	if err != nil {
		return nil, err
	}
	if _, err := file.Seek(start, io.SeekStart); err != nil {
		return nil, err
	}
	r, err := open(file, o, lazy)
	if err != nil {
		return nil, err
	}
	r.repeatedSerials, r.total = first.repeatedSerials, first.total
	r.style, r.evidence, r.samples = first.style, first.evidence, first.samples
	return r, r.settle(o)
}

// scan opens a file and reads all of it, to learn how its values are written.
func scan(file io.ReadSeeker, o Options, lazy bool) (*Reader, error) {
	r, err := open(file, o, lazy)
	if err == nil {
		return r, r.profile()
	}
	var missing *MissingColumns
	if r != nil && errors.As(err, &missing) {
		if failed := r.profile(); failed != nil {
			return nil, failed
		}
		missing.Table = r.Columns()
		missing.HeaderLine, missing.Sheet, missing.Sheets = r.table.headerLine, r.table.sheet, r.table.sheets
	}
	return nil, err
}

func open(file io.ReadSeeker, o Options, lazy bool) (*Reader, error) {
	t, err := openTable(file, o, lazy)
	if err != nil {
		return nil, err
	}
	m, err := mapColumns(t.header, o)
	return &Reader{
		mapping:         m,
		table:           t,
		options:         o,
		seen:            map[[8]byte]uint32{},
		external:        map[string]int{},
		periods:         map[string]int{},
		repeatedSerials: map[string]bool{},
		evidence:        evidence{dotted: map[string]int{}},
	}, err
}

// Next reads the next row. It returns io.EOF at the end of the sheet. The error of an
// invalid row is in Row.Err.
func (r *Reader) Next() (Row, error) {
	row, err := r.table.next()
	row.from = &r.mapping
	if err != nil || row.Skip != "" {
		r.readings.skip(row)
		return row, err
	}
	if row.Err == nil {
		row.fixed = r.fixesOf(row)
		r.readFixed(&row)
	}
	if row.Err == nil && row.Skip == "" {
		err = r.identify(&row)
	}
	if row.Err != nil && r.leavesOut(row) {
		row.Skip = LeftOut
	}
	r.readings.skip(row)
	return row, err
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
	Code          string // of the error
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
		list = append(list, CellFault{f.Field, column, f.Code, f.Text(), value})
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
	if field == "end_date" && r.from.day(r.record, field) == "" {
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
