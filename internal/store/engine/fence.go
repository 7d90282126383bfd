package engine

import (
	"context"
	"time"
)

// Transactions usually end within a millisecond or two.
const (
	minFenceWait = time.Millisecond
	maxFenceWait = 64 * time.Millisecond
)

// AwaitFence waits a moment for the transactions of a fence (see DB.Fence) and reports whether it was passed.
func AwaitFence(ctx context.Context, passed func(context.Context) (bool, error)) (bool, error) {
	for wait := minFenceWait; ; wait *= 2 {
		ok, err := passed(ctx)
		if ok || err != nil || wait > maxFenceWait {
			return ok, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}
