package sheet

import (
	"encoding/csv"
	"io"
	"strings"
)

// Writer writes CSV and escapes cells that a spreadsheet would run as formulas.
type Writer struct {
	w   *csv.Writer
	row []string
	err error
}

// NewWriter returns a Writer that writes to w on Flush.
func NewWriter(w io.Writer) *Writer { return &Writer{w: csv.NewWriter(w)} }

// Write adds a row. Flush returns any error.
func (c *Writer) Write(cells []string) {
	c.row = c.row[:0]
	for _, cell := range cells {
		c.row = append(c.row, escapeFormula(cell))
	}
	if err := c.w.Write(c.row); err != nil && c.err == nil {
		c.err = err
	}
}

// Flush writes the buffered rows and returns the first error.
func (c *Writer) Flush() error {
	c.w.Flush()
	if c.err != nil {
		return c.err
	}
	return c.w.Error()
}

// triggers are the characters that make a cell a formula if it begins with one. The
// full-width forms work in Japanese spreadsheets.
const triggers = "=+-@\t\r\n\x00＝＋－＠"

// looksLikeFormula reports whether a cell begins with a trigger, after any
// apostrophes. They are skipped so that escaping is reversible.
func looksLikeFormula(cell string) bool {
	return strings.IndexAny(strings.TrimLeft(cell, "'"), triggers) == 0
}

// escapeFormula prefixes a formula with an apostrophe, which makes it text.
func escapeFormula(cell string) string {
	if looksLikeFormula(cell) {
		return "'" + cell
	}
	return cell
}

// unescapeFormula reverses escapeFormula.
func unescapeFormula(cell string) string {
	if strings.HasPrefix(cell, "'") && looksLikeFormula(cell) {
		return cell[1:]
	}
	return cell
}
