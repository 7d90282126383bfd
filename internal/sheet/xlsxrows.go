package sheet

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strconv"
)

// sheetRows reads the rows of a sheet of a workbook.
type sheetRows struct {
	book  *workbook
	part  *bounded
	xml   *xml.Decoder
	line  int
	cells int // of all rows so far
}

// open opens the rows of a sheet.
func (b *workbook) open(s sheetPart) (*sheetRows, error) {
	r, err := b.part(s.part)
	if err != nil {
		return nil, err
	}
	return &sheetRows{book: b, part: r, xml: xml.NewDecoder(r)}, nil
}

func (s *sheetRows) next() (record, error) {
	for {
		t, err := s.xml.RawToken()
		if errors.Is(err, io.EOF) {
			_ = s.part.Close() // read-only
			return record{}, io.EOF
		}
		if err != nil {
			return record{}, asUnreadable(err)
		}
		start, ok := t.(xml.StartElement)
		if !ok || start.Name.Local != "row" {
			continue
		}
		row, err := s.row(start)
		if err != nil {
			return row, asUnreadable(err)
		}
		return row, nil
	}
}

// maxLine is the last line of a sheet in Excel.
const maxLine = 1 << 20

// row reads the cells of a row after its tag.
func (s *sheetRows) row(start xml.StartElement) (record, error) {
	line := s.line + 1
	if n := attr(start, "r"); n != "" {
		var err error
		if line, err = strconv.Atoi(n); err != nil || line <= s.line {
			return record{}, unreadable()
		}
	}
	if s.line = line; line > maxLine {
		return record{}, unreadable()
	}
	hidden := attr(start, "hidden")
	row := record{line: line, hidden: hidden == "1" || hidden == "true"}
	for {
		t, err := s.xml.RawToken()
		if err != nil {
			return row, err
		}
		switch t := t.(type) {
		case xml.StartElement:
			if t.Name.Local != "c" {
				continue
			}
			if err := s.cell(t, &row); err != nil {
				return row, err
			}
		case xml.EndElement:
			if t.Name.Local == "row" {
				return row, nil
			}
		}
	}
}

// cell reads a cell and puts its value at its place in the row.
func (s *sheetRows) cell(start xml.StartElement, row *record) error {
	column := len(row.cells)
	if at := attr(start, "r"); at != "" {
		if column = columnNumber(at); column < len(row.cells) {
			return unreadable()
		}
	}
	kind, style := attr(start, "t"), attr(start, "s")
	value, err := s.value()
	if err != nil {
		return err
	}
	if value == "" {
		return nil
	}
	if s.cells++; s.cells > maxCells {
		return tooLarge()
	}
	if column >= maxColumns {
		return tooWide()
	}
	text, err := s.book.text(kind, style, value)
	if err != nil {
		return err
	}
	for len(row.cells) < column {
		row.cells = append(row.cells, "")
	}
	row.cells = append(row.cells, text)
	return nil
}

// value returns the content of <v> or <is>, up to the end of the cell. A formula has the value that it had when the file
// was saved.
func (s *sheetRows) value() (value string, err error) {
	in := false
	for {
		t, err := s.xml.RawToken()
		if err != nil {
			return "", err
		}
		switch t := t.(type) {
		case xml.StartElement:
			if in = t.Name.Local == "v"; t.Name.Local == "is" {
				if value, err = richText(s.xml, "is"); err != nil {
					return "", err
				}
			}
		case xml.CharData:
			if in {
				value += string(t)
			}
		case xml.EndElement:
			if in = false; t.Name.Local == "c" {
				return value, nil
			}
		}
	}
}

// text returns the value of a cell as it would be written in CSV.
func (b *workbook) text(kind, style, value string) (string, error) {
	switch kind {
	case "s":
		i, err := strconv.Atoi(value)
		if err != nil || i < 0 || i >= len(b.strings) {
			return "", unreadable()
		}
		return b.strings[i], nil
	case "b":
		return strconv.FormatBool(value == "1" || value == "true"), nil
	case "d":
		return value[:min(len(value), len("2006-01-02"))], nil
	case "str", "inlineStr":
		return unescapeXML(value), nil
	case "", "n":
		var f format
		if i, err := strconv.Atoi(style); err == nil && i >= 0 && i < len(b.formats) {
			f = b.formats[i]
		}
		return f.text(value, b.epoch), nil
	}
	return value, nil // "e": an error such as #N/A
}

// attr returns an attribute without a namespace, or "".
func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name && a.Name.Space == "" {
			return a.Value
		}
	}
	return ""
}

// columnNumber returns the number of the column of a cell such as AB12, from 0, or -1.
func columnNumber(at string) int {
	n := 0
	for i, r := range at {
		if r < 'A' || r > 'Z' {
			if i == 0 || i > 3 {
				return -1
			}
			break
		}
		n = n*26 + int(r-'A') + 1
	}
	return n - 1
}

// escapedXML matches a character that a workbook cannot store as it is, such as _x000D_.
var escapedXML = regexp.MustCompile(`_x[0-9A-Fa-f]{4}_`)

func unescapeXML(text string) string {
	return escapedXML.ReplaceAllStringFunc(text, func(s string) string {
		n, err := strconv.ParseUint(s[2:6], 16, 16)
		if err != nil || n >= 0xD800 && n < 0xE000 {
			return s
		}
		return string(rune(n))
	})
}
