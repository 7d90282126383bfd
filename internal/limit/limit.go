// Package limit counts requests in fixed windows and says who is sending them.
//
// A window is opened by the first request and closes one period later, so the
// most that any stretch of one period can see is twice the limit: a full window
// just before an edge and a full one just after it.
package limit

import (
	"context"
	"time"
)

// Window is what a caller sees of a fixed window after one request was counted.
type Window struct {
	Limit, Remaining int

	// Reset is the wall-clock instant at which the window closes. It is fixed when
	// the window opens, so that every answer of one window shows the same one.
	Reset time.Time

	// Until is that instant on this process's own clock: the one to wait by
	// (Retry-After), because neither a stepped clock nor Redis's skew bends it.
	Until time.Time

	// Allowed is whether the request is within the limit.
	Allowed bool
}

// Limiter counts requests in fixed windows.
type Limiter interface {
	// Take counts one request under key and says whether it is within limit per period.
	// A limit of zero or less allows everything.
	Take(ctx context.Context, key string, limit int, period time.Duration) Window
}

// window is what the n-th request of a window sees.
func window(n, limit int, reset, until time.Time) Window {
	return Window{
		Limit:     limit,
		Remaining: max(limit-n, 0),
		Reset:     reset.UTC(),
		Until:     until,
		Allowed:   n <= limit || limit <= 0,
	}
}
