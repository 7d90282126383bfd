package server_test

import (
	"strings"
	"testing"

	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
)

// TestWebErrorsArePages asks for what never gets to a page, as a browser does:
// people are shown a page, and only programs get a problem.
func TestWebErrorsArePages(t *testing.T) {
	w := webWorld(t)
	w.Person("Paul")
	w.exec(`UPDATE users SET password_hash = '$argon2id$v=19$m=19456,t=0,p=1$AAAA$AAAA' WHERE email = 'paul@people.example'`)
	b := w.browser(t)
	for what, c := range map[string]struct {
		page   page
		status int
	}{
		"a panic":            {b.post("/sign-in", "email", "paul@people.example", "password", servertest.Password), 500},
		"no plain address":   {b.get("/warranties/../claims"), 404},
		"another method":     {b.post("/healthz"), 405},
		"an address of none": {b.get("/nowhere"), 404},
	} {
		c.page.says(t, what, c.status, `class="card oops"`, "Go to the overview", c.page.Header.Get("X-Request-Id"))
		c.page.hides(t, what, "argon", "goroutine")
		equal(t, what+": Content-Type", c.page.Header.Get("Content-Type"), "text/html; charset=utf-8")
	}
	equal(t, "a program's answer", b.get("/nowhere", "Accept", "application/json").Header.Get("Content-Type"), "application/problem+json")
	equal(t, "an answer of the API", b.get("/api/v1/nowhere").Header.Get("Content-Type"), "application/problem+json")
}

// TestWebThrottledIsAPage comes too often from one network.
func TestWebThrottledIsAPage(t *testing.T) {
	w := webWorld(t, func(s *server.Server) { s.IPRate = 1 })
	b := w.browser(t)
	b.get("/sign-in").says(t, "within the limit", 200)
	throttled := b.get("/sign-in")
	throttled.says(t, "beyond it", 429, `class="card oops"`, "Too many requests from your network. Try again in ")
	if throttled.Header.Get("Retry-After") == "" {
		t.Error("the page does not tell when to come again")
	}
}

// TestWebOutageLosesNothing sends a form while nothing can be written: it comes
// back as it was typed, and the answer, its headers and the log tell whose fault
// that was.
func TestWebOutageLosesNothing(t *testing.T) {
	w := webWorld(t)
	b := w.signedIn(t, w.Person("Olga"))
	lock(t, w)
	p := b.post("/warranties", "product_name", "Kettle", "start_date", "2026-01-01", "end_date", "2027-01-01")
	p.says(t, "a form during an outage", 503, "can not get to its records right now", "Create warranty")
	p.hides(t, "a form during an outage", "Idempotency-Key")
	equal(t, "what was typed", p.value("product_name"), "Kettle")
	if p.Header.Get("Retry-After") == "" {
		t.Error("the page does not tell when to come again")
	}
	if !strings.Contains(w.Log.String(), p.Header.Get("X-Request-Id")+`","error"`) {
		t.Errorf("the log does not tell of it: %s", w.Log.String())
	}
}

// TestWebPartsFailAsParts asks for a part of a page, as htmx does: what goes wrong
// takes the place of the part, and is no page within the page.
func TestWebPartsFailAsParts(t *testing.T) {
	w := webWorld(t)
	b := w.signedIn(t, w.Person("Olga"))
	w.exec(`ALTER TABLE documents RENAME TO lost`)
	part := b.send("GET", "/documents?q=x", nil, "HX-Request", "true")
	equal(t, "the status", part.Status, 500)
	if !strings.Contains(part.Body, `class="card oops"`) || strings.Contains(part.Body, "<html") {
		t.Errorf("the part is %s", part.Body)
	}
}
