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

// csvRows reads the rows of a CSV file.
type csvRows struct {
	reader   *csv.Reader
	before   int // lines before the first row
	encoding Encoding
	lazy     bool
}

// openCSV opens a CSV file. Excel writes byte order marks, various encodings and, in some countries, semicolons.
func openCSV(file io.ReadSeeker, o Options, lazy bool) (source, about, error) {
	valid, err := validUTF8(file)
	if err != nil {
		return nil, about{}, err
	}
	text, encoding, err := decoded(file, o.Encoding, valid)
	if err != nil {
		return nil, about{}, err
	}
	if _, err := text.Peek(1); err != nil && !errors.Is(err, io.EOF) {
		return nil, about{}, err
	}
	head, err := text.Peek(text.Buffered())
	if err != nil {
		return nil, about{}, err
	}
	rows := &csvRows{encoding: encoding, lazy: lazy}
	comma, line := declaredSeparator(head)
	if line > 0 {
		_, _ = text.Discard(line) // it was just peeked
		rows.before = 1
	} else {
		comma = separator(head)
	}
	rows.reader = csv.NewReader(text)
	rows.reader.Comma = comma
	rows.reader.FieldsPerRecord = -1
	rows.reader.LazyQuotes = lazy
	return rows, about{encoding: encoding, separator: comma}, nil
}

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

// separators are what cells are separated by, the most usual one first.
const separators = ",;\t|"

// separatorLines is the number of lines in which the separator is looked for. The first ones may be a title.
const separatorLines = 40

// separator returns the separator between the most known column names, or else the one that is in the same number in the
// most lines, outside quotes.
func separator(head []byte) rune {
	lines, quoted := []map[rune]int{{}}, false
	for _, r := range string(head) {
		switch {
		case r == '"':
			quoted = !quoted
		case r == '\n' && !quoted:
			if len(lines) == separatorLines {
				return named(head, commonest(lines))
			}
			lines = append(lines, map[rune]int{})
		case !quoted:
			lines[len(lines)-1][r]++
		}
	}
	return named(head, commonest(lines))
}

// named returns the separator between the most known column names in the first lines, or fallback if none separates two.
// What is inside the cells of records, such as a list with semicolons, says less than the names.
func named(head []byte, fallback rune) rune {
	best, most := fallback, 1
	lines := strings.SplitN(string(head), "\n", headRows+1)
	for _, line := range lines[:min(len(lines), headRows)] {
		for _, r := range separators {
			var cells []string
			for name := range strings.SplitSeq(line, string(r)) {
				cells = append(cells, strings.Trim(name, "\" \r"))
			}
			if n := knownNames(cells); n > most {
				best, most = r, n
			}
		}
	}
	return best
}

// commonest returns the separator with which the most cells are in lines of the same length.
func commonest(lines []map[rune]int) rune {
	best, most := ',', 0
	for _, r := range separators {
		same := map[int]int{}
		for _, counts := range lines {
			same[counts[r]]++
		}
		for n, times := range same {
			if n*times > most {
				best, most = r, n*times
			}
		}
	}
	return best
}

// errBareQuote means that a cell without quotation marks has one inside, as in 27" monitor.
var errBareQuote = csv.ErrBareQuote

func (t *csvRows) next() (record, error) {
	cells, err := t.reader.Read()
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		if !t.lazy && errors.Is(parse.Err, csv.ErrBareQuote) {
			return record{}, errBareQuote
		}
		return record{}, &Fault{
			What: warranty.Textf("Line %d is not valid CSV: %s.", parse.Line+t.before, parse.Err),
			Fix:  warranty.Textf("Put cells with quotation marks in quotation marks, and double each one inside."),
		}
	}
	if err != nil {
		return record{}, err
	}
	if len(cells) > maxColumns {
		return record{}, tooWide()
	}
	at, _ := t.reader.FieldPos(0)
	row := record{line: at + t.before, cells: cells}
	invalid16 := func(cell string) bool { return strings.ContainsRune(cell, utf8.RuneError) }
	invalid8 := func(cell string) bool { return !utf8.ValidString(cell) }
	broken := func(cell string) bool { return strings.Contains(cell, "\n") }
	switch {
	case t.isUTF16() && slices.ContainsFunc(cells, invalid16):
		row.err = warranty.Refuse(warranty.ValidationFailed,
			"The row is not valid UTF-16 text. Save the file as \"CSV UTF-8\".")
	case t.encoding == UTF8 && slices.ContainsFunc(cells, invalid8):
		row.err = warranty.Refuse(warranty.ValidationFailed,
			"The row is not valid UTF-8 text. Choose another encoding, such as windows-1252.")
	case t.lazy && slices.ContainsFunc(cells, broken):
		row.err = warranty.Refuse(warranty.ValidationFailed, "A quotation mark is not closed.")
	}
	return row, nil
}

func (t *csvRows) isUTF16() bool { return t.encoding == UTF16LE || t.encoding == UTF16BE }
