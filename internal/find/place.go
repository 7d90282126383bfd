package find

import (
	"cmp"
	"math"
	"slices"

	"warranty.example/svc/warranty"
)

// Place finds a record among those that a question selects, in its order.
func (l *List) Place(q *Question, id warranty.ID) (p warranty.Place, err error) {
	before, total, err := l.before(q, id)
	if err != nil || total == 0 {
		return p, err
	}
	p.Of = total
	answer, err := l.Ask(q, max(before-1, 0), 3)
	if err != nil {
		return p, err
	}
	at := slices.Index(answer.IDs, id)
	if at >= 0 {
		p.At = before + 1
	}
	if at > 0 {
		p.Previous = &answer.IDs[at-1]
	}
	if at+1 < len(answer.IDs) {
		p.Next = &answer.IDs[at+1]
	}
	return p, nil
}

// before counts the records before one, and all that a question selects. A record that it does not select has none before
// it.
func (l *List) before(q *Question, id warranty.ID) (before, total int64, err error) {
	switch q.Sort {
	case warranty.ByUpdatedAt, warranty.ByUpdatedAtDesc:
		return beforeIn(l, q, updatedColumn, id, func(r *Record) int64 { return r.Updated })
	case ByWaiting:
		return beforeIn(l, q, waitsColumn, id, func(r *Record) int64 { return r.Waits })
	}
	f, err := l.find(q)
	if err != nil {
		return 0, 0, err
	}
	found, ok, err := f.item(id)
	if err != nil || !ok {
		return 0, f.total, err
	}
	c := &collector{limit: math.MaxInt}
	for n := len(l.Segments) - 1; n >= 0; n-- {
		from, to := f.pendingIn(n)
		c.merge(n, f.matches[n].backward(), f.pending, from, to, everything)
	}
	if len(l.Segments) == 0 {
		c.merge(0, nothing, f.pending, 0, len(f.pending), everything)
	}
	return int64(slices.Index(c.items, found)), f.total, nil
}

// beforeIn is before in the order of a column.
func beforeIn[K cmp.Ordered](
	l *List, q *Question, name string, id warranty.ID, of func(*Record) K,
) (before, total int64, err error) {
	o, err := newOrder(l, q, name, of)
	if err != nil {
		return 0, 0, err
	}
	found, ok, err := o.item(id)
	if err != nil || !ok {
		return 0, o.total, err
	}
	var value K
	if found.record != nil {
		value = of(found.record)
	} else {
		c := o.columns[found.segment]
		value = c.values[c.codes[found.at]]
	}
	for i, c := range o.columns {
		if o.desc {
			before += int64(o.before[i][len(c.values)] - o.before[i][c.upTo(value)])
		} else {
			before += int64(o.before[i][c.below(value)])
		}
	}
	c := &collector{limit: math.MaxInt}
	o.collect(c, value)
	return before + int64(slices.Index(c.items, found)), o.total, nil
}

// item returns where a record is among those that were found.
func (f *found) item(id warranty.ID) (i item, ok bool, err error) {
	for _, p := range f.pending {
		if p.record.ID == id {
			return item{record: p.record}, true, nil
		}
	}
	one := &List{Segments: f.list.Segments, Pending: []Change{{ID: id}}, Load: f.list.Load}
	_, positions, err := one.findPlaces()
	for n, at := range positions {
		if len(at) > 0 {
			return item{segment: n, at: at[0]}, f.matches[n].has(at[0]), err
		}
	}
	return item{}, false, err
}
