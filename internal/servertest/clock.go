package servertest

import (
	"sync"
	"testing"
	"time"

	"warranty.example/svc/internal/limit"
	"warranty.example/svc/internal/server"
)

// Clock is the system clock with an offset.
type Clock struct {
	mu     sync.Mutex
	offset time.Duration
}

// Now returns the current time plus the offset.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset)
}

// Advance moves the clock forward by d.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
}

// StoppedClock is a clock that only moves when set.
type StoppedClock struct {
	mu sync.Mutex
	at time.Time
}

// NewStoppedClock returns a clock that shows the current second.
func NewStoppedClock() *StoppedClock {
	return &StoppedClock{at: time.Now().UTC().Truncate(time.Second)}
}

// Drive is an option that makes the server use the clock.
func (c *StoppedClock) Drive(s *server.Server) {
	s.Service.Now = c.Now
	s.Service.Limits = limit.NewMemory(c.Now)
}

// Now returns the time of the clock.
func (c *StoppedClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// Set sets the clock.
func (c *StoppedClock) Set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

// SetTo is set with a time in RFC 3339 format.
func (c *StoppedClock) SetTo(t testing.TB, text string) {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	c.Set(at)
}
