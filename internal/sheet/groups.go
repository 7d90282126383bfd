package sheet

import (
	"cmp"
	"unicode/utf8"

	"warranty.example/svc/warranty"
)

// FaultGroups are the errors of the rows of a sheet, grouped.
type FaultGroups []FaultGroup

// FaultGroup is an error that several rows have.
type FaultGroup struct {
	Field   string `json:"field"` // or the column, if it is none of ours
	Message string `json:"message"`
	Count   int    `json:"count"`
	Lines   []int  `json:"lines"`   // the first ones
	Example string `json:"example"` // the content of the first cell
	// Parts is Message with its arguments apart.
	Parts *warranty.Text `json:"parts,omitempty"`
}

// Text returns the message with its arguments apart, to translate it.
func (g FaultGroup) Text() warranty.Text { return warranty.TextOf(g.Message, g.Parts) }

// Rows returns the number of rows with the error.
func (g FaultGroup) Rows() int64 { return int64(g.Count) }

const (
	shownLines   = 10 // lines that an error names
	shownGroups  = 100
	shownExample = 60 // characters of an example
)

// Add adds the errors of a row.
func (g *FaultGroups) Add(row Row) {
	for _, f := range row.Faults() {
		g.add(row.Line, f)
	}
}

func (g *FaultGroups) add(line int, f CellFault) {
	field, message := cmp.Or(f.Field, f.Column), f.Message.String()
	for i := range *g {
		if same := &(*g)[i]; same.Field == field && same.Message == message {
			if same.Count++; len(same.Lines) < shownLines {
				same.Lines = append(same.Lines, line)
			}
			return
		}
	}
	if len(*g) < shownGroups {
		*g = append(*g, FaultGroup{field, message, 1, []int{line}, shorten(f.Value), f.Message.Parts()})
	}
}

// shorten cuts a text that is shown as an example.
func shorten(text string) string {
	if utf8.RuneCountInString(text) <= shownExample {
		return text
	}
	return string([]rune(text)[:shownExample]) + "…"
}
