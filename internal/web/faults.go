package web

import "warranty.example/svc/internal/sheet"

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
