package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// asked is a recorded request without the fields that always differ.
type asked struct {
	Token         struct{ ID, Name string }
	Method, Route string
	Status        int
	Client, Door  string
}

// recorded flushes usage until n requests of a token are recorded, and lists them,
// newest first. Requests are recorded after their response is sent.
func (w *world) recorded(t testing.TB, p servertest.Person, id string, n int) (list []asked) {
	t.Helper()
	testenv.Wait(t, fmt.Sprintf("%d requests", n), func() bool {
		if err := w.Service.FlushUsage(context.Background()); err != nil {
			t.Fatal(err)
		}
		return w.count(`SELECT count(*) FROM requests WHERE token_id = `+w.idLiteral(id)) >= n
	})
	w.Must(200, made("GET", tokens+"/"+id+"/requests?limit=100", p.Session, nil)).Into(t, &list)
	equal(t, "how many requests were recorded", len(list), n)
	return list
}

// TestRequestsAreRecorded makes requests with every kind of outcome and reads their
// records as the owner of the token.
func TestRequestsAreRecorded(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner, other := w.Person("Olga"), w.Person("Zoe")
		token := w.newToken(owner, fields{"name": "ERP", "scopes": []string{"warranties:read"}, "rate_limit_per_minute": 7})
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
				mcpSend(t, w.World, "/api/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "X-Api-Key", token.Secret, "User-Agent", "agent/1")
				w.recorded(t, owner, token.ID, i+1)
				continue
			}
			r.Header["X-Request-Id"] = "request-" + fmt.Sprint(len(r.Path))
			if r.Header["User-Agent"] == "" {
				r.Header["User-Agent"] = strings.Repeat("long ", 15) + "\xe9 and more that is cut"
			}
			w.Do(r)
			w.recorded(t, owner, token.ID, min(i+1, 8))
		}
		long := strings.Repeat("long ", 15) + "? and"
		got := w.recorded(t, owner, token.ID, 8)
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

		refused(t, "another person's look", w.get(tokens+"/"+token.ID+"/requests", other.Session), warranty.NotFound)
		refused(t, "the token's own look", w.get(tokens+"/"+token.ID+"/requests", w.newToken(owner, fields{"name": "b", "scopes": []string{"claims:read"}}).Secret), warranty.SessionRequired)
		_, theirs := w.Token(other)
		equal(t, "requests of another token", len(w.recorded(t, other, theirs, 0)), 0)

		rows := strings.Join(w.rows(`SELECT * FROM requests`), "\n")
		for _, canary := range []string{"serial-canary", "body-canary", "path-canary", unknownID, "page=2", token.Secret, token.Secret[4:20]} {
			if strings.Contains(rows, canary) {
				t.Errorf("%q was recorded:\n%s", canary, rows)
			}
		}
	})
}

// TestRequestsHoldNoSecret puts a secret into every recorded part of a request.
func TestRequestsHoldNoSecret(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner := w.Person("Olga")
		secret, id := w.Token(owner)
		w.Service.Record(warranty.Principal{Credential: warranty.ByToken, User: warranty.User{ID: parseID(t, owner.ID)}, CredentialID: parseID(t, id), Door: warranty.DoorAPI},
			service.RequestInfo{Method: secret, Route: "/", RequestID: secret, Client: "curl " + secret + "\r\nX: \x00é" + secret[:20], Status: 200})
		got := w.recorded(t, owner, id, 1)
		equal(t, "the client", got[0].Client, "curl (secret)??X: ??(secret)")
		equal(t, "the method", got[0].Method, "-")
		if rows := strings.Join(w.rows(`SELECT * FROM requests`), "\n"); strings.Contains(rows, secret[4:12]) {
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
	each(t, func(t *testing.T, w *world) {
		owner := w.Person("Olga")
		secret, id := w.Token(owner)
		for i := range 5 {
			w.Must(200, made("GET", "/api/v1/auth/status", secret, nil, "User-Agent", fmt.Sprint("client ", i)))
			w.recorded(t, owner, id, i+1)
		}
		var clients []string
		for page, n := range map[int]int{1: 2, 2: 2, 3: 1, 4: 0} {
			a := w.get(fmt.Sprintf("%s/%s/requests?limit=2&page=%d", tokens, id, page), owner.Session)
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
		refused(t, "a page of nothing", w.get(tokens+"/"+id+"/requests?limit=0", owner.Session), warranty.ValidationFailed)
	})
}

// TestRequestsAreForgotten checks the limits on the age and number of recorded requests.
func TestRequestsAreForgotten(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		owner, other := w.Person("Olga"), w.Person("Zoe")
		token := w.newToken(owner, fields{"name": "ERP", "scopes": []string{"claims:read"}, "rate_limit_per_minute": 1000})
		_, theirs := w.Token(other)
		principal := func(p servertest.Person, id string) warranty.Principal {
			return warranty.Principal{Credential: warranty.ByToken, User: warranty.User{ID: parseID(t, p.ID)}, CredentialID: parseID(t, id), Door: warranty.DoorAPI}
		}
		began := clock.now()
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
		clock.set(began.Add(time.Second))
		w.Service.Record(principal(owner, token.ID), service.RequestInfo{Method: "GET", Route: "/new", Status: 200})
		flush()
		clock.set(began.Add(warranty.RequestLifetime))
		sweep()
		equal(t, "after 30 days", w.count(`SELECT count(*) FROM requests`), 3)
		clock.set(began.Add(warranty.RequestLifetime + time.Microsecond))
		sweep()
		equal(t, "a moment later", w.rows(`SELECT route FROM requests`), []string{"/new"})

		w.Service.Record(principal(other, theirs), service.RequestInfo{Method: "GET", Route: "/theirs", Status: 200})
		for i := range warranty.MaxRequestsKept + 700 {
			w.Service.Record(principal(owner, token.ID), service.RequestInfo{Method: "GET", Route: fmt.Sprint("/", i), Status: 200})
		}
		flush()
		// Between sweeps a few hundred more may be stored; the sweep is exact.
		mine := `SELECT count(*) FROM requests WHERE route <> '/theirs'`
		if n := w.count(mine); n < warranty.MaxRequestsKept || n > warranty.MaxRequestsKept+500 {
			t.Errorf("%d requests are stored", n)
		}
		sweep()
		equal(t, "requests kept", w.count(mine), warranty.MaxRequestsKept)
		equal(t, "of another user", w.count(`SELECT count(*) FROM requests WHERE route = '/theirs'`), 1)
		equal(t, "the oldest that is kept", w.count(`SELECT count(*) FROM requests WHERE route IN ('/new', '/0', '/699')`), 0)
		equal(t, "the newest", w.count(`SELECT count(*) FROM requests WHERE route IN ('/700', '/10699')`), 2)
	})
}

// TestRequestsNeverWait fills the buffer of recorded requests while nothing is flushed.
func TestRequestsNeverWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t, servertest.SQLite(t), func(*server.Server) {})
	owner := w.Person("Olga")
	_, token := w.Token(owner)
	p := warranty.Principal{Credential: warranty.ByToken, User: warranty.User{ID: parseID(t, owner.ID)}, CredentialID: parseID(t, token)}
	const sent = 50_000
	together(8, func(int) {
		for range sent / 8 {
			w.Service.Record(p, service.RequestInfo{Method: "GET", Route: "/", Status: 200})
		}
	})
	if err := w.Service.FlushUsage(context.Background()); err != nil {
		t.Fatal(err)
	}
	if log := w.Log.String(); !strings.Contains(log, `"requests":30000`) || strings.Count(log, "requests not recorded") != 1 {
		t.Errorf("the log says %s", log)
	}
	if n := w.count(`SELECT count(*) FROM requests`); n < warranty.MaxRequestsKept || n > warranty.MaxRequestsKept+500 {
		t.Errorf("%d requests are stored", n)
	}
}
