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

// Attempt is one attempt to send a request.
type Attempt struct {
	Method, URL string
	Status      int // 0 without a response
	RequestID   string
	Took        time.Duration
	Wait        time.Duration // before the next attempt, or 0
	Err         error
}

// repeatable reports whether a request can safely be sent twice: reads, and requests
// with an idempotency key.
func repeatable(r api.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead || r.Header.Get("Idempotency-Key") != ""
}

// send sends a request, with retries.
func (c *Client) send(ctx context.Context, r api.Request, repeatable bool) (Response, error) {
	for try := 1; ; try++ {
		start := time.Now()
		response, err := c.sendOnce(ctx, r)
		wait, retry := c.retryDelay(response, err, try, repeatable)
		if ctx.Err() != nil {
			wait, retry = 0, false
		}
		if c.observe != nil {
			c.observe(Attempt{
				Method:    r.Method,
				URL:       c.root + r.Path,
				Status:    response.Status,
				RequestID: response.Header.Get("X-Request-Id"),
				Took:      time.Since(start),
				Wait:      wait,
				Err:       err,
			})
		}
		if !retry {
			return response, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return response, fmt.Errorf("%w while waiting to retry: %w", ctx.Err(), err)
		}
	}
}

// retryDelay reports whether to retry, and after how long. Requests that were rate
// limited or never sent were not performed, so any of them can be retried.
func (c *Client) retryDelay(r Response, err error, try int, repeatable bool) (time.Duration, bool) {
	if err == nil || try >= c.attempts {
		return 0, false
	}
	switch r.Status {
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
	wait := max(backoff(try), r.retryAfter(time.Now()))
	if wait > c.maxWait {
		return 0, false
	}
	return wait, true
}

// unsent reports whether the connection failed, so that nothing was sent.
func unsent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// backoff doubles from 250 ms to 8 s, minus up to half of it at random, so that many
// clients do not retry at the same time.
func backoff(try int) time.Duration {
	d := 250 * time.Millisecond << min(try-1, 5)
	return d - rand.N(d/2) //nolint:gosec // nothing secret depends on it
}

// retryAfter parses the Retry-After header, in seconds or as a date.
func (r Response) retryAfter(now time.Time) time.Duration {
	text := r.Header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil {
		return time.Duration(min(max(seconds, 0), int(maxRetryAfter/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	return 0
}

// maxRetryAfter bounds the header's value.
const maxRetryAfter = 365 * 24 * time.Hour
