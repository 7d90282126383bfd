package web_test

import (
	"strings"
	"testing"

	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
)

// TestWebErrorsArePages causes errors outside of the pages: browsers get an error page, other clients
// a problem document.
func TestWebErrorsArePages(t *testing.T) {
	w := webWorld(t)
	w.Person("Paul")
	w.Exec(`UPDATE users SET password_hash = '$argon2id$v=19$m=19456,t=0,p=1$AAAA$AAAA' WHERE email = 'paul@people.example'`)
	b := w.Browser(t)
	for what, c := range map[string]struct {
		page   page
		status int
	}{
		"a panic":            {b.Post("/sign-in", "email", "paul@people.example", "password", servertest.Password), 500},
		"an unclean path":    {b.Get("/warranties/../claims"), 404},
		"another method":     {b.Post("/healthz"), 405},
		"an unknown address": {b.Get("/nowhere"), 404},
	} {
		c.page.Says(t, what, c.status, `class="card oops"`, "Go to overview", c.page.Header.Get("X-Request-Id"))
		c.page.Hides(t, what, "argon", "goroutine")
		equal(t, what+": Content-Type", c.page.Header.Get("Content-Type"), "text/html; charset=utf-8")
	}
	equal(t, "the response to a program", b.Get("/nowhere", "Accept", "application/json").Header.Get("Content-Type"), "application/problem+json")
	equal(t, "the response of the API", b.Get("/api/v1/nowhere").Header.Get("Content-Type"), "application/problem+json")
}

// TestWebThrottledIsAPage exceeds the limit per IP.
func TestWebThrottledIsAPage(t *testing.T) {
	w := webWorld(t, func(s *server.Server) { s.IPRate = 1 })
	b := w.Browser(t)
	b.Get("/sign-in").Says(t, "within the limit", 200)
	throttled := b.Get("/sign-in")
	throttled.Says(t, "beyond the limit", 429, `class="card oops"`, "Too many requests from your network. Try again in ")
	if throttled.Header.Get("Retry-After") == "" {
		t.Error("the response has no Retry-After")
	}
}

// TestWebOutageLosesNothing sends a form while the database is locked: the filled form is shown again
// with status 503 and Retry-After, and the error is logged.
func TestWebOutageLosesNothing(t *testing.T) {
	w := webWorld(t)
	b := w.SignedIn(t, w.Person("Olga"))
	lock(t, w)
	p := b.Post("/warranties", "product_name", "Kettle", "start_date", "2026-01-01", "end_date", "2027-01-01")
	p.Says(t, "a form during an outage", 503, "The service is unavailable right now", "Save warranty")
	p.Hides(t, "a form during an outage", "Idempotency-Key")
	equal(t, "the value", p.Value("product_name"), "Kettle")
	if p.Header.Get("Retry-After") == "" {
		t.Error("the response has no Retry-After")
	}
	if !strings.Contains(w.Log.String(), p.Header.Get("X-Request-Id")+`","error"`) {
		t.Errorf("the error is not in the log: %s", w.Log.String())
	}
}

// TestWebPartsFailAsParts requests a block of a page, as htmx does: an error is returned as a block,
// not as a page.
func TestWebPartsFailAsParts(t *testing.T) {
	w := webWorld(t)
	b := w.SignedIn(t, w.Person("Olga"))
	w.Exec(`ALTER TABLE documents RENAME TO lost`)
	part := b.Send("GET", "/documents?q=x", nil, "HX-Request", "true")
	equal(t, "the status", part.Status, 500)
	if !strings.Contains(part.Body, `class="card oops"`) || strings.Contains(part.Body, "<html") {
		t.Errorf("the part is %s", part.Body)
	}
}
