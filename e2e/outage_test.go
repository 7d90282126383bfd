package e2e

import (
	"net/url"
	"sync"
	"testing"

	"warranty.example/svc/internal/testenv"
)

// behindProxy starts svcd on PostgreSQL behind a proxy that the test controls.
func behindProxy(t *testing.T) (*process, *proxy) {
	t.Helper()
	u, err := url.Parse(testenv.Postgres(t))
	if err != nil {
		t.Fatal("SVC_TEST_POSTGRES is not a URL")
	}
	database := newProxy(t, u.Host)
	u.Host = database.address
	return start(t, append(unthrottled, "--database="+u.String())...), database
}

// TestDatabaseGoesAndComesBack disconnects PostgreSQL for a while under load. Requests
// are told to retry, the process keeps running and is not ready, and afterwards it
// recovers.
func TestDatabaseGoesAndComesBack(t *testing.T) {
	t.Parallel()
	p, database := behindProxy(t)
	secret, _ := p.token(t, p.register(t, "olga"), "load", 1_000_000)
	l, stop, done := newLoad(), make(chan struct{}), make(chan struct{})
	go func() { defer close(done); l.run(p, secret, "load", 4, 20_000, stop) }()
	reads := watch(p, stop, call{method: "GET", path: "/api/v1/warranties", secret: secret})
	testenv.Wait(t, "load", func() bool { return l.progress() > 50 })

	database.setCut(true)
	checks := 0
	testenv.Wait(t, "creates are refused", func() bool {
		p.want(t, 200, call{method: "GET", path: "/healthz"})
		unavailable(t, p.want(t, 503, call{method: "GET", path: "/readyz"}))
		checks++
		return checks >= 10 && l.refusals(503) > 0
	})
	database.setCut(false)
	testenv.Wait(t, "ready again", func() bool {
		a, err := p.try(call{method: "GET", path: "/readyz"})
		return err == nil && a.status == 200
	})
	before := l.progress()
	testenv.Wait(t, "load again", func() bool { return l.progress() > before+50 })
	close(stop)
	<-done

	for status, answers := range reads() {
		if status != 200 && status != 503 {
			t.Errorf("reads: %d times %d: %s", len(answers), status, answers[0].body)
		}
	}
	for status, answers := range l.refused {
		if status != 503 {
			t.Errorf("creates: %d times %d: %s", len(answers), status, answers[0].body)
		}
		for _, a := range answers {
			unavailable(t, a)
		}
	}
	t.Logf("%d creates acknowledged, %d times 503", len(l.acknowledged), len(l.refused[503]))
	if len(l.refused[503]) == 0 {
		t.Error("no request was refused while the database was unreachable")
	}
	retry(t, p, secret, l)
}

// TestDatabaseHangs makes PostgreSQL stop responding without an error, like a network
// that drops all packets.
func TestDatabaseHangs(t *testing.T) {
	t.Parallel()
	p, database := behindProxy(t)
	secret, _ := p.token(t, p.register(t, "olga"), "load", 1_000_000)
	l, stop, done := newLoad(), make(chan struct{}), make(chan struct{})
	go func() { defer close(done); l.run(p, secret, "load", 4, 20_000, stop) }()
	testenv.Wait(t, "load", func() bool { return l.progress() > 50 })
	database.stalled.Store(true)
	testenv.Wait(t, "the proxy has held back a message", func() bool { return database.heldUp.Load() > 0 })
	p.want(t, 200, call{method: "GET", path: "/healthz"})
	database.stalled.Store(false)
	before := l.progress()
	testenv.Wait(t, "load again", func() bool { return l.progress() > before+50 })
	close(stop)
	<-done
	for status, answers := range l.refused {
		if status != 503 {
			t.Errorf("creates: %d times %d: %s", len(answers), status, answers[0].body)
		}
	}
	retry(t, p, secret, l)
}

// retry repeats requests without a response, and then expects one record per key.
func retry(t *testing.T, p *process, secret string, l *load) {
	t.Helper()
	for key := range l.unanswered {
		p.want(t, 201, create(secret, key, key))
		l.acknowledged[key] = true
	}
	have := p.products(t, secret)
	for key := range l.acknowledged {
		if have[key] != 1 {
			t.Errorf("%s exists %d times", key, have[key])
		}
	}
	if len(have) != len(l.acknowledged) {
		t.Errorf("%d records, want %d", len(have), len(l.acknowledged))
	}
}

// unavailable expects a response that says when to retry.
func unavailable(t *testing.T, a answer) {
	t.Helper()
	if code, err := a.at("code"); err != nil || code != "unavailable" || a.header.Get("Retry-After") == "" ||
		a.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("not an unavailable error: %v %s", a.header, a.body)
	}
}

// watch repeats a call until stop is closed; the returned function waits and returns the responses by status.
func watch(p *process, stop <-chan struct{}, c call) func() map[int][]answer {
	answers := map[int][]answer{}
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 20_000 {
			select {
			case <-stop:
				return
			default:
			}
			a, err := p.try(c)
			if err != nil {
				a.body = err.Error()
			}
			answers[a.status] = append(answers[a.status], a)
		}
	})
	return func() map[int][]answer { wg.Wait(); return answers }
}
