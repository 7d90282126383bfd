package sheet

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"warranty.example/svc/warranty"
)

// table reads a CSV file row by row.
type table struct {
	reader *csv.Reader
	header []string
	before int // lines before the header

	encoding Encoding
}

// openTable reads the header of a CSV file. Excel writes byte order marks, various
// encodings and, in some countries, semicolons.
func openTable(file io.ReadSeeker, chosen Encoding) (*table, error) {
	t := &table{}
	valid, err := validUTF8(file)
	if err != nil {
		return nil, err
	}
	text, encoding, err := decoded(file, chosen, valid)
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
	comma, line := declaredSeparator(head)
	if line > 0 {
		_, _ = text.Discard(line) // it was just peeked
		t.before = 1
	} else {
		comma = separator(head)
	}
	t.reader = csv.NewReader(text)
	t.reader.Comma = comma
	t.reader.FieldsPerRecord = -1
	t.reader.TrimLeadingSpace = false
	header, err := t.reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, &Fault{
			What: warranty.Textf("The file is empty."),
			Fix:  warranty.Textf("The first line must name the columns."),
		}
	}
	if err != nil {
		return nil, &Fault{
			What: warranty.Textf("The first line is invalid: %s.", err),
			Fix:  warranty.Textf("It must name the columns, separated by commas or semicolons."),
		}
	}
	for _, name := range header {
		if !utf8.ValidString(name) {
			return nil, &Fault{
				What: warranty.Textf("The first line is not valid UTF-8."),
				Fix:  warranty.Textf("Save the file as \"CSV UTF-8\", or choose the encoding windows-1252."),
			}
		}
		t.header = append(t.header, strings.TrimSpace(unescapeFormula(name)))
	}
	return t, nil
}

func (t *table) isUTF16() bool { return t.encoding == UTF16LE || t.encoding == UTF16BE }

// declaredSeparator returns the separator that a first line such as "sep=;" declares for Excel, and the length of that
// line, or 0 if there is none.
func declaredSeparator(head []byte) (comma rune, length int) {
	line, _, found := bytes.Cut(head, []byte("\n"))
	text := strings.ToLower(strings.Trim(strings.TrimRight(string(line), "\r"), `" `))
	name, value, declared := strings.Cut(text, "=")
	if !found || !declared || name != "sep" || len(value) != 1 || strings.Trim(value, ",;\t|") != "" {
		return 0, 0
	}
	return rune(value[0]), len(line) + 1
}

// separator returns the most frequent separator in the first line, outside quotes.
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

// next reads a row. It returns io.EOF at the end of the table.
func (t *table) next() (Row, error) {
	cells, err := t.reader.Read()
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return Row{}, &Fault{
			What: warranty.Textf("Line %d is not valid CSV: %s.", parse.Line+t.before, parse.Err),
			Fix:  warranty.Textf("Put cells with quotation marks in quotation marks, and double each one inside."),
		}
	}
	if err != nil {
		return Row{}, err
	}
	at, _ := t.reader.FieldPos(0)
	row := Row{Line: at + t.before, cells: cells}
	invalid16 := func(cell string) bool { return strings.ContainsRune(cell, utf8.RuneError) }
	invalid8 := func(cell string) bool { return !utf8.ValidString(cell) }
	blank := func(cell string) bool { return strings.TrimSpace(cell) == "" }
	switch {
	case !slices.ContainsFunc(cells, func(cell string) bool { return !blank(cell) }):
		row.Skip = Blank
	case len(cells) != len(t.header):
		row.Err = warranty.Refuse(warranty.ValidationFailed,
			"Expected %d cells as in the first line, found %d.", len(t.header), len(cells))
	case t.isUTF16() && slices.ContainsFunc(cells, invalid16):
		row.Err = warranty.Refuse(warranty.ValidationFailed,
			"The row is not valid UTF-16 text. Save the file as \"CSV UTF-8\".")
	case t.encoding == UTF8 && slices.ContainsFunc(cells, invalid8):
		row.Err = warranty.Refuse(warranty.ValidationFailed,
			"The row is not valid UTF-8 text. Choose another encoding, such as windows-1252.")
	}
	return row, nil
}
