package sheet

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"

	"warranty.example/svc/warranty"
)

// DateOrder says how to read 03/04/2026.
type DateOrder string

// The orders. Without one, a day that may mean two is refused.
const (
	UnknownOrder DateOrder = ""
	DayFirst     DateOrder = "dmy"
	MonthFirst   DateOrder = "mdy"
)

var (
	errDay       = errors.New("this is not a date that can be read; write it as YYYY-MM-DD")
	errAmbiguous = errors.New("this date may mean two days, as 03/04/2026 does; write it as YYYY-MM-DD, or set the date order to dmy or mdy")
)

var (
	yearFirstDay = regexp.MustCompile(`^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})$`)
	yearLastDay  = regexp.MustCompile(`^(\d{1,2})([-/.])(\d{1,2})[-/.](\d{4})$`)
	twoDigitYear = regexp.MustCompile(`^(\d{1,2})([-/.])(\d{1,2})[-/.](\d{2})$`)
	serialDay    = regexp.MustCompile(`^(\d{5}|2958465)(?:[.,]\d+)?$`)
	timeOfDay    = regexp.MustCompile(`^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})[T ]+\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?(Z|[AaPp][Mm]|[+-]\d{2}:?\d{2}))?$`)
	weekday      = regexp.MustCompile(`^(?i:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? +`)
)

// named are the ways of writing a day with the name of its month; none can mean two days.
var named = []string{"2 Jan 2006", "2 January 2006", "2-Jan-2006", "Jan 2 2006", "January 2 2006", "2. January 2006", "2. Jan 2006", "2006-Jan-02", "2006 Jan 2"}

// namedShort are those with a year of two digits, as Excel writes 4-Mar-26.
var namedShort = regexp.MustCompile(`^(\d{1,2})[- ](\p{L}{3,9})[- ](\d{2})$`)

// importDate reads a day as other programs write it, when it can mean one day only.
func importDate(s string, order DateOrder) (warranty.Date, error) {
	s = strings.TrimSpace(s)
	if d, err := warranty.ParseDate(s); err == nil {
		return d, nil
	}
	if m := timeOfDay.FindStringSubmatch(s); m != nil {
		s = m[1] // the day as it is written; a time zone would only move it
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
	if m := namedShort.FindStringSubmatch(s); m != nil {
		s = m[1] + " " + m[2] + " " + century(m[3])
	}
	s = strings.Join(strings.Fields(strings.ReplaceAll(weekday.ReplaceAllString(s, ""), ",", " ")), " ")
	for _, form := range named {
		if t, err := time.Parse(form, s); err == nil {
			return warranty.DateOf(t), nil
		}
	}
	if t, err := time.Parse("20060102", s); err == nil && t.Year() >= 1900 {
		return warranty.DateOf(t), nil
	}
	return 0, errDay
}

// yearLast reads a day whose year comes last. Between dots it is the day that
// comes first, everywhere; else a number above 12 tells which is which.
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

// shortYear reads a day whose year, the last number, has two digits. Between
// hyphens the first number may be the year, too, so that needs an order.
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

// century completes a year of two digits: 80 to 99 are of the last century.
func century(year string) string {
	if year >= "80" {
		return "19" + year
	}
	return "20" + year
}

// The days that Excel's numbers are read for, 1954 to 2119: in a column of dates
// no other number of five digits makes sense.
const firstSerial, lastSerial, lifetimeSerial = 20000, 80000, 2958465

// excelDay is the day of a number that Excel stores a date as.
func excelDay(number string) (warranty.Date, error) {
	n, err := strconv.Atoi(number)
	if err != nil || n < firstSerial || n > lastSerial && n != lifetimeSerial {
		return 0, errDay
	}
	return warranty.NewDate(1899, time.December, 30) + warranty.Date(n), nil
}

// isSerial tells whether a cell holds a day as Excel's number.
func isSerial(s string) bool { return serialDay.MatchString(strings.TrimSpace(s)) }

func day(year, month, date string) (warranty.Date, error) {
	pad := func(s string) string { return strings.Repeat("0", max(0, 2-len(s))) + s }
	d, err := warranty.ParseDate(year + "-" + pad(month) + "-" + pad(date))
	if err != nil {
		return 0, errDay
	}
	return d, nil
}
