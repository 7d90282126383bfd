package sheet

import (
	"fmt"
	"io"
)

// Failures writes the rows that failed with the reason, to be fixed and read again.
type Failures struct {
	header []string
	csv    *Writer
}

// The columns that it adds. A sheet that was fixed and fails again has them already.
const lineColumn, reasonColumn = "svc_line", "svc_error"

// NewFailures writes the head of the failures of a sheet with this header.
func NewFailures(w io.Writer, header []string) *Failures {
	f := &Failures{header: header, csv: NewWriter(w)}
	f.csv.Write(append(f.own(header), lineColumn, reasonColumn))
	return f
}

// Add writes a row, at once: an import that is killed has told of its failures.
func (f *Failures) Add(r Row) error {
	cells := make([]string, len(f.header))
	for k := range cells {
		if k < len(r.cells) {
			cells[k] = fuse(r.cells[k])
		}
	}
	f.csv.Write(append(f.own(cells), fmt.Sprint(r.Line), r.Reason()))
	return f.csv.Flush()
}

// own are the cells of the sheet's own columns.
func (f *Failures) own(cells []string) []string {
	var own []string
	for k, name := range f.header {
		if name != lineColumn && name != reasonColumn {
			own = append(own, cells[k])
		}
	}
	return own
}
