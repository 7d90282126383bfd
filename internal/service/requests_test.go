package service_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// TestRequestsAreRecorded makes requests with every kind of outcome and reads their
// records as the owner of the token.
func TestRequestsAreRecorded(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		owner, other := w.Person("Olga"), w.Person("Zoe")
		token := w.NewToken(owner, fields{"name": "ERP", "scopes": []string{"warranties:read"}, "rate_limit_per_minute": 7})
		for i, r := range []request{
			made("GET", "/api/v1/warranties?q=serial-canary&page=2", token.Secret, nil, "User-Agent", "svc/1.2.3"),
			made("GET", "/api/v1/warranties/"+unknownID, token.Secret, nil, "User-Agent", "name-canary"),
			made("POST", "/api/v1/warranties", token.Secret, fields{"product_name": "body-canary"}), // lacks the scope
			made("GET", "/api/v1/warranties?limit=1000", token.Secret, nil),
			made("DELETE", "/api/v1/warranties", token.Secret, nil),
			made("GET", "/api/path-canary", token.Secret, nil),
			{}, // an agent's
			made("GET", "/api/v1/auth/status", token.Secret, nil), // one more than its limit
			made("GET", "/api/v1/auth/status", token.Secret, nil), // refused without authentication
			made("GET", "/api/v1/warranties", owner.Session, nil), // not by a token
		} {
			if r.Method == "" {
				listTools(t, w.HTTP.URL, token.Secret)
				w.Recorded(t, owner, token.ID, i+1)
				continue
			}
			r.Header["X-Request-Id"] = "request-" + fmt.Sprint(len(r.Path))
			if r.Header["User-Agent"] == "" {
				r.Header["User-Agent"] = strings.Repeat("long ", 15) + "\xe9 and more that is cut"
			}
			w.Do(r)
			w.Recorded(t, owner, token.ID, min(i+1, 8))
		}
		long := strings.Repeat("long ", 15) + "? and"
		got := w.Recorded(t, owner, token.ID, 8)
		var want []asked
		for _, r := range []asked{
			{Method: "GET", Route: "/api/v1/auth/status", Status: 429, Client: long, Door: "api"},
			{Method: "POST", Route: "/api/mcp", Status: 200, Client: "agent/1", Door: "mcp"},
			{Method: "GET", Route: "-", Status: 404, Client: long, Door: "api"},
			{Method: "DELETE", Route: "/api/v1/warranties", Status: 405, Client: long, Door: "api"},
			{Method: "GET", Route: "/api/v1/warranties", Status: 422, Client: long, Door: "api"},
			{Method: "POST", Route: "/api/v1/warranties", Status: 403, Client: long, Door: "api"},
			{Method: "GET", Route: "/api/v1/warranties/{id}", Status: 404, Client: "name-canary", Door: "api"},
			{Method: "GET", Route: "/api/v1/warranties", Status: 200, Client: "svc/1.2.3", Door: "cli"},
		} {
			r.Token.ID, r.Token.Name = token.ID, "ERP"
			want = append(want, r)
		}
		equal(t, "the requests", got, want)

		refused(t, "another person's look", w.Get(tokens+"/"+token.ID+"/requests", other.Session), warranty.NotFound)
		refused(t, "the token's own look", w.Get(tokens+"/"+token.ID+"/requests", w.NewToken(owner, fields{"name": "b", "scopes": []string{"claims:read"}}).Secret), warranty.SessionRequired)
		_, theirs := w.Token(other)
		equal(t, "requests of another token", len(w.Recorded(t, other, theirs, 0)), 0)

		rows := strings.Join(w.Rows(`SELECT * FROM requests`), "\n")
		for _, canary := range []string{"serial-canary", "body-canary", "path-canary", unknownID, "page=2", token.Secret, token.Secret[4:20]} {
			if strings.Contains(rows, canary) {
				t.Errorf("%q was recorded:\n%s", canary, rows)
			}
		}
	})
}

// listTools lists the tools of an agent.
func listTools(t testing.TB, url, secret string) {
	t.Helper()
	message := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	req, err := http.NewRequest(http.MethodPost, url+"/api/mcp", message)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Api-Key", secret)
	req.Header.Set("User-Agent", "agent/1")
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

// TestRequestsHoldNoSecret puts a secret into every recorded part of a request.
func TestRequestsHoldNoSecret(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner := w.Person("Olga")
		secret, id := w.Token(owner)
		w.Service.Record(warranty.Principal{Credential: warranty.ByToken, Account: warranty.Acting{ID: parseID(t, owner.ID)}, CredentialID: parseID(t, id), Door: warranty.DoorAPI},
			service.RequestInfo{Method: secret, Route: "/", RequestID: secret, Client: "curl " + secret + "\r\nX: \x00é" + secret[:20], Status: 200})
		got := w.Recorded(t, owner, id, 1)
		equal(t, "the client", got[0].Client, "curl (secret)??X: ??(secret)")
		equal(t, "the method", got[0].Method, "-")
		if rows := strings.Join(w.Rows(`SELECT * FROM requests`), "\n"); strings.Contains(rows, secret[4:12]) {
			t.Errorf("a secret was recorded: %s", rows)
		}
	})
}

func parseID(t testing.TB, text string) warranty.ID {
	t.Helper()
	id, err := warranty.ParseID(text)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestRequestsArePaged reads them page by page.
func TestRequestsArePaged(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		owner := w.Person("Olga")
		secret, id := w.Token(owner)
		for i := range 5 {
			w.Must(200, made("GET", "/api/v1/auth/status", secret, nil, "User-Agent", fmt.Sprint("client ", i)))
			w.Recorded(t, owner, id, i+1)
		}
		var clients []string
		for page, n := range map[int]int{1: 2, 2: 2, 3: 1, 4: 0} {
			a := w.Get(fmt.Sprintf("%s/%s/requests?limit=2&page=%d", tokens, id, page), owner.Session)
			var list []asked
			a.Into(t, &list)
			equal(t, fmt.Sprintf("requests on page %d", page), len(list), n)
			if !strings.Contains(a.Body, `"total":5,"total_pages":3`) {
				t.Errorf("page %d is %s", page, a.Body)
			}
			if page == 1 {
				clients = append(clients, list[0].Client, list[1].Client)
			}
		}
		equal(t, "the newest", clients, []string{"client 4", "client 3"})
		refused(t, "a page of nothing", w.Get(tokens+"/"+id+"/requests?limit=0", owner.Session), warranty.ValidationFailed)
	})
}

// TestRequestsAreForgotten checks the limits on the age and number of recorded requests.
func TestRequestsAreForgotten(t *testing.T) {
	eachStoppedInTurn(t, func(t *testing.T, w *world, clock *stoppedClock) {
		owner, other := w.Person("Olga"), w.Person("Zoe")
		token := w.NewToken(owner, fields{"name": "ERP", "scopes": []string{"claims:read"}, "rate_limit_per_minute": 1000})
		_, theirs := w.Token(other)
		principal := func(p servertest.Person, id string) warranty.Principal {
			return warranty.Principal{Credential: warranty.ByToken, Account: warranty.Acting{ID: parseID(t, p.ID)}, CredentialID: parseID(t, id), Door: warranty.DoorAPI}
		}
		began := clock.Now()
		sweep := func() {
			if err := w.Service.SweepRequests(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		flush := func() {
			if err := w.Service.FlushUsage(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		w.Service.Record(principal(owner, token.ID), service.RequestInfo{Method: "GET", Route: "/old", Status: 200})
		w.Service.Record(principal(other, theirs), service.RequestInfo{Method: "GET", Route: "/theirs", Status: 200})
		clock.Set(began.Add(time.Second))
		w.Service.Record(principal(owner, token.ID), service.RequestInfo{Method: "GET", Route: "/new", Status: 200})
		flush()
		clock.Set(began.Add(warranty.RequestLifetime))
		sweep()
		equal(t, "after 30 days", w.Count(`SELECT count(*) FROM requests`), 3)
		clock.Set(began.Add(warranty.RequestLifetime + time.Microsecond))
		sweep()
		equal(t, "a moment later", w.Rows(`SELECT route FROM requests`), []string{"/new"})

		w.Service.Record(principal(other, theirs), service.RequestInfo{Method: "GET", Route: "/theirs", Status: 200})
		for i := range warranty.MaxRequestsKept + 700 {
			w.Service.Record(principal(owner, token.ID), service.RequestInfo{Method: "GET", Route: fmt.Sprint("/", i), Status: 200})
		}
		flush()
		// Between sweeps a few hundred more may be stored; the sweep is exact.
		mine := `SELECT count(*) FROM requests WHERE route <> '/theirs'`
		if n := w.Count(mine); n < warranty.MaxRequestsKept || n > warranty.MaxRequestsKept+1000 {
			t.Errorf("%d requests are stored", n)
		}
		sweep()
		equal(t, "requests kept", w.Count(mine), warranty.MaxRequestsKept)
		equal(t, "of another user", w.Count(`SELECT count(*) FROM requests WHERE route = '/theirs'`), 1)
		equal(t, "the oldest that is kept", w.Count(`SELECT count(*) FROM requests WHERE route IN ('/new', '/0', '/699')`), 0)
		equal(t, "the newest", w.Count(`SELECT count(*) FROM requests WHERE route IN ('/700', '/10699')`), 2)
	})
}

// TestRequestsNeverWait fills the buffer of recorded requests while nothing is flushed.
func TestRequestsNeverWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t, servertest.SQLite(t), func(*server.Server) {})
	owner := w.Person("Olga")
	_, token := w.Token(owner)
	p := warranty.Principal{Credential: warranty.ByToken, Account: warranty.Acting{ID: parseID(t, owner.ID)}, CredentialID: parseID(t, token)}
	const sent = 50_000
	together(8, func(int) {
		for range sent / 8 {
			w.Service.Record(p, service.RequestInfo{Method: "GET", Route: "/", Status: 200})
		}
	})
	// A flush ends after 10 seconds, which a busy machine may need more than once.
	testenv.Wait(t, "the requests are written", func() bool {
		return w.Service.FlushUsage(context.Background()) == nil
	})
	if log := w.Log.String(); !strings.Contains(log, `"requests":30000`) || strings.Count(log, "requests not recorded") != 1 {
		t.Errorf("the log says %s", log)
	}
	if n := w.Count(`SELECT count(*) FROM requests`); n < warranty.MaxRequestsKept || n > warranty.MaxRequestsKept+1000 {
		t.Errorf("%d requests are stored", n)
	}
}
