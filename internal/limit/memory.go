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

	// lookahead is how many entries are checked for a closed window when a key is
	// added.
	lookahead = 8
)

// Memory is a Limiter for one process. It is exact under concurrency. It holds at
// most 1<<20 windows; beyond that it drops those with the lowest counts.
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

	// The clock is read under the lock, so that no request is counted before the
	// window that another one opened. Durations since start are monotonic.
	now := m.now()
	at := now.Sub(m.start)
	s.follow(now.Round(0).Sub(m.start.Round(0)) - at)
	e := s.entry(hash, at)
	if e.until <= at {
		e.n, e.until = 0, at+period
	}
	// A window can end later than that only if a clock without a monotonic reading was
	// set back. It keeps its count, but never blocks for longer than one period.
	e.until = min(e.until, at+period)
	e.n++
	return window(int(e.n), limit, m.start.Round(0).Add(e.until+s.step), now.Add(e.until-at))
}

// entry is one window. It contains no pointers, so the garbage collector skips it.
type entry struct {
	hash  uint64        // of the key, under the limiter's random seed
	until time.Duration // when the window closes, since the limiter's start
	n     uint32
	next  int32 // next entry of the chain, as in shard.heads
}

// shard is a chained hash table in two slices. A map of a million windows would need
// twice the memory and could not be swept incrementally.
type shard struct {
	mu      sync.Mutex
	heads   []int32 // by hash: index of a chain's first entry, plus one
	entries []entry
	hand    int // where the next search for a reusable entry starts

	// step is how far the wall clock was stepped since the start. It converts until to
	// Reset and takes eight bytes per shard instead of per window.
	step time.Duration
}

// follow records a step of the wall clock. It ignores slow corrections, which would
// make the Reset of a window fluctuate.
func (s *shard) follow(step time.Duration) {
	if (step - s.step).Abs() >= time.Second {
		s.step = step
	}
}

// head returns the head of the chain for hash, whose low bits select the shard.
func (s *shard) head(hash uint64) *int32 { return &s.heads[(hash>>32)%shardSize] }

// entry returns the entry for hash, or a new one with a closed window.
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

// free returns the index of an entry that is in no chain: one with a closed window,
// else a new one, else the one with the lowest count nearby, because dropping it
// forgets the fewest requests.
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
	if len(s.entries) == cap(s.entries) { // append could allocate more than shardSize
		room := min(max(2*len(s.entries), lookahead), shardSize)
		s.entries = append(make([]entry, 0, room), s.entries...)
	}
	s.entries = append(s.entries, entry{})
	return len(s.entries) - 1
}

// unlink removes entry i from its chain.
func (s *shard) unlink(i int) int {
	link := s.head(s.entries[i].hash)
	for *link != int32(i+1) {
		link = &s.entries[*link-1].next
	}
	*link = s.entries[i].next
	return i
}
