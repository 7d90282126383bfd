package web_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// confirmFrom sends the form of the page that asks to confirm.
func confirmFrom(b *browser, p page, path string, pairs ...string) page {
	b.T.Helper()
	values := url.Values{}
	for n := range p.Node.Descendants() {
		if n.Data == "input" && attr(n, "type") == "hidden" {
			values.Add(attr(n, "name"), attr(n, "value"))
		}
	}
	for i := 0; i < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	return b.Send("POST", path, values, "Sec-Fetch-Site", "same-origin")
}

// TestWebFormGoesOnAfterConfirmation makes a token with a session that was confirmed long ago: the page asks, and goes on
// with everything that was typed. The session has another secret.
func TestWebFormGoesOnAfterConfirmation(t *testing.T) {
	servertest.EachStopped(t, func(t *testing.T, w *servertest.World, clock *servertest.StoppedClock) {
		olga := w.Verified("Olga")
		b := w.SignedIn(t, olga)
		clock.Set(clock.Now().Add(warranty.ConfirmationLifetime))
		sent := []string{"account", olga.ID, "name", `ERP "<b>" & Söhne`, "scopes", "warranties:read", "scopes", "claims:read",
			"expires_in_days", "30", "rate_limit_per_minute", "77"}
		var asked page
		w.Unchanged(t, "the form", func() { asked = b.Post("/settings/api/tokens", sent...) })
		asked.Says(t, "asking", http.StatusForbidden, "Confirm it&#39;s you", `action="/confirm"`, olga.Email)
		before := b.Cookie
		w.Unchanged(t, "a wrong password", func() {
			asked = confirmFrom(b, asked, "/confirm", "password", "not the password at all")
		})
		asked.Says(t, "a wrong password", 422, "The password is wrong.", `name="draft.name"`)
		asked.Hides(t, "a wrong password", "not the password at all")
		done := confirmFrom(b, asked, "/confirm", "password", olga.Password)
		done.Says(t, "confirmed", 200, "Copy your token now", "ERP &#34;&lt;b&gt;&#34; &amp; Söhne")
		if b.Cookie == before {
			t.Error("the session has the same secret")
		}
		old := w.Browser(t)
		old.Cookie = before
		if got := old.Get("/settings/api"); got.Status == 200 {
			t.Error("the old secret still works")
		}
		b.Get("/settings/api").Says(t, "the tokens", 200, "ERP")
		clock.Set(clock.Now().Add(time.Minute))
		b.Post("/settings/api/tokens", "account", olga.ID, "name", "second", "scopes", "claims:read",
			"expires_in_days", "30", "rate_limit_per_minute", "77").Says(t, "within 15 minutes", 200, "Copy your token now")
		b.Get("/confirm?next=/settings/api").Says(t, "the page", 200, `action="/confirm"`)
		b.Post("/confirm", "password", olga.Password, "next", "/settings/api").Leads(t, "confirming alone", "/settings/api")
		b.Post("/confirm", "password", olga.Password, "next", "//evil.example").Leads(t, "to another site", "/")
	})
}
