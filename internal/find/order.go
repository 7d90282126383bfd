package find

import (
	"cmp"
	"iter"
	"slices"
)

// order finds records in the order of a column. The segments are not sorted together: counting how
// many records of each segment come before a value is enough to find a page.
type order[K cmp.Ordered] struct {
	*found
	columns []*column[K] // per segment, then that of the pending records
	before  [][]int32    // per column and value, how many records that fit have a smaller value
	desc    bool
}

// ask is Ask in the order of a column. of returns the column's value of a record.
func ask[K cmp.Ordered](l *List, q *Question, name string, offset int64, limit int, of func(*Record) K) (Answer, error) {
	o, err := newOrder(l, q, name, of)
	if err != nil || offset >= o.total {
		return Answer{Total: o.size()}, err
	}
	ids, err := l.ids(o.page(offset, limit))
	return Answer{o.total, ids}, err
}

// newOrder finds the records that a question selects, in the order of a column.
func newOrder[K cmp.Ordered](l *List, q *Question, name string, of func(*Record) K) (*order[K], error) {
	o := &order[K]{desc: isDescending(q.Sort)}
	f, err := l.find(q, only(name))
	if err != nil {
		return o, err
	}
	o.found = f
	for i, s := range l.Segments {
		o.add(get[*column[K]](s, only(name)), f.matches[i].has)
	}
	values := make([]K, 0, len(f.pending))
	for _, p := range f.pending {
		values = append(values, of(p.record))
	}
	o.add(newColumn(values), everything)
	return o, nil
}

// add adds a column in which some positions fit.
func (o *order[K]) add(c *column[K], fits func(int) bool) {
	before := make([]int32, len(c.values)+1)
	for i, code := range c.codes {
		if fits(i) {
			before[int(code)+1]++
		}
	}
	for i := 1; i < len(before); i++ {
		before[i] += before[i-1]
	}
	o.columns, o.before = append(o.columns, c), append(o.before, before)
}

// page returns the items of a page.
func (o *order[K]) page(offset int64, limit int) []item {
	rank := offset
	if o.desc {
		rank = o.total - 1 - offset
	}
	value, smaller, equal := o.at(rank)
	c := &collector{skip: offset - smaller, limit: limit}
	if o.desc {
		c.skip = offset - (o.total - smaller - equal)
	}
	for more := true; more && !c.full(); value, more = o.next(value) {
		o.collect(c, value)
	}
	return c.items
}

// at returns the value of the record at a rank, and how many records have a smaller and an equal
// value.
func (o *order[K]) at(rank int64) (value K, smaller, equal int64) {
	low, high := make([]int, len(o.columns)), make([]int, len(o.columns))
	for i, c := range o.columns {
		high[i] = len(c.values)
	}
	for {
		// Halve the longest of the ranges that may contain the value.
		widest := 0
		for i := range o.columns {
			if high[i]-low[i] > high[widest]-low[widest] {
				widest = i
			}
		}
		value = o.columns[widest].values[(low[widest]+high[widest])/2]
		smaller = 0
		upTo := int64(0)
		for i, c := range o.columns {
			smaller += int64(o.before[i][c.below(value)])
			upTo += int64(o.before[i][c.upTo(value)])
		}
		if smaller <= rank && rank < upTo {
			return value, smaller, upTo - smaller
		}
		for i, c := range o.columns {
			if upTo <= rank {
				low[i] = max(low[i], c.upTo(value))
			} else {
				high[i] = min(high[i], c.below(value))
			}
		}
	}
}

// next returns the value that follows in the order, of records that fit.
func (o *order[K]) next(value K) (next K, more bool) {
	for i, c := range o.columns {
		before := o.before[i]
		var code int
		if o.desc {
			code, _ = slices.BinarySearch(before, before[c.below(value)])
			code--
		} else {
			from := c.upTo(value)
			code, _ = slices.BinarySearch(before, before[from]+1)
			code--
			if code < from {
				continue
			}
		}
		if code < 0 || code == len(c.values) {
			continue
		}
		if v := c.values[code]; !more || v != next && (v < next) != o.desc {
			next, more = v, true
		}
	}
	return next, more
}

// collect adds the records with a value, newest first.
func (o *order[K]) collect(c *collector, value K) {
	last := len(o.columns) - 1
	code, exact := slices.BinarySearch(o.columns[last].values, value)
	fits := func(i int) bool { return exact && int(o.columns[last].codes[i]) == code }
	for n := len(o.list.Segments) - 1; n >= 0 && !c.full(); n-- {
		from, to := o.pendingIn(n)
		if !exact {
			from = to
		}
		c.merge(n, o.positions(n, value), o.pending, from, to, fits)
	}
	if len(o.list.Segments) == 0 {
		c.merge(0, nothing, o.pending, 0, len(o.pending), fits)
	}
}

// positions yields the positions of a segment that fit and have a value, newest first.
func (o *order[K]) positions(n int, value K) iter.Seq[int] {
	return func(yield func(int) bool) {
		code, exact := slices.BinarySearch(o.columns[n].values, value)
		if !exact {
			return
		}
		for _, at := range slices.Backward(o.columns[n].positions(code)) {
			if o.matches[n].has(int(at)) && !yield(int(at)) {
				return
			}
		}
	}
}
