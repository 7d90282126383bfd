package web

import (
	"cmp"
	"unicode/utf8"

	"warranty.example/svc/internal/sheet"
)

// faultGroups are the errors of the rows of a sheet, grouped.
type faultGroups []faultGroup

// faultGroup is an error that several rows have.
type faultGroup struct {
	Field   string `json:"field"` // or the column, if it is none of ours
	Message string `json:"message"`
	Count   int    `json:"count"`
	Lines   []int  `json:"lines"`   // the first ones
	Example string `json:"example"` // the content of the first cell
}

// Rows returns the number of rows with the error.
func (g faultGroup) Rows() int64 { return int64(g.Count) }

const (
	shownLines   = 10 // lines that an error names
	shownFaults  = 100
	shownExample = 60 // characters of an example
)

// add adds the errors of a row.
func (g *faultGroups) add(row sheet.Row) {
	for _, f := range row.Faults() {
		g.addFault(row.Line, f)
	}
}

func (g *faultGroups) addFault(line int, f sheet.CellFault) {
	field := cmp.Or(f.Field, f.Column)
	for i := range *g {
		if same := &(*g)[i]; same.Field == field && same.Message == f.Message {
			if same.Count++; len(same.Lines) < shownLines {
				same.Lines = append(same.Lines, line)
			}
			return
		}
	}
	if len(*g) < shownFaults {
		*g = append(*g, faultGroup{field, f.Message, 1, []int{line}, shorten(f.Value, shownExample)})
	}
}

// fault returns the error of a whole sheet, and its fix.
func (t *texts) fault(f *sheet.Fault) string { return t.message(f.What) + " " + t.message(f.Fix) }

// missing returns the error of a sheet without the columns of some fields.
func (t *texts) missing(m *sheet.MissingColumns) string {
	names := make([]string, len(m.Fields))
	for i, field := range m.Fields {
		names[i] = t.fieldName(field)
	}
	return t.message((&sheet.MissingColumns{Fields: names}).Error())
}

// shorten cuts a text after a number of characters.
func shorten(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "…"
}
