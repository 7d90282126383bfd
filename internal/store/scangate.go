package store

import (
	"context"
	"sync"

	"warranty.example/svc/warranty"
)

// scanGate serializes full scans per user, such as searches: many concurrent scans of one user with
// many records would leave no connections for anyone else.
type scanGate struct {
	mu    sync.Mutex
	slots map[warranty.ID]*scanSlot
}

func newScanGate() *scanGate { return &scanGate{slots: map[warranty.ID]*scanSlot{}} }

// scanSlot is the slot of one user. It exists while a goroutine holds it or waits for it.
type scanSlot struct {
	taken chan struct{}
	users int
}

// acquire waits for the user's slot and returns a function that releases it.
func (g *scanGate) acquire(ctx context.Context, user warranty.ID) (release func(), err error) {
	g.mu.Lock()
	slot := g.slots[user]
	if slot == nil {
		slot = &scanSlot{taken: make(chan struct{}, 1)}
		g.slots[user] = slot
	}
	slot.users++
	g.mu.Unlock()
	leave := func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if slot.users--; slot.users == 0 {
			delete(g.slots, user)
		}
	}
	select {
	case slot.taken <- struct{}{}:
		return func() { <-slot.taken; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
