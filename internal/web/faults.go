package web

import (
	"warranty.example/svc/internal/sheet"
	"warranty.example/svc/internal/web/view"
)

// faultText returns the error of a whole sheet, and its fix.
func faultText(words view.Reader, f *sheet.Fault) string {
	return words.Message(f.What) + " " + words.Message(f.Fix)
}

// missingText returns the error of a sheet without the columns of some fields.
func missingText(words view.Reader, m *sheet.MissingColumns) string {
	names := make([]string, len(m.Fields))
	for i, field := range m.Fields {
		names[i] = words.FieldName(field)
	}
	return words.Message((&sheet.MissingColumns{Fields: names}).Error())
}
