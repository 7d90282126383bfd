package store

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// Counting a list of a million entries takes a third of a second, and so does reading its last
// page. Long lists are therefore counted once, in blocks. Each process remembers how many entries
// of each block match a filter, and which ones if they are rare. Entries after the last block are
// counted on every request.
//
// A list changes in two ways. It grows at its end, because ids are ordered by time: that changes no
// block. Any other change increments the list's epoch in the same transaction and records the entry
// (listsChanged). Every statement that reads a page also reads the epoch, so a total is never
// computed from the counts of another epoch, no matter which process made the change.
//
// Growth means entries above the list's horizon, an id in the database that is raised before blocks
// are made up to it. A transaction inserts its entry and then reads the horizon; an entry below it
// increments the epoch. A transaction that read the horizon before it was raised had locked the
// table by then, and blocks are counted only after all holders of that lock have ended (fence).
// However late a transaction commits, and whatever the clocks say, its entry is either in the
// counts or increments the epoch. Clocks only decide where the horizon is set.

// listCache caches the block counts of long lists.
type listCache struct {
	block int64 // entries per block
	slots int64 // changes recorded per list
	// Entries that match a filter are rare if at most one in rare does. A page of them would read
	// too many entries in between.
	rare int64
	// Ids younger than settle are in no block: transactions with older ids may still be
	// uncommitted, and each would increment the epoch.
	settle time.Duration
	// Counts expire after maxAge, so that no wrong count can persist, not even after a database is
	// restored under a running service.
	maxAge time.Duration

	mu      sync.Mutex
	entries map[listKey]*listEntry
	size    int // of all entries, in blocks
	maxSize int
	// wanted are lists to count in the background, by their key and filter. wake tells that some are due.
	wanted map[wantedKey]*wantedList
	wake   chan struct{}
}

// wantedList is a list whose pages the index answers until it is counted.
type wantedList struct {
	*list
	asked int // pages since it was counted
}

type wantedKey struct {
	listKey
	filter string
}

type listKey struct {
	user warranty.ID
	kind kind
}

// listEntry is one list. The counting goroutine holds busy; readers never block.
type listEntry struct {
	busy chan struct{}
	// nextExtend is the earliest time to make blocks after a failure. Guarded by busy.
	nextExtend time.Time
	counting   atomic.Bool // in the background
	current    atomic.Pointer[listCounts]
	size       int // its share of listCache.size
}

// listCounts is a list at one epoch. It is immutable once published.
type listCounts struct {
	since   time.Time // when the oldest block was counted
	epoch   int64
	ends    []warranty.ID // the last entry of each block
	filters map[string]*blocks
}

// blocks holds the counts of a list for one filter. A nil *blocks is a list without counts.
type blocks struct {
	epoch   int64
	ends    []warranty.ID
	matches []int32 // matching entries per block, or uncounted
	sum     int64   // of matches, or uncounted
	// rare are matching entries in order. The list is complete if its length is sum.
	rare []warranty.ID
	tail atomic.Int64 // matching entries after the last block, as of the last read
}

const (
	uncounted   = -1
	maxFilters  = 16 // per list
	quickBlocks = 64 // that a quick list counts
)

// errUncounted means that a quick list would have to count many blocks.
var errUncounted = errors.New("the list is not counted yet")

func newListCache() *listCache {
	return &listCache{
		block:   256,
		slots:   256,
		rare:    64,
		settle:  2 * time.Minute,
		maxAge:  time.Hour,
		entries: map[listKey]*listEntry{},
		maxSize: 1 << 18, // about 20 MiB, with a few filters per list
		wanted:  map[wantedKey]*wantedList{},
		wake:    make(chan struct{}, 1),
	}
}

// BlockLists sets the number of entries per block and how old entries must be to be counted in
// blocks. It is for tests, whose lists are short and young, and must be called before first use.
func (s *Store) BlockLists(entries int64, settle time.Duration) {
	s.lists.block, s.lists.settle = entries, settle
}

// maxTail is the number of entries that are counted on every request.
func (c *listCache) maxTail() int64 { return 2 * c.block }

// horizon returns the largest settled id.
func (c *listCache) horizon(now time.Time) warranty.ID {
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

// late reports whether an entry is inserted so long after its id was made that a block could be
// counted around it first.
func (c *listCache) late(id warranty.ID, now time.Time) bool {
	early := c.horizon(now.Add(c.settle / 2))
	return slices.Compare(id[:], early[:]) <= 0
}

// cached returns the counts of a list for its filter, refreshed if needed, or nil if the list is
// not known to be long.
func (c *listCache) cached(ctx context.Context, s *Store, l *list) (*blocks, error) {
	c.mu.Lock()
	entry := c.entries[l.listKey]
	c.mu.Unlock()
	if entry == nil {
		return nil, nil
	}
	if l.quick && entry.counting.Load() {
		return nil, errUncounted // the index does not wait
	}
	current := entry.current.Load()
	if current == nil || len(current.ends) == 0 {
		return nil, nil
	}
	if b := current.filters[l.key()]; b != nil && b.sum != uncounted && !c.expired(current) {
		return b, nil
	}
	return c.refresh(ctx, s, l)
}

// want has a list counted in the background, once the index has answered so many pages that counting
// would have taken as long. So a list that changes more often than it is read is not counted every time.
func (c *listCache) want(l *list) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := wantedKey{l.listKey, l.key()}
	w := c.wanted[key]
	if w == nil {
		for other := range c.wanted {
			if len(c.wanted) < maxWanted {
				break
			}
			delete(c.wanted, other)
		}
		w = &wantedList{}
		c.wanted[key] = w
	}
	w.list = l
	if w.asked++; w.due() {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
}

func (w *wantedList) due() bool { return w.asked*blocksPerPage >= w.uncounted }

const (
	maxWanted = 64
	// blocksPerPage is how many blocks are counted in the time that the index takes for a page.
	blocksPerPage = 8
)

// ListsWanted returns a channel that receives when CountWanted has something to do.
func (s *Store) ListsWanted() <-chan struct{} { return s.lists.wake }

// CountWanted counts the blocks of long lists that were asked for often enough.
func (s *Store) CountWanted(ctx context.Context) error {
	s.lists.mu.Lock()
	var due []*list
	for key, w := range s.lists.wanted {
		if w.due() {
			due = append(due, w.list)
			delete(s.lists.wanted, key)
		}
	}
	s.lists.mu.Unlock()
	for _, l := range due {
		l.quick = false
		entry := s.lists.entry(listKey{l.user, l.kind})
		entry.counting.Store(true)
		_, err := s.lists.refresh(ctx, s, l)
		entry.counting.Store(false)
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *listCache) expired(n *listCounts) bool { return time.Since(n.since) > c.maxAge }

// refresh counts the missing blocks of a list for its filter; concurrent callers share the result.
func (c *listCache) refresh(ctx context.Context, s *Store, l *list) (*blocks, error) {
	key := l.listKey
	entry := c.entry(key)
	before := entry.current.Load()
	select {
	case entry.busy <- struct{}{}:
		defer func() { <-entry.busy }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	old := entry.current.Load()
	if old != nil && old != before {
		// Another goroutine just refreshed it. If that is not recent enough, the next page read
		// shows it.
		if b := old.filters[l.key()]; b != nil && b.sum != uncounted {
			return b, nil
		}
	}
	if old == nil || c.expired(old) {
		old = &listCounts{since: time.Now()}
	}
	next, err := old.catchUp(ctx, s, l)
	if err == nil && l.quick && len(next.ends) == 0 {
		return nil, errUncounted
	}
	if err == nil {
		err = next.extend(ctx, s, l, c, entry)
	}
	if err == nil {
		err = next.count(ctx, s, l, c)
	}
	if err != nil {
		return nil, err
	}
	entry.current.Store(next)
	c.resize(key, entry, next.size())
	return next.filters[l.key()], nil
}

func (c *listCache) entry(key listKey) *listEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry := c.entries[key]
	if entry == nil {
		entry = &listEntry{busy: make(chan struct{}, 1)}
		c.entries[key] = entry
	}
	return entry
}

// resize updates the size of an entry and evicts others while the cache is too large.
func (c *listCache) resize(key listKey, entry *listEntry, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[key] != entry {
		return // evicted while it was counted
	}
	c.size += size - entry.size
	entry.size = size
	for other, evicted := range c.entries {
		if c.size <= c.maxSize {
			return
		}
		if other != key {
			delete(c.entries, other)
			c.size -= evicted.size
		}
	}
}

// size returns the memory cost of a list, in blocks.
func (n *listCounts) size() int {
	size := 4 + len(n.ends)*(1+len(n.filters)/4)
	for _, b := range n.filters {
		size += len(b.rare) / 4
	}
	return size
}

// catchUp returns a copy at the list's current epoch. Blocks that changed since are uncounted; all
// are dropped if too much changed.
func (n *listCounts) catchUp(ctx context.Context, s *Store, l *list) (*listCounts, error) {
	next := &listCounts{since: n.since}
	changed := map[int64]warranty.ID{}
	err := s.db.Query(ctx, `SELECT e.epoch, c.epoch, c.item_id FROM list_epochs e
		LEFT JOIN list_changes c ON c.user_id = e.user_id AND c.kind = e.kind AND c.epoch > $3
		WHERE e.user_id = $1 AND e.kind = $2`, func(r *engine.Row) error {
		next.epoch = r.Int()
		if !r.Null() {
			changed[r.Int()] = r.ID()
		}
		return nil
	}, l.user, l.kind, n.epoch)
	if err != nil {
		return nil, err
	}
	next.filters = map[string]*blocks{}
	if int64(len(changed)) != next.epoch-n.epoch {
		return next, nil // some slots were overwritten by later changes
	}
	var dirty []int
	for _, item := range changed {
		if item == anyItem {
			return next, nil
		}
		dirty = append(dirty, blockOf(n.ends, item))
	}
	next.ends = n.ends
	if len(n.filters) < maxFilters {
		for key, b := range n.filters {
			next.filters[key] = b.withUncounted(dirty, next.epoch)
		}
	}
	return next, nil
}

// blockOf returns the index of the block that contains id, or len(ends) if id is after the last
// block.
func blockOf(ends []warranty.ID, id warranty.ID) int {
	i, _ := searchIDs(ends, id)
	return i
}

// withUncounted returns a copy in which the given blocks are uncounted.
func (b *blocks) withUncounted(dirty []int, epoch int64) *blocks {
	next := &blocks{epoch: epoch, ends: b.ends, matches: slices.Clone(b.matches), sum: b.sum, rare: b.rare}
	next.tail.Store(b.tail.Load())
	for _, i := range dirty {
		if i < len(next.matches) {
			next.matches[i] = uncounted
		}
	}
	return next
}

// extend makes blocks of the settled entries after the last block.
func (n *listCounts) extend(ctx context.Context, s *Store, l *list, c *listCache, entry *listEntry) error {
	if time.Now().Before(entry.nextExtend) {
		return nil
	}
	ends, err := l.blockEnds(ctx, s, last(n.ends), c.horizon(s.Now()), c.block)
	switch {
	case err != nil || len(ends) == 0:
	case s.advanceHorizon(ctx, l, last(ends)):
		n.ends = slices.Concat(n.ends, ends)
	default:
		entry.nextExtend = time.Now().Add(extendRetry)
	}
	return err
}

const (
	extendRetry   = 2 * time.Second
	extendTimeout = time.Second // a reader waits at most this long if nothing can be written
	// Transactions usually end within a millisecond or two.
	minFenceWait = time.Millisecond
	maxFenceWait = 64 * time.Millisecond
)

// advanceHorizon raises the list's horizon and reports whether every transaction that may have
// inserted below it unnoticed has ended. If not, or if nothing can be written, blocks are made
// another time; until then their entries are counted on every request.
func (s *Store) advanceHorizon(ctx context.Context, l *list, horizon warranty.ID) bool {
	ctx, cancel := context.WithTimeout(ctx, extendTimeout)
	defer cancel()
	if err := s.Write(ctx, func(t *Tx) error { return t.raiseHorizon(l.user, l.kind, horizon) }); err != nil {
		return false
	}
	passed, err := s.db.Fence(ctx, "access")
	return err == nil && awaitFence(ctx, passed)
}

// awaitFence waits a moment for a fence and reports whether it was passed.
func awaitFence(ctx context.Context, passed func(context.Context) (bool, error)) bool {
	for wait := minFenceWait; ; wait *= 2 {
		ok, err := passed(ctx)
		if ok || err != nil || wait > maxFenceWait {
			return ok && err == nil
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return false
		}
	}
}

// count counts the uncounted blocks for the list's filter.
func (n *listCounts) count(ctx context.Context, s *Store, l *list, c *listCache) error {
	b := n.filters[l.key()]
	if b == nil {
		b = &blocks{}
		n.filters[l.key()] = b
	}
	for _, other := range n.filters {
		other.epoch, other.ends = n.epoch, n.ends
		for len(other.matches) < len(n.ends) {
			other.matches = append(other.matches, uncounted)
		}
		if slices.Contains(other.matches, uncounted) {
			other.sum = uncounted // counted when requested
		}
	}
	var todo []int
	for i, matches := range b.matches {
		if matches == uncounted {
			todo = append(todo, i)
		}
	}
	if l.quick && len(todo) > quickBlocks {
		l.uncounted = len(todo)
		return errUncounted
	}
	if err := b.countBlocks(ctx, s, l, todo); err != nil {
		return err
	}
	b.sum = 0
	for _, matches := range b.matches {
		b.sum += int64(matches)
	}
	if b.sum > int64(len(n.ends))*c.block/c.rare {
		b.rare = nil
		return nil
	}
	return b.findRare(ctx, s, l, todo)
}

// countBlocks counts some of the blocks.
func (b *blocks) countBlocks(ctx context.Context, s *Store, l *list, todo []int) error {
	if len(todo) == 0 {
		return nil
	}
	ranges := make([][3]any, len(todo))
	for k, i := range todo {
		ranges[k] = [3]any{i, last(b.ends[:i]), b.ends[i]}
	}
	param, err := json.Marshal(ranges)
	if err != nil {
		return err
	}
	return l.countRanges(ctx, s, string(param), func(i, matches int64) { b.matches[i] = int32(matches) })
}

// findRare collects the matching entries of some blocks. They replace those that were collected before.
func (b *blocks) findRare(ctx context.Context, s *Store, l *list, todo []int) error {
	for len(todo) > 0 {
		run := 1
		for run < len(todo) && todo[run] == todo[0]+run {
			run++
		}
		floor, top := last(b.ends[:todo[0]]), b.ends[todo[run-1]]
		var found []warranty.ID
		if err := l.scan(ctx, s, floor, top, func(id warranty.ID) { found = append(found, id) }); err != nil {
			return err
		}
		b.rare = slices.Concat(b.rare[:countUpTo(b.rare, floor)], found, b.rare[countUpTo(b.rare, top):])
		todo = todo[run:]
	}
	return nil
}

// countUpTo returns the number of ids up to and including id.
func countUpTo(ids []warranty.ID, id warranty.ID) int {
	i, found := searchIDs(ids, id)
	if found {
		i++
	}
	return i
}

func searchIDs(ids []warranty.ID, id warranty.ID) (int, bool) {
	return slices.BinarySearchFunc(ids, id, func(a, b warranty.ID) int { return slices.Compare(a[:], b[:]) })
}

func last(ends []warranty.ID) warranty.ID {
	if len(ends) == 0 {
		return warranty.ID{}
	}
	return ends[len(ends)-1]
}
