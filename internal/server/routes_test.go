package server_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// TestWellKnownAddresses checks security.txt and change-password (B12).
func TestWellKnownAddresses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, servertest.SQLite(t), func(s *server.Server) { s.SecurityContact = "mailto:security@w.example" })
	a := w.Browser(t).Get("/.well-known/security.txt")
	equal(t, "the status", a.Status, 200)
	equal(t, "the type", a.Header.Get("Content-Type"), "text/plain; charset=utf-8")
	values := map[string]string{}
	for line := range strings.Lines(a.Body) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		values[name] = value
	}
	expires, err := time.Parse(time.RFC3339, values["Expires"])
	if left := expires.Sub(w.Clock.Now()); err != nil || left < 30*24*time.Hour || left > 365*24*time.Hour {
		t.Errorf("expires %s: %v", values["Expires"], err)
	}
	equal(t, "contact", values["Contact"], "mailto:security@w.example")
	equal(t, "canonical", values["Canonical"], servertest.PublicURL+"/.well-known/security.txt")
	equal(t, "another method", w.Browser(t).Post("/.well-known/security.txt").Status, 405)
	w.Browser(t).Get("/.well-known/change-password").Leads(t, "changing the password", "/settings/security#password")
	without := newWorld(t, servertest.SQLite(t))
	equal(t, "without a contact", without.Browser(t).Get("/.well-known/security.txt").Status, 404)
}

// somewhere returns a path for a route, with an unknown id for each parameter.
func somewhere(route string) string {
	return regexp.MustCompile(`\{[a-z_]+\}`).ReplaceAllString(route, unknownID)
}

// TestMethods tries every method on every route.
func TestMethods(t *testing.T) {
	w := newWorld(t, servertest.SQLite(t), busy)
	owner := w.Person("Olga")
	allowed := map[string][]string{"/api/documents": {"POST"}, "/api/documents/" + unknownID + "/file": {"GET", "HEAD"}, "/healthz": {"GET", "HEAD"}, "/docs": {"GET", "HEAD"}, "/docs/errors": {"GET", "HEAD"}, "/readyz": {"GET", "HEAD"}, "/openapi.json": {"GET", "HEAD"}, "/": {"GET", "HEAD"}, "/verify/WR-0": {"GET", "HEAD"}}
	public := map[string]bool{}
	for _, op := range api.Operations() {
		path := somewhere(op.Route())
		allowed[path] = append(allowed[path], op.Method)
		if op.Method == http.MethodGet {
			allowed[path] = append(allowed[path], http.MethodHead)
		}
		public[path] = op.Auth == api.Public
	}
	before := w.Contents()
	for path, methods := range allowed {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"} {
			if slices.Contains(methods, method) {
				continue
			}
			a := w.Send(method, path, owner.Session, nil)
			got := strings.Split(a.Header.Get("Allow"), ", ")
			slices.Sort(got)
			slices.Sort(methods)
			if a.Status != http.StatusMethodNotAllowed || !slices.Equal(got, methods) || method != "HEAD" && a.Code() != string(warranty.MethodNotAllowed) {
				t.Errorf("%s %s: got %d %s with Allow: %v, want 405 with %v", method, path, a.Status, a.Code(), got, methods)
			}
			if strings.HasPrefix(path, "/api/") {
				apiHeaders(t, method+" "+path, a)
			}
			if public[path] && method != "HEAD" {
				refused(t, "without a credential: "+method+" "+path, w.Send(method, path, "", nil), warranty.MethodNotAllowed)
			}
		}
	}
	equal(t, "a wrong method changed the database", w.Contents(), before)
}

// TestHeadIsGet compares HEAD and GET on every route with GET.
func TestHeadIsGet(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner := w.Person("Olga")
		record := w.Warranty(owner.Session, nil)
		_, token := w.Token(owner)
		replace := strings.NewReplacer("{reference}", record.ReferenceNumber, "/warranties/{id}", "/warranties/"+record.ID, "-tokens/{id}", "-tokens/"+token, "{id}", unknownID)
		paths := []string{"/healthz", "/readyz", "/verify/" + record.ReferenceNumber, "/verify/nothing", "/nowhere", "/api/v1/nowhere"}
		for _, op := range api.Operations() {
			if op.Method == http.MethodGet {
				paths = append(paths, replace.Replace(op.Route()))
			}
		}
		for _, path := range paths {
			get, head := w.Get(path, owner.Session), w.Send("HEAD", path, owner.Session, nil)
			equal(t, "HEAD "+path+" has the body", head.Body, "")
			equal(t, "HEAD "+path+" has the status", head.Status, get.Status)
			if length := get.Header.Get("Content-Length"); get.Status != 200 || strings.HasSuffix(path, record.ReferenceNumber) {
				head.Header.Set("Content-Length", length) // the request id or the time may be longer in one of them
			}
			equal(t, "HEAD "+path+" has the headers", anonymisedHead(head).Header, anonymisedHead(get).Header)
		}
	})
}

func anonymisedHead(a answer) answer {
	a.Header = a.Header.Clone()
	for _, name := range []string{"X-Request-Id", "Date", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "Ratelimit"} {
		a.Header.Del(name)
	}
	return a
}

// TestRequestIDs checks that well-formed ids are kept and others replaced.
func TestRequestIDs(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, path := range []string{"/api/v1/warranties", "/api/nowhere", "/verify/nothing", "/healthz", "/nowhere"} {
			for _, good := range []string{"abcd1234", "A.b_c-0123456789", strings.Repeat("x", 64)} {
				a := w.Get(path, "", "X-Request-Id", good)
				equal(t, "kept", a.Header.Values("X-Request-Id"), []string{good})
			}
			seen := map[string]bool{}
			for _, bad := range []string{"", "short", strings.Repeat("x", 65), "with space 12", `quote"12345`, "line\tbreak12", "ünïcödé-12345", "<script>alert"} {
				id := w.Get(path, "", "X-Request-Id", bad).Header.Get("X-Request-Id")
				if id == bad || len(id) != 36 || seen[id] {
					t.Errorf("%s: %q became %q", path, bad, id)
				}
				seen[id] = true
			}
		}
	})
}

// TestEveryAnswerUnderAPICarriesItsHeaders sends requests that fail before they reach
// an operation.
func TestEveryAnswerUnderAPICarriesItsHeaders(t *testing.T) {
	each(t, everyAnswerHasHeaders, busy)
}

// TestHeadersWithoutANetworkLimit expects the rate limit headers of an unused session
// when networks have no limit (B11).
func TestHeadersWithoutANetworkLimit(t *testing.T) {
	w := webWorld(t, busy, func(s *server.Server) { s.IPRate = 0; s.Service.RateLimit = 777_777 })
	everyAnswerHasHeaders(t, w)
	for what, r := range map[string]request{
		"no credential": made("GET", list, "", nil), "a wrong one": made("GET", list, "svc_nonsense", nil),
		"signing in": made("POST", "/api/auth/sessions", "", fields{"email": "nobody@people.example", "password": passwordCanary}), "a wrong method": made("PATCH", "/api/auth/sessions", "", nil),
	} {
		a := w.Do(r)
		apiHeaders(t, what, a)
		equal(t, what+": limit and remaining", a.Header.Get("X-Ratelimit-Limit")+" "+a.Header.Get("X-Ratelimit-Remaining"), "777777 777777")
	}
	resp, err := http.Post(w.HTTP.URL+"/api/mcp", "application/json", strings.NewReader("{}")) // not in the OpenAPI document
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	equal(t, "an agent's limit", resp.Header.Get("X-Ratelimit-Limit"), "777777")
}

func everyAnswerHasHeaders(t *testing.T, w *world) {
	owner := w.Person("Olga")
	for _, secret := range []string{"", owner.Session, "nonsense"} {
		for _, path := range []string{"/api/", "/api/v1", "/api/v1/", "/api/v2/warranties", "/api/v1/warranties/", "/api/v1/warranties/%2e%2e/claims", "/api/v1/warranties/a%2Fb",
			"/api/v1//warranties", "/api//v1/warranties", "/api/./v1/warranties", "/api/v1/../v1/warranties", "/api/v1/warranties/%00", "/api/v1/warranties?%zz", "/api/v1/auth/status"} {
			for _, method := range []string{"GET", "POST", "OPTIONS", "DELETE", "HEAD"} {
				a := w.Send(method, path, secret, nil)
				apiHeaders(t, method+" "+path, a)
				if a.Status >= 300 && a.Status < 400 {
					t.Errorf("%s %s redirects to %s: %d", method, path, a.Header.Get("Location"), a.Status)
				}
			}
		}
	}
}
