package engine

import (
	"context"
	"sync/atomic"
	"time"
)

// Timing adds up the time that the calls with a context spent in the database.
type Timing struct{ total, waited atomic.Int64 }

type timingKey struct{}

// WithTiming returns a context whose calls are timed.
func WithTiming(ctx context.Context) (context.Context, *Timing) {
	t := &Timing{}
	return context.WithValue(ctx, timingKey{}, t), t
}

// Total returns the time spent in calls, and Waited the part of it before they had a connection or the only writer of
// SQLite. Concurrent calls count each.
func (t *Timing) Total() time.Duration { return time.Duration(t.total.Load()) }

// Waited returns how long calls waited to start.
func (t *Timing) Waited() time.Duration { return time.Duration(t.waited.Load()) }

func ignore() {}

// timeTotal counts the time until the returned function is called.
func timeTotal(ctx context.Context) func() {
	t, ok := ctx.Value(timingKey{}).(*Timing)
	if !ok {
		return ignore
	}
	start := time.Now()
	return func() { t.total.Add(int64(time.Since(start))) }
}

// timeWait counts the time until the returned function is called as waiting.
func timeWait(ctx context.Context) func() {
	t, ok := ctx.Value(timingKey{}).(*Timing)
	if !ok {
		return ignore
	}
	start := time.Now()
	return func() { t.waited.Add(int64(time.Since(start))) }
}
