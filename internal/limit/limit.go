// Package limit limits requests in fixed windows and determines client addresses.
//
// A window opens with its first request and closes one period later. Any time span
// of one period therefore sees at most twice the limit: a full window just before an
// edge and another one just after it.
package limit

import (
	"context"
	"time"
)

// Window is the state of a fixed window after counting one request.
type Window struct {
	Limit, Remaining int

	// Reset is the wall-clock time at which the window closes. It is fixed when the
	// window opens, so that all responses of a window show the same time.
	Reset time.Time

	// Until is the same time on this process's monotonic clock. Use it for Retry-After:
	// neither clock steps nor Redis's clock skew affect it.
	Until time.Time

	// Allowed reports whether the request is within the limit.
	Allowed bool
}

// Limiter counts requests in fixed windows.
type Limiter interface {
	// Take counts one request under key and checks it against limit per period.
	// A limit of zero or less allows everything.
	Take(ctx context.Context, key string, limit int, period time.Duration) Window
}

// window returns the Window for its n-th request.
func window(n, limit int, reset, until time.Time) Window {
	return Window{
		Limit:     limit,
		Remaining: max(limit-n, 0),
		Reset:     reset.UTC(),
		Until:     until,
		Allowed:   n <= limit || limit <= 0,
	}
}
