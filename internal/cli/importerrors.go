package cli

import (
	"fmt"
	"os"
)

// errorsCSV is the file of rows that failed. It is made with the first of them.
type errorsCSV struct {
	path   string
	header []string
	file   *os.File
	csv    *csvWriter
}

// The columns that it adds. A file that was mended and fails again has them already.
const lineColumn, reasonColumn = "svc_line", "svc_error"

// add writes a row, at once: an import that is killed has told of its failures.
func (e *errorsCSV) add(r row, reason string) error {
	if e.file == nil {
		f, err := os.Create(e.path)
		if err != nil {
			return err
		}
		e.file, e.csv = f, newCSVWriter(f)
		e.csv.write(append(e.own(e.header), lineColumn, reasonColumn))
	}
	cells := make([]string, len(e.header))
	for k := range cells {
		if k < len(r.cells) {
			cells[k] = fuse(r.cells[k])
		}
	}
	e.csv.write(append(e.own(cells), fmt.Sprint(r.line), reason))
	return e.csv.flush()
}

// own are the cells of the file's own columns.
func (e *errorsCSV) own(cells []string) []string {
	var own []string
	for k, name := range e.header {
		if name != lineColumn && name != reasonColumn {
			own = append(own, cells[k])
		}
	}
	return own
}

func (e *errorsCSV) close() error {
	if e.file == nil {
		return nil
	}
	return e.file.Close()
}
