package store

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"warranty.example/svc/warranty"
)

// Counting a list of a million entries takes a third of a second, and so does
// going to its last page. Long lists are therefore counted once, in blocks, and
// each process remembers how many entries of each block fit a filter, and which
// ones when they are rare. What is newer than the last block is counted with every
// question.
//
// A list changes in two ways. It grows at its newest end, because ids are made in
// the order of time: that moves no block. Anything else moves the list's epoch in
// the same transaction and notes the entry (listsChanged). Every statement that
// reads a page reads the epoch, too: a total is never taken from counts of another
// epoch, in whichever process the change was made.
//
// Growth is what comes above the list's horizon, an id in the database that is
// raised before blocks are made up to it. A transaction inserts its entry and then
// looks at the horizon; an entry below it moves the epoch. A transaction that looked
// before the horizon was raised had locked the table by then: blocks are counted
// only after all that held that lock have ended (fence). So however late a
// transaction commits, and whatever any clock says, its entry is either in the
// counts or moves the epoch. Clocks only decide where the horizon is put.

// lists remembers the blocks of long lists.
type lists struct {
	block int64 // entries a block
	slots int64 // changes of a list that are told apart
	// Entries that fit a filter are rare when at most one in so many does. Between
	// them lies too much to read it for a page.
	rare int64
	// ids that are younger than this are in no block: of those, others that are older
	// are still on their way into the database, and each would move the epoch.
	settle time.Duration
	// What was counted is counted again after this long, so that nothing that went
	// wrong with a count can stay, not even after a restore under a running service.
	renew time.Duration

	mu      sync.Mutex
	entries map[listKey]*listEntry
	size    int // of what is remembered, in blocks
	most    int // that it may be
}

type listKey struct {
	user warranty.ID
	kind kind
}

// listEntry is one list. Who counts holds busy; who reads does not wait.
type listEntry struct {
	busy chan struct{}
	// encloseAt is when blocks may next be made, after it has failed; for who holds busy.
	encloseAt time.Time
	now       atomic.Pointer[counted]
	size      int // as it is in that of all lists
}

// counted is a list at one epoch. It does not change: what is counted later is another one.
type counted struct {
	since   time.Time // when the oldest of it was counted
	epoch   int64
	ends    []warranty.ID // the last entry of each block
	filters map[string]*blocks
}

// blocks are the blocks of a list under one filter. A nil one is a list of which
// nothing was counted.
type blocks struct {
	epoch int64
	ends  []warranty.ID
	fits  []int32 // entries of each block that fit, or uncounted
	sum   int64   // of them, or uncounted
	// rare are entries that fit, in their order: all of them when there are as many
	// as sum says.
	rare []warranty.ID
	tail atomic.Int64 // entries behind the last block that fitted when somebody last looked
}

const (
	uncounted  = -1
	maxFilters = 16 // of one list
)

func newLists() *lists {
	return &lists{block: 256, slots: 256, rare: 64, settle: 2 * time.Minute, renew: time.Hour, entries: map[listKey]*listEntry{},
		most: 1 << 18} // about 20 MiB, with some filters each
}

// BlockLists sets how many entries of a long list are counted as one, and how old
// they are by then. It is for tests, whose lists are short and young; it comes
// before the first use.
func (s *Store) BlockLists(entries int64, settle time.Duration) {
	s.lists.block, s.lists.settle = entries, settle
}

// longest is the most entries that are counted with every question.
func (c *lists) longest() int64 { return 2 * c.block }

// horizon is the largest id that is settled.
func (c *lists) horizon(now time.Time) warranty.ID {
	var id warranty.ID
	ms := now.Add(-c.settle).UnixMilli()
	for i := range id {
		id[i] = 0xFF
		if i < 6 {
			id[i] = byte(ms >> (8 * (5 - i)))
		}
	}
	return id
}

// late tells whether an entry comes so long after its id was made that a block
// could be made around it before it is there.
func (c *lists) late(id warranty.ID, now time.Time) bool {
	early := c.horizon(now.Add(c.settle / 2))
	return slices.Compare(id[:], early[:]) <= 0
}

// remembered is what is known of a list, counted for this filter if need be; nil
// when it is not known to be long.
func (c *lists) remembered(ctx context.Context, s *Store, l *list) (*blocks, error) {
	c.mu.Lock()
	entry := c.entries[listKey{l.user, l.kind}]
	c.mu.Unlock()
	if entry == nil {
		return nil, nil
	}
	now := entry.now.Load()
	if now == nil || len(now.ends) == 0 {
		return nil, nil
	}
	if b := now.filters[l.key()]; b != nil && b.sum != uncounted && !c.expired(now) {
		return b, nil
	}
	return c.bring(ctx, s, l)
}

func (c *lists) expired(n *counted) bool { return time.Since(n.since) > c.renew }

// bring counts what is not counted yet of a list under its filter, once for all who wait.
func (c *lists) bring(ctx context.Context, s *Store, l *list) (*blocks, error) {
	key := listKey{l.user, l.kind}
	entry := c.entry(key)
	before := entry.now.Load()
	select {
	case entry.busy <- struct{}{}:
		defer func() { <-entry.busy }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	old := entry.now.Load()
	if old != nil && old != before {
		// Somebody else has just done so; whether it is enough, the next look tells.
		if b := old.filters[l.key()]; b != nil && b.sum != uncounted {
			return b, nil
		}
	}
	if old == nil || c.expired(old) {
		old = &counted{since: time.Now()}
	}
	next, err := old.caughtUp(ctx, s, l)
	if err == nil {
		err = next.extend(ctx, s, l, c, entry)
	}
	if err == nil {
		err = next.count(ctx, s, l, c)
	}
	if err != nil {
		return nil, err
	}
	entry.now.Store(next)
	c.resize(key, entry, next.size())
	return next.filters[l.key()], nil
}

func (c *lists) entry(key listKey) *listEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry := c.entries[key]
	if entry == nil {
		entry = &listEntry{busy: make(chan struct{}, 1)}
		c.entries[key] = entry
	}
	return entry
}

// resize notes how much is remembered of a list, and forgets others while it is
// too much of all.
func (c *lists) resize(key listKey, entry *listEntry, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[key] != entry {
		return // it was forgotten while it was counted
	}
	c.size += size - entry.size
	entry.size = size
	for other, forgotten := range c.entries {
		if c.size <= c.most {
			return
		}
		if other != key {
			delete(c.entries, other)
			c.size -= forgotten.size
		}
	}
}

// size is what a list costs to remember, in blocks.
func (n *counted) size() int {
	size := 4 + len(n.ends)*(1+len(n.filters)/4)
	for _, b := range n.filters {
		size += len(b.rare) / 4
	}
	return size
}

// caughtUp is a copy that holds at the list's epoch: blocks in which something
// changed since are uncounted, and all are gone when too much did.
func (n *counted) caughtUp(ctx context.Context, s *Store, l *list) (*counted, error) {
	next := &counted{since: n.since}
	told := map[int64]warranty.ID{}
	err := s.engine.query(ctx, `SELECT e.epoch, c.epoch, c.item_id FROM list_epochs e
		LEFT JOIN list_changes c ON c.user_id = e.user_id AND c.kind = e.kind AND c.epoch > $3 WHERE e.user_id = $1 AND e.kind = $2`, func(r Row) error {
		next.epoch = r.Int(0)
		if !r.Null(1) {
			told[r.Int(1)] = r.ID(2)
		}
		return nil
	}, l.user, l.kind, n.epoch)
	if err != nil {
		return nil, err
	}
	next.filters = map[string]*blocks{}
	if int64(len(told)) != next.epoch-n.epoch {
		return next, nil // the slots of some were taken by later ones
	}
	var dirty []int
	for _, item := range told {
		if item == anyItem {
			return next, nil
		}
		dirty = append(dirty, blockOf(n.ends, item))
	}
	next.ends = n.ends
	if len(n.filters) < maxFilters {
		for key, b := range n.filters {
			next.filters[key] = b.without(dirty, next.epoch)
		}
	}
	return next, nil
}

// blockOf finds the block that an entry lies in; behind the last one it is their number.
func blockOf(ends []warranty.ID, id warranty.ID) int {
	i, _ := search(ends, id)
	return i
}

// without is a copy in which some blocks are uncounted.
func (b *blocks) without(dirty []int, epoch int64) *blocks {
	next := &blocks{epoch: epoch, ends: b.ends, fits: slices.Clone(b.fits), sum: b.sum, rare: b.rare}
	next.tail.Store(b.tail.Load())
	for _, i := range dirty {
		if i < len(next.fits) {
			next.fits[i] = uncounted
		}
	}
	return next
}

// extend makes blocks of what has settled behind the last one.
func (n *counted) extend(ctx context.Context, s *Store, l *list, c *lists, entry *listEntry) error {
	if time.Now().Before(entry.encloseAt) {
		return nil
	}
	var ends []warranty.ID
	seen := int64(0)
	all := listOf(l.user, l.kind)
	err := all.scan(ctx, s, last(n.ends), c.horizon(s.Now()), func(id warranty.ID) {
		if seen++; seen%c.block == 0 {
			ends = append(ends, id)
		}
	})
	switch {
	case err != nil || len(ends) == 0:
	case s.enclose(ctx, l, last(ends)):
		n.ends = slices.Concat(n.ends, ends)
	default:
		entry.encloseAt = time.Now().Add(encloseEvery)
	}
	return err
}

const (
	encloseEvery = 2 * time.Second
	encloseTime  = time.Second // for which a reader may wait, when nothing can be written
	// Transactions that are under way usually end within a millisecond or two.
	firstWait = time.Millisecond
	lastWait  = 64 * time.Millisecond
)

// enclose raises the list's horizon, and tells whether everything that may have
// been inserted below it unnoticed has ended. Where it has not, or nothing can be
// written, the blocks are made another time: until then what they would have held
// is counted with every question.
func (s *Store) enclose(ctx context.Context, l *list, horizon warranty.ID) bool {
	ctx, cancel := context.WithTimeout(ctx, encloseTime)
	defer cancel()
	if err := s.Write(ctx, func(t *Tx) error { return t.raiseHorizon(l.user, l.kind, horizon) }); err != nil {
		return false
	}
	passed, err := s.engine.fence(ctx)
	if err != nil {
		return false
	}
	for wait := firstWait; ; wait *= 2 {
		ok, err := passed(ctx)
		if ok || err != nil || wait > lastWait {
			return ok && err == nil
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return false
		}
	}
}

// count counts the blocks that are uncounted under the list's filter.
func (n *counted) count(ctx context.Context, s *Store, l *list, c *lists) error {
	b := n.filters[l.key()]
	if b == nil {
		b = &blocks{}
		n.filters[l.key()] = b
	}
	for _, other := range n.filters {
		other.epoch, other.ends = n.epoch, n.ends
		for len(other.fits) < len(n.ends) {
			other.fits = append(other.fits, uncounted)
		}
		if slices.Contains(other.fits, uncounted) {
			other.sum = uncounted // until somebody asks for it
		}
	}
	most := int(int64(len(n.ends)) * c.block / c.rare)
	for from := 0; from < len(b.fits); from++ {
		to := from
		for ; to < len(b.fits) && b.fits[to] == uncounted; to++ {
			b.fits[to] = 0
		}
		if from == to {
			continue
		}
		if err := b.countRun(ctx, s, l, last(n.ends[:from]), n.ends[to-1], most); err != nil {
			return err
		}
		from = to
	}
	b.sum = 0
	for _, fits := range b.fits {
		b.sum += int64(fits)
	}
	if len(b.rare) > most {
		b.rare = nil
	}
	return nil
}

// countRun counts the blocks between two ends, and notes what fits as long as that
// is not too much.
func (b *blocks) countRun(ctx context.Context, s *Store, l *list, floor, top warranty.ID, most int) error {
	var found []warranty.ID
	err := l.scan(ctx, s, floor, top, func(id warranty.ID) {
		b.fits[blockOf(b.ends, id)]++
		if len(found) <= most {
			found = append(found, id)
		}
	})
	b.rare = slices.Concat(b.rare[:through(b.rare, floor)], found, b.rare[through(b.rare, top):])
	return err
}

// through is how many of the ids there are through this one.
func through(ids []warranty.ID, id warranty.ID) int {
	i, found := search(ids, id)
	if found {
		i++
	}
	return i
}

func search(ids []warranty.ID, id warranty.ID) (int, bool) {
	return slices.BinarySearchFunc(ids, id, func(a, b warranty.ID) int { return slices.Compare(a[:], b[:]) })
}

// scan reads the ids behind one and up to another, in their order.
func (l *list) scan(ctx context.Context, s *Store, floor, top warranty.ID, each func(warranty.ID)) error {
	return s.engine.query(ctx, `SELECT a.item_id FROM access a WHERE a.user_id = $1 AND a.kind = $2 AND a.item_id > $3 AND a.item_id <= $4`+l.filter.String()+`
		ORDER BY a.item_id`, func(r Row) error { each(r.ID(0)); return nil }, l.values(floor, top)...)
}

func last(ends []warranty.ID) warranty.ID {
	if len(ends) == 0 {
		return warranty.ID{}
	}
	return ends[len(ends)-1]
}
