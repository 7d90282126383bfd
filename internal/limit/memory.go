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
	e := s.entry(hash, at)
	if e.until <= at {
		e.n, e.until, e.reset = 0, at+period, now.Add(period).UnixNano()
	}
	if e.until > at+period {
		// Only a clock without a monotonic reading that was set back gets here:
		// the window keeps its count, and nobody waits longer than one period.
		e.until, e.reset = at+period, now.Add(period).UnixNano()
	}
	e.n++
	return window(int(e.n), limit, time.Unix(0, e.reset), now.Add(e.until-at))
}

// entry is one window. It holds no pointer, so the collector never looks inside.
type entry struct {
	hash  uint64        // of the key, under the limiter's random seed
	until time.Duration // since the limiter's start, when the window closes
	reset int64         // the same instant in wall time, as Unix nanoseconds
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
