package e2e

import (
	"crypto/rand"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"testing"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/testenv"
)

// replicas starts two servers on one PostgreSQL database and one Redis.
func replicas(t *testing.T) [2]*lab.Process {
	t.Helper()
	args := append(slices.Clone(lab.Unthrottled), "--database="+servertest.Postgres(t), "--redis="+testenv.Redis(t))
	return [2]*lab.Process{lab.Start(t, args...), lab.Start(t, args...)}
}

// TestRevokedTokenIsRefusedEverywhere revokes tokens through one replica and uses them
// on the other right after the response.
func TestRevokedTokenIsRefusedEverywhere(t *testing.T) {
	t.Parallel()
	both := replicas(t)
	session := both[0].Register(t, "olga")
	list := lab.Call{Method: "GET", Path: "/api/v1/warranties"}
	for i := range 200 {
		here, there := both[i%2], both[(i+1)%2]
		secret, id := here.Token(t, session, fmt.Sprint("token ", i), 1000)
		list.Secret = secret
		there.Want(t, 200, list)
		here.Want(t, 204, lab.Call{Method: "DELETE", Path: "/api/integration-tokens/" + id, Secret: session})
		if code := there.Want(t, 401, list).Must(t, "code"); code != "token_revoked" {
			t.Fatalf("refused with %s", code)
		}
	}
}

// TestNothingIsWrittenAfterARevocation revokes a token through one replica while it
// writes through the other: after the response no record appears, not even from
// requests that were authenticated before.
func TestNothingIsWrittenAfterARevocation(t *testing.T) {
	t.Parallel()
	both := replicas(t)
	session := both[0].Register(t, "olga")
	total := func() string {
		return both[0].Want(t, 200, lab.Call{Method: "GET", Path: "/api/v1/warranties?limit=1", Secret: session}).Must(t, "pagination.total")
	}
	for round := range testenv.Times(8, 20) {
		secret, id := both[0].Token(t, session, fmt.Sprint("round ", round), 1_000_000)
		l, stop, done := newLoad(), make(chan struct{}), make(chan struct{})
		go func() { defer close(done); l.run(both[1], secret, fmt.Sprint("round", round), 6, 1000, stop) }()
		testenv.Wait(t, "load", func() bool { return l.progress() >= 10 })
		both[0].Want(t, 204, lab.Call{Method: "DELETE", Path: "/api/integration-tokens/" + id, Secret: session})
		before := total()
		testenv.Wait(t, "refusals", func() bool { return l.refusals(401) >= 6 })
		close(stop)
		<-done
		if after := total(); after != before {
			t.Fatalf("round %d: %s records at the response to the revocation, %s later", round, before, after)
		}
	}
}

// TestReplicasShareALimitExactly sends concurrent requests with one token to two replicas.
func TestReplicasShareALimitExactly(t *testing.T) {
	t.Parallel()
	const limit, requests, rounds = 50, 150, 5
	both := replicas(t)
	session := both[0].Register(t, "olga")
	away := func() int { return len(both[0].Logged(redisAway)) + len(both[1].Logged(redisAway)) }
	back := func() int { return len(both[0].Logged(redisBack)) + len(both[1].Logged(redisBack)) }
	exact := 0
	testenv.Wait(t, "a round in which Redis responds in time, which a busy machine may delay", func() bool {
		testenv.Wait(t, "both replicas use Redis", func() bool {
			for _, p := range both {
				p.Want(t, 200, lab.Call{Method: "GET", Path: "/api/v1/auth/status", Secret: session})
			}
			return away() == back()
		})
		before := away()
		secret, _ := both[0].Token(t, session, rand.Text(), limit)
		allowed, refused, remaining := flood(t, both, secret, requests)
		if away() > before { // each replica counted separately
			return false
		}
		if allowed != limit || refused != requests-limit || remaining != limit {
			t.Errorf("%d allowed with %d different values of remaining, %d refused; want %d and %d",
				allowed, remaining, refused, limit, requests-limit)
		}
		exact++
		return exact == rounds
	})
}

const (
	redisAway = "rate limits: Redis is unavailable, counting in memory"
	redisBack = "rate limits: Redis is available again"
)

// flood sends requests to both replicas alternately, from ten clients.
func flood(t *testing.T, both [2]*lab.Process, secret string, requests int) (allowed, refused, remaining int) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	figures := map[string]bool{}
	for client := range 10 {
		wg.Go(func() {
			for i := range requests / 10 {
				a, err := both[(client+i)%2].Try(lab.Call{Method: "GET", Path: "/api/v1/auth/status", Secret: secret})
				mu.Lock()
				switch {
				case err != nil:
					t.Error(err)
				case a.Status == 200:
					allowed++
					figures[a.Header.Get("X-RateLimit-Remaining")] = true
				case a.Status == 429:
					refused++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return allowed, refused, len(figures)
}

// TestRedisGoesAndComesBack disconnects Redis: the service keeps working, counts in
// memory, and logs it once.
func TestRedisGoesAndComesBack(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(testenv.Redis(t))
	if err != nil {
		t.Fatal("SVC_TEST_REDIS is not a URL")
	}
	redis := lab.NewProxy(t, u.Host)
	u.Host, u.Path = redis.Address, "/9" // a separate database: while Redis is unreachable, limits are divided among all its users
	p := lab.Start(t, append(lab.Unthrottled, "--redis="+u.String())...)
	session := p.Register(t, "olga")
	secret, _ := p.Token(t, session, "ERP", 20)
	list := lab.Call{Method: "GET", Path: "/api/v1/warranties", Secret: secret}
	p.Want(t, 200, list)
	before := len(p.Logged(redisAway)) // may be more than 0 on a busy machine

	redis.SetCut(true)
	for range 19 { // the first was sent above
		p.Want(t, 200, list)
	}
	p.Want(t, 429, list) // the limit holds without Redis too
	testenv.Wait(t, "two probes of the unreachable Redis", func() bool {
		p.Want(t, 200, lab.Call{Method: "GET", Path: "/api/v1/warranties", Secret: session})
		return redis.Refused.Load() > 2
	})

	redis.SetCut(false)
	testenv.Wait(t, "Redis is used again", func() bool {
		p.Want(t, 200, lab.Call{Method: "GET", Path: "/api/v1/warranties", Secret: session})
		return len(p.Logged(redisBack)) > before
	})
	if n := len(p.Logged(redisAway)); n != before+1 {
		t.Errorf("%d lines report that Redis is unreachable, want %d", n, before+1)
	}
	p.MustStop(t)
}
