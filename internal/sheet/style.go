package sheet

import (
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"warranty.example/svc/warranty"
)

// style is how the values of a file are written, as far as single cells do not show it.
type style struct {
	order    DateOrder
	bare     unit   // of lengths without a unit
	german   bool   // most column names are German
	comma    bool   // prices have a decimal comma, so that 1.234 is a thousand
	currency string // of prices without one
	length   length // of rows without an end and a length
}

// evidence counts how the values of a file are written.
type evidence struct {
	dayFirst, monthFirst int            // dates that can only be read so
	dotted               map[string]int // dates with dots by field, whose day is first
	comma, point         int            // prices with a decimal comma or point
	least                int            // the least length without a unit
}

// germanNames are the column names that only a German file has.
var germanNames = regexp.MustCompile(`(?i)[äöüß]|datum|produkt|artikel|bezeichnung|garantie|preis|serien|kunde|` +
	`hersteller|beleg|rechnung|bemerkung|lieferant|marke|menge|betrag|waehrung|nummer`)

// germanYears matches a number of years in short, as in "2 J.". In French, j stands for days.
var germanYears = regexp.MustCompile(`(?i)(\d)\s*j\b\.?`)

// importLength parses a length as the file writes it.
func (r *Reader) importLength(text string, named unit) (length, error) {
	if r.style.german {
		text = germanYears.ReplaceAllString(text, "$1 jahre")
	}
	return importLength(text, named)
}

// isGerman reports whether column names are German.
func isGerman(header []string) bool { return slices.ContainsFunc(header, germanNames.MatchString) }

// profile reads all rows once, and notes how values are written, samples of each column, and the products with several
// coverage periods.
func (r *Reader) profile() error {
	r.samples = make([]sampler, len(r.header))
	r.style.german = isGerman(r.header)
	type period struct{ start, end string }
	periods := map[string]period{}
	for {
		row, err := r.table.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		r.total++
		if row.Err != nil || row.Skip != "" {
			continue
		}
		row.fixed = r.options.Fixes[row.Line]
		for i := range row.cells {
			r.samples[i].add(cell(row.cells, i), r.fieldOf(i))
		}
		r.weigh(row.record)
		serial, start := r.value(row.record, "serial_number"), r.day(row.record, "start_date")
		if !isSerialNumber(serial) || isRuined(serial) || start == "" {
			continue
		}
		key := serialOf(serial, r.productName(row.record))
		now := period{start: start}
		for _, field := range append(slices.Clone(lengthFields), "end_date", "lifetime") {
			now.end += r.value(row.record, field) + "\n"
		}
		if before, seen := periods[key]; seen && before != now {
			r.repeatedSerials[key] = true
		}
		periods[key] = now
	}
}

// weigh notes what a row shows about the style of the file.
func (r *Reader) weigh(row record) {
	for _, field := range []string{"start_date", "end_date", "purchase_date"} {
		switch text := r.day(row, field); {
		case dottedDay.MatchString(text):
			r.evidence.dotted[field]++
		case orderOf(text) == DayFirst:
			r.evidence.dayFirst++
		case orderOf(text) == MonthFirst:
			r.evidence.monthFirst++
		}
	}
	switch text := withoutSigns(r.value(row, "price")); {
	case germanPrice.MatchString(text):
		r.evidence.comma++
	case pointPrice.MatchString(text), englishPrice.MatchString(text):
		r.evidence.point++
	}
	for _, text := range r.values(row, "duration") {
		if n, err := strconv.Atoi(text); err == nil && n > 0 {
			if r.evidence.least == 0 || n < r.evidence.least {
				r.evidence.least = n
			}
		}
	}
}

// pointPrice is a price with a decimal point and no groups, with one or two decimals.
var pointPrice = regexp.MustCompile(`^\d+\.\d{1,2}$`)

// dottedDay matches a date such as 31.12.2026.
var dottedDay = regexp.MustCompile(`^\d{1,2}\.\d{1,2}\.\d{2,4}\b`)

// order returns the order of day and month in a field: that of the file, or the one that dates with dots in the same
// columns show.
func (r *Reader) order(field string) DateOrder {
	if r.style.order == UnknownOrder && r.evidence.monthFirst == 0 && r.evidence.dotted[field] > 0 {
		return DayFirst
	}
	return r.style.order
}

// orderOf returns the order that a date with the year last must have, or UnknownOrder.
func orderOf(text string) DateOrder {
	if m := timeOfDay.FindStringSubmatch(text); m != nil {
		text = m[1]
	}
	m := yearLastDay.FindStringSubmatch(text)
	if m == nil {
		if m = twoDigitYear.FindStringSubmatch(text); m == nil {
			return UnknownOrder
		}
	}
	a, _ := strconv.Atoi(m[1])
	b, _ := strconv.Atoi(m[3])
	switch {
	case a > 12 && b <= 12:
		return DayFirst
	case b > 12 && a <= 12:
		return MonthFirst
	}
	return UnknownOrder
}

// months12 is the least number that can only be months, as a length without a unit.
const months12 = 12

// settle decides on the style. What o chooses comes first; what the file does not show stays unknown.
func (r *Reader) settle(o Options) error {
	s, e := &r.style, r.evidence
	s.order, s.currency, s.comma = o.Order, o.Currency, e.comma > 0 && e.point == 0
	if s.order == UnknownOrder && r.source != ours {
		switch {
		case e.dayFirst > 0 && e.monthFirst == 0:
			s.order = DayFirst
		case e.monthFirst > 0 && e.dayFirst == 0:
			s.order = MonthFirst
		}
	}
	switch {
	case o.Unit == "months" || o.Unit == "years":
		s.bare = unitWords[o.Unit]
	case r.source == snipeIT, e.least >= months12:
		s.bare = months
	}
	if o.Length == "" {
		return nil
	}
	var err error
	s.length, err = r.importLength(o.Length, months)
	if err != nil {
		return &Fault{
			What: warranty.Textf("The length \"%s\" is invalid.", o.Length),
			Fix:  warranty.Textf("Use a length such as 24 months or 2 years."),
		}
	}
	return nil
}

// sampler collects different samples of a column.
type sampler struct {
	filled int
	list   []Sample
	shapes []string
}

// Sample is the content of a cell, as an example.
type Sample struct {
	Text string
	Odd  bool // it is not taken as it is
}

// shownSamples is the number of samples of a column.
const shownSamples = 3

// add notes a cell. Samples of different shapes come before others, and what a spreadsheet ruined before both.
func (s *sampler) add(text, field string) {
	if text == "" {
		return
	}
	s.filled++
	odd := (field == "serial_number" || field == "external_id") && isRuined(text)
	if len(s.list) == shownSamples && !odd && !slices.Contains(s.shapes, "") {
		return
	}
	text = shorten(text)
	shape := shapeOf(text)
	if slices.ContainsFunc(s.list, func(have Sample) bool { return have.Text == text }) {
		return
	}
	known := slices.Contains(s.shapes, shape)
	switch at := slices.Index(s.shapes, ""); {
	case odd && !slices.ContainsFunc(s.list, func(have Sample) bool { return have.Odd }):
		n := min(len(s.list), shownSamples-1)
		s.list, s.shapes = append(s.list[:n], Sample{text, true}), append(s.shapes[:n], shape)
	case len(s.list) < shownSamples:
		if known {
			shape = "" // it makes place for another shape
		}
		s.list, s.shapes = append(s.list, Sample{text, odd}), append(s.shapes, shape)
	case !known && at >= 0:
		s.list[at], s.shapes[at] = Sample{text, odd}, shape
	}
}

// shapeOf returns a text with its digits and letters replaced, so that texts of the same form are equal.
func shapeOf(text string) string {
	var shape strings.Builder
	last := rune(0)
	for _, r := range text {
		switch {
		case r >= '0' && r <= '9':
			r = '9'
		case r > 0x7f || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == ' ':
			r = 'a'
		}
		if r != last {
			shape.WriteRune(r)
		}
		last = r
	}
	return shape.String() + "."
}
