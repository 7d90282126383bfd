package limit

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"warranty.example/svc/internal/testenv"
)

// replicas are registered servers on one Redis.
func replicas(t *testing.T, n int, c *clock) []*Redis {
	t.Helper()
	all := "test:replicas:" + rand.Text()
	var list []*Redis
	for range n {
		r, _ := openRedis(t, testenv.Redis(t), c.now)
		r.replicas = all
		list = append(list, r)
		take(r, "test:"+rand.Text(), 100)
	}
	c.advance(registerEvery) // each learns about those that started after it
	for _, r := range list {
		take(r, "test:"+rand.Text(), 100)
	}
	return list
}

// falls simulates a timeout of Redis.
func (r *Redis) falls() { r.setResult(context.Background(), false, context.DeadlineExceeded) }

// passes counts how many of count requests to a server are allowed.
func passes(r *Redis, key string, limit, requests int) (n int) {
	for range requests {
		if w := take(r, key, limit); w.Allowed {
			n++
		}
	}
	return n
}

// TestFallbackDividesTheLimit // D8: servers lose Redis in the middle of a window in
// which each has allowed 7 requests. If all lose it, they allow as many as with it. If
// some do, those use their share, and the others what is left in Redis.
func TestFallbackDividesTheLimit(t *testing.T) {
	c := newClock()
	servers := replicas(t, 3, c)
	const limit = 51
	for down, want := range map[int]int{0: limit, 1: limit + limit/3 - 7, 2: limit + 2*(limit/3-7), 3: limit} {
		key, passed := "test:"+rand.Text(), 0
		for _, r := range servers {
			passed += passes(r, key, limit, 7)
		}
		for i, r := range servers {
			if i < down {
				r.falls()
			}
		}
		for range 100 { // an even spread
			for _, r := range servers {
				passed += passes(r, key, limit, 1)
			}
		}
		if passed != want {
			t.Errorf("with %d of 3 servers without Redis, %d passed of a limit of %d, want %d", down, passed, limit,
				want)
		}
		c.advance(probeEvery)
		for _, r := range servers {
			take(r, "test:"+rand.Text(), limit) // the probe
		}
	}
}

// TestFallbackIsBounded // D8: Redis fails and recovers within one window, and requests
// are spread as badly as possible.
func TestFallbackIsBounded(t *testing.T) {
	c := newClock()
	servers := replicas(t, 3, c)
	const limit = 50
	key, passed := "test:"+rand.Text(), 0
	passed += passes(servers[0], key, limit, 100) // one server gets everything that is left in Redis
	for range 20 {
		for _, r := range servers {
			r.falls()
			passed += passes(r, key, limit, 10)
			c.advance(probeEvery)
			passed += passes(r, key, limit, 10)
		}
		c.advance(-3 * probeEvery) // still the same window
	}
	if passed > 2*limit || passed < limit {
		t.Errorf("%d passed of a limit of %d", passed, limit)
	}
}

// TestServersThatAreGoneAreForgotten // D8: a server that stops releases its share
// immediately, and a limit below the number of servers is 1 for each.
func TestServersThatAreGoneAreForgotten(t *testing.T) {
	c := newClock()
	servers := replicas(t, 3, c)
	servers[0].falls()
	if n := passes(servers[0], "test:"+rand.Text(), 2, 10); n != 1 {
		t.Errorf("%d passed of a limit of 2 among 3 servers", n)
	}
	for _, r := range servers[1:] {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	c.advance(registerEvery)
	take(servers[0], "test:"+rand.Text(), 10) // the probe, which finds the others gone
	servers[0].falls()
	if n := passes(servers[0], "test:"+rand.Text(), 30, 100); n != 30 {
		t.Errorf("%d passed of a limit of 30, alone", n)
	}
	if w := servers[0].Take(context.Background(), "test:"+rand.Text(), 0, time.Minute); !w.Allowed {
		t.Error("a limit of zero refuses")
	}
}
