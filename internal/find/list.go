package find

import (
	"iter"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"warranty.example/svc/warranty"
)

// Range is a range of part keys: From and everything up to but not including To.
type Range struct{ From, To string }

// Want is a range of a segment that a list has to read.
type Want struct {
	Segment *Segment
	Range   Range
}

// List is a list at one moment: its segments, and what changed since they were made.
type List struct {
	Segments []*Segment // oldest first
	// Pending are the records that changed, in the order of their ids. Their entries in the segments
	// are outdated.
	Pending []Change
	// Places are where the pending records belong. A list with the same segments and pending records may share them.
	Places *Places
	// Load loads parts.
	Load func([]Want) error
}

// Places are the places of the pending records of a list.
type Places struct {
	mu     sync.Mutex
	known  bool
	places []place
	masked [][]int // per segment, the positions that are outdated
}

// Size returns the number of positions.
func (l *List) Size() (size int) {
	for _, s := range l.Segments {
		size += s.Size
	}
	return size
}

// found is the records that a question selects.
type found struct {
	list    *List
	matches []selection // per segment
	pending []pending   // in the order of their ids
	total   int64
}

// pending is a changed record and where it belongs: before a position of a segment.
type pending struct {
	record      *Record
	segment, at int
}

// need loads ranges of all segments that fit.
func (l *List) need(ranges []Range, fits func(segment int) bool) error {
	var wants []Want
	for i, s := range l.Segments {
		if !fits(i) {
			continue
		}
		for _, r := range ranges {
			if !s.Has(r) {
				wants = append(wants, Want{s, r})
			}
		}
	}
	if len(wants) == 0 {
		return nil
	}
	return l.Load(wants)
}

func everything(int) bool { return true }

func nothing(func(int) bool) {}

// segmentOf returns the segment that contains an id, or would.
func (l *List) segmentOf(id warranty.ID) int {
	n, exact := slices.BinarySearchFunc(l.Segments, id, func(s *Segment, id warranty.ID) int {
		return slices.Compare(s.First[:], id[:])
	})
	if exact {
		return n
	}
	return max(n-1, 0)
}

// SegmentOf returns the index of the segment that contains an id, or would.
func (l *List) SegmentOf(id warranty.ID) int { return l.segmentOf(id) }

func compareIDs(a, b warranty.ID) int { return slices.Compare(a[:], b[:]) }

// locate finds the place of each pending record. masked are the positions that are outdated.
func (l *List) locate() (places []place, masked [][]int, err error) {
	if l.Places == nil {
		return l.findPlaces()
	}
	l.Places.mu.Lock()
	defer l.Places.mu.Unlock()
	if !l.Places.known {
		if l.Places.places, l.Places.masked, err = l.findPlaces(); err != nil {
			return nil, nil, err
		}
		l.Places.known = true
	}
	return l.Places.places, l.Places.masked, nil
}

func (l *List) findPlaces() (places []place, masked [][]int, err error) {
	masked = make([][]int, len(l.Segments))
	if len(l.Segments) == 0 || len(l.Pending) == 0 {
		return make([]place, len(l.Pending)), masked, nil
	}
	places = make([]place, len(l.Pending))
	affected := make([]bool, len(l.Segments))
	for i, p := range l.Pending {
		places[i].piece = l.segmentOf(p.ID)
		affected[places[i].piece] = true
	}
	if err := l.need([]Range{only(headsKey)}, func(i int) bool { return affected[i] }); err != nil {
		return nil, nil, err
	}
	chunks := make([]int, len(l.Pending))
	var wants []Want
	for i, p := range l.Pending {
		s := l.Segments[places[i].piece]
		n, exact := slices.BinarySearchFunc(get[[]warranty.ID](s, only(headsKey)), p.ID, compareIDs)
		if !exact {
			n = max(n-1, 0)
		}
		chunks[i] = n
		if r := only(chunkKey(idsKey, n)); !s.Has(r) {
			wants = append(wants, Want{s, r})
		}
	}
	if err := l.loadOnce(wants); err != nil {
		return nil, nil, err
	}
	for i, p := range l.Pending {
		n := places[i].piece
		ids := get[[]warranty.ID](l.Segments[n], only(chunkKey(idsKey, chunks[i])))
		at, exact := slices.BinarySearchFunc(ids, p.ID, compareIDs)
		places[i].at = uint16(chunks[i]*chunk + at)
		if exact {
			masked[n] = append(masked[n], int(places[i].at))
		}
	}
	return places, masked, nil
}

// loadOnce loads what is wanted, each range once.
func (l *List) loadOnce(wants []Want) error {
	seen := map[Want]bool{}
	wants = slices.DeleteFunc(wants, func(w Want) bool {
		again := seen[w]
		seen[w] = true
		return again
	})
	if len(wants) == 0 {
		return nil
	}
	return l.Load(wants)
}

// find selects records.
func (l *List) find(q *Question, more ...Range) (*found, error) {
	places, masked, err := l.locate()
	if err != nil {
		return nil, err
	}
	if err := l.need(more, everything); err != nil {
		return nil, err
	}
	// Each segment is asked once, because others may make it forget.
	key, known := q.key(), make([]*selection, len(l.Segments))
	for i, s := range l.Segments {
		if key != "" {
			known[i] = s.selection(key)
		}
	}
	if err := l.need(q.ranges(), func(i int) bool { return known[i] == nil }); err != nil {
		return nil, err
	}
	f := &found{list: l, matches: make([]selection, len(l.Segments))}
	for i, s := range l.Segments {
		if known[i] == nil {
			if known[i], err = q.selectIn(s, key); err != nil {
				return nil, err
			}
		}
		f.matches[i] = known[i].except(masked[i])
		f.total += int64(f.matches[i].count)
	}
	for i, p := range l.Pending {
		if p.Record != nil && q.Matches(p.Record) {
			f.pending = append(f.pending, pending{p.Record, places[i].piece, int(places[i].at)})
		}
	}
	f.total += int64(len(f.pending))
	return f, nil
}

// ranges returns the parts of every segment that decide which records fit.
func (q *Question) ranges() []Range {
	list := []Range{only(flagsKey)}
	b := q.bounds()
	for column, used := range map[string]bool{
		startColumn:    b.dated(b.startFrom, b.startTo),
		endColumn:      b.dated(b.endFrom, b.endTo),
		categoryColumn: q.Category != "",
		supplierColumn: q.Supplier != "" || q.Seller != "",
		sellerColumn:   q.Seller != "",
		emailColumn:    q.Seller != "",
		issuerColumn:   q.Assurance != "",
		standsColumn:   q.Assurance != "",
		confirmsColumn: q.Assurance != "",
		customerColumn: q.Customer != nil,
		boughtColumn:   b.dated(b.boughtFrom, b.boughtTo),
		workColumn:     q.Claims.onWork(),
		waitsColumn:    q.Claims.WaitsBy > 0,
		updatedColumn:  q.Claims.ChangedFrom > 0,
	} {
		if used {
			list = append(list, only(column))
		}
	}
	if q.Query == nil {
		return list
	}
	for _, words := range q.Query.readings {
		for _, word := range words {
			list = append(list, wordRange(word))
			if utf8.RuneCountInString(word) >= MinInside {
				list = append(list, prefixed(codesKey))
			}
		}
	}
	seen := map[Range]bool{}
	return slices.DeleteFunc(list, func(r Range) bool {
		again := seen[r]
		seen[r] = true
		return again
	})
}

// Answer is one page of the records that a question selects.
type Answer struct {
	Total int64
	IDs   []warranty.ID
}

// Ask returns a page of the records that a question selects.
func (l *List) Ask(q *Question, offset int64, limit int) (Answer, error) {
	if q.Best != nil {
		return l.askBest(q, offset, limit)
	}
	switch q.Sort {
	case warranty.ByEndDate, warranty.ByEndDateDesc:
		return ask(l, q, endColumn, offset, limit, func(r *Record) int64 { return int64(r.End) })
	case warranty.ByUpdatedAt, warranty.ByUpdatedAtDesc:
		return ask(l, q, updatedColumn, offset, limit, func(r *Record) int64 { return r.Updated })
	case ByWaiting:
		return ask(l, q, waitsColumn, offset, limit, func(r *Record) int64 { return r.Waits })
	case warranty.ByProductName:
		return ask(l, q, nameColumn, offset, limit, func(r *Record) string { return Fold(r.Name) })
	}
	f, err := l.find(q)
	if err != nil || offset >= f.total {
		return Answer{Total: f.size()}, err
	}
	c := &collector{skip: offset, limit: limit}
	for n := len(l.Segments) - 1; n >= 0 && !c.full(); n-- {
		from, to := f.pendingIn(n)
		if count := int64(f.matches[n].count + to - from); c.skip >= count {
			c.skip -= count
			continue
		}
		c.merge(n, f.matches[n].backward(), f.pending, from, to, everything)
	}
	if len(l.Segments) == 0 {
		c.merge(0, nothing, f.pending, 0, len(f.pending), everything)
	}
	ids, err := l.ids(c.items)
	return Answer{f.total, ids}, err
}

func (f *found) size() int64 {
	if f == nil {
		return 0
	}
	return f.total
}

// pendingIn returns which pending records belong into a segment.
func (f *found) pendingIn(segment int) (from, to int) {
	compare := func(p pending, n int) int { return p.segment - n }
	from, _ = slices.BinarySearchFunc(f.pending, segment, compare)
	to, _ = slices.BinarySearchFunc(f.pending, segment+1, compare)
	return from, to
}

// item is a record of a page: a position of a segment, or a pending record.
type item struct {
	record      *Record
	segment, at int
}

// collector collects the items of a page.
type collector struct {
	skip  int64
	limit int
	items []item
}

func (c *collector) full() bool { return len(c.items) >= c.limit }

func (c *collector) add(i item) {
	if c.skip > 0 {
		c.skip--
		return
	}
	c.items = append(c.items, i)
}

// merge adds positions of a segment and those of the pending records from from to to that fit, newest
// first.
func (c *collector) merge(
	segment int, positions iter.Seq[int], list []pending, from, to int, fits func(int) bool,
) {
	newerThan := func(at int) {
		for ; to > from && list[to-1].at > at && !c.full(); to-- {
			if fits(to - 1) {
				c.add(item{record: list[to-1].record})
			}
		}
	}
	for at := range positions {
		newerThan(at)
		if c.full() {
			return
		}
		c.add(item{segment: segment, at: at})
		if c.full() {
			return
		}
	}
	newerThan(-1)
}

// ids returns the ids of a page.
func (l *List) ids(items []item) ([]warranty.ID, error) {
	var wants []Want
	for _, i := range items {
		if i.record == nil {
			if w := (Want{l.Segments[i.segment], only(chunkKey(idsKey, i.at/chunk))}); !w.Segment.Has(w.Range) {
				wants = append(wants, w)
			}
		}
	}
	if err := l.loadOnce(wants); err != nil {
		return nil, err
	}
	ids := make([]warranty.ID, 0, len(items))
	for _, i := range items {
		if i.record != nil {
			ids = append(ids, i.record.ID)
			continue
		}
		chunkIDs := get[[]warranty.ID](l.Segments[i.segment], only(chunkKey(idsKey, i.at/chunk)))
		ids = append(ids, chunkIDs[i.at%chunk])
	}
	return ids, nil
}

// isDescending reports whether an order begins with the largest value.
func isDescending(sort warranty.WarrantySort) bool { return strings.HasPrefix(string(sort), "-") }
