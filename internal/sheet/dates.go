package sheet

import (
	"errors"
	"fmt"
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
	errDay       = errors.New("this is not a day that this program can read; write it as YYYY-MM-DD")
	errAmbiguous = errors.New("this may mean two days, as 03/04/2026 does; write it as YYYY-MM-DD, or set the date order to dmy or mdy")
	errTwoDigits = errors.New("a year with two digits may mean two centuries; write all four")
)

var (
	yearFirstDay = regexp.MustCompile(`^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})$`)
	yearLastDay  = regexp.MustCompile(`^(\d{1,2})([-/.])(\d{1,2})[-/.](\d{4})$`)
	twoDigitYear = regexp.MustCompile(`^\d{1,2}[-/.]\d{1,2}[-/.]\d{2}$`)
	timeOfDay    = regexp.MustCompile(`^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})[T ]+\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?(Z|[AaPp][Mm]|[+-]\d{2}:?\d{2}))?$`)
	weekday      = regexp.MustCompile(`^(?i:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? +`)
)

// named are the ways of writing a day with the name of its month; none can mean two days.
var named = []string{"2 Jan 2006", "2 January 2006", "2-Jan-2006", "Jan 2 2006", "January 2 2006", "2. January 2006", "2. Jan 2006", "2006-Jan-02", "2006 Jan 2"}

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
	if twoDigitYear.MatchString(s) {
		return 0, errTwoDigits
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

func day(year, month, date string) (warranty.Date, error) {
	pad := func(s string) string { return strings.Repeat("0", max(0, 2-len(s))) + s }
	d, err := warranty.ParseDate(year + "-" + pad(month) + "-" + pad(date))
	if err != nil {
		return 0, errDay
	}
	return d, nil
}

// length is how long a warranty lasts.
type length struct{ years, months, days int }

func (l length) isZero() bool { return l == length{} }

// maxLength is more than any warranty has, in any unit.
const maxLength = 36525

// lastDay is the last day of cover of this length, its first day included: two
// years from 1 March end on the last day of February. Where the month has no such
// day, it ends with the month.
func (l length) lastDay(start warranty.Date) warranty.Date {
	from := start.Time()
	months := int(from.Month()) - 1 + l.months + 12*l.years
	year, month := from.Year()+months/12, time.Month(months%12+1)
	inMonth := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
	if from.Day() > inMonth {
		return warranty.NewDate(year, month, inMonth) + warranty.Date(l.days)
	}
	return warranty.NewDate(year, month, from.Day()) + warranty.Date(l.days) - 1
}

var lengthPart = regexp.MustCompile(`^(\d+)\s*([a-z]*)\.?[\s,]*(?:and\s+)?`)

// importLength reads a length such as "24", which is months, "2 years" or "1 year 6 months".
func importLength(s string) (length, error) {
	var l length
	rest := strings.ToLower(strings.TrimSpace(s))
	if rest == "" {
		return l, nil
	}
	for rest != "" {
		m := lengthPart.FindStringSubmatch(rest)
		if m == nil {
			return l, errLength
		}
		n, err := strconv.Atoi(m[1])
		if err != nil || n > maxLength {
			return l, errLength
		}
		switch m[2] {
		case "", "m", "mo", "mos", "mth", "mths", "month", "months", "monate", "monat", "mois":
			l.months += n
		case "y", "yr", "yrs", "year", "years", "jahr", "jahre", "an", "ans":
			l.years += n
		case "d", "day", "days", "tag", "tage", "jour", "jours":
			l.days += n
		case "w", "week", "weeks":
			l.days += 7 * n
		default:
			return l, errLength
		}
		rest = rest[len(m[0]):]
	}
	return l, nil
}

var errLength = errors.New("this is not a length that this program can read; write it like 24 months or 2 years")

// importNumber reads a number of years, months or days; nothing is none.
func importNumber(s string) (int, error) {
	if s = strings.TrimSpace(s); s == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(strings.TrimSuffix(s, ".0"))
	if err != nil || n < 0 || n > maxLength {
		return 0, fmt.Errorf("this is not a whole number from 0 to %d", maxLength)
	}
	return n, nil
}
