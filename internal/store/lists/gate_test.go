package lists

import (
	"context"
	"errors"
	"testing"

	"warranty.example/svc/warranty"
)

// TestAGateServesOneAtATime: a user waits for their own slot only, and no slot is left over.
func TestAGateServesOneAtATime(t *testing.T) {
	t.Parallel()
	g, me, other := NewGate(), warranty.ID{1}, warranty.ID{2}
	acquire := func(ctx context.Context, user warranty.ID) func() {
		t.Helper()
		release, err := g.Acquire(ctx, user)
		if err != nil {
			t.Fatal(err)
		}
		return release
	}
	release := acquire(t.Context(), me)
	acquire(t.Context(), other)()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Acquire(ended, me); !errors.Is(err, context.Canceled) {
		t.Errorf("a held slot was acquired: %v", err)
	}
	waited := make(chan func())
	go func() { waited <- acquire(t.Context(), me) }()
	release()
	(<-waited)()
	if left := len(g.slots); left != 0 {
		t.Errorf("%d slots are left over", left)
	}
}
