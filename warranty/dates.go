package warranty

import (
	"errors"
	"time"
)

// Date is a day of the calendar, without a time or a zone. The zero Date is no
// day; 0001-01-01 is 1.
type Date int32

// epoch is 1970-01-01 as a Date.
const epoch Date = 719163

// Lifetime is the last day of a cover that never ends.
const Lifetime Date = 3652059 // 9999-12-31

const secondsADay = 24 * 60 * 60

// NewDate is the day of a year, month and day of month.
func NewDate(year int, month time.Month, day int) Date {
	return DateOf(time.Date(year, month, day, 0, 0, 0, 0, time.UTC))
}

// DateOf is the UTC day of an instant.
func DateOf(t time.Time) Date {
	s := t.Unix()
	days := s / secondsADay
	if s%secondsADay < 0 {
		days--
	}
	return Date(days) + epoch
}

// FromEpochDay is the Date that lies days after 1970-01-01.
func FromEpochDay(days int64) Date { return Date(days) + epoch }

// EpochDay counts the days from 1970-01-01 to the date: the stored form.
func (d Date) EpochDay() int64 { return int64(d - epoch) }

// Time is the date's first instant in UTC.
func (d Date) Time() time.Time { return time.Unix(d.EpochDay()*secondsADay, 0).UTC() }

// AddYears is the same day some years later; 29 February becomes 1 March where there is none.
func (d Date) AddYears(n int) Date { return DateOf(d.Time().AddDate(n, 0, 0)) }

// IsZero tells whether the date is no day at all.
func (d Date) IsZero() bool { return d == 0 }

// String writes the date as YYYY-MM-DD.
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

// MarshalText writes the date as YYYY-MM-DD.
func (d Date) MarshalText() ([]byte, error) { return d.AppendText(nil) }

// AppendText appends the date as YYYY-MM-DD.
func (d Date) AppendText(b []byte) ([]byte, error) {
	if d == 0 {
		return b, nil
	}
	return d.append(b), nil
}

var errDate = errors.New("write a day that exists as YYYY-MM-DD, such as 2026-03-31")

// ParseDate reads YYYY-MM-DD and nothing else.
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

// UnmarshalText reads YYYY-MM-DD; an empty text is no date.
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
