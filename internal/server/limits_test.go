package server_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/limit"
	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

const list = "/api/v1/warranties"

// limited creates a token with a rate limit per minute and returns its secret.
func limitedToken(w *world, p servertest.Person, rate int) string {
	w.T.Helper()
	return w.NewToken(p, fields{"name": w.Service.NewID().String(), "scopes": warranty.AllScopes, "rate_limit_per_minute": rate}).Secret
}

// exactly sends more concurrent requests than a window of n allows, and returns the
// errors in the rate limit headers of the responses.
func exactly(t *testing.T, worlds []*world, n, extra int, secret string) (wrong []string) {
	t.Helper()
	// Every request of a credential counts, whatever its outcome.
	kinds := []request{made("GET", list, secret, nil), made("HEAD", list, secret, nil), made("GET", list+"/"+unknownID, secret, nil), made("PATCH", list, secret, nil),
		made("GET", "/api/nowhere", secret, nil), made("POST", list, secret, "{"), made("GET", "/api/v1/auth/status", secret, nil)}
	outcomes, answers := servertest.Flood(t, worlds, n+extra, func(i int) request { return kinds[i%len(kinds)] })
	left := map[int64]int{}
	for _, a := range answers {
		remaining := number(t, a.Header, "X-Ratelimit-Remaining")
		if a.Header.Get("X-Ratelimit-Limit") != strconv.Itoa(n) || a.Header.Get("X-Ratelimit-Reset") != answers[0].Header.Get("X-Ratelimit-Reset") {
			wrong = append(wrong, fmt.Sprintf("the window is shown as %v", a.Header))
		}
		if a.Status != 429 {
			left[remaining]++
		} else if wait := number(t, a.Header, "Retry-After"); remaining != 0 || wait < 1 || wait > 60 {
			wrong = append(wrong, fmt.Sprintf("a refusal leaves %d and asks to wait %d seconds", remaining, wait))
		}
		if seconds := regexp.MustCompile(`;t=(\d+)$`).FindStringSubmatch(a.Header.Get("Ratelimit")); len(seconds) != 2 || len(seconds[1]) > 2 {
			wrong = append(wrong, "the header RateLimit is "+a.Header.Get("Ratelimit"))
		}
	}
	for i := range int64(n) {
		if left[i] != 1 {
			wrong = append(wrong, fmt.Sprintf("%d answers say that %d are left", left[i], i))
		}
	}
	if refused := outcomes["429 rate_limited"] + outcomes["429"]; refused != extra { // HEAD has no code
		wrong = append(wrong, fmt.Sprintf("%d of %d were let through, the limit is %d", n+extra-refused, n+extra, n))
	}
	return wrong
}

// TestLimitIsExact sends more concurrent requests than a limit allows.
func TestLimitIsExact(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, _ *stoppedClock) {
		owner := w.Person("Olga")
		for range 5 {
			equal(t, "errors", exactly(t, []*world{w}, 20, 30, limitedToken(w, owner, 20)), []string(nil))
		}
		equal(t, "errors", exactly(t, []*world{w}, 1, 9, limitedToken(w, owner, 1)), []string(nil))
	})
}

// TestLimitIsSharedByReplicas spreads the requests over three servers that share one
// Redis and whose clocks differ.
func TestLimitIsSharedByReplicas(t *testing.T) {
	t.Parallel()
	database := servertest.Postgres(t)
	var worlds []*world
	for _, off := range []time.Duration{0, -time.Hour, time.Hour} {
		worlds = append(worlds, newWorld(t, database, onRedis(t, off)))
	}
	owner := worlds[0].Person("Olga")
	for range 5 {
		equal(t, "errors", exactly(t, worlds, 20, 40, limitedToken(worlds[0], owner, 20)), []string(nil))
	}
	for _, w := range worlds {
		if strings.Contains(w.Log.String(), "Redis is unavailable") {
			t.Error("a server counted in its memory, so nothing was tested")
		}
	}
}

// onRedis is an option that counts in the shared Redis and skews the clock.
func onRedis(t *testing.T, off time.Duration) option {
	t.Helper()
	url := testenv.Redis(t)
	return func(s *server.Server) {
		now := func() time.Time { return time.Now().Add(off) }
		redis, err := limit.ParseRedis(url)
		if err != nil {
			t.Fatal(err)
		}
		shared := limit.NewRedis(redis, limit.NewMemory(now), s.Log, now, testenv.Patience)
		t.Cleanup(func() {
			if err := shared.Close(); err != nil {
				t.Error(err)
			}
		})
		s.Service.Now, s.Service.Limits = now, shared
	}
}

// TestWindow uses up one window and enters the next by advancing the clock.
func TestWindow(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		owner := w.Person("Olga")
		secret := limitedToken(w, owner, 3)
		start := clock.Now()
		figures := func(a answer) string {
			h := a.Header
			return strings.Join([]string{outcome(a), h.Get("X-Ratelimit-Limit"), h.Get("X-Ratelimit-Remaining"), h.Get("X-Ratelimit-Reset"), h.Get("Ratelimit"), h.Get("Retry-After")}, " ")
		}
		reset := func(d time.Duration) int64 { return start.Add(d).Unix() }
		for _, c := range []struct {
			at   time.Duration
			want string
		}{
			{0, fmt.Sprintf(`200 3 2 %d "credential";r=2;t=60 `, reset(time.Minute))},
			{10 * time.Second, fmt.Sprintf(`200 3 1 %d "credential";r=1;t=50 `, reset(time.Minute))},
			{20*time.Second + 1, fmt.Sprintf(`200 3 0 %d "credential";r=0;t=40 `, reset(time.Minute))},
			{20*time.Second + 1, fmt.Sprintf(`429 rate_limited 3 0 %d "credential";r=0;t=40 40`, reset(time.Minute))},
			{time.Minute - 1, fmt.Sprintf(`429 rate_limited 3 0 %d "credential";r=0;t=1 1`, reset(time.Minute))},
			{time.Minute, fmt.Sprintf(`200 3 2 %d "credential";r=2;t=60 `, reset(2*time.Minute))},
			{90 * time.Second, fmt.Sprintf(`200 3 1 %d "credential";r=1;t=30 `, reset(2*time.Minute))},
			{10 * time.Minute, fmt.Sprintf(`200 3 2 %d "credential";r=2;t=60 `, reset(11*time.Minute))},
		} {
			clock.Set(start.Add(c.at))
			equal(t, c.at.String(), figures(w.Get(list, secret)), c.want)
		}
		equal(t, "the policy", w.Get(list, secret).Header.Get("Ratelimit-Policy"), `"credential";q=3;w=60`)
	})
}

// TestWhatSharesAWindow checks which requests are counted together.
func TestWhatSharesAWindow(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, _ *stoppedClock) {
		owner, other := w.Person("Olga"), w.Person("Zoe")
		again := w.SignIn(owner.Email, owner.Password)
		left := func(what, secret string, n int64) {
			t.Helper()
			equal(t, what, number(t, w.Get(list, secret).Header, "X-Ratelimit-Remaining"), n)
		}
		left("a session", owner.Session, 9)
		left("another session of the same person", again, 8)
		first := w.NewToken(owner, fields{"name": "1", "scopes": []string{"warranties:read"}, "rate_limit_per_minute": 5})
		second := w.NewToken(owner, fields{"name": "2", "scopes": []string{"warranties:read"}, "rate_limit_per_minute": 5})
		left("a token", first.Secret, 4)
		left("another token of the same person", second.Secret, 4)
		var rotated token
		w.Must(200, made("POST", tokens+"/"+first.ID+"/rotate", owner.Session, fields{"overlap_seconds": 60})).Into(t, &rotated)
		left("the new secret of the first token", rotated.Secret, 3)
		left("the old secret of the first token", first.Secret, 2)
		left("the session after two creates and a rotation", again, 4)
		left("another user", other.Session, 9)
	}, func(s *server.Server) { s.Service.RateLimit = 10 })
}

// TestARefusalCostsNoDatabaseWork removes the tables that hold credentials.
func TestARefusalCostsNoDatabaseWork(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, _ *stoppedClock) {
		owner, other := w.Person("Olga"), w.Person("Zoe")
		spent, fresh := limitedToken(w, owner, 2), limitedToken(w, other, 2)
		for range 10 {
			w.Get(list, spent)
			w.Get(list, owner.Session)
		}
		for _, table := range []string{"users", "sessions", "tokens", "token_secrets"} {
			w.Exec(`ALTER TABLE ` + table + ` RENAME TO ` + table + `_gone`)
		}
		for range 3 {
			refused(t, "a token that is used up", w.Get(list, spent), warranty.RateLimited)
			refused(t, "a token that is used up, as Bearer", w.Get(list, "", "Authorization", "Bearer "+spent), warranty.RateLimited)
			refused(t, "a session that is used up", w.Send("POST", tokens, owner.Session, fields{}), warranty.RateLimited)
			refused(t, "a typing error", w.Get(list, fresh[:52]+"!"), warranty.InvalidCredential)
			refused(t, "a mistyped reference", w.Get("/verify/WR-0000-0000-0000-0001", ""), warranty.NotFound)
		}
		refused(t, "a token that is not used up needs the database", w.Get(list, fresh), warranty.Internal)
		refused(t, "a session that is not used up needs the database", w.Get(list, other.Session), warranty.Internal)
	}, func(s *server.Server) { s.Service.RateLimit = 5 })
}

// TestIPThrottle counts every request from one network except probes.
func TestIPThrottle(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		owner := w.Person("Olga")
		good, gone := w.NewToken(owner, fields{"name": "good", "scopes": []string{"warranties:read"}, "rate_limit_per_minute": 7}), w.NewToken(owner, fields{"name": "gone", "scopes": []string{"warranties:read"}})
		w.Must(204, made("DELETE", tokens+"/"+gone.ID, owner.Session, nil))
		clock.Set(clock.Now().Add(time.Minute))

		// A refused credential counts against the network only.
		left := int64(8)
		for _, r := range []request{
			made("GET", list, "", nil), made("GET", list, "nonsense", nil), made("GET", list, newSecret(t, warranty.TokenSecret), nil),
			made("GET", list, gone.Secret, nil), made("POST", "/api/auth/sessions", "", "{"), made("GET", list, good.Secret, nil, "Authorization", "Bearer "+owner.Session),
		} {
			a := w.Do(r)
			left--
			equal(t, "the network's limit", a.Header.Get("X-Ratelimit-Limit"), "8")
			equal(t, "remaining for the network", number(t, a.Header, "X-Ratelimit-Remaining"), left)
			equal(t, "the policy", a.Header.Get("Ratelimit-Policy"), `"ip";q=8;w=60`)
		}
		a := w.Get(list, good.Secret)
		want(t, "a good token", a, 200, "")
		equal(t, "the token's own limit", a.Header.Get("X-Ratelimit-Limit")+" "+a.Header.Get("X-Ratelimit-Remaining"), "7 6")
		w.Get("/verify/nothing", "")

		for _, r := range []request{
			made("GET", list, good.Secret, nil), made("GET", list, owner.Session, nil), made("POST", "/api/auth/sessions", "", "{}"), made("GET", "/api/nowhere", "", nil),
			made("GET", "/verify/nothing", "", nil), made("GET", "/nowhere", "", nil), made("PATCH", "/healthz", "", nil), made("GET", "/api//v1", "", nil),
		} {
			a := w.Do(r)
			refused(t, r.Method+" "+r.Path, a, warranty.IPThrottled)
			equal(t, "Retry-After", a.Header.Get("Retry-After"), "60")
			equal(t, "remaining", a.Header.Get("X-Ratelimit-Remaining"), "0")
		}
		w.Must(200, made("GET", "/healthz", "", nil))
		w.Must(200, made("GET", "/readyz", "", nil))
		clock.Set(clock.Now().Add(time.Minute))
		a = w.Get(list, good.Secret)
		want(t, "a minute later", a, 200, "")
	}, func(s *server.Server) { s.IPRate = 8 })
}

// TestForwardedForIsNotBelieved sends forged X-Forwarded-For addresses from one network.
func TestForwardedForIsNotBelieved(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, _ *stoppedClock) {
		outcomes, _ := servertest.Flood(t, []*world{w}, 50, func(i int) request {
			forged := fmt.Sprintf("203.0.113.%d", i)
			return made("GET", list, "", nil, "X-Forwarded-For", forged, "X-Real-Ip", forged, "Forwarded", "for="+forged, "True-Client-Ip", forged, "Cf-Connecting-Ip", forged)
		})
		equal(t, "fifty forged addresses", outcomes, map[string]int{"401 missing_credential": 5, "429 ip_throttled": 45})
	}, func(s *server.Server) { s.IPRate = 5 })
}

// TestForwardedForOfAProxy checks which address is counted behind a trusted proxy.
func TestForwardedForOfAProxy(t *testing.T) {
	const rate = 3
	eachStopped(t, func(t *testing.T, w *world, _ *stoppedClock) {
		counted := map[string]int{}
		for range 2 {
			for _, c := range []struct{ header, who string }{
				{"203.0.113.1", "A"}, {"203.0.113.2", "B"}, {"198.51.100.7, 203.0.113.1", "A"}, {"203.0.113.1, 10.1.2.3", "A"}, {"203.0.113.1:4711", "A"},
				{"::ffff:203.0.113.1", "A"}, {"unknown, 203.0.113.2", "B"}, {"203.0.113.2, 203.0.113.1", "A"},
				{"2001:db8::1", "C"}, {"[2001:db8::ffff:ffff:ffff:ffff]:443", "C"}, {"2001:db8:0:1::1", "D"}, {"2001:db8::2", "C"}, {"2001:db8::3%eth0", "C"}, {"2001:db8:0:1:ffff::", "D"},
				{"nonsense", "proxy"}, {"203.0.113.1, nonsense", "proxy"}, {"203.0.113.1,", "proxy"}, {"10.9.9.9", "10.9.9.9"},
			} {
				counted[c.who]++
				a := w.Get(list, "", "X-Forwarded-For", c.header)
				if counted[c.who] > rate {
					refused(t, c.header, a, warranty.IPThrottled)
					continue
				}
				refused(t, c.header, a, warranty.MissingCredential)
				equal(t, c.header+": left", number(t, a.Header, "X-Ratelimit-Remaining"), int64(rate-counted[c.who]))
			}
		}
		for i := range 500 { // one customer of an IPv6 provider has 2^64 addresses
			a := w.Get(list, "", "X-Forwarded-For", fmt.Sprintf("2001:db8:7:7:%x:%x::%x", i*131, i*7, i))
			if (i < rate) != (a.Status == 401) {
				t.Fatalf("address %d of one /64: got %d", i, a.Status)
			}
		}
	}, behindProxy(t), func(s *server.Server) { s.IPRate = rate })
}

// detail returns the detail of an error response.
func detail(t *testing.T, a answer) string {
	t.Helper()
	var p warranty.Problem
	if err := json.Unmarshal([]byte(a.Body), &p); err != nil {
		t.Fatalf("%s: %v", a.Body, err)
	}
	return p.Detail
}

// TestSignInThrottle counts attempts per network and per account.
func TestSignInThrottle(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		olga, zoe := w.Person("Olga"), w.Person("Zoe")
		attempt := func(email, password string) request {
			return made("POST", "/api/auth/sessions", "", fields{"email": email, "password": password})
		}
		minute := func() { clock.Set(clock.Now().Add(time.Minute)) }
		minute()

		// Per network: three attempts, for any account.
		for i := range 3 {
			refused(t, "a guess", w.From("198.51.100.1", attempt(fmt.Sprintf("nobody%d@people.example", i), passwordCanary)), warranty.InvalidCredential)
		}
		w.Unchanged(t, "the fourth", func() {
			a := w.From("198.51.100.1", attempt(olga.Email, olga.Password))
			refused(t, "the fourth, though right", a, warranty.IPThrottled)
			equal(t, "Retry-After", a.Header.Get("Retry-After"), "60")
			equal(t, "detail", detail(t, a), "Too many sign-in attempts from your network. Try again in 60 seconds.")
		})
		want(t, "from elsewhere", w.From("198.51.100.2", attempt(olga.Email, olga.Password)), 201, "")
		minute()
		want(t, "a minute later", w.From("198.51.100.1", attempt(olga.Email, olga.Password)), 201, "")
		minute()

		// Per account: three attempts, from any network. An unknown address gets the same response.
		for _, email := range []string{olga.Email, "unknown@people.example"} {
			for i := range 3 {
				refused(t, "a guess", w.From(fmt.Sprintf("198.51.100.%d", i), attempt(email, passwordCanary)), warranty.InvalidCredential)
			}
			refused(t, "the fourth, though right", w.From("198.51.100.9", attempt(email, olga.Password)), warranty.RateLimited)
			a := w.From("198.51.100.9", attempt(strings.ToUpper(email), olga.Password))
			refused(t, "in other case", a, warranty.RateLimited)
			// C3: the message must not blame the network.
			equal(t, "detail", detail(t, a), "Too many sign-in attempts for this account. Try again in 60 seconds.")
			minute()
		}
		want(t, "another account", w.From("198.51.100.9", attempt(zoe.Email, zoe.Password)), 201, "")
		want(t, "a minute later", w.From("198.51.100.9", attempt(olga.Email, olga.Password)), 201, "")

		// Codes, emails and password hashes have the same limits.
		for what, r := range map[string]request{
			"reset codes":      made("POST", "/api/auth/password-reset/confirm", "", fields{"code": "0000-0000", "password": passwordCanary}),
			"reset mails":      made("POST", "/api/auth/password-reset", "", fields{"email": "new@people.example"}),
			"verifying mails":  made("POST", "/api/auth/verify-email/resend", zoe.Session, nil),
			"current password": made("POST", "/api/auth/password", zoe.Session, fields{"current_password": passwordCanary, "new_password": passwordCanary + "!"}),
		} {
			minute()
			for i := range 3 {
				if a := w.From("203.0.113.5", r); a.Status == 429 {
					t.Errorf("%s: attempt %d is throttled", what, i+1)
				}
			}
			code := warranty.IPThrottled
			if what == "current password" {
				code = warranty.RateLimited // counted per user, not per network
			}
			refused(t, what, w.From("203.0.113.5", r), code)
		}
	}, behindProxy(t), func(s *server.Server) { s.Service.SignInRate = 3 })
}

// TestSignUpThrottle counts registrations per hour.
func TestSignUpThrottle(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		register := func(name string) request {
			return made("POST", "/api/auth/register", "", fields{"name": name, "email": name + "@people.example", "password": passwordCanary})
		}
		for _, name := range []string{"a", "b"} {
			want(t, name, w.From("198.51.100.1", register(name)), 201, "")
		}
		clock.Set(clock.Now().Add(10 * time.Minute))
		w.Unchanged(t, "the third", func() {
			a := w.From("198.51.100.1", register("c"))
			refused(t, "the third", a, warranty.IPThrottled)
			equal(t, "Retry-After", a.Header.Get("Retry-After"), "3000")
			refused(t, "an existing address, which must not be revealed", w.From("198.51.100.1", register("a")), warranty.IPThrottled)
		})
		want(t, "from elsewhere", w.From("198.51.100.2", register("c")), 201, "")
		clock.Set(clock.Now().Add(50 * time.Minute))
		want(t, "an hour later", w.From("198.51.100.1", register("d")), 201, "")
	}, behindProxy(t), func(s *server.Server) { s.Service.SignUpRate = 2 })
}

// TestVerifyThrottle counts public verifications, found or not.
func TestVerifyThrottle(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		owner := w.Person("Olga")
		reference := w.Warranty(owner.Session, nil).ReferenceNumber
		for _, path := range []string{"/verify/" + reference, "/verify/WR-0000-0000-0000-0000", "/verify/nonsense"} {
			if a := w.From("198.51.100.1", made("GET", path, "", nil)); a.Status == 429 {
				t.Errorf("%s is throttled", path)
			}
		}
		for _, path := range []string{"/verify/" + reference, "/verify/nonsense"} {
			a := w.From("198.51.100.1", made("GET", path, "", nil))
			refused(t, path, a, warranty.IPThrottled)
			equal(t, "Retry-After", a.Header.Get("Retry-After"), "60")
		}
		want(t, "by a session", w.From("198.51.100.1", made("GET", "/api/v1/verify/"+reference, owner.Session, nil)), 200, "")
		want(t, "from elsewhere", w.From("198.51.100.2", made("GET", "/verify/"+reference, "", nil)), 200, "")
		clock.Set(clock.Now().Add(time.Minute))
		want(t, "a minute later", w.From("198.51.100.1", made("GET", "/verify/"+reference, "", nil)), 200, "")
	}, behindProxy(t), func(s *server.Server) { s.Service.VerifyRate = 3 })
}

// TestWebFormsCountAgainstTheLimit sends forms and API requests of one user (B2): they
// share a rate limit, page views do not count, and a refused form is shown again.
func TestWebFormsCountAgainstTheLimit(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga := w.Verified("Olga")
		w.Clock.Advance(time.Minute)
		b := w.SignedIn(t, olga)
		for range 3 {
			b.Get("/warranties").Says(t, "reading", 200)
		}
		send := func(name string) page {
			return b.Post("/warranties", "product_name", name, "start_date", "2026-01-01", "end_date", "2027-01-01")
		}
		for i := range 3 {
			equal(t, "a form", send(fmt.Sprint("Pan ", i)).Status, 303)
		}
		w.Must(200, made("GET", "/api/v1/warranties", olga.Session, nil))
		refused := send("One pan too many")
		refused.Says(t, "one too many", 429, "limit of 4 changes a minute")
		equal(t, "the input", refused.Value("product_name"), "One pan too many")
		if refused.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
		equal(t, "the API in the same window", w.Get("/api/v1/warranties", olga.Session).Status, 429)
		equal(t, "records", w.Count(`SELECT count(*) FROM warranties`), 3)
		b.Get("/warranties").Says(t, "reading", 200)
		b.Post("/sign-out").Leads(t, "signing out", "/sign-in")
	}, func(s *server.Server) { s.Service.RateLimit = 4 })
}
