package view

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"warranty.example/svc/warranty"
)

// Date formats a date as "30 Nov 2026".
func (t *Texts) Date(d warranty.Date) string { return t.dateAt(d.Time()) }

// dateAt formats the date of a time in its zone.
func (t *Texts) dateAt(at time.Time) string {
	return t.Text("format.date", strconv.Itoa(at.Day()), t.months[at.Month()-1], strconv.Itoa(at.Year()))
}

// Day formats the date of a time in a zone.
func (t *Texts) Day(zone *time.Location, at any) string { return t.dateAt(instantOf(at).In(zone)) }

// When formats a time in a zone as "30 Nov 2026, 14:05 UTC".
func (t *Texts) When(zone *time.Location, at any) string {
	local := instantOf(at).In(zone)
	return t.Text("format.when", t.dateAt(local), local.Format("15:04"), t.zoneName(local))
}

// moment formats a recent time in a zone as "30 Nov, 14:05:09".
func (t *Texts) moment(zone *time.Location, at any) string {
	local := instantOf(at).In(zone)
	return t.Text("format.moment", strconv.Itoa(local.Day()), t.months[local.Month()-1], local.Format("15:04:05"))
}

// zoneName returns the abbreviation of a time's zone, in the language if it has its own.
func (t *Texts) zoneName(local time.Time) string {
	name, _ := local.Zone()
	if own, ok := t.words["zone."+name]; ok {
		return own
	}
	return local.Format("MST")
}

// Month returns the name of a month, with the year in January.
func (t *Texts) Month(at time.Time) string {
	name := t.monthsAlone[at.Month()-1]
	if at.Month() == time.January {
		return name + at.Format(" ’06")
	}
	return name
}

// Length formats a number of months as "2 years" or "18 months".
func (t *Texts) Length(months int) string {
	if months%12 == 0 {
		return t.Text("length.years", months/12)
	}
	return t.Text("length.months", months)
}

// lengthOf returns a length of a file, such as "24 months" or "10 days", in the language.
func (t *Texts) lengthOf(text string) string {
	number, unit, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(number)
	switch {
	case err == nil && unit == "months":
		return t.Text("length.months", n)
	case err == nil && unit == "days":
		return t.Text("length.days", n)
	}
	return text
}

// isoDate returns a date of a file, such as 2026-03-04, as people read it.
func (t *Texts) isoDate(text string) string {
	if d, err := warranty.ParseDate(text); err == nil {
		return t.Date(d)
	}
	return text
}

// Size formats a number of bytes.
func (t *Texts) Size(n int64) string {
	switch {
	case n >= 1<<30:
		return t.tenths(n, 1<<30) + " GiB"
	case n >= 1<<20:
		return t.tenths(n, 1<<20) + " MiB"
	case n >= 1<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}

// tenths formats n units with one decimal, and without a trailing ".0".
func (t *Texts) tenths(n int64, unit float64) string {
	return t.printer.Sprint(math.Round(float64(n)*10/unit) / 10)
}

// money formats a price, which is decimal text, with its currency.
func (t *Texts) money(price, currency *string) string {
	whole, fraction, _ := strings.Cut(Deref(price), ".")
	if n, err := strconv.ParseInt(whole, 10, 64); err == nil {
		whole = t.Figure(n)
	}
	if fraction != "" {
		whole += t.Text("format.decimal") + fraction
	}
	return strings.TrimSpace(whole + " " + Deref(currency))
}

// instantOf returns a time.Time or *time.Time in UTC.
func instantOf(t any) time.Time {
	if p, ok := t.(*time.Time); ok && p != nil {
		return p.UTC()
	}
	at, _ := t.(time.Time)
	return at.UTC()
}
