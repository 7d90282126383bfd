package sheet

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"warranty.example/svc/warranty"
)

// table is a CSV file that is read row by row.
type table struct {
	reader *csv.Reader
	read   *counter
	header []string
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

// openTable reads the head of a CSV file. Excel writes a byte order mark, and in
// some countries semicolons.
func openTable(r io.Reader) (*table, error) {
	t := &table{read: &counter{r: r}}
	buffered := bufio.NewReaderSize(t.read, 64<<10)
	start, err := buffered.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(start, []byte("\xEF\xBB\xBF")):
		_, _ = buffered.Discard(3) // it was just seen
	case bytes.HasPrefix(start, []byte("\xFF\xFE")), bytes.HasPrefix(start, []byte("\xFE\xFF")), bytes.HasPrefix(start, []byte("PK\x03\x04")):
		return nil, &Fault{"The file is not CSV in UTF-8.", "Save it from the spreadsheet as \"CSV UTF-8\"."}
	}
	head, err := buffered.Peek(buffered.Buffered())
	if err != nil {
		return nil, err
	}
	t.reader = csv.NewReader(buffered)
	t.reader.Comma = separator(head)
	t.reader.FieldsPerRecord = -1
	t.reader.TrimLeadingSpace = false
	header, err := t.reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, &Fault{"The file is empty.", "Its first line must name the columns."}
	}
	if err != nil {
		return nil, &Fault{"The first line can not be read: " + err.Error() + ".", "It must name the columns, with commas or semicolons between."}
	}
	for _, name := range header {
		t.header = append(t.header, strings.TrimSpace(fuse(name)))
	}
	t.reader.ReuseRecord = true
	return t, nil
}

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

// next reads a row; io.EOF ends the table. The cells are good until the next one
// is read.
func (t *table) next() (Row, error) {
	cells, err := t.reader.Read()
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return Row{}, &Fault{fmt.Sprintf("Line %d is not CSV: %s.", parse.Line, parse.Err), "A cell that holds quotation marks must stand between them, with each written twice."}
	}
	if err != nil {
		return Row{}, err
	}
	at, _ := t.reader.FieldPos(0)
	row := Row{Line: at, cells: cells}
	if len(cells) != len(t.header) {
		row.Err = warranty.Refuse(warranty.ValidationFailed, fmt.Sprintf("The row has %d cells and the head has %d.", len(cells), len(t.header)))
	}
	return row, nil
}
