package lists

import (
	"context"
	"sync"

	"warranty.example/svc/warranty"
)

// Gate serializes full scans per user, such as searches: many concurrent scans of one user with
// many records would leave no connections for anyone else.
type Gate struct {
	mu    sync.Mutex
	slots map[warranty.ID]*slot
}

// NewGate returns a gate that nobody holds.
func NewGate() *Gate { return &Gate{slots: map[warranty.ID]*slot{}} }

// slot is the slot of one user. It exists while a goroutine holds it or waits for it.
type slot struct {
	taken chan struct{}
	users int
}

// Acquire waits for the user's slot and returns a function that releases it.
func (g *Gate) Acquire(ctx context.Context, user warranty.ID) (release func(), err error) {
	g.mu.Lock()
	held := g.slots[user]
	if held == nil {
		held = &slot{taken: make(chan struct{}, 1)}
		g.slots[user] = held
	}
	held.users++
	g.mu.Unlock()
	leave := func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if held.users--; held.users == 0 {
			delete(g.slots, user)
		}
	}
	select {
	case held.taken <- struct{}{}:
		return func() { <-held.taken; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
