package sheet

import (
	"maps"
	"slices"
)

// ReadingKind is a way in which values were read that are not what the file says word for word.
type ReadingKind string

// The kinds of readings.
const (
	ReadPrice     ReadingKind = "price"      // 807,77 € is 807.77 EUR
	ReadNone      ReadingKind = "none"       // "keine" is empty
	ReadBare      ReadingKind = "bare"       // 24 is 24 months
	ReadShort     ReadingKind = "short"      // 2 J. is 2 years
	ReadOrder     ReadingKind = "order"      // 05/12/2024 is a day in December
	ReadDayNumber ReadingKind = "day_number" // 45987 is a date of Excel
	ReadLength    ReadingKind = "length"     // the row has no length, so the chosen one counts
	ReadAbove     ReadingKind = "above"      // the first row of the same order has the value
	ReadEmptied   ReadingKind = "emptied"    // an invalid value was left empty, as chosen
)

// Reading tells how the values of a field were read.
type Reading struct {
	Kind  ReadingKind `json:"kind"`
	Field string      `json:"field"`
	Value string      `json:"value"` // the first one, as in the file
	As    string      `json:"as"`    // what it was read as
	Rows  int         `json:"rows"`
}

// Readings are how the values of a file were read, and which rows were skipped.
type Readings struct {
	list    []Reading
	skipped map[SkipReason][]int // the first lines
}

// add notes a value.
func (r *Readings) add(kind ReadingKind, field, value, as string) {
	for i := range r.list {
		if same := &r.list[i]; same.Kind == kind && same.Field == field {
			same.Rows++
			return
		}
	}
	r.list = append(r.list, Reading{kind, field, shorten(value), as, 1})
}

// skip notes a row that is not imported.
func (r *Readings) skip(row Row) {
	if row.Skip == "" {
		return
	}
	if r.skipped == nil {
		r.skipped = map[SkipReason][]int{}
	}
	if len(r.skipped[row.Skip]) < shownLines {
		r.skipped[row.Skip] = append(r.skipped[row.Skip], row.Line)
	}
}

func (r *Readings) clone() Readings { return Readings{slices.Clone(r.list), maps.Clone(r.skipped)} }

// Readings returns how the rows so far were read.
func (r *Reader) Readings() []Reading { return r.readings.list }

// SkippedLines returns the first lines that were skipped so far for a reason.
func (r *Reader) SkippedLines(why SkipReason) []int { return r.readings.skipped[why] }

// Assumed reports how a file is read, as detected or chosen, for people to check.
type Assumed struct {
	Encoding  Encoding `json:"encoding"`
	Separator string   `json:"separator"`
	Sheet     string   `json:"sheet"`  // of a workbook
	Sheets    []string `json:"sheets"` // of a workbook
	// HeaderLine is the line with the column names, and Titles what is above it.
	HeaderLine int       `json:"header_line"`
	Titles     []string  `json:"titles"`
	Order      DateOrder `json:"date_order"`
	// Ordered is the number of dates that show the order.
	Ordered int `json:"-"`
	// SerialDates reports whether some dates are Excel day numbers.
	SerialDates bool `json:"excel_dates"`
	// Months reports whether lengths without a unit are months.
	Months   bool      `json:"numbers_are_months"`
	Readings []Reading `json:"readings"`
}

// Assumed reports how the rows so far were read.
func (r *Reader) Assumed() Assumed {
	a := Assumed{
		Encoding:   r.table.encoding,
		Sheet:      r.table.sheet,
		Sheets:     append([]string{}, r.table.sheets...),
		HeaderLine: r.table.headerLine,
		Titles:     []string{},
		Order:      r.order("start_date"),
		Ordered:    max(r.evidence.dayFirst+r.evidence.dotted["start_date"], r.evidence.monthFirst),
		Months:     r.style.bare == months && len(r.columns["duration"]) > 0,
		Readings:   append([]Reading{}, r.readings.list...),
	}
	if r.table.separator != 0 {
		a.Separator = string(r.table.separator)
	}
	for _, row := range r.table.titles {
		for i := range row.cells {
			if v := cell(row.cells, i); v != "" && len(a.Titles) < shownHead {
				a.Titles = append(a.Titles, shorten(v))
			}
		}
	}
	for _, reading := range r.readings.list {
		a.SerialDates = a.SerialDates || reading.Kind == ReadDayNumber
	}
	return a
}

// Column is a column of a file and what becomes of it.
type Column struct {
	Index   int
	Name    string
	Field   string // or "" if it is not imported
	Samples []Sample
	Filled  int // rows with a value
	Rows    int
}

// Letter returns the name of the column in a spreadsheet: A, B, and so on.
func (c Column) Letter() string {
	name := ""
	for n := c.Index; n >= 0; n = n/26 - 1 {
		name = string(rune('A'+n%26)) + name
	}
	return name
}

// Columns returns the columns of the file.
func (r *Reader) Columns() []Column {
	var list []Column
	for i, name := range r.header {
		s := r.samples[i]
		list = append(list, Column{i, name, r.fieldOf(i), s.list, s.filled, r.total})
	}
	return list
}
