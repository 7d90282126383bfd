package limit

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"

	"warranty.example/svc/internal/testenv"
)

// clock is a clock that tests advance.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: time.Date(2026, 2, 3, 4, 5, 6, 700, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// monotonicClock is a clock with a monotonic reading, at the start of a second.
func monotonicClock() *clock {
	now := time.Now()
	return &clock{t: now.Add(-time.Duration(now.Nanosecond()))}
}

// step steps the wall clock of a monotonicClock without changing its monotonic reading,
// like an operator or NTP. The time package cannot build such a Time: its first word
// holds the seconds above 30 bits of nanoseconds.
func (c *clock) step(t *testing.T, d time.Duration) {
	t.Helper()
	before := c.t
	*(*uint64)(unsafe.Pointer(&c.t)) += uint64(d/time.Second)<<30 + uint64(d%time.Second)
	if c.t.Sub(before) != 0 || c.t.Round(0).Sub(before.Round(0)) != d {
		t.Fatal("this Go keeps time.Time otherwise; the clock could not be stepped")
	}
}

func take(l Limiter, key string, limit int) Window {
	return l.Take(context.Background(), key, limit, time.Minute)
}

// allowed counts how many of total concurrent requests on the limiters are allowed. It
// checks that all responses show the same reset and that each remaining count is
// returned exactly once.
func allowed(t *testing.T, key string, limit, total int, limiters ...Limiter) int {
	t.Helper()
	answers := make([]Window, total)
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range total {
		wg.Go(func() {
			<-start
			answers[i] = take(limiters[i%len(limiters)], key, limit)
		})
	}
	close(start)
	wg.Wait()
	passed, remaining := 0, make(map[int]bool)
	for _, w := range answers {
		if !w.Reset.Equal(answers[0].Reset) || w.Limit != limit {
			t.Errorf("one window, two answers: %+v and %+v", w, answers[0])
		}
		if !w.Allowed {
			if w.Remaining != 0 {
				t.Errorf("refused with %d remaining", w.Remaining)
			}
			continue
		}
		passed++
		if remaining[w.Remaining] || w.Remaining < 0 || w.Remaining >= limit {
			t.Errorf("remaining %d twice or out of range", w.Remaining)
		}
		remaining[w.Remaining] = true
	}
	return passed
}

func TestMemoryIsExactUnderConcurrency(t *testing.T) {
	c := newClock()
	m := NewMemory(func() time.Time {
		defer runtime.Gosched() // lets others run between reading the clock and counting
		return c.now()
	})
	for round := range 20 {
		if got := allowed(t, fmt.Sprint("token:", round), 100, 300, m); got != 100 {
			t.Errorf("round %d: %d of 300 passed, want 100", round, got)
		}
	}
}

func TestMemoryCountsDownAndResets(t *testing.T) {
	c := newClock()
	m := NewMemory(c.now)
	c.advance(time.Hour)
	reset := c.now().Add(time.Minute)
	for used := 1; used <= 100; used++ {
		w := take(m, "token:a", 100)
		if !w.Allowed || w.Limit != used+w.Remaining || !w.Reset.Equal(reset) || !w.Until.Equal(reset) {
			t.Fatalf("request %d: %+v, want reset %v", used, w, reset)
		}
		c.advance(time.Minute / 101)
	}
	c.advance(reset.Sub(c.now()) - 1)
	if w := take(m, "token:a", 100); w.Allowed || w.Remaining != 0 || !w.Reset.Equal(reset) {
		t.Errorf("last nanosecond of the window: %+v", w)
	}
	if w := take(m, "token:b", 100); !w.Allowed || w.Remaining != 99 {
		t.Errorf("another key: %+v", w)
	}
	c.advance(1)
	w := take(m, "token:a", 100)
	if !w.Allowed || w.Remaining != 99 || !w.Reset.Equal(c.now().Add(time.Minute)) {
		t.Errorf("first nanosecond of the next window: %+v", w)
	}
}

func TestMemoryWithoutLimitAllowsAll(t *testing.T) {
	m := NewMemory(newClock().now)
	for range 10 {
		if w := take(m, "ip:192.0.2.1", 0); !w.Allowed {
			t.Fatalf("%+v", w)
		}
	}
}

func TestMemorySurvivesSteppedClock(t *testing.T) {
	for _, step := range []time.Duration{-time.Hour, time.Hour} {
		t.Run(step.String(), func(t *testing.T) {
			c := monotonicClock()
			m, r := NewMemory(c.now), NewRefused(c.now)
			first := take(m, "token:a", 1)
			r.Put([32]byte{1}, first)
			c.step(t, step)
			c.advance(time.Minute - 1)
			w := take(m, "token:a", 1)
			if w.Allowed || !w.Reset.Equal(first.Reset.Add(step)) || w.Until.Sub(c.now()) != 1 {
				t.Errorf("within the window: %+v", w)
			}
			if _, ok := r.Get([32]byte{1}); !ok {
				t.Error("the memo lost the window to the step")
			}
			c.advance(1)
			if w := take(m, "token:a", 1); !w.Allowed || !w.Reset.Equal(c.now().Round(0).Add(time.Minute)) {
				t.Errorf("after the window: %+v", w)
			}
			if _, ok := r.Get([32]byte{1}); ok {
				t.Error("the memo outlived the window")
			}
		})
	}
}

func TestMemoryResetDoesNotWobble(t *testing.T) {
	c := monotonicClock()
	m := NewMemory(c.now)
	first := take(m, "token:a", 100)
	for range 50 { // NTP adjusts the wall clock by a millisecond at a time
		c.advance(time.Second)
		c.step(t, time.Millisecond)
		if w := take(m, "token:a", 100); !w.Reset.Equal(first.Reset) {
			t.Fatalf("reset %v became %v", first.Reset, w.Reset)
		}
	}
}

// A clock without a monotonic reading cannot tell a step from elapsed time, but when it
// is set back no one waits longer than a period or gains requests.
func TestMemoryWithPlainClockSetBack(t *testing.T) {
	c := newClock()
	m := NewMemory(c.now)
	take(m, "token:a", 1)
	c.advance(-time.Hour)
	if w := take(m, "token:a", 1); w.Allowed || !w.Reset.Equal(c.now().Add(time.Minute)) {
		t.Errorf("after the step: %+v", w)
	}
	c.advance(time.Minute)
	if w := take(m, "token:a", 1); !w.Allowed {
		t.Errorf("one period later: %+v", w)
	}
}

// heap returns the live heap in bytes.
func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

func TestMemoryIsBounded(t *testing.T) {
	const million, bound = 1_000_000, 64 << 20
	c := newClock()
	before := heap()
	m := NewMemory(c.now)
	flood := func(name string, n int) {
		for i := range n {
			take(m, name+strconv.Itoa(i), 1)
		}
	}

	flood("ip:", million)
	used := heap() - before
	t.Logf("%d windows: %.1f MiB, %.1f bytes each", million, float64(used)/(1<<20), float64(used)/million)
	if used > bound {
		t.Errorf("%d bytes", used)
	}
	for i := 0; i < million; i += 10 {
		if take(m, "ip:"+strconv.Itoa(i), 1).Allowed {
			t.Fatalf("window %d was lost although there was room for it", i)
		}
	}

	for i := range 1000 { // a hundred credentials use up their windows of 10
		take(m, fmt.Sprint("token:", i%100), 10)
	}
	flood("more:", million/2)
	if used := heap() - before; used > bound {
		t.Errorf("more live windows than there is room for: %d bytes", used)
	}
	for i := range 100 {
		if take(m, fmt.Sprint("token:", i), 10).Allowed {
			t.Error("a flood of strangers emptied a used-up window")
		}
	}
	checkShards(t, m)

	c.advance(time.Minute)
	flood("next:", million)
	for i := 0; i < million; i += 10 {
		if take(m, "next:"+strconv.Itoa(i), 1).Allowed {
			t.Fatalf("window %d was evicted although others were over", i)
		}
	}
	checkShards(t, m)
	runtime.KeepAlive(m)
}

// checkShards checks that every entry is in exactly one chain, the right one.
func checkShards(t *testing.T, m *Memory) {
	t.Helper()
	total := 0
	for i := range m.shards {
		s := &m.shards[i]
		linked := 0
		for h := range s.heads {
			for j := s.heads[h]; j != 0; j = s.entries[j-1].next {
				if linked++; s.head(s.entries[j-1].hash) != &s.heads[h] || linked > len(s.entries) {
					t.Fatal("a chain is broken")
				}
			}
		}
		if linked != len(s.entries) || linked > shardSize {
			t.Fatalf("shard %d: %d entries, %d of them linked", i, len(s.entries), linked)
		}
		total += linked
	}
	if total > 1<<20 {
		t.Errorf("%d entries", total)
	}
}

// A process that keeps seeing new addresses keeps about as many windows as are open.
func TestMemoryReusesWindowsThatAreOver(t *testing.T) {
	c := newClock()
	m := NewMemory(c.now)
	for i := range 300_000 { // a thousand per second: 60,000 windows are open
		take(m, "ip:"+strconv.Itoa(i), 10)
		c.advance(time.Millisecond)
	}
	kept := 0
	for i := range m.shards {
		kept += len(m.shards[i].entries)
	}
	if kept > 100_000 {
		t.Errorf("%d windows kept where 60,000 are open", kept)
	}
}

// naive is a simple fixed window.
type naive struct {
	opened time.Time
	used   int
	passed []time.Time
}

func (n *naive) take(now time.Time, limit int) bool {
	if n.used == 0 || now.Sub(n.opened) >= time.Minute {
		n.opened, n.used = now, 0
	}
	n.used++
	if n.used <= limit {
		n.passed = append(n.passed, now)
	}
	return n.used <= limit
}

// within counts the requests allowed in the last minute.
func (n *naive) within(now time.Time) (count int) {
	for _, t := range n.passed {
		if now.Sub(t) < time.Minute {
			count++
		}
	}
	return count
}

func TestMemoryBehavesAsTheModel(t *testing.T) {
	checks := flag.Lookup("rapid.checks")
	if old := checks.Value.String(); old == checks.DefValue && !testing.Short() {
		_ = checks.Value.Set("10000")
		defer func() { _ = checks.Value.Set(old) }()
	}
	var worst atomic.Int64
	testenv.Property(t, func(t *rapid.T) {
		c := newClock()
		m := NewMemory(c.now)
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		model := map[string]*naive{"a": {}, "b": {}}
		pauses := rapid.SliceOfN(rapid.OneOf(
			rapid.Just(0), rapid.IntRange(0, 2_000), rapid.IntRange(58_000, 62_000), rapid.Just(60_000),
		), 1, 40).Draw(t, "pauses in ms")
		for _, pause := range pauses {
			c.advance(time.Duration(pause) * time.Millisecond)
			key := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key")
			n := model[key]
			want := n.take(c.now(), limit)
			w := take(m, key, limit)
			if w.Allowed != want {
				t.Fatalf("allowed %v, want %v (%d used of %d)", w.Allowed, want, n.used, limit)
			}
			if w.Remaining != max(limit-n.used, 0) || !w.Reset.Equal(n.opened.Add(time.Minute)) {
				t.Fatalf("%+v, want %d used since %v", w, n.used, n.opened)
			}
			in := n.within(c.now())
			if in > 2*limit {
				t.Fatalf("%d passed within a minute on a limit of %d", in, limit)
			}
			worst.Store(max(worst.Load(), int64(in*100/limit)))
		}
	})
	t.Logf("the worst minute saw %d%% of the limit", worst.Load())
}

func BenchmarkMemory(b *testing.B) {
	m := NewMemory(time.Now)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			take(m, "token:0198c0de-0000-7000-8000-000000000000", 100)
		}
	})
}

func BenchmarkMemoryFlood(b *testing.B) {
	m := NewMemory(time.Now)
	for i := 0; b.Loop(); i++ {
		take(m, strconv.Itoa(i), 100)
	}
}
