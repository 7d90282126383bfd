package sheet

import (
	"cmp"
	"slices"
	"strings"

	"warranty.example/svc/warranty"
)

// AllProblems leaves out every row that has a problem.
const AllProblems = "*"

// AloneSuffix after the key of a problem leaves out only those rows that hold nothing else.
const AloneSuffix = ":alone"

// Problem is an error that several rows have, with the rows to fix.
type Problem struct {
	Field string
	Code  string
	// Message says what is wrong.
	Message warranty.Text
	Count   int
	Rows    []ProblemRow // the first ones
	// Alone counts the rows that have one filled cell, and AloneLines has their first lines.
	Alone      int
	AloneLines []int
}

// ProblemRow is a row to fix.
type ProblemRow struct {
	Line  int
	About []string // what else is in the row
	Value string   // the content of the cell
	Fixed string   // what was typed and is wrong too
}

// Key identifies the problem in Options.LeaveOut.
func (p Problem) Key() string { return p.Field + ":" + p.Code }

// More returns the number of rows that are not in Rows.
func (p Problem) More() int { return p.Count - p.Alone - len(p.Rows) }

// CanBeEmpty reports whether the field can be left empty.
func (p Problem) CanBeEmpty() bool { return CanBeEmpty(p.Field) && p.Code != required }

// IsDate reports whether the field is a date.
func (p Problem) IsDate() bool { return strings.HasSuffix(p.Field, "_date") }

// Problems are the problems of the rows of a file, grouped.
type Problems []Problem

// shownFixes is the number of rows of a problem that can be fixed one by one.
const shownFixes = 25

// Add adds the problems of a row.
func (g *Problems) Add(row Row) {
	faults := row.Faults()
	if alone := row.filled() <= 1; alone && len(faults) > 1 {
		at := slices.IndexFunc(faults, func(f CellFault) bool { return f.Field == "product_name" })
		faults = faults[max(at, 0):][:1] // one problem is enough to leave such a row out
	}
	for _, f := range faults {
		at := slices.IndexFunc(*g, func(p Problem) bool {
			return p.Field == f.Field && p.Code == f.Code && (f.Field != "" || p.Message.String() == f.Message.String())
		})
		if at < 0 {
			if len(*g) == shownGroups {
				continue
			}
			*g = append(*g, Problem{Field: f.Field, Code: f.Code, Message: f.Message})
			at = len(*g) - 1
		}
		p := &(*g)[at]
		p.Count++
		if row.filled() <= 1 && f.Code == required {
			if p.Alone++; len(p.AloneLines) < shownLines {
				p.AloneLines = append(p.AloneLines, row.Line)
			}
			continue
		}
		if len(p.Rows) < shownFixes {
			shown := ProblemRow{row.Line, row.about(f.Field), shorten(f.Value), row.fixed[f.Field]}
			p.Rows = append(p.Rows, shown)
		}
	}
}

// Sort puts what stops a row first, and then the most frequent.
func (g Problems) Sort() {
	slices.SortStableFunc(g, func(a, b Problem) int {
		empty := func(p Problem) int {
			if p.CanBeEmpty() {
				return 1
			}
			return 0
		}
		return cmp.Or(empty(a)-empty(b), b.Count-a.Count)
	})
}

// filled counts the cells with a value.
func (r Row) filled() (n int) {
	for i := range r.cells {
		if cell(r.cells, i) != "" {
			n++
		}
	}
	return n
}

// about returns what tells a row from others, without a field: product, customer, serial number and start.
func (r Row) about(without string) (parts []string) {
	if r.from == nil {
		return nil
	}
	for _, field := range []string{"product_name", "customer_name", "serial_number", "start_date", "price"} {
		if v := r.from.value(r.record, field); v != "" && field != without && len(parts) < 3 {
			parts = append(parts, shorten(v))
		}
	}
	return parts
}

// leavesOut reports whether a row with errors is left out, as chosen.
func (r *Reader) leavesOut(row Row) bool {
	if len(r.options.LeaveOut) == 0 {
		return false
	}
	for _, f := range row.Faults() {
		key := Problem{Field: f.Field, Code: f.Code}.Key()
		if slices.Contains(r.options.LeaveOut, key) ||
			row.filled() <= 1 && slices.Contains(r.options.LeaveOut, key+AloneSuffix) {
			return true
		}
	}
	return slices.Contains(r.options.LeaveOut, AllProblems)
}
