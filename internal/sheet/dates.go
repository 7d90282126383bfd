package sheet

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"

	"warranty.example/svc/warranty"
)

// DateOrder is the order of day and month in dates such as 03/04/2026.
type DateOrder string

// The date orders. With UnknownOrder, ambiguous dates are rejected.
const (
	UnknownOrder DateOrder = ""
	DayFirst     DateOrder = "dmy"
	MonthFirst   DateOrder = "mdy"
)

var (
	errDay       = errors.New("invalid date; use YYYY-MM-DD")
	errAmbiguous = errors.New("the order of day and month is ambiguous; use YYYY-MM-DD, or set the date order " +
		"to dmy or mdy")
)

var (
	yearFirstDay = regexp.MustCompile(`^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})$`)
	yearLastDay  = regexp.MustCompile(`^(\d{1,2})([-/.])(\d{1,2})[-/.](\d{4})$`)
	twoDigitYear = regexp.MustCompile(`^(\d{1,2})([-/.])(\d{1,2})[-/.](\d{2})$`)
	serialDay    = regexp.MustCompile(`^(\d{5}|2958465)(?:[.,]\d+)?$`)
	timeOfDay    = regexp.MustCompile(`^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})` +
		`[T ]+\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?(Z|[AaPp][Mm]|[+-]\d{2}:?\d{2}))?$`)
	weekday = regexp.MustCompile(`^(?i:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? +`)
)

// monthNameLayouts are date layouts with the name of the month, which are never ambiguous.
var monthNameLayouts = []string{
	"2 Jan 2006", "2 January 2006", "2-Jan-2006", "Jan 2 2006", "January 2 2006",
	"2. January 2006", "2. Jan 2006", "2. Jan. 2006", "2006-Jan-02", "2006 Jan 2",
}

// monthWord matches a word that may be the German name of a month.
var monthWord = regexp.MustCompile(`\pL{3,}\.?`)

// englishMonth returns the English name of a month with a German name, and other words as they are.
func englishMonth(word string) string {
	switch strings.ToLower(strings.TrimSuffix(word, ".")) {
	case "januar", "jänner", "jän":
		return "January"
	case "februar":
		return "February"
	case "märz", "mär", "mrz":
		return "March"
	case "mai":
		return "May"
	case "juni":
		return "June"
	case "juli":
		return "July"
	case "okt", "oktober":
		return "October"
	case "dez", "dezember":
		return "December"
	}
	return word
}

// shortMonthName matches a month name with a two-digit year, as Excel writes 4-Mar-26.
var shortMonthName = regexp.MustCompile(`^(\d{1,2})[- ](\p{L}{3,9})[- ](\d{2})$`)

// importDate parses a date in any common format. It rejects ambiguous dates.
func importDate(s string, order DateOrder) (warranty.Date, error) {
	s = strings.TrimSpace(s)
	if d, err := warranty.ParseDate(s); err == nil {
		return d, nil
	}
	if m := timeOfDay.FindStringSubmatch(s); m != nil {
		s = m[1] // the day as written, in any time zone
	}
	if m := yearFirstDay.FindStringSubmatch(s); m != nil {
		return day(m[1], m[2], m[3])
	}
	if m := yearLastDay.FindStringSubmatch(s); m != nil {
		return yearLast(m[1], m[3], m[4], m[2], order)
	}
	if m := twoDigitYear.FindStringSubmatch(s); m != nil {
		return shortYear(m[1], m[3], m[4], m[2], order)
	}
	if m := serialDay.FindStringSubmatch(s); m != nil {
		return excelDay(m[1])
	}
	s = monthWord.ReplaceAllStringFunc(s, englishMonth)
	if m := shortMonthName.FindStringSubmatch(s); m != nil {
		s = m[1] + " " + m[2] + " " + century(m[3])
	}
	s = strings.Join(strings.Fields(strings.ReplaceAll(weekday.ReplaceAllString(s, ""), ",", " ")), " ")
	for _, form := range monthNameLayouts {
		if t, err := time.Parse(form, s); err == nil {
			return warranty.DateOf(t), nil
		}
	}
	if t, err := time.Parse("20060102", s); err == nil && t.Year() >= 1900 {
		return warranty.DateOf(t), nil
	}
	return 0, errDay
}

// yearLast parses a date with the year last. With dots, the day is always first;
// otherwise a number above 12 is the day.
func yearLast(first, second, year, between string, order DateOrder) (warranty.Date, error) {
	a, _ := strconv.Atoi(first)
	b, _ := strconv.Atoi(second)
	switch {
	case between == ".", a > 12, a == b, order == DayFirst && b <= 12:
		return day(year, second, first)
	case b > 12, order == MonthFirst:
		return day(year, first, second)
	}
	return 0, errAmbiguous
}

// shortYear parses a date that ends in a two-digit year. With hyphens the first
// number may be the year as well, so such dates need an order.
func shortYear(first, second, year, between string, order DateOrder) (warranty.Date, error) {
	d, err := yearLast(first, second, century(year), between, order)
	if err != nil || between != "-" || order != UnknownOrder {
		return d, err
	}
	if other, wrong := day(century(first), second, year); len(first) == 2 && wrong == nil && other != d {
		return 0, errAmbiguous
	}
	return d, nil
}

// century expands a two-digit year: 80 to 99 are 1980 to 1999.
func century(year string) string {
	if year >= "80" {
		return "19" + year
	}
	return "20" + year
}

// Excel day numbers are accepted for 1954 to 2119. In a date column, other
// five-digit numbers are likely something else.
const firstSerial, lastSerial, lifetimeSerial = 20000, 80000, 2958465

// excelDay converts an Excel day number to a date.
func excelDay(number string) (warranty.Date, error) {
	n, err := strconv.Atoi(number)
	if err != nil || n < firstSerial || n > lastSerial && n != lifetimeSerial {
		return 0, errDay
	}
	return warranty.NewDate(1899, time.December, 30) + warranty.Date(n), nil
}

// isSerial reports whether a cell holds an Excel day number.
func isSerial(s string) bool { return serialDay.MatchString(strings.TrimSpace(s)) }

func day(year, month, date string) (warranty.Date, error) {
	pad := func(s string) string { return strings.Repeat("0", max(0, 2-len(s))) + s }
	d, err := warranty.ParseDate(year + "-" + pad(month) + "-" + pad(date))
	if err != nil {
		return 0, errDay
	}
	return d, nil
}
