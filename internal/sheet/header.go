package sheet

import (
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"

	"warranty.example/svc/warranty"
)

// headRows is the number of rows in which the column names are looked for.
const headRows = 30

// shownHead is the number of lines to choose the column names from.
const shownHead = 10

// NoHeader is the error for a file in which no line looks like column names.
type NoHeader struct {
	Lines []HeadLine // the first ones
}

// HeadLine is a line of a file and its cells.
type HeadLine struct {
	Line  int
	Cells []string
}

// Error asks for the line with the column names.
func (n *NoHeader) Error() string { return n.Text().String() }

// Text asks for the line with the column names.
func (n *NoHeader) Text() warranty.Text {
	return warranty.Textf("Which line holds the column names?")
}

// readHead reads the first rows.
func readHead(rows source) ([]record, error) {
	var head []record
	for len(head) < headRows {
		row, err := rows.next()
		if errors.Is(err, io.EOF) {
			return head, nil
		}
		if err != nil {
			return head, err
		}
		head = append(head, row)
	}
	return head, nil
}

// findHeader returns the index of the row with the column names, or -1. It is the one with the most names that are known;
// with one known name or none it can only be the first row, and must not look like data.
func findHeader(head []record) int {
	best, most := -1, 1
	for i, row := range head {
		if n := knownNames(row.cells); n > most {
			best, most = i, n
		}
	}
	if best >= 0 {
		return best
	}
	first := slices.IndexFunc(head, func(r record) bool { return !r.isBlank() })
	if first < 0 || !namesColumns(head[first], head[first+1:]) {
		return -1
	}
	return first
}

// dataCell matches what is in a row of data and not in column names: numbers, dates, prices and addresses.
var dataCell = regexp.MustCompile(`@|^[\d.,:/\-\s€$£%+]+$|^\d{4}-\d{2}-\d{2}`)

// namesColumns reports whether a row looks like column names, though they are not known: different texts, as many as the
// rows below have cells.
func namesColumns(row record, below []record) bool {
	known := knownNames(row.cells) == 1
	seen := map[string]bool{}
	for i := range row.cells {
		text := cell(row.cells, i)
		if text == "" && i > 0 {
			continue
		}
		if text == "" || len(text) > 60 || dataCell.MatchString(text) || seen[normalize(text)] {
			return false
		}
		seen[normalize(text)] = true
	}
	wider := func(r record) bool { return width(r.cells) > width(row.cells) }
	return known || len(seen) > 1 && !slices.ContainsFunc(below, wider)
}

// width is the number of cells up to the last one that is not empty.
func width(cells []string) int {
	for n := len(cells); n > 0; n-- {
		if cell(cells, n-1) != "" {
			return n
		}
	}
	return 0
}

// knownNames counts the fields whose names are among the cells.
func knownNames(cells []string) int {
	found := map[string]bool{}
	for i := range cells {
		if field := fieldNamed(cell(cells, i)); field != "" {
			found[field] = true
		}
	}
	return len(found)
}

// fieldNamed returns the field that a column name stands for, or "".
func fieldNamed(name string) string {
	if len(name) > 60 {
		return ""
	}
	if field := fieldsByName[withoutCurrency(normalize(name))]; field != "" {
		return field
	}
	return unitFields[unitOf(name)]
}

// fieldsByName maps the normalized column names to fields.
var fieldsByName = func() map[string]string {
	fields := map[string]string{}
	for _, g := range guesses {
		for name := range strings.FieldsSeq(g.names) {
			fields[name] = g.field
		}
		fields[normalize(g.field)] = g.field // the names of our exports
	}
	return fields
}()

// withoutCurrency removes the currency from a normalized name such as preiseur.
func withoutCurrency(name string) string {
	for _, code := range []string{"ineur", "eur", "ineuro", "euro", "inchf", "chf"} {
		if rest, ok := strings.CutSuffix(name, code); ok && rest != "" {
			return rest
		}
	}
	return name
}

// headerCurrency returns the currency in a column name such as "Preis (EUR)" or "VK in €", or "".
func headerCurrency(name string) string {
	for sign, code := range currencySigns {
		if strings.Contains(name, sign) {
			return code
		}
	}
	for _, word := range words.FindAllString(name, -1) {
		switch strings.ToUpper(word) {
		case "EUR", "EURO":
			return "EUR"
		case "CHF", "USD", "GBP", "PLN":
			return strings.ToUpper(word)
		}
	}
	return ""
}

// atLine returns the index of the row at a line, or of the first one after it.
func atLine(head []record, line int) int {
	return slices.IndexFunc(head, func(r record) bool { return r.line >= line })
}

// headLines returns the first lines to choose from.
func headLines(head []record) []HeadLine {
	var lines []HeadLine
	for _, row := range head[:min(len(head), shownHead)] {
		cells := make([]string, 0, len(row.cells))
		for i := range row.cells[:min(len(row.cells), 12)] {
			cells = append(cells, shorten(cell(row.cells, i)))
		}
		lines = append(lines, HeadLine{row.line, cells})
	}
	return lines
}
