package sheet

import (
	"fmt"
	"io"
)

// Failures writes rows that failed, with the reason, so that they can be fixed and
// imported.
type Failures struct {
	header []string
	csv    *Writer
}

// The columns that Failures adds. A file of failures that is imported has them already.
const lineColumn, reasonColumn = "svc_line", "svc_error"

// NewFailures returns a Failures for a sheet with this header.
func NewFailures(w io.Writer, header []string) *Failures {
	f := &Failures{header: header, csv: NewWriter(w)}
	f.csv.Write(append(f.own(header), lineColumn, reasonColumn))
	return f
}

// Add writes a row and flushes it, so that an import that is killed loses no failures.
func (f *Failures) Add(r Row) error {
	cells := make([]string, len(f.header))
	for k := range cells {
		if k < len(r.cells) {
			cells[k] = unescapeFormula(r.cells[k])
		}
	}
	f.csv.Write(append(f.own(cells), fmt.Sprint(r.Line), r.Reason()))
	return f.csv.Flush()
}

// own returns the cells of the original columns.
func (f *Failures) own(cells []string) []string {
	var own []string
	for k, name := range f.header {
		if name != lineColumn && name != reasonColumn {
			own = append(own, cells[k])
		}
	}
	return own
}
