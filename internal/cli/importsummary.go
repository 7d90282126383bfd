package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"warranty.example/svc/internal/sheet"
)

// summary returns the result as text.
func (i *importer) summary() string {
	var b strings.Builder
	n := i.result
	created := fmt.Sprintf("%d created", n.Created)
	if b.WriteString(i.readings()); i.dryRun {
		b.WriteString(i.guesses())
		created = fmt.Sprintf("%d to create", n.ToCreate)
	}
	if i.update && !i.dryRun {
		created += fmt.Sprintf(", %d updated", n.Updated)
	}
	fmt.Fprintf(&b, "%s: %s, %d already imported, %d skipped, %d failed.", count(int64(n.Rows), "1 row", "%d rows"),
		created, i.existing(), n.Skipped, n.Refused)
	if i.dryRun {
		b.WriteString(" Nothing was created.")
	}
	b.WriteString("\n")
	if i.dryRun && !n.ExistingChecked {
		b.WriteString("No API key: existing records were not checked.\n")
	}
	if n.Differs > 0 {
		b.WriteString(count(int64(n.Differs),
			"1 already imported row differs from its record and was left out. To change the record, use --update.\n",
			"%d already imported rows differ from their records and were left out. To change the records, use --update.\n"))
	}
	if n.NotEmailed > 0 {
		b.WriteString(count(n.NotEmailed, "1 offer was not emailed, because a limit of emails was reached.\n",
			"%d offers were not emailed, because a limit of emails was reached.\n"))
	}
	if n.OtherDates > 0 {
		b.WriteString(count(int64(n.OtherDates),
			"1 already imported row has other dates than its record. ",
			"%d already imported rows have other dates than their records. ") +
			"Update the records, or create rows without an external ID as new warranties with --allow-duplicates.\n")
	}
	if n.LooksImported > 0 {
		b.WriteString(count(int64(n.LooksImported),
			"1 already imported row matches a record only by product, dates and supplier. "+
				"To create it anyway, use --allow-duplicates.\n",
			"%d already imported rows match a record only by product, dates and supplier. "+
				"To create them anyway, use --allow-duplicates.\n"))
	}
	for _, reason := range slices.Sorted(maps.Keys(n.Reasons)) {
		fmt.Fprintf(&b, "%d skipped: %s.\n", n.Reasons[reason], reason.Text())
	}
	if n.Repeated > 0 {
		b.WriteString(count(int64(n.Repeated), "1 row is identical to an earlier row and is a separate record.\n",
			"%d rows are identical to an earlier row. Each one is a separate record.\n"))
	}
	if n.NewReferences {
		b.WriteString("Every created record has a new reference number.\n")
	}
	if n.ErrorsFile != nil {
		b.WriteString("Failed rows are in " + safeLine(*n.ErrorsFile) + ". Fix them there and import that file.\n")
	}
	return b.String()
}

// readings says how values were read that are not what the file says word for word.
func (i *importer) readings() string {
	var b strings.Builder
	for _, r := range i.result.Readings {
		as := r.As
		if as == "" {
			as = "empty"
		}
		if r.Value != "" {
			as = "\"" + r.Value + "\" is " + as
		}
		fmt.Fprintf(&b, "%s: %s, %s.\n", r.Field, safeLine(as), count(int64(r.Rows), "1 row", "%d rows"))
	}
	return b.String()
}

// guesses describes the source, the columns and the format of the file.
func (i *importer) guesses() string {
	var b strings.Builder
	s, n := i.outStyle(), i.result
	if n.Source != "" {
		b.WriteString("This looks like an export of " + n.Source + ".\n")
	}
	field, from := &column{title: "FIELD"}, &column{title: "COLUMN", flex: true}
	for _, name := range slices.Sorted(maps.Keys(n.Columns)) {
		field.add(name)
		from.add(n.Columns[name])
	}
	b.WriteString(layout([]*column{field, from}, i.columns(), s))
	if len(n.Unused) > 0 {
		b.WriteString(s.faint("Unused columns: "+safeLine(strings.Join(n.Unused, ", "))) + "\n")
	}
	b.WriteString(s.faint(i.assumptions()) + "\n")
	return b.String()
}

// assumptions describes how the file was read.
func (i *importer) assumptions() string {
	a := i.result.Assumed
	text := fmt.Sprintf("Column names in line %d.", a.HeaderLine)
	if a.Sheet != "" {
		text += " Sheet: " + safeLine(a.Sheet) + "."
	} else {
		text += " Encoding: " + string(a.Encoding) + "."
	}
	switch a.Order {
	case sheet.DayFirst:
		text += " In dates such as 03/04/2026, the day is first."
	case sheet.MonthFirst:
		text += " In dates such as 03/04/2026, the month is first."
	default:
		text += " Dates such as 03/04/2026 are ambiguous and need --date-order."
	}
	if a.SerialDates {
		text += " Some dates are Excel day numbers (1900 date system)."
	}
	if a.Months {
		text += " Lengths without a unit are months."
	}
	return text
}
