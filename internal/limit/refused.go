package limit

import (
	"sync"
	"time"
)

// refusedMax bounds the memory to about 15 MiB.
const refusedMax = 1 << 16

// Refused caches credentials whose window is used up, so that rejecting them again
// takes no database work. Evicting an entry only costs a lookup; it never allows a
// request.
type Refused struct {
	now  func() time.Time
	mu   sync.Mutex
	seen map[[32]byte]Window
}

// NewRefused returns an empty Refused that reads the time from now.
func NewRefused(now func() time.Time) *Refused {
	return &Refused{now: now, seen: make(map[[32]byte]Window)}
}

// Put records that the credential with this hash has used up w, until w closes.
func (r *Refused) Put(hash [32]byte, w Window) {
	w.Remaining, w.Allowed = 0, false
	if w.Until.IsZero() {
		w.Until = w.Reset
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.seen[hash]; !known && len(r.seen) >= refusedMax {
		r.makeRoom()
	}
	r.seen[hash] = w
}

// Get returns the used-up window of the credential with this hash, if it is still open.
func (r *Refused) Get(hash [32]byte) (Window, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w, ok := r.seen[hash]
	if ok && !r.now().Before(w.Until) {
		delete(r.seen, hash)
		return Window{}, false
	}
	return w, ok
}

// makeRoom removes the closed windows among a few entries, and at least one entry. Map
// iteration starts at random, so every entry is checked eventually.
func (r *Refused) makeRoom() {
	now, seen := r.now(), 0
	var last [32]byte
	for hash, w := range r.seen {
		if !now.Before(w.Until) {
			delete(r.seen, hash)
		}
		last = hash
		if seen++; seen == lookahead {
			break
		}
	}
	if len(r.seen) >= refusedMax {
		delete(r.seen, last)
	}
}
