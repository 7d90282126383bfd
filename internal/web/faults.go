package web

import (
	"warranty.example/svc/internal/sheet"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// faultText returns the error of a whole sheet, and its fix.
func faultText(words view.Reader, f *sheet.Fault) string {
	return words.Message(f.What) + " " + words.Message(f.Fix)
}

// asFault returns an error of a whole sheet whose texts are in the language of the reader.
func asFault(what, fix string) error {
	return &sheet.Fault{What: warranty.Text{Format: what}, Fix: warranty.Text{Format: fix}}
}

// missingText returns the error of a sheet without the columns of some fields.
func missingText(words view.Reader, m *sheet.MissingColumns) string {
	names := make([]string, len(m.Fields))
	for i, field := range m.Fields {
		names[i] = words.FieldName(field)
	}
	return words.Message(m.Text(names))
}
