package sheet

import (
	"io"
	"reflect"
	"slices"

	"warranty.example/svc/warranty"
)

// Export writes some or all fields of warranties as CSV.
type Export struct {
	csv     *Writer
	columns []string
	chosen  []int // indexes of columns; nil means all
}

// NewExport returns an Export of fields, or of all, that writes to w on Flush.
func NewExport(w io.Writer, fields []string) *Export {
	e := &Export{csv: NewWriter(w), columns: Columns(reflect.TypeFor[warranty.Warranty]())}
	for _, name := range fields {
		if i := slices.Index(e.columns, name); i >= 0 {
			e.chosen = append(e.chosen, i)
		}
	}
	return e
}

// Head adds the names of the columns.
func (e *Export) Head() { e.write(e.columns) }

// Add adds a warranty.
func (e *Export) Add(w warranty.Warranty) { e.write(Values(reflect.ValueOf(w))) }

// Flush writes the buffered rows and returns the first error.
func (e *Export) Flush() error { return e.csv.Flush() }

func (e *Export) write(cells []string) {
	if e.chosen == nil {
		e.csv.Write(cells)
		return
	}
	some := make([]string, 0, len(e.chosen))
	for _, i := range e.chosen {
		some = append(some, cells[i])
	}
	e.csv.Write(some)
}
