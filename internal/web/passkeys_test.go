package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"warranty.example/svc/internal/identity/identitytest"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

const unusable = "This passkey could not be used. Try again, or sign in another way."

// optionsOf returns what a page passes to the browser for a passkey.
func optionsOf(t *testing.T, p page) []byte {
	t.Helper()
	for n := range p.Node.Descendants() {
		if n.Type == html.ElementNode && attr(n, "data-passkey") != "" {
			return []byte(attr(n, "data-passkey"))
		}
	}
	t.Fatalf("the page has no options: %s", p.Main())
	return nil
}

// answers returns the answer of a phone to a page.
func answers(t *testing.T, p page, phone *identitytest.Authenticator, changes ...func(*identitytest.Answer)) string {
	t.Helper()
	answer, err := phone.Get(optionsOf(t, p), changes...)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

// addPasskey adds a passkey to the account of a signed-in browser.
func addPasskey(t *testing.T, b *browser, p servertest.Person) *identitytest.Authenticator {
	t.Helper()
	phone := &identitytest.Authenticator{Origin: servertest.PublicURL}
	shown := b.Get("/settings/security/passkeys/new")
	shown.Says(t, "the page that adds a passkey", 200, "Add a passkey", "passkey.js")
	answer, err := phone.Create(optionsOf(t, shown))
	if err != nil {
		t.Fatal(err)
	}
	b.Post("/settings/security/passkeys", "account", p.ID, "handle", shown.Value("handle"), "passkey", string(answer), "name", "My <b>phone</b>").
		Leads(t, "adding a passkey", "/settings/security?done=passkey_added")
	return phone
}

// TestPasskeyPages adds, renames, uses and removes a passkey on the pages.
func TestPasskeyPages(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		olga, eve := w.Verified("Olga"), w.Verified("Eve")
		b := w.SignedIn(t, olga)
		b.Get("/settings/security").Says(t, "without passkeys", 200, "Add a passkey")
		phone := addPasskey(t, b, olga)
		shown := b.Get("/settings/security?done=passkey_added")
		shown.Says(t, "the list", 200, "Passkey added.", "My &lt;b&gt;phone&lt;/b&gt;", "not used yet")
		_, id, _ := strings.Cut(shown.Body, `href="/settings/security/passkeys/0`)
		path := "/settings/security/passkeys/0" + id[:35]
		b.Get(path).Says(t, "the passkey", 200, "Remove passkey", "My &lt;b&gt;phone&lt;/b&gt;")
		w.SignedIn(t, eve).Get(path).Says(t, "another person's", 404)
		w.SignedIn(t, eve).Post(path+"/remove", "account", eve.ID).Says(t, "removing another person's", 404)
		b.Post(path, "account", olga.ID, "name", " ").Says(t, "no name", 422, "This field is required.")
		b.Post(path, "account", olga.ID, "name", "Laptop").Leads(t, "renaming", "/settings/security?done=passkey_renamed")

		// Showing the sign-in page writes nothing and sets the cookie of the browser only.
		phones := w.Browser(t)
		var asked page
		w.Unchanged(t, "the sign-in page", func() { asked = phones.Get("/sign-in?next=/claims") })
		if phones.Flow == "" || phones.Cookie != "" || phones.Device != "" || len(asked.Header["Set-Cookie"]) != 1 {
			t.Errorf("the cookies are %v", asked.Header["Set-Cookie"])
		}
		kept := phones.Flow
		phones.Get("/sign-in")
		equal(t, "the cookie of another page", phones.Flow, kept)
		right := answers(t, asked, phone)
		w.Browser(t).Post("/sign-in/passkey", "passkey", right).Says(t, "without the cookie", 401, unusable)
		phones.Post("/sign-in/passkey", "passkey", right, "next", "/claims").Leads(t, "signing in", "/claims")
		if phones.Cookie == "" || phones.Flow != "" {
			t.Errorf("the session is %q, the flow %q", phones.Cookie, phones.Flow)
		}
		phones.Get("/settings/security").Says(t, "the sessions", 200, "127.0.0.x · passkey", "last used just now")

		evil := w.Browser(t)
		evil.SendBody("POST", "/sign-in/passkey", "application/x-www-form-urlencoded",
			strings.NewReader(url.Values{"passkey": {right}}.Encode()), "Sec-Fetch-Site", "cross-site").Says(t, "a form of another site", 403)

		b.Post(path+"/remove", "account", olga.ID).Leads(t, "removing", "/settings/security?done=passkey_removed")
		phones.Get("/settings/security").Leads(t, "another device", "/sign-in?next=%2Fsettings%2Fsecurity")
		asked = phones.Get("/sign-in")
		phones.Post("/sign-in/passkey", "passkey", answers(t, asked, phone)).Says(t, "the removed passkey", 401, unusable)
	})
}

// TestFailedPasskeysLookAlike compares the whole pages after an unknown passkey, a wrong handle, a stale challenge and a bad
// answer.
func TestFailedPasskeysLookAlike(t *testing.T) {
	servertest.EachStopped(t, func(t *testing.T, w *servertest.World, clock *servertest.StoppedClock) {
		olga, eve := w.Verified("Olga"), w.Verified("Eve")
		phone := addPasskey(t, w.SignedIn(t, olga), olga)
		hers := addPasskey(t, w.SignedIn(t, eve), eve)
		pages := map[string]string{}
		for what, change := range map[string]func(*identitytest.Answer){
			"unknown":     func(a *identitytest.Answer) { a.ID, a.RawID = []byte("unknown"), []byte("unknown") },
			"handle":      func(a *identitytest.Answer) { a.Handle = hers.Passkeys[0].Handle },
			"signature":   func(a *identitytest.Answer) { a.Sign = func([]byte) []byte { return []byte("x") } },
			"challenge":   func(a *identitytest.Answer) { a.Challenge = "AAAA" },
			"verified":    func(a *identitytest.Answer) { a.Flags &^= identitytest.Verified },
			"stale":       func(*identitytest.Answer) { clock.Set(clock.Now().Add(warranty.ConfirmationLifetime)) },
			"not an id":   func(a *identitytest.Answer) { a.ID = []byte("another") },
			"no handle":   func(a *identitytest.Answer) { a.Handle = nil },
			"crossOrigin": func(a *identitytest.Answer) { a.More = map[string]any{"crossOrigin": true} },
		} {
			b := w.Browser(t)
			asked := b.Get("/sign-in")
			got := b.Post("/sign-in/passkey", "passkey", answers(t, asked, phone, change))
			got.Says(t, what, http.StatusUnauthorized, unusable)
			pages[strings.ReplaceAll(got.Body, html.EscapeString(string(optionsOf(t, got))), "")] = what
		}
		if len(pages) != 1 {
			t.Errorf("there are %d kinds of pages", len(pages))
		}
	})
}

// TestPasskeySecondStepAndConfirmation uses a passkey after a password, and to confirm, which performs the form that
// asked for it.
func TestPasskeySecondStepAndConfirmation(t *testing.T) {
	servertest.EachStopped(t, func(t *testing.T, w *servertest.World, clock *servertest.StoppedClock) {
		olga := w.Verified("Olga")
		b := w.SignedIn(t, olga)
		phone := addPasskey(t, b, olga)
		if _, err := w.DB.Exec(`UPDATE users SET two_step_since = 1 WHERE email = '` + olga.Email + `'`); err != nil {
			t.Fatal(err)
		}
		second := w.Browser(t)
		step := second.Post("/sign-in", "email", olga.Email, "password", olga.Password, "next", "/claims")
		step.Says(t, "the second step", 403, "Use a passkey", `data-to="/sign-in/second-step/passkey"`)
		flow := step.Value("flow")
		wrong := second.Post("/sign-in/second-step/passkey", "flow", flow, "methods", "passkey", "next", "/claims",
			"passkey", answers(t, step, phone, func(a *identitytest.Answer) { a.Flags &^= identitytest.Verified }))
		wrong.Says(t, "a wrong answer", 401, unusable, `data-to="/sign-in/second-step/passkey"`)
		second.Post("/sign-in/second-step/passkey", "flow", wrong.Value("flow"), "methods", "passkey", "next", "/claims",
			"passkey", answers(t, wrong, phone)).Leads(t, "the second step", "/claims")
		second.Post("/sign-in/second-step/passkey", "flow", flow, "methods", "passkey", "passkey", answers(t, wrong, phone)).
			Says(t, "a flow that has ended", 401, `action="/sign-in"`)

		clock.Set(clock.Now().Add(warranty.ConfirmationLifetime))
		asked := b.Post("/settings/security/sign-out-others", "account", olga.ID)
		asked.Says(t, "asking", 403, "Use a passkey", `data-to="/confirm/passkey"`)
		b.Post("/confirm/passkey", "passkey", "{}", "next", "/").Says(t, "a bad answer", 401, unusable, olga.Email)
		before := b.Cookie
		confirmFrom(b, asked, "/confirm/passkey", "passkey", answers(t, asked, phone)).
			Leads(t, "confirmed", "/settings/security?done=sessions_ended")
		if b.Cookie == before {
			t.Error("the session has the same secret")
		}
		second.Get("/settings/security").Leads(t, "the other session", "/sign-in?next=%2Fsettings%2Fsecurity")
	})
}

// TestWithoutPasskeys looks for passkeys where the public URL cannot have them.
func TestWithoutPasskeys(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Service.Passkeys = nil
		olga := w.Verified("Olga")
		b := w.SignedIn(t, olga)
		shown := w.Browser(t).Get("/sign-in")
		shown.Hides(t, "the sign-in page", "passkey.js", "data-passkey")
		equal(t, "cookies", len(shown.Header["Set-Cookie"]), 0)
		b.Get("/settings/security").Hides(t, "the settings", "Add a passkey")
		b.Get("/settings/security/passkeys/new").Says(t, "adding", 404)
		b.Post("/settings/security/passkeys", "account", olga.ID).Says(t, "added", 404)
		w.Browser(t).Post("/sign-in/passkey", "passkey", "{}").Says(t, "using", 401, unusable)
	})
}
