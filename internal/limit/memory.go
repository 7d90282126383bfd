package limit

import (
	"context"
	"hash/maphash"
	"sync"
	"time"
)

const (
	shardCount = 64
	shardSize  = 1 << 20 / shardCount

	// lookahead is how many entries a new key inspects for one whose window is
	// over: enough to keep up with any flood, few enough to cost nothing.
	lookahead = 8
)

// Memory is the Limiter of one process. It is exact under concurrency and holds
// at most 1<<20 windows: beyond that it forgets the ones that have counted least.
type Memory struct {
	now    func() time.Time
	start  time.Time
	seed   maphash.Seed
	shards [shardCount]shard
}

// NewMemory returns an empty Memory that reads the time from now.
func NewMemory(now func() time.Time) *Memory {
	return &Memory{now: now, start: now(), seed: maphash.MakeSeed()}
}

// Take implements Limiter.
func (m *Memory) Take(_ context.Context, key string, limit int, period time.Duration) Window {
	hash := maphash.String(m.seed, key)
	s := &m.shards[hash%shardCount]
	s.mu.Lock()
	defer s.mu.Unlock()

	// The clock is read under the lock, so that no request counts in the past of
	// a window that another one opened. Durations since start are monotonic.
	now := m.now()
	at := now.Sub(m.start)
	s.follow(now.Round(0).Sub(m.start.Round(0)) - at)
	e := s.entry(hash, at)
	if e.until <= at {
		e.n, e.until = 0, at+period
	}
	// Only a clock without a monotonic reading that was set back has windows
	// further away: they keep their count, and nobody waits longer than one period.
	e.until = min(e.until, at+period)
	e.n++
	return window(int(e.n), limit, m.start.Round(0).Add(e.until+s.step), now.Add(e.until-at))
}

// entry is one window. It holds no pointer, so the collector never looks inside.
type entry struct {
	hash  uint64        // of the key, under the limiter's random seed
	until time.Duration // since the limiter's start, when the window closes
	n     uint32
	next  int32 // the entry after this one in its chain, as in shard.heads
}

// shard is a chained hash table in two flat slices: a built-in map of a million
// windows would need twice the memory and could not be swept a little at a time.
type shard struct {
	mu      sync.Mutex
	heads   []int32 // by hash: one more than the index of a chain's first entry
	entries []entry
	hand    int // where the search for an entry to reuse goes on

	// step is how far the wall clock was set since the start. It turns until into
	// the Reset that is shown, for eight bytes a shard instead of a window.
	step time.Duration
}

// follow notes that the wall clock was set. It ignores the slow corrections that
// all clocks get, under which the Reset of one window would wobble.
func (s *shard) follow(step time.Duration) {
	if (step - s.step).Abs() >= time.Second {
		s.step = step
	}
}

// head is where the chain of hash begins. The low bits have chosen the shard.
func (s *shard) head(hash uint64) *int32 { return &s.heads[(hash>>32)%shardSize] }

// entry finds the entry of hash, or gives it one whose window is already over.
func (s *shard) entry(hash uint64, at time.Duration) *entry {
	if s.heads == nil {
		s.heads = make([]int32, shardSize)
	}
	head := s.head(hash)
	for i := *head; i != 0; i = s.entries[i-1].next {
		if e := &s.entries[i-1]; e.hash == hash {
			return e
		}
	}
	i := s.free(at)
	s.entries[i] = entry{hash: hash, until: at, next: *head}
	*head = int32(i + 1)
	return &s.entries[i]
}

// free returns the index of an entry that is in no chain: one whose window is
// over, else a new one, else the least used one in sight, because forgetting
// that one gives away the fewest requests.
func (s *shard) free(at time.Duration) int {
	least := s.hand
	for range min(lookahead, len(s.entries)) {
		s.hand = (s.hand + 1) % len(s.entries)
		if s.entries[s.hand].until <= at {
			return s.unlink(s.hand)
		}
		if s.entries[s.hand].n < s.entries[least].n {
			least = s.hand
		}
	}
	if len(s.entries) == shardSize {
		return s.unlink(least)
	}
	if len(s.entries) == cap(s.entries) { // append would go beyond shardSize
		room := min(max(2*len(s.entries), lookahead), shardSize)
		s.entries = append(make([]entry, 0, room), s.entries...)
	}
	s.entries = append(s.entries, entry{})
	return len(s.entries) - 1
}

// unlink takes entry i out of its chain.
func (s *shard) unlink(i int) int {
	link := s.head(s.entries[i].hash)
	for *link != int32(i+1) {
		link = &s.entries[*link-1].next
	}
	*link = s.entries[i].next
	return i
}
