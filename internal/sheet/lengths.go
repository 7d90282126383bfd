package sheet

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	"warranty.example/svc/warranty"
)

// length is the duration of a warranty. A year is twelve months.
type length struct{ months, days int }

func (l length) isZero() bool { return l == length{} }

func (l length) plus(other length) length {
	return length{l.months + other.months, l.days + other.days}
}

// lastDay returns the last day of coverage, counting the first.
func (l length) lastDay(start warranty.Date) warranty.Date { return start.LastDay(l.months, l.days) }

// unit is a unit of time.
type unit uint8

const (
	noUnit unit = iota
	years
	months
	weeks
	days
)

// unitWords maps English, German, French, Spanish, Italian and Dutch words to units.
// Words that mean different units in different languages, such as j, are left out.
var unitWords = func() map[string]unit {
	words := map[string]unit{}
	for u, list := range map[unit]string{
		years:  "y yr yrs year years jahr jahre jahren an ans année années annee annees año años anno anni jaar jaren",
		months: "m mo mos mon mth mths mnth mnths month months monat monate monaten mois mes meses mese mesi maand maanden",
		weeks:  "w wk wks week weeks woche wochen semaine semaines semana semanas settimana settimane weken",
		days:   "d day days tag tage tagen jour jours día días dia dias giorno giorni dag dagen",
	} {
		for word := range strings.FieldsSeq(list) {
			words[word] = u
		}
	}
	return words
}()

// maxLength bounds the number in a length, in any unit.
const maxLength = 36525

var (
	errLength = errors.New("use a length such as 24 months or 2 years")
	errBare   = errors.New("the number has no unit; write 24 months, or map the column to years or months")
	errUneven = errors.New("the decimal is not a whole number of months or days; write 15 months, for example")
	errGroups = errors.New("the separator before three digits may mean thousands; remove it")
	errTwice  = errors.New("the same unit appears twice; write 1 year 6 months, for example")
)

var (
	// lengthPart matches a number and its unit.
	lengthPart = regexp.MustCompile(`^(\d{1,6})(?:[.,](\d{1,6}))?[\s-]*(\p{L}*)\.?`)
	// lengthJoin matches the text between two parts.
	lengthJoin = regexp.MustCompile(`^\s*,?\s*(?:(?:and|und|et|&|\+|y|e|en)\s+)?`)
)

// importLength parses a length such as "2 years", "1,5 Jahre" or "1 year 6 months".
// A bare number has the unit of its column. Ambiguous lengths are rejected.
func importLength(s string, named unit) (length, error) {
	var l length
	rest := strings.ToLower(strings.TrimSpace(s))
	seen := map[unit]bool{}
	for first := true; rest != ""; first = false {
		m := lengthPart.FindStringSubmatch(rest)
		if m == nil {
			return length{}, errLength
		}
		u, known := unitWords[m[3]]
		switch {
		case m[3] == "" && first && len(m[0]) == len(rest):
			if u = named; u == noUnit && !isZero(m[1]+m[2]) {
				return length{}, errBare
			}
		case !known:
			return length{}, errLength
		}
		if seen[u] {
			return length{}, errTwice
		}
		seen[u] = true
		part, err := measure(m[1], m[2], u)
		if err != nil {
			return length{}, err
		}
		l = l.plus(part)
		if rest = rest[len(m[0]):]; rest != "" {
			join := lengthJoin.FindString(rest)
			if rest = rest[len(join):]; rest == "" {
				return length{}, errLength // nothing follows
			}
		}
	}
	return l, nil
}

func isZero(digits string) bool { return strings.Trim(digits, "0") == "" }

// measure converts a decimal number of a unit to whole months or days.
func measure(whole, decimals string, u unit) (length, error) {
	if len(decimals) == 3 {
		return length{}, errGroups
	}
	n, err := strconv.Atoi(whole + decimals)
	if err != nil {
		return length{}, errLength
	}
	scale := 1
	for range decimals {
		scale *= 10
	}
	if n > maxLength*scale {
		return length{}, errLength
	}
	factor := map[unit]int{noUnit: 1, years: 12, months: 1, weeks: 7, days: 1}[u]
	if n*factor%scale != 0 || u == weeks && n%scale != 0 {
		return length{}, errUneven
	}
	if n = n * factor / scale; u == weeks || u == days {
		return length{days: n}, nil
	}
	return length{months: n}, nil
}

// isLifetimeWord reports whether s is a word for a lifetime warranty.
func isLifetimeWord(s string) bool {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "lifetime", "for life", "life", "unlimited", "lebenslang", "unbegrenzt", "à vie", "a vie":
		return true
	}
	return false
}
