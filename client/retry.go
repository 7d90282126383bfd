package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"time"

	"warranty.example/svc/api"
)

// Attempt is one request and what came of it.
type Attempt struct {
	Method, URL string
	Status      int // 0 when there was no answer
	RequestID   string
	Took        time.Duration
	Wait        time.Duration // before the next attempt, if there is one
	Err         error
}

// repeatable tells requests that do no harm when they are sent twice: reads, and
// creates whose key makes the second one an echo of the first.
func repeatable(r api.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead || r.Header.Get("Idempotency-Key") != ""
}

// send tries a request until it is answered for good.
func (c *Client) send(ctx context.Context, r api.Request, repeatable bool) (Answer, error) {
	for try := 1; ; try++ {
		start := time.Now()
		a, err := c.once(ctx, r)
		wait, again := c.again(a, err, try, repeatable)
		if ctx.Err() != nil {
			wait, again = 0, false
		}
		if c.observe != nil {
			c.observe(Attempt{Method: r.Method, URL: c.root + r.Path, Status: a.Status, RequestID: a.Header.Get("X-Request-Id"), Took: time.Since(start), Wait: wait, Err: err})
		}
		if !again {
			return a, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return a, fmt.Errorf("%w while waiting to try again: %w", ctx.Err(), err)
		}
	}
}

// again tells whether to try once more, and after how long. What was refused for
// its rate, or never left this machine, was not performed: it may be repeated
// whatever it is.
func (c *Client) again(a Answer, err error, try int, repeatable bool) (time.Duration, bool) {
	if err == nil || try >= c.attempts {
		return 0, false
	}
	switch a.Status {
	case 0:
		if !repeatable && !unsent(err) {
			return 0, false
		}
	case http.StatusTooManyRequests:
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		if !repeatable {
			return 0, false
		}
	default:
		return 0, false
	}
	wait := max(backoff(try), a.retryAfter(time.Now()))
	if wait > c.maxWait {
		return 0, false
	}
	return wait, true
}

// unsent tells that no connection was made, so that nothing can have been sent.
func unsent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// backoff doubles from a quarter of a second to eight, less up to a half of it by
// chance, so that many clients do not come back at once.
func backoff(try int) time.Duration {
	d := 250 * time.Millisecond << min(try-1, 5)
	return d - rand.N(d/2) //nolint:gosec // nothing secret depends on it
}

// retryAfter is how long the service asks to wait: it may be written in seconds
// or as a date.
func (a Answer) retryAfter(now time.Time) time.Duration {
	text := a.Header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil {
		return time.Duration(min(max(seconds, 0), int(maxRetryAfter/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	return 0
}

// maxRetryAfter is more than anybody waits for.
const maxRetryAfter = 365 * 24 * time.Hour
