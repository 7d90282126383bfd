package sheet

import (
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"warranty.example/svc/warranty"
)

// table is the rows of a file below its column names.
type table struct {
	about
	header     []string
	headerLine int
	titles     []record // the rows above the header that are not empty
	rows       source
	head       []record // rows that were read to find the header
	pads       bool     // rows may end early, as those of workbooks do
	hidden     bool     // hidden rows are read
}

// openTable reads a file up to its column names.
func openTable(file io.ReadSeeker, o Options, lazy bool) (*table, error) {
	rows, info, err := openSource(file, o, lazy)
	if err != nil {
		return nil, err
	}
	head, err := readHead(rows)
	if err != nil {
		return nil, err
	}
	for o.HeaderLine > 0 && len(head) > 0 && head[len(head)-1].line < o.HeaderLine {
		row, err := rows.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		head = append(head, row)
	}
	if atLine(head, 1) < 0 {
		return nil, &Fault{
			What: warranty.Textf("The file is empty."),
			Fix:  warranty.Textf("Choose a file with column names and rows."),
		}
	}
	at := findHeader(head)
	if o.HeaderLine > 0 {
		at = atLine(head, o.HeaderLine)
	}
	if at < 0 {
		return nil, &NoHeader{Lines: headLines(head)}
	}
	t := &table{about: info, headerLine: head[at].line, rows: rows, head: head[at+1:], hidden: o.Hidden}
	t.pads = info.sheet != ""
	for _, row := range head[:at] {
		if !row.isBlank() {
			t.titles = append(t.titles, row)
		}
	}
	return t, t.name(head[at])
}

// name sets the names of the columns.
func (t *table) name(header record) error {
	for i, name := range header.cells {
		if !utf8.ValidString(name) {
			return &Fault{
				What: warranty.Textf("Line %d is not valid UTF-8.", header.line),
				Fix:  warranty.Textf("Save the file as \"CSV UTF-8\", or choose the encoding windows-1252."),
			}
		}
		t.header = append(t.header, cell(header.cells, i))
	}
	if !t.pads {
		return nil
	}
	t.header = t.header[:width(t.header)]
	for _, row := range t.head {
		for len(t.header) < width(row.cells) {
			t.header = append(t.header, "")
		}
	}
	return nil
}

// read returns the next row of the file.
func (t *table) read() (record, error) {
	if len(t.head) == 0 {
		return t.rows.next()
	}
	row := t.head[0]
	t.head = t.head[1:]
	return row, nil
}

// next reads a row. It returns io.EOF at the end of the table.
func (t *table) next() (Row, error) {
	from, err := t.read()
	if err != nil {
		return Row{}, err
	}
	row := Row{Line: from.line, record: from, Err: from.err}
	n := len(row.cells)
	if t.pads {
		n = min(n, len(t.header))
		row.cells = append(row.cells[:n:n], make([]string, len(t.header)-n)...)
	} else if n > len(t.header) && width(row.cells) <= len(t.header) {
		row.cells = row.cells[:len(t.header)] // Excel writes separators after the last column
	}
	if from.err != nil {
		return row, nil //nolint:nilerr // the error is that of the row
	}
	switch {
	case from.isBlank():
		row.Skip = Blank
	case from.hidden && !t.hidden:
		row.Skip = Hidden
	case len(row.cells) != len(t.header):
		row.Err = warranty.Refuse(warranty.ValidationFailed,
			"Expected %d cells as in the line with the column names, found %d.", len(t.header), n)
	case t.isTotal(row.cells):
		row.Skip = Total
	case t.isHeader(row.cells):
		row.Skip = Heading
	}
	return row, nil
}

// totalWords begin a row that sums up the others, normalized.
var totalWords = []string{"summe", "gesamt", "gesamtsumme", "zwischensumme", "total", "subtotal", "grandtotal", "totals",
	"anzahl", "endsumme", "tagessumme", "monatssumme", "gesamtbetrag", "gesamtanzahl", "sum"}

// isTotal reports whether a row sums up the others: its first text is such a word, and at most half of its cells are
// filled.
func (t *table) isTotal(cells []string) bool {
	filled, first := 0, ""
	for i := range cells {
		if v := cell(cells, i); v != "" {
			if filled++; first == "" {
				first = v
			}
		}
	}
	if 2*filled > len(cells) || len(first) > shownExample {
		return false
	}
	word, _, _ := strings.Cut(strings.ToLower(first), " ")
	return slices.Contains(totalWords, strings.Trim(word, ":.")) || slices.Contains(totalWords, normalize(first))
}

// isHeader reports whether a row repeats the column names, as on each page of a printed list.
func (t *table) isHeader(cells []string) bool {
	for i, name := range t.header {
		if cell(cells, i) != name {
			return false
		}
	}
	return true
}
