package sheet

import (
	"encoding/csv"
	"io"
	"strings"
)

// Writer writes rows whose cells no spreadsheet takes for formulas.
type Writer struct {
	w   *csv.Writer
	row []string
	err error
}

// NewWriter writes rows to w, once they are flushed.
func NewWriter(w io.Writer) *Writer { return &Writer{w: csv.NewWriter(w)} }

// Write adds a row. What goes wrong is told by Flush.
func (c *Writer) Write(cells []string) {
	c.row = c.row[:0]
	for _, cell := range cells {
		c.row = append(c.row, defuse(cell))
	}
	if err := c.w.Write(c.row); err != nil && c.err == nil {
		c.err = err
	}
}

// Flush sends on what was written.
func (c *Writer) Flush() error {
	c.w.Flush()
	if c.err != nil {
		return c.err
	}
	return c.w.Error()
}

// triggers are the characters with which a cell begins that is more than text to
// a spreadsheet; the wide forms are those of Japanese ones.
const triggers = "=+-@\t\r\n\x00＝＋－＠"

// risky tells whether a cell, but for apostrophes before it, begins with a
// trigger. The apostrophes count so that defusing can be undone without doubt.
func risky(cell string) bool {
	bare := strings.TrimLeft(cell, "'")
	return bare != "" && strings.IndexAny(bare, triggers) == 0
}

// defuse puts an apostrophe, which makes it text, before a cell that a
// spreadsheet would run.
func defuse(cell string) string {
	if risky(cell) {
		return "'" + cell
	}
	return cell
}

// fuse undoes defuse.
func fuse(cell string) string {
	if strings.HasPrefix(cell, "'") && risky(cell) {
		return cell[1:]
	}
	return cell
}
