package find

import (
	"iter"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"warranty.example/svc/warranty"
)

// Range is a range of part keys: From and everything up to but not including To.
type Range struct{ From, To string }

// only returns the range with one key.
func only(key string) Range { return Range{key, key + "\x00"} }

// prefixed returns the range of the keys with a prefix.
func prefixed(prefix string) Range {
	last := len(prefix) - 1
	return Range{prefix, prefix[:last] + string([]byte{prefix[last] + 1})}
}

// Segment is one version of a segment. Perhaps only some of its parts are loaded. It is safe for
// concurrent use.
type Segment struct {
	First warranty.ID
	Size  int

	mu       sync.Mutex
	loaded   map[Range]any
	selected map[string]*selection
	memory   int
}

// selection is the positions of a segment that a question selects, without regard to changes since. It is not changed.
type selection struct {
	bitmap
	count int
}

// maxSelections is the number of selections that a segment remembers.
const maxSelections = 8

// NewSegment returns a segment with nothing loaded.
func NewSegment(first warranty.ID, size int) *Segment {
	return &Segment{First: first, Size: size, loaded: map[Range]any{}, selected: map[string]*selection{}}
}

// selection returns a remembered selection, or nil.
func (s *Segment) selection(key string) *selection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.selected[key]
}

// remember keeps a selection, and forgets others, in no order, if there are too many.
func (s *Segment) remember(key string, found *selection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.selected[key] != nil {
		return
	}
	for other := range s.selected {
		if len(s.selected) < maxSelections {
			break
		}
		s.memory -= s.selected[other].memory(other)
		delete(s.selected, other)
	}
	s.selected[key] = found
	s.memory += found.memory(key)
}

func (s *selection) memory(key string) int { return 8*len(s.bitmap) + len(key) + 64 }

// Has reports whether a range of parts is loaded.
func (s *Segment) Has(r Range) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.loaded[r]
	return ok
}

// Load adds the parts of a range, in the order of their keys.
func (s *Segment) Load(r Range, parts [][]byte) error {
	decoded, err := decodeRange(r, parts)
	if err != nil {
		return err
	}
	if !s.fits(decoded) {
		return ErrCorrupt
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.loaded[r]; !ok {
		s.loaded[r] = decoded
		for _, data := range parts {
			s.memory += 2*len(data) + 64 // decoded columns are larger
		}
		if strings.HasPrefix(r.From, columnKey) {
			s.memory += 2 * s.Size
		}
	}
	return nil
}

// fits reports whether decoded parts have as many positions as the segment.
func (s *Segment) fits(decoded any) bool {
	size := s.Size
	switch d := decoded.(type) {
	case []byte:
		size = len(d)
	case *column[int64]:
		size = len(d.codes)
	case *column[string]:
		size = len(d.codes)
	case []*codes:
		size = 0
		for _, c := range d {
			size += len(c.ends)
		}
	}
	return size == s.Size
}

// Memory returns the approximate memory that the loaded parts take, in bytes.
func (s *Segment) Memory() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.memory + 256
}

func decodeRange(r Range, parts [][]byte) (any, error) {
	kind := r.From[:1]
	if kind == wordsKey {
		return parts, nil
	}
	if kind == codesKey {
		list := make([]*codes, 0, len(parts))
		for _, data := range parts {
			c, err := decodeCodes(data)
			if err != nil {
				return nil, err
			}
			list = append(list, c)
		}
		return list, nil
	}
	if len(parts) != 1 {
		return nil, ErrCorrupt
	}
	switch {
	case kind == flagsKey:
		return parts[0], nil
	case kind == headsKey, kind == idsKey:
		return decodeIDs(parts[0]), nil
	case numberColumns[r.From] != nil:
		return decodeColumn(parts[0], takeNumbers)
	}
	return decodeColumn(parts[0], takeTexts)
}

// get returns loaded parts.
func get[T any](s *Segment, r Range) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loaded[r].(T)
}

// Want is a range of parts of a segment.
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

// wordRange returns the parts that may contain words with a prefix.
func wordRange(prefix string) Range {
	if utf8.RuneCountInString(prefix) < bucketRunes {
		return prefixed(wordsKey + prefix)
	}
	return only(bucketOf(prefix))
}

// bounds are the conditions of a question on status and dates, as ranges.
type bounds struct {
	standing                           []warranty.Status // nil for any
	startFrom, startTo, endFrom, endTo int64
	boughtFrom, boughtTo               int64
}

const (
	firstDay = int64(-1 << 40)
	lastDay  = int64(1 << 40)
)

func (b *bounds) dated(from, to int64) bool { return from > firstDay || to < lastDay }

func (q *Question) bounds() *bounds {
	b := &bounds{nil, firstDay, lastDay, firstDay, lastDay, firstDay, lastDay}
	today := int64(q.Today)
	switch q.Status {
	case "":
	case warranty.Active:
		b.active(today, today)
	case warranty.Upcoming:
		b.stored(warranty.Active)
		b.startFrom = today + 1
	case warranty.Expired:
		b.stored(warranty.Active)
		b.startTo, b.endTo = today, today-1
	default:
		b.stored(q.Status)
	}
	if q.ExpiringBy != nil {
		b.active(today, today)
		b.endTo = min(b.endTo, int64(*q.ExpiringBy))
	}
	if !q.EndsFrom.IsZero() {
		b.endFrom = max(b.endFrom, int64(q.EndsFrom))
	}
	if !q.EndsTo.IsZero() {
		b.endTo = min(b.endTo, int64(q.EndsTo))
	}
	if !q.PurchasedFrom.IsZero() {
		b.boughtFrom = int64(q.PurchasedFrom)
	}
	if !q.PurchasedTo.IsZero() {
		b.boughtTo = int64(q.PurchasedTo)
	}
	if !q.CoveredOn.IsZero() {
		b.active(int64(q.CoveredOn), int64(q.CoveredOn))
	}
	return b
}

// active requires that a warranty is active and covers the days.
func (b *bounds) active(first, last int64) {
	b.stored(warranty.Active)
	b.startTo, b.endFrom = min(b.startTo, first), max(b.endFrom, last)
}

func (b *bounds) stored(s warranty.Status) { b.standing = append(b.standing, s) }

// selectIn returns the positions of a segment that fit. The segment remembers them, so that asking again takes no longer
// for a long list.
func (q *Question) selectIn(s *Segment, key string) (*selection, error) {
	b, err := q.match(s)
	if err != nil {
		return nil, err
	}
	found := &selection{b, b.count()}
	if key != "" {
		s.remember(key, found)
	}
	return found, nil
}

// except returns a selection without some positions.
func (s *selection) except(masked []int) selection {
	left := *s
	for i, at := range masked {
		if i == 0 {
			left.bitmap = slices.Clone(s.bitmap)
		}
		if left.has(at) {
			left.clear(at)
			left.count--
		}
	}
	return left
}

// match returns the positions of a segment that fit.
func (q *Question) match(s *Segment) (bitmap, error) {
	b := newBitmap(s.Size)
	bounds := q.bounds()
	pass := q.flags(bounds)
	for i, flags := range get[[]byte](s, only(flagsKey)) {
		if pass[flags] {
			b.set(i)
		}
	}
	if bounds.dated(bounds.startFrom, bounds.startTo) {
		get[*column[int64]](s, only(startColumn)).within(b, bounds.startFrom, bounds.startTo)
	}
	if bounds.dated(bounds.endFrom, bounds.endTo) {
		get[*column[int64]](s, only(endColumn)).within(b, bounds.endFrom, bounds.endTo)
	}
	if bounds.dated(bounds.boughtFrom, bounds.boughtTo) {
		get[*column[int64]](s, only(boughtColumn)).within(b, bounds.boughtFrom, bounds.boughtTo)
	}
	if q.Category != "" {
		keepText(b, s, categoryColumn, q.Category)
	}
	if q.Supplier != "" {
		keepText(b, s, supplierColumn, q.Supplier)
	}
	if q.Seller != "" {
		keepAny(b, s, q.Seller, sellerColumn, emailColumn, supplierColumn)
	}
	if q.Assurance != "" {
		q.keepAssured(b, s)
	}
	if q.Customer != nil && !b.empty() {
		c := get[*column[string]](s, only(customerColumn))
		fits, _ := c.matching(q.Customer.matches)
		c.keep(b, func(code uint16) bool { return fits[code] })
	}
	if q.Query == nil || b.empty() {
		return b, nil
	}
	return q.Query.match(s, b)
}

// flags returns which flags fit.
func (q *Question) flags(b *bounds) (pass [256]bool) {
	for i := range pass {
		roles, standing := warranty.RolesOf(int64(i)), warranty.EnumOf[warranty.Status](int64(i)>>statusShift&3)
		pass[i] = i&liveFlag != 0 &&
			(q.Role == "" || roles.Has(q.Role)) &&
			(q.OpenClaim == nil || *q.OpenClaim == (i&openFlag != 0)) &&
			!slices.ContainsFunc(b.standing, func(s warranty.Status) bool { return s != standing })
	}
	return pass
}

// keepText removes the positions with another text. The text is folded.
func keepText(b bitmap, s *Segment, name, text string) {
	c := get[*column[string]](s, only(name))
	fits, some := c.matching(func(v string) bool { return warranty.Fold(v) == text })
	if !some {
		clear(b)
		return
	}
	c.keep(b, func(code uint16) bool { return fits[code] })
}

// keepAny removes the positions that have the text in none of the columns. The text is folded.
func keepAny(b bitmap, s *Segment, text string, names ...string) {
	all := slices.Clone(b)
	clear(b)
	for _, name := range names {
		one := slices.Clone(all)
		keepText(one, s, name, text)
		b.or(one)
	}
}

// keepAssured removes the positions with another assurance.
func (q *Question) keepAssured(b bitmap, s *Segment) {
	issuer, seller := slices.Clone(b), slices.Clone(b)
	q.keepVerified(issuer, s, issuerColumn)
	get[*column[int64]](s, only(standsColumn)).within(issuer, q.Now+1, math.MaxInt64)
	q.keepVerified(seller, s, confirmsColumn)
	switch q.Assurance {
	case warranty.IssuerVerified:
		b.and(issuer)
	case warranty.SellerConfirmed:
		b.and(seller)
		b.without(issuer)
	default:
		b.without(issuer)
		b.without(seller)
	}
}

// keepVerified removes the positions whose account in a column is not verified.
func (q *Question) keepVerified(b bitmap, s *Segment, name string) {
	c := get[*column[string]](s, only(name))
	fits, _ := c.matching(func(v string) bool {
		var id warranty.ID
		return copy(id[:], v) == len(id) && q.Verified[id]
	})
	c.keep(b, func(code uint16) bool { return fits[code] })
}

// match returns which of some positions the query finds.
func (q Query) match(s *Segment, among bitmap) (bitmap, error) {
	all := newBitmap(s.Size)
	for _, words := range q.readings {
		b := slices.Clone(among)
		words = slices.Clone(words)
		slices.SortFunc(words, func(a, b string) int { return len(b) - len(a) }) // the longest are the rarest
		for _, word := range words {
			if b.empty() {
				break
			}
			found, err := findWord(s, b, word)
			if err != nil {
				return nil, err
			}
			b.and(found)
		}
		all.or(b)
	}
	return all, nil
}

// findWord returns the positions that a word finds. It may leave out those that are not in among.
func findWord(s *Segment, among bitmap, word string) (bitmap, error) {
	b := newBitmap(s.Size)
	for _, data := range get[[][]byte](s, wordRange(word)) {
		if err := findPrefix(b, data, word); err != nil {
			return nil, err
		}
	}
	if utf8.RuneCountInString(word) < MinInside {
		return b, nil
	}
	for i, c := range get[[]*codes](s, prefixed(codesKey)) {
		if first := i * chunk; among.anyIn(first, min(first+chunk, s.Size)) {
			c.find(b, first, word)
		}
	}
	return b, nil
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
