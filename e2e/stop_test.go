package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/testenv"
)

// eachDatabase runs a test on both databases, which have the schema.
func eachDatabase(t *testing.T, test func(t *testing.T, database string)) {
	t.Run("sqlite", func(t *testing.T) { test(t, "--database="+servertest.SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { test(t, "--database="+servertest.Postgres(t)) })
}

// TestStopUnderLoad stops a busy server: every accepted request gets a response, and
// every acknowledged record exists.
func TestStopUnderLoad(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, database string) {
		p := lab.Start(t, append(lab.Unthrottled, database)...)
		session := p.Register(t, "olga")
		secret, id := p.Token(t, session, "load", 1_000_000)
		l, stop, done := newLoad(), make(chan struct{}), make(chan struct{})
		go func() { defer close(done); l.run(p, secret, "load", 8, 5000, stop) }()
		testenv.Wait(t, "load", func() bool { return l.progress() > 200 })
		asked := time.Now()
		p.MustStop(t)
		took := time.Since(asked)
		close(stop)
		<-done
		t.Logf("stopped in %v after %d creates", took.Round(time.Millisecond), len(l.acknowledged))

		handled := 0
		for _, line := range p.Logged("request") {
			if line["route"] == "POST /api/v1/warranties" && line["status"] == 201.0 {
				handled++
			}
		}
		if handled != len(l.acknowledged) {
			t.Errorf("the server created %d records and acknowledged %d", handled, len(l.acknowledged))
		}
		for key, err := range l.unanswered {
			if !strings.Contains(err.Error(), "connection refused") {
				t.Errorf("%s: %v", key, err)
				break
			}
		}
		for status, answers := range l.refused {
			if status != 503 {
				t.Errorf("%d times %d: %s", len(answers), status, answers[0].Body)
			}
		}

		p = lab.Start(t, append(lab.Unthrottled, database)...)
		// Usage counted in memory was written before the exit; this request is counted later.
		if got := p.Want(t, 200, lab.Call{Method: "GET", Path: "/api/integration-tokens/" + id, Secret: session}).Must(t, "data.usage.0.requests"); got != fmt.Sprint(handled) {
			t.Errorf("%s requests of the token were counted, want %d", got, handled)
		}
		have := p.Products(t, secret)
		if len(have) != handled {
			t.Errorf("%d records exist, %d were created", len(have), handled)
		}
		for key := range l.acknowledged {
			if have[key] != 1 {
				t.Errorf("%s was acknowledged and exists %d times", key, have[key])
			}
		}
	})
}

// TestCrashUnderLoad kills a busy server repeatedly. Clients repeat requests without a
// response with the same key: nothing is lost and nothing is created twice.
func TestCrashUnderLoad(t *testing.T) {
	t.Parallel()
	rounds := testenv.Times(4, 10)
	eachDatabase(t, func(t *testing.T, database string) {
		args := append(slices.Clone(lab.Unthrottled), database)
		p := lab.Start(t, args...)
		secret, _ := p.Token(t, p.Register(t, "olga"), "load", 1_000_000)
		l, unanswered, replayed := newLoad(), 0, 0
		for round := range rounds {
			before := l.progress()
			stop, done := make(chan struct{}), make(chan struct{})
			go func() { defer close(done); l.run(p, secret, fmt.Sprint("round", round), 8, 1000, stop) }()
			testenv.Wait(t, "load", func() bool { return l.progress() >= before+30+7*round })
			p.Kill()
			close(stop)
			<-done
			unanswered += len(l.unanswered)

			p = lab.Start(t, args...)
			for key := range l.unanswered {
				a := p.Want(t, 201, lab.Create(secret, key, key))
				if a.Header.Get("Idempotent-Replayed") == "true" {
					replayed++
				}
				l.acknowledged[key] = true
			}
			clear(l.unanswered)
		}
		have := p.Products(t, secret)
		t.Logf("%d creates, %d unanswered at a kill, of which %d had been made", len(l.acknowledged), unanswered, replayed)
		for key := range l.acknowledged {
			if have[key] != 1 {
				t.Errorf("%s exists %d times", key, have[key])
			}
		}
		if len(have) != len(l.acknowledged) {
			t.Errorf("%d records, want %d", len(have), len(l.acknowledged))
		}
	})
}
