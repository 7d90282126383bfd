package sheet

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"warranty.example/svc/warranty"
)

// table is a CSV file that is read row by row.
type table struct {
	reader *csv.Reader
	read   *counter
	header []string
	// encoding is how the file is encoded.
	encoding Encoding
}

// counter counts what was read.
type counter struct {
	r io.Reader
	n int64
}

// Read reads on.
func (c *counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// openTable reads the head of a CSV file. Excel writes a byte order mark, other
// encodings, and in some countries semicolons.
func openTable(file io.ReadSeeker, chosen Encoding) (*table, error) {
	t := &table{read: &counter{r: file}}
	valid, err := validUTF8(file)
	if err != nil {
		return nil, err
	}
	text, encoding, err := decoded(t.read, chosen, valid)
	if err != nil {
		return nil, err
	}
	t.encoding = encoding
	if _, err := text.Peek(1); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	head, err := text.Peek(text.Buffered())
	if err != nil {
		return nil, err
	}
	t.reader = csv.NewReader(text)
	t.reader.Comma = separator(head)
	t.reader.FieldsPerRecord = -1
	t.reader.TrimLeadingSpace = false
	header, err := t.reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, &Fault{"The file is empty.", "Its first line must name the columns."}
	}
	if err != nil {
		return nil, &Fault{"The first line cannot be read: " + err.Error() + ".", "It must name the columns, with commas or semicolons between."}
	}
	for _, name := range header {
		if !utf8.ValidString(name) {
			return nil, &Fault{"The first line is not valid UTF-8.", "Save the file as \"CSV UTF-8\", or choose the encoding windows-1252."}
		}
		t.header = append(t.header, strings.TrimSpace(fuse(name)))
	}
	return t, nil
}

func (t *table) isUTF16() bool { return t.encoding == UTF16LE || t.encoding == UTF16BE }

// separator is the character that stands most often in the first line outside quotes.
func separator(head []byte) rune {
	counts, quoted := map[rune]int{}, false
	for _, r := range string(head) {
		if r == '\n' && !quoted {
			break
		}
		if r == '"' {
			quoted = !quoted
		}
		if !quoted {
			counts[r]++
		}
	}
	best := ','
	for _, r := range ";\t" {
		if counts[r] > counts[best] {
			best = r
		}
	}
	return best
}

// next reads a row; io.EOF ends the table.
func (t *table) next() (Row, error) {
	cells, err := t.reader.Read()
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return Row{}, &Fault{fmt.Sprintf("Line %d is not CSV: %s.", parse.Line, parse.Err),
			"A cell that holds quotation marks must stand between them, with each written twice."}
	}
	if err != nil {
		return Row{}, err
	}
	at, _ := t.reader.FieldPos(0)
	row := Row{Line: at, cells: cells}
	switch {
	case len(cells) != len(t.header):
		row.Err = warranty.Refuse(warranty.ValidationFailed, fmt.Sprintf("The row has %d cells and the first line has %d.", len(cells), len(t.header)))
	case t.isUTF16() && slices.ContainsFunc(cells, func(cell string) bool { return strings.ContainsRune(cell, utf8.RuneError) }):
		row.Err = warranty.Refuse(warranty.ValidationFailed, "The row is not valid UTF-16 text. Save the file as \"CSV UTF-8\".")
	case t.encoding == UTF8 && slices.ContainsFunc(cells, func(cell string) bool { return !utf8.ValidString(cell) }):
		row.Err = warranty.Refuse(warranty.ValidationFailed, "The row is not valid UTF-8 text. Choose the encoding, such as windows-1252.")
	}
	return row, nil
}
