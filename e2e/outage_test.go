package e2e

import (
	"sync"
	"testing"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/testenv"
)

// TestDatabaseGoesAndComesBack disconnects PostgreSQL for a while under load. Requests
// are told to retry, the process keeps running and is not ready, and afterwards it
// recovers.
func TestDatabaseGoesAndComesBack(t *testing.T) {
	t.Parallel()
	p, database := lab.BehindProxy(t)
	secret, _ := p.Token(t, p.Register(t, "olga"), "load", 1_000_000)
	l, stop, done := newLoad(), make(chan struct{}), make(chan struct{})
	go func() { defer close(done); l.run(p, secret, "load", 4, 20_000, stop) }()
	reads := watch(p, stop, lab.Call{Method: "GET", Path: "/api/v1/warranties", Secret: secret})
	testenv.Wait(t, "load", func() bool { return l.progress() > 50 })

	database.SetCut(true)
	checks := 0
	testenv.Wait(t, "creates are refused", func() bool {
		p.Want(t, 200, lab.Call{Method: "GET", Path: "/healthz"})
		unavailable(t, p.Want(t, 503, lab.Call{Method: "GET", Path: "/readyz"}))
		checks++
		return checks >= 10 && l.refusals(503) > 0
	})
	database.SetCut(false)
	testenv.Wait(t, "ready again", func() bool {
		a, err := p.Try(lab.Call{Method: "GET", Path: "/readyz"})
		return err == nil && a.Status == 200
	})
	before := l.progress()
	testenv.Wait(t, "load again", func() bool { return l.progress() > before+50 })
	close(stop)
	<-done

	for status, answers := range reads() {
		if status != 200 && status != 503 {
			t.Errorf("reads: %d times %d: %s", len(answers), status, answers[0].Body)
		}
	}
	for status, answers := range l.refused {
		if status != 503 {
			t.Errorf("creates: %d times %d: %s", len(answers), status, answers[0].Body)
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
	p, database := lab.BehindProxy(t)
	secret, _ := p.Token(t, p.Register(t, "olga"), "load", 1_000_000)
	l, stop, done := newLoad(), make(chan struct{}), make(chan struct{})
	go func() { defer close(done); l.run(p, secret, "load", 4, 20_000, stop) }()
	testenv.Wait(t, "load", func() bool { return l.progress() > 50 })
	database.Stalled.Store(true)
	testenv.Wait(t, "the proxy has held back a message", func() bool { return database.HeldUp.Load() > 0 })
	p.Want(t, 200, lab.Call{Method: "GET", Path: "/healthz"})
	database.Stalled.Store(false)
	before := l.progress()
	testenv.Wait(t, "load again", func() bool { return l.progress() > before+50 })
	close(stop)
	<-done
	for status, answers := range l.refused {
		if status != 503 {
			t.Errorf("creates: %d times %d: %s", len(answers), status, answers[0].Body)
		}
	}
	retry(t, p, secret, l)
}

// retry repeats requests without a response, and then expects one record per key.
func retry(t *testing.T, p *lab.Process, secret string, l *load) {
	t.Helper()
	for key := range l.unanswered {
		p.Want(t, 201, lab.Create(secret, key, key))
		l.acknowledged[key] = true
	}
	have := p.Products(t, secret)
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
func unavailable(t *testing.T, a lab.Answer) {
	t.Helper()
	if code, err := a.At("code"); err != nil || code != "unavailable" || a.Header.Get("Retry-After") == "" ||
		a.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("not an unavailable error: %v %s", a.Header, a.Body)
	}
}

// watch repeats a call until stop is closed; the returned function waits and returns the responses by status.
func watch(p *lab.Process, stop <-chan struct{}, c lab.Call) func() map[int][]lab.Answer {
	answers := map[int][]lab.Answer{}
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 20_000 {
			select {
			case <-stop:
				return
			default:
			}
			a, err := p.Try(c)
			if err != nil {
				a.Body = err.Error()
			}
			answers[a.Status] = append(answers[a.Status], a)
		}
	})
	return func() map[int][]lab.Answer { wg.Wait(); return answers }
}
