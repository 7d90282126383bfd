package sheet

import (
	"errors"
	"fmt"
	"strconv"
)

var (
	errDiffer = errors.New("two columns have different lengths; correct one, or leave a column out")
	errParts  = errors.New("both the years and the months column have a year or more; leave one out")
)

// length combines the length columns of a row: one length, or years, months and
// days to add up. Columns that contradict each other are an error.
func (r *Reader) length(cells record) (length, error) {
	var whole, parts length
	for _, v := range r.values(cells, "duration") {
		l, err := r.importLength(v, r.style.bare)
		if err != nil {
			return l, err
		}
		if !whole.isZero() && whole != l {
			return l, errDiffer
		}
		whole = l
		r.noteLength(v, l)
	}
	for _, u := range []unit{years, months, days} {
		list := r.values(cells, unitFields[u])
		for i, v := range list {
			l, err := r.importLength(v, u)
			switch {
			case err != nil:
				return l, err
			case i > 0:
				return l, errDiffer
			case u == months && l.months >= 12 && parts.months > 0:
				return l, errParts
			}
			parts = parts.plus(l)
		}
	}
	switch {
	case whole.isZero():
		return parts, nil
	case parts.isZero() || parts == whole:
		return whole, nil
	}
	return whole, errDiffer
}

// noteLength notes how a length was read that does not name its unit in full.
func (r *Reader) noteLength(text string, l length) {
	switch _, err := strconv.Atoi(text); {
	case l.isZero():
	case err == nil:
		r.readings.add(ReadBare, "duration", text, l.String())
	case r.style.german && germanYears.MatchString(text):
		r.readings.add(ReadShort, "duration", text, l.String())
	}
}

// String returns the length as text, such as "24 months" or "10 days".
func (l length) String() string {
	switch {
	case l.days == 0:
		return fmt.Sprintf("%d months", l.months)
	case l.months == 0:
		return fmt.Sprintf("%d days", l.days)
	}
	return fmt.Sprintf("%d months %d days", l.months, l.days)
}

// saysNone reports whether a row says that there is no warranty, in words or with a length of zero.
func (r *Reader) saysNone(cells record) bool {
	if r.source == ours || r.day(cells, "end_date") != "" || truthy(r.value(cells, "lifetime")) {
		return false
	}
	says := false
	for _, field := range lengthFields {
		for _, v := range r.values(cells, field) {
			if !isNoneWord(v) && !isZero(v) {
				return false
			}
			says = true
		}
	}
	return says
}
