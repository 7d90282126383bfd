package find

import "warranty.example/svc/warranty"

// Started is how many records start on a day, and how many of them the account does not own (anymore).
type Started struct{ All, Taken int64 }

// CountStarts counts the records that a question selects and that start on a day or later, per day.
func (l *List) CountStarts(q *Question, from warranty.Date) (map[warranty.Date]Started, error) {
	f, err := l.find(q, only(startColumn), only(flagsKey))
	if err != nil {
		return nil, err
	}
	days := map[warranty.Date]Started{}
	add := func(day warranty.Date, owned bool) {
		if day < from {
			return
		}
		n := days[day]
		if n.All++; !owned {
			n.Taken++
		}
		days[day] = n
	}
	for _, p := range f.pending {
		add(p.record.Start, p.record.Roles.Has(warranty.Owner))
	}
	for n, s := range l.Segments {
		starts, flags := get[*column[int64]](s, only(startColumn)), get[[]byte](s, only(flagsKey))
		first := uint16(min(starts.below(int64(from)), len(starts.values)-1))
		for at := range f.matches[n].forward() {
			if code := starts.codes[at]; code >= first {
				add(warranty.Date(starts.values[code]), warranty.RolesOf(int64(flags[at])).Has(warranty.Owner))
			}
		}
	}
	return days, nil
}
