package limit

import (
	"encoding/binary"
	"sync"
	"testing"
	"time"
)

func hashOf(i int) (h [32]byte) {
	binary.BigEndian.PutUint64(h[:], uint64(i))
	return h
}

func TestRefusedRemembersUntilReset(t *testing.T) {
	c := newClock()
	r := NewRefused(c.now)
	if _, ok := r.Get(hashOf(1)); ok {
		t.Error("an empty memo knows a credential")
	}
	reset := c.now().Add(time.Minute)
	r.Put(hashOf(1), Window{Limit: 100, Reset: reset, Allowed: true}) // the last allowed request of a window
	c.advance(time.Minute - 1)
	w, ok := r.Get(hashOf(1))
	if !ok || w.Allowed || w.Remaining != 0 || w.Limit != 100 || !w.Reset.Equal(reset) {
		t.Errorf("just before the reset: %+v, %v", w, ok)
	}
	c.advance(1)
	if _, ok := r.Get(hashOf(1)); ok {
		t.Error("remembered beyond the reset")
	}
	if len(r.seen) != 0 {
		t.Error("what is over was kept")
	}
}

func TestRefusedIsBounded(t *testing.T) {
	c := newClock()
	r := NewRefused(c.now)
	put := func(from int) {
		for i := range refusedMax {
			r.Put(hashOf(from+i), Window{Reset: c.now().Add(time.Minute)})
		}
	}
	put(0)
	for i := range refusedMax {
		if _, ok := r.Get(hashOf(i)); !ok {
			t.Fatal("forgot one although there was room")
		}
	}
	r.Put(hashOf(0), Window{Reset: c.now().Add(time.Minute)})
	if len(r.seen) != refusedMax {
		t.Errorf("%d entries: a known credential took another's place", len(r.seen))
	}
	put(refusedMax)
	if len(r.seen) > refusedMax {
		t.Errorf("%d entries", len(r.seen))
	}
	if _, ok := r.Get(hashOf(2*refusedMax - 1)); !ok {
		t.Error("the newest one was not remembered")
	}
}

func TestRefusedUnderConcurrency(t *testing.T) {
	c := newClock()
	r := NewRefused(c.now)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 1000 {
				h := hashOf(g*1000 + i)
				r.Put(h, Window{Limit: i, Reset: c.now().Add(time.Minute)})
				if w, ok := r.Get(h); !ok || w.Limit != i {
					t.Errorf("put %d, got %+v, %v", i, w, ok)
				}
			}
		})
	}
	wg.Wait()
}
