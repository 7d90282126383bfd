package service_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

func (w *world) readToken(p servertest.Person, id string) (got token) {
	w.T.Helper()
	w.Must(200, made("GET", tokens+"/"+id, p.Session, nil)).Into(w.T, &got)
	return got
}

// TestTokenCreation checks a token in the response that creates it, and later.
func TestTokenCreation(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		owner := w.Person("Olga")
		now := clock.Now()
		got := w.NewToken(owner, fields{"name": "  ERP  ", "scopes": []string{"documents:read", "warranties:read"}})
		if kind, ok := warranty.ParseSecret(got.Secret); !ok || kind != warranty.TokenSecret {
			t.Errorf("the secret %s is not well formed", got.Secret)
		}
		equal(t, "a new token", got, token{ID: got.ID, Name: "ERP", Prefix: got.Secret[:10], Status: "active", Secret: got.Secret,
			Scopes: []string{"warranties:read", "documents:read"}, RateLimitPerMinute: 100, ExpiresAt: now.AddDate(0, 0, 365), CreatedAt: now, Usage: got.Usage})
		shown := got
		shown.Secret = ""
		equal(t, "the token read", w.readToken(owner, got.ID), shown)
		var list []token
		w.Must(200, made("GET", tokens, owner.Session, nil)).Into(t, &list)
		equal(t, "the tokens listed", list, []token{shown})

		for name, c := range map[string]struct {
			body  fields
			wrong []string
		}{
			"nothing":                {fields{}, []string{"name required", "scopes required"}},
			"no scope":               {fields{"name": "a", "scopes": []string{}}, []string{"scopes required"}},
			"an unknown scope":       {fields{"name": "a", "scopes": []string{"warranties:read", "admin"}}, []string{"scopes unknown_scope"}},
			"a scope in other case":  {fields{"name": "a", "scopes": []string{"Claims:read"}}, []string{"scopes unknown_scope"}},
			"a scope twice":          {fields{"name": "a", "scopes": []string{"claims:read", "claims:read"}}, []string{"scopes duplicate"}},
			"scopes as a text":       {fields{"name": "a", "scopes": "claims:read"}, []string{"scopes wrong_type"}},
			"a long name":            {fields{"name": strings.Repeat("é", 81), "scopes": []string{"claims:read"}}, []string{"name too_long"}},
			"a name of two lines":    {fields{"name": "a\nb", "scopes": []string{"claims:read"}}, []string{"name forbidden_character"}},
			"no requests":            {fields{"name": "a", "scopes": []string{"claims:read"}, "rate_limit_per_minute": 0}, []string{"rate_limit_per_minute out_of_range"}},
			"less than none":         {fields{"name": "a", "scopes": []string{"claims:read"}, "rate_limit_per_minute": -1}, []string{"rate_limit_per_minute out_of_range"}},
			"more than the most":     {fields{"name": "a", "scopes": []string{"claims:read"}, "rate_limit_per_minute": 1001}, []string{"rate_limit_per_minute out_of_range"}},
			"a thousand million":     {fields{"name": "a", "scopes": []string{"claims:read"}, "rate_limit_per_minute": 1e9}, []string{"rate_limit_per_minute out_of_range"}},
			"half a request":         {fields{"name": "a", "scopes": []string{"claims:read"}, "rate_limit_per_minute": 1.5}, []string{"rate_limit_per_minute wrong_type"}},
			"a number as a text":     {fields{"name": "a", "scopes": []string{"claims:read"}, "rate_limit_per_minute": "5"}, []string{"rate_limit_per_minute wrong_type"}},
			"expired from the start": {fields{"name": "a", "scopes": []string{"claims:read"}, "expires_at": now}, []string{"expires_at in_the_past"}},
			"more than five years":   {fields{"name": "a", "scopes": []string{"claims:read"}, "expires_at": now.AddDate(5, 0, 0).Add(time.Second)}, []string{"expires_at too_far"}},
			"an expiry without time": {fields{"name": "a", "scopes": []string{"claims:read"}, "expires_at": "2027-01-01"}, []string{"expires_at invalid"}},
			"a secret of one's own":  {fields{"name": "a", "scopes": []string{"claims:read"}, "secret": "mine"}, []string{"secret unknown_field"}},
			"another user's account": {fields{"name": "a", "scopes": []string{"claims:read"}, "user_id": unknownID}, []string{"user_id unknown_field"}},
		} {
			w.Unchanged(t, name, func() {
				a := w.Send("POST", tokens, owner.Session, c.body)
				refused(t, name, a, warranty.ValidationFailed)
				equal(t, name, wrongFields(t, a), c.wrong)
			})
		}
		for _, body := range []fields{
			{"name": "as many as allowed", "scopes": []string{"claims:read"}, "rate_limit_per_minute": 1000},
			{"name": "as few as allowed", "scopes": []string{"claims:read"}, "rate_limit_per_minute": 1},
			{"name": "as long as allowed", "scopes": []string{"claims:read"}, "expires_at": now.AddDate(5, 0, 0)},
			{"name": strings.Repeat("é", 80), "scopes": []string{"claims:read"}, "expires_at": nil, "rate_limit_per_minute": nil},
		} {
			w.Must(201, made("POST", tokens, owner.Session, body))
		}
	})
}

// TestTokenNames checks that names are unique among a user's active tokens only.
func TestTokenNames(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		owner, other := w.Person("Olga"), w.Person("Zoe")
		body := fields{"name": "ERP", "scopes": []string{"claims:read"}, "expires_at": clock.Now().Add(time.Hour)}
		first := w.NewToken(owner, body)
		w.NewToken(other, body)
		refused(t, "the same name", w.Send("POST", tokens, owner.Session, body), warranty.AlreadyExists)
		w.Must(204, made("DELETE", tokens+"/"+first.ID, owner.Session, nil))
		w.NewToken(owner, body)
		clock.Set(clock.Now().Add(time.Hour)) // the second expires
		body["expires_at"] = nil
		w.NewToken(owner, body)
		refused(t, "the same name", w.Send("POST", tokens, owner.Session, body), warranty.AlreadyExists)

		outcomes, _ := servertest.Flood(t, []*world{w}, 16, func(int) request {
			return made("POST", tokens, owner.Session, fields{"name": "at once", "scopes": []string{"claims:read"}})
		})
		equal(t, "the same name, sixteen at once", outcomes, map[string]int{"201": 1, "409 already_exists": 15})
	})
}

// active counts a user's active tokens directly in the database.
func (w *world) active(p servertest.Person) int {
	w.T.Helper()
	return w.Count(`SELECT count(*) FROM tokens t JOIN users u ON u.id = t.user_id WHERE u.email = $1 AND t.revoked_at IS NULL`, p.Email)
}

// TestTokenCap creates more tokens than a user may have, one by one and concurrently.
func TestTokenCap(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		for round := range 5 {
			owner := w.Person(fmt.Sprintf("Olga%d", round))
			outcomes, answers := servertest.Flood(t, worlds, 64, func(i int) request {
				return made("POST", tokens, owner.Session, fields{"name": fmt.Sprint(i), "scopes": []string{"claims:read"}})
			})
			equal(t, "64 at once", outcomes, map[string]int{"201": 20, "409 token_limit_reached": 44})
			equal(t, "the active tokens", w.active(owner), 20)

			// Revoking one makes room for one.
			i := slices.IndexFunc(answers, func(a answer) bool { return a.Status == 201 })
			var gone token
			answers[i].Into(t, &gone)
			w.Must(204, made("DELETE", tokens+"/"+gone.ID, owner.Session, nil))
			w.Must(201, made("POST", tokens, owner.Session, fields{"name": "another", "scopes": []string{"claims:read"}}))
			refused(t, "the 21st", w.Send("POST", tokens, owner.Session, fields{"name": "one more", "scopes": []string{"claims:read"}}), warranty.TokenLimitReached)
		}
	}, busy)
}

// TestTokenCapWhileTokensGo creates and revokes tokens concurrently and counts them
// directly in the database meanwhile.
func TestTokenCapWhileTokensGo(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		owner := w.Person("Olga")
		var most atomic.Int64
		stop, counted := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(counted)
			for {
				select {
				case <-stop:
					return
				default:
					most.Store(max(most.Load(), int64(w.active(owner))))
				}
			}
		}()
		var mu sync.Mutex
		outcomes := map[string]int{}
		together(12, func(i int) {
			w := worlds[i%len(worlds)]
			for n := range 12 {
				a, err := w.Try(made("POST", tokens, owner.Session, fields{"name": fmt.Sprint(i, n), "scopes": []string{"claims:read"}}))
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				outcomes[outcome(a)]++
				mu.Unlock()
				if a.Status == 201 && n%3 > 0 {
					var got token
					a.Into(t, &got)
					if gone, err := w.Try(made("DELETE", tokens+"/"+got.ID, owner.Session, nil)); err != nil || gone.Status != 204 {
						t.Errorf("revoke: %d %v", gone.Status, err)
					}
				}
			}
		})
		close(stop)
		<-counted
		most.Store(max(most.Load(), int64(w.active(owner))))
		if most.Load() > 20 || most.Load() < 15 {
			t.Errorf("there were up to %d active tokens", most.Load())
		}
		for what := range outcomes {
			if what != "201" && what != "409 token_limit_reached" {
				t.Errorf("a create returned %s", what)
			}
		}
		if outcomes["409 token_limit_reached"] == 0 {
			t.Error("the cap was never reached, so nothing was tested")
		}
	}, busy)
}

// TestTokenExpiry sets the clock just before, at and just after the expiry.
func TestTokenExpiry(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		owner := w.Person("Olga")
		ends := clock.Now().Add(time.Hour)
		got := w.NewToken(owner, fields{"name": "short", "scopes": []string{"warranties:write"}, "expires_at": ends})
		use := func() answer {
			return w.Send("POST", "/api/v1/warranties", got.Secret, fields{"product_name": "x", "start_date": "2026-01-01", "end_date": "2026-01-01"})
		}
		clock.Set(ends.Add(-time.Microsecond))
		want(t, "a microsecond before", use(), 201, "")
		equal(t, "the status", w.readToken(owner, got.ID).Status, "active")
		for _, after := range []time.Duration{0, time.Microsecond, time.Hour} {
			clock.Set(ends.Add(after))
			w.Unchanged(t, "an expired token", func() { refused(t, after.String()+" after", use(), warranty.TokenExpired) })
			equal(t, "the status", w.readToken(owner, got.ID).Status, "expired")
		}
		refused(t, "rotate an expired one", w.Send("POST", tokens+"/"+got.ID+"/rotate", owner.Session, nil), warranty.InvalidTransition)

		// Authenticated just before the expiry, with the body just after it.
		late := w.NewToken(owner, fields{"name": "late", "scopes": []string{"warranties:write"}, "expires_at": clock.Now().Add(time.Hour)})
		clock.Set(late.ExpiresAt.Add(-time.Microsecond))
		create := w.Hold(made("POST", "/api/v1/warranties", late.Secret, fields{"product_name": "x", "start_date": "2026-01-01", "end_date": "2026-01-01"}))
		clock.Set(late.ExpiresAt)
		w.Unchanged(t, "a token that expires on the way", func() {
			if a := create(); a.Status != 401 {
				t.Errorf("a token that expires on the way: got %d %s", a.Status, a.Body)
			}
		})
	})
}

// TestTokenRotation rotates the secret of a token, with and without an overlap.
func TestTokenRotation(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		owner := w.Person("Olga")
		first := w.NewToken(owner, fields{"name": "ERP", "scopes": []string{"warranties:read"}})
		works := func(what string, secret string, ok bool) {
			t.Helper()
			a := w.Get("/api/v1/warranties", secret)
			if ok {
				want(t, what, a, 200, "")
				return
			}
			refused(t, what, a, warranty.TokenExpired)
		}
		rotate := func(body any) (got token) {
			t.Helper()
			w.Must(200, made("POST", tokens+"/"+first.ID+"/rotate", owner.Session, body)).Into(t, &got)
			if got.ID != first.ID || got.Name != "ERP" || got.Prefix != got.Secret[:10] || got.Secret == first.Secret || !got.ExpiresAt.Equal(first.ExpiresAt) {
				t.Errorf("rotated to %+v", got)
			}
			return got
		}

		second := rotate(nil)
		works("the old secret at once", first.Secret, false)
		works("the new secret", second.Secret, true)

		third := rotate(fields{"overlap_seconds": 60})
		works("the old secret within the overlap", second.Secret, true)
		works("the new secret within the overlap", third.Secret, true)
		refused(t, "the oldest secret, which the second rotation forgets", w.Get("/api/v1/warranties", first.Secret), warranty.InvalidCredential)
		edge := clock.Now().Add(time.Minute)
		clock.Set(edge.Add(-time.Microsecond))
		works("the old secret a microsecond before the edge", second.Secret, true)
		clock.Set(edge)
		works("the old secret at the edge", second.Secret, false)
		works("the new secret at the edge", third.Secret, true)

		fourth := rotate(fields{"overlap_seconds": 3600})
		fifth := rotate(fields{"overlap_seconds": 60}) // a shorter overlap shortens earlier ones
		clock.Set(clock.Now().Add(time.Minute))
		works("the third after the shorter overlap", third.Secret, false)
		works("the fourth after the shorter overlap", fourth.Secret, false)
		works("the fifth", fifth.Secret, true)
		sixth := rotate(fields{"overlap_seconds": 0})
		works("the fifth after no overlap", fifth.Secret, false)

		for body, wrong := range map[string]string{`{"overlap_seconds": -1}`: "overlap_seconds out_of_range", `{"overlap_seconds": 86401}`: "overlap_seconds out_of_range",
			`{"overlap_seconds": "60"}`: "overlap_seconds wrong_type", `{"name": "x"}`: "name unknown_field"} {
			w.Unchanged(t, body, func() {
				a := w.Send("POST", tokens+"/"+first.ID+"/rotate", owner.Session, body)
				refused(t, body, a, warranty.ValidationFailed)
				equal(t, body, wrongFields(t, a), []string{wrong})
			})
		}
		last := rotate(fields{"overlap_seconds": 86400})
		w.Must(204, made("DELETE", tokens+"/"+first.ID, owner.Session, nil))
		refused(t, "the overlapping secret of a revoked token", w.Get("/api/v1/warranties", sixth.Secret), warranty.TokenRevoked)
		refused(t, "the new secret of a revoked token", w.Get("/api/v1/warranties", last.Secret), warranty.TokenRevoked)
		equal(t, "one token through it all", w.Count(`SELECT count(*) FROM tokens`), 1)
	})
}

// TestRevokedEverywhereAtOnce revokes a token on one replica while it is used on all.
func TestRevokedEverywhereAtOnce(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		owner, other := w.Person("Olga"), w.Person("Zoe")
		for range 3 {
			secret, id := w.Token(owner)
			refused(t, "another user's", worlds[len(worlds)-1].Send("DELETE", tokens+"/"+id, other.Session, nil), warranty.NotFound)
			for _, w := range worlds {
				want(t, "before", w.Get("/api/v1/warranties", secret), 200, "")
			}
			// Every request that starts after the 204 must be refused.
			var acknowledged atomic.Bool
			var refusals atomic.Int64
			var running sync.WaitGroup
			for i := range 6 {
				running.Go(func() {
					for refusals.Load() < 60 {
						after := acknowledged.Load()
						a, err := worlds[i%len(worlds)].Try(made("GET", "/api/v1/warranties", secret, nil))
						switch {
						case err != nil:
							t.Error(err)
						case a.Code() == string(warranty.TokenRevoked):
							refusals.Add(1)
						case a.Status != 200 || after:
							t.Errorf("got %d %s; sent after the revocation was acknowledged: %v", a.Status, a.Code(), after)
							refusals.Add(60)
						}
					}
				})
			}
			w.Must(204, made("DELETE", tokens+"/"+id, owner.Session, nil))
			acknowledged.Store(true)
			running.Wait()
			got := w.readToken(owner, id)
			if got.Status != "revoked" || got.RevokedAt == nil {
				t.Errorf("the revoked token is shown as %+v", got)
			}
			w.Must(204, made("DELETE", tokens+"/"+id, owner.Session, nil)) // revoking a revoked token is a no-op
			equal(t, "the time of the first", w.readToken(owner, id).RevokedAt, got.RevokedAt)
		}
	}, busy)
}

// TestTheEndOfATokenWaitsForWhatIsWritten blocks a write with a database lock: either
// the end of its token waits for the write, or the write fails.
func TestTheEndOfATokenWaitsForWhatIsWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, databases[1].Open(t))
	owner := w.Person("Olga")
	body := fields{"product_name": "x", "start_date": "2026-01-01", "end_date": "2026-01-01"}
	for _, c := range []struct{ name, method, path string }{{"revocation", "DELETE", ""}, {"rotation", "POST", "/rotate"}} {
		secret, id := w.Token(owner)
		tx, err := w.DB.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(`INSERT INTO idempotency (user_id, operation, key, fingerprint, response, created_at)
			SELECT id, 'warranties.create', $1, '', '', 0 FROM users`, c.name); err != nil {
			t.Fatal(err)
		}
		waiting := func() int {
			return w.Count(`SELECT count(DISTINCT l.pid) FROM pg_locks l WHERE NOT l.granted
				AND l.pid IN (SELECT pid FROM pg_locks WHERE relation IN ('idempotency'::regclass, 'tokens'::regclass))`)
		}
		created, ended := make(chan answer, 1), make(chan answer, 1)
		try := func(r request, to chan answer) {
			a, err := w.Try(r)
			if err != nil {
				t.Error(err)
			}
			to <- a
		}
		go try(made("POST", "/api/v1/warranties", secret, body, "Idempotency-Key", c.name), created)
		testenv.Wait(t, "the create waits", func() bool { return waiting() == 1 })
		go try(made(c.method, tokens+"/"+id+c.path, owner.Session, nil), ended)
		testenv.Wait(t, "the "+c.name+" waits, or is there", func() bool { return waiting() == 2 || len(ended) == 1 })
		first := len(ended) == 1
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if create := testenv.Receive(t, "the create is answered", created); first && create.Status == 201 {
			t.Errorf("a record was written after the %s had been acknowledged", c.name)
		}
		if a := testenv.Receive(t, "the "+c.name+" is answered", ended); a.Status >= 300 {
			t.Errorf("the %s returned %d %s", c.name, a.Status, a.Body)
		}
		if a := w.Send("POST", "/api/v1/warranties", secret, body); a.Status != 401 {
			t.Errorf("after the %s: %d", c.name, a.Status)
		}
	}
}

// TestTokenUsage checks the request counts per day.
func TestTokenUsage(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		owner := w.Person("Olga")
		clock.SetTo(t, "2030-03-01T10:00:00Z")
		w.Exec(`UPDATE sessions SET expires_at = 9000000000000000, seen_at = 9000000000000000`)
		got := w.NewToken(owner, fields{"name": "ERP", "scopes": []string{"warranties:read"}})
		use := func(n int) {
			for i := range n {
				w.Send([]string{"GET", "HEAD", "DELETE"}[i%3], "/api/v1/warranties", got.Secret, nil) // refused ones count too
			}
		}
		flush := func() {
			t.Helper()
			if err := w.Service.FlushUsage(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		use(3)
		if read := w.readToken(owner, got.ID); read.LastUsedAt != nil || len(read.Usage) != 0 {
			t.Errorf("usage was written during the request: %+v", read)
		}
		flush()
		clock.SetTo(t, "2030-03-01T11:00:00Z")
		use(2)
		clock.SetTo(t, "2030-03-03T09:00:00Z")
		use(1)
		flush()
		flush()
		read := w.readToken(owner, got.ID)
		equal(t, "usage", fmt.Sprint(read.Usage), "[{2030-03-01 5} {2030-03-03 1}]")
		equal(t, "last use", read.LastUsedAt.Format(time.RFC3339), "2030-03-03T09:00:00Z")
		clock.SetTo(t, "2030-03-31T00:00:00Z")
		equal(t, "usage of the last 30 days", fmt.Sprint(w.readToken(owner, got.ID).Usage), "[{2030-03-03 1}]")
		clock.SetTo(t, "2030-03-30T23:59:59Z")
		equal(t, "usage of 30 days", fmt.Sprint(w.readToken(owner, got.ID).Usage), "[{2030-03-01 5} {2030-03-03 1}]")
	})
}

// TestOthersTokens tries every operation on another user's token.
func TestOthersTokens(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner, other := w.Person("Olga"), w.Person("Zoe")
		secret, id := w.Token(owner)
		w.Unchanged(t, "a stranger", func() {
			for _, r := range []request{made("GET", tokens+"/"+id, other.Session, nil), made("DELETE", tokens+"/"+id, other.Session, nil), made("POST", tokens+"/"+id+"/rotate", other.Session, nil)} {
				refused(t, r.Method+" "+r.Path, w.Do(r), warranty.NotFound)
			}
			equal(t, "their list", ids(t, w.Get(tokens, other.Session)), []string{})
			for _, r := range []request{made("GET", tokens, secret, nil), made("GET", tokens+"/"+id, secret, nil), made("DELETE", tokens+"/"+id, secret, nil), made("POST", tokens+"/"+id+"/rotate", secret, nil)} {
				refused(t, "by a token: "+r.Method+" "+r.Path, w.Do(r), warranty.SessionRequired)
			}
		})
		want(t, "the token", w.Get("/api/v1/warranties", secret), 200, "")
	})
}
