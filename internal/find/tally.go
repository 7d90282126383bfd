package find

import (
	"encoding/binary"

	"warranty.example/svc/warranty"
)

// Count counts the records that a question selects, per group.
func (l *List) Count(q *Question, by warranty.SummaryGroup) (*Counts, error) {
	columns := map[warranty.SummaryGroup][]Range{
		warranty.GroupByStatus:   {only(startColumn), only(endColumn)},
		warranty.GroupByCategory: {only(categoryColumn)},
		warranty.GroupBySupplier: {only(supplierColumn)},
		warranty.GroupByBrand:    {only(brandColumn)},
		warranty.GroupByEndMonth: {only(endColumn)},
	}[by]
	f, err := l.find(q, columns...)
	if err != nil {
		return nil, err
	}
	c := NewCounts(by)
	c.total = f.total
	for i, p := range f.pending {
		c.add(groupOf(by, p.record, q.Today), placeID(p.segment, 2*p.at, i), 1)
	}
	for n, s := range l.Segments {
		switch b := f.matches[n].bitmap; by {
		case warranty.GroupByStatus:
			c.addStatuses(s, b, q.Today)
		case warranty.GroupByEndMonth:
			addColumn(c, n, get[*column[int64]](s, only(endColumn)), b, func(day int64) string {
				return monthOf(warranty.Date(day))
			})
		default:
			addColumn(c, n, get[*column[string]](s, columns[0]), b, func(v string) string { return v })
		}
	}
	return c, nil
}

// CountEnds counts the records that a question selects, per end date.
func (l *List) CountEnds(q *Question) (map[warranty.Date]int64, error) {
	f, err := l.find(q, only(endColumn))
	if err != nil {
		return nil, err
	}
	days := map[warranty.Date]int64{}
	for _, p := range f.pending {
		days[p.record.End]++
	}
	for n, s := range l.Segments {
		ends := get[*column[int64]](s, only(endColumn))
		for code, count := range ends.counts(f.matches[n].bitmap) {
			if count > 0 {
				days[warranty.Date(ends.values[code])] += count
			}
		}
	}
	return days, nil
}

// placeID returns an id that orders places like the ids of their records.
func placeID(segment, at, next int) (id warranty.ID) {
	binary.BigEndian.PutUint32(id[:], uint32(segment))
	binary.BigEndian.PutUint32(id[4:], uint32(at))
	binary.BigEndian.PutUint32(id[8:], uint32(next))
	return id
}

// addColumn counts the values of a column.
func addColumn[K int64 | string](c *Counts, segment int, values *column[K], b bitmap, name func(K) string) {
	counts, newest := make([]int64, len(values.values)), make([]int, len(values.values))
	for at := range b.forward() {
		code := values.codes[at]
		counts[code]++
		newest[code] = at
	}
	for code, count := range counts {
		if count > 0 {
			c.add(name(values.values[code]), placeID(segment, 2*newest[code]+1, 0), count)
		}
	}
}

// addStatuses counts the statuses that records show on a day.
func (c *Counts) addStatuses(s *Segment, b bitmap, today warranty.Date) {
	flags := get[[]byte](s, only(flagsKey))
	starts, ends := get[*column[int64]](s, only(startColumn)), get[*column[int64]](s, only(endColumn))
	started, ended := uint16(starts.upTo(int64(today))), uint16(ends.below(int64(today)))
	upcoming, expired := warranty.EnumNumber(warranty.Upcoming), warranty.EnumNumber(warranty.Expired)
	active := warranty.EnumNumber(warranty.Active)
	var counts [8]int64
	for at := range b.forward() {
		status := int64(flags[at]) >> statusShift & 3
		switch {
		case status != active:
		case starts.codes[at] >= started:
			status = upcoming
		case ends.codes[at] < ended:
			status = expired
		}
		counts[status]++
	}
	for status, count := range counts {
		if count > 0 {
			c.add(warranty.EnumOf[warranty.Status](int64(status)).String(), warranty.ID{}, count)
		}
	}
}
