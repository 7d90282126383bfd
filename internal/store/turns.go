package store

import (
	"context"
	"sync"

	"warranty.example/svc/warranty"
)

// turns lets each person do one thing at a time, of those that go through
// everything that the person may see, as a search does: many of them at once, of
// one person with very much, would leave no connection to anybody else.
type turns struct {
	mu sync.Mutex
	of map[warranty.ID]*turn
}

func newTurns() *turns { return &turns{of: map[warranty.ID]*turn{}} }

// turn is one person's, for as long as somebody has it or waits for it.
type turn struct {
	taken chan struct{}
	users int
}

// take waits for the person's turn; what it returns gives it back.
func (t *turns) take(ctx context.Context, person warranty.ID) (giveBack func(), err error) {
	t.mu.Lock()
	mine := t.of[person]
	if mine == nil {
		mine = &turn{taken: make(chan struct{}, 1)}
		t.of[person] = mine
	}
	mine.users++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if mine.users--; mine.users == 0 {
			delete(t.of, person)
		}
	}
	select {
	case mine.taken <- struct{}{}:
		return func() { <-mine.taken; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
