package warranty

import (
	"errors"
	"time"
)

// Date is a calendar day without time or time zone, counted from 0001-01-01 = 1.
// The zero Date means "not set".
type Date int32

// epoch is 1970-01-01 as a Date.
const epoch Date = 719163

// Lifetime is the end date of a warranty that never expires.
const Lifetime Date = 3652059 // 9999-12-31

const secondsADay = 24 * 60 * 60

// NewDate returns the Date for the given year, month and day.
func NewDate(year int, month time.Month, day int) Date {
	return DateOf(time.Date(year, month, day, 0, 0, 0, 0, time.UTC))
}

// DateOf returns the UTC day of t.
func DateOf(t time.Time) Date {
	s := t.Unix()
	days := s / secondsADay
	if s%secondsADay < 0 {
		days--
	}
	return Date(days) + epoch
}

// FromEpochDay returns the Date that is days after 1970-01-01.
func FromEpochDay(days int64) Date { return Date(days) + epoch }

// EpochDay returns the number of days since 1970-01-01, which is the stored form.
func (d Date) EpochDay() int64 { return int64(d - epoch) }

// Time returns midnight UTC at the start of the day.
func (d Date) Time() time.Time { return time.Unix(d.EpochDay()*secondsADay, 0).UTC() }

// AddYears returns the same day n years later; 29 February becomes 1 March in a year
// without one.
func (d Date) AddYears(n int) Date { return DateOf(d.Time().AddDate(n, 0, 0)) }

// LastDay returns the last day of a time that starts on d and is some months and days long: two years from
// 1 March end on the last day of February. If the month has no such day, it ends on the last day of that month.
func (d Date) LastDay(months, days int) Date {
	from := d.Time()
	months += int(from.Month()) - 1
	year, month := from.Year()+months/12, time.Month(months%12+1)
	inMonth := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
	if from.Day() > inMonth {
		return NewDate(year, month, inMonth) + Date(days)
	}
	return NewDate(year, month, from.Day()) + Date(days) - 1
}

// IsZero reports whether the date is not set.
func (d Date) IsZero() bool { return d == 0 }

// String formats the date as YYYY-MM-DD, or as "" if it is not set.
func (d Date) String() string {
	if d == 0 {
		return ""
	}
	return string(d.append(nil))
}

func (d Date) append(b []byte) []byte {
	year, month, day := d.Time().Date()
	return append(b, byte('0'+year/1000), byte('0'+year/100%10), byte('0'+year/10%10), byte('0'+year%10), '-',
		byte('0'+month/10), byte('0'+month%10), '-', byte('0'+day/10), byte('0'+day%10))
}

// MarshalText formats the date as YYYY-MM-DD, or as nothing if it is not set.
func (d Date) MarshalText() ([]byte, error) { return d.AppendText(nil) }

// AppendText appends the date as YYYY-MM-DD, or nothing if it is not set.
func (d Date) AppendText(b []byte) ([]byte, error) {
	if d == 0 {
		return b, nil
	}
	return d.append(b), nil
}

var errDate = errors.New("must be a valid date in the format YYYY-MM-DD, such as 2026-03-31")

// ParseDate parses YYYY-MM-DD.
func ParseDate(s string) (Date, error) {
	if len(s) != len(time.DateOnly) {
		return 0, errDate
	}
	t, err := time.Parse(time.DateOnly, s)
	if err != nil || t.Year() < 1 {
		return 0, errDate
	}
	return DateOf(t), nil
}

// UnmarshalText parses YYYY-MM-DD. Empty text means "not set".
func (d *Date) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*d = 0
		return nil
	}
	parsed, err := ParseDate(string(b))
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}
