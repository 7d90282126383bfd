package oauth_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
)

// documents has what is at the addresses of apps. How they are read is tested in package outbound.
type documents struct {
	texts map[string]string
	fresh time.Duration
	read  int
}

func (d *documents) get(_ context.Context, address string) ([]byte, time.Duration, error) {
	d.read++
	text, ok := d.texts[address]
	if !ok {
		return nil, 0, errors.New("the reason, which only the log has")
	}
	return []byte(text), d.fresh, nil
}

const described = "https://assistant.example/oauth/client.json"

// TestAppsWithDocuments connects an app whose id is the address of a document.
func TestAppsWithDocuments(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *servertest.World) {
		d := &documents{texts: map[string]string{}, fresh: time.Second}
		w.Service.Documents = d.get
		document := func(id, name, redirects, more string) {
			d.texts[described] = fmt.Sprintf(`{"client_id":%q,"client_name":%q,"redirect_uris":[%s]%s}`, id, name, redirects, more)
		}
		const both = `"https://assistant.example/callback","http://localhost/callback","vscode://x/y"`
		document(described, "Assistant", both, `,"token_endpoint_auth_method":"none","logo_uri":"https://evil.example/logo"`)
		path := authorizePath(described, "redirect_uri", "http://localhost:4711/callback")

		// The document is read only for someone who is signed in.
		stranger := w.Browser(t)
		if p := stranger.Get(path); p.Status != 303 || !strings.HasPrefix(p.Location, "/sign-in") || d.read != 0 {
			t.Fatalf("a stranger: %d %s, %d documents read", p.Status, p.Location, d.read)
		}
		denied(t, "a token for an app that nobody saw", exchange(t, w, described, "svg_x"), 401, "invalid_client")
		olga := w.Verified("Olga")
		b := w.SignedIn(t, olga)
		p := b.Get(path)
		for _, want := range []string{"Connect “Assistant”?", "The app describes itself on <b class=\"whole\">assistant.example</b>", "an app on this computer"} {
			if !strings.Contains(p.Body, want) {
				t.Errorf("the page lacks %q: %s", want, p.Body)
			}
		}
		if strings.Contains(p.Body, "not verified") || strings.Contains(p.Body, "logo") {
			t.Errorf("the page: %s", p.Body)
		}
		code := allow(t, b, path, "http://localhost:4711/callback", "account", olga.ID, "scope", "warranties:read")
		servertest.Equal(t, "documents read", d.read, 1)
		// Tokens are issued although the document is gone.
		delete(d.texts, described)
		w.Clock.Advance(5*time.Minute - 10*time.Second)
		if p := b.Get(path); p.Status != 200 || d.read != 1 {
			t.Errorf("within 5 minutes: %d, %d documents read", p.Status, d.read)
		}
		denied(t, "a late code", exchange(t, w, described, code, "redirect_uri", "http://localhost:4711/callback"), 400, "invalid_grant")
		code = allow(t, b, path, "http://localhost:4711/callback", "account", olga.ID, "scope", "warranties:read")
		w.Clock.Advance(10 * time.Second)
		if p := b.Get(path); p.Status != 400 || d.read != 2 {
			t.Errorf("after 5 minutes: %d, %d documents read", p.Status, d.read)
		}
		got := exchange(t, w, described, code, "redirect_uri", "http://localhost:4711/callback")
		if got.status != 200 || refresh(t, w, app{described, got.AccessToken, got.RefreshToken}).status != 200 {
			t.Errorf("without the document: %d %s", got.status, got.body)
		}
		if page := b.Get("/settings/apps").Body; !strings.Contains(page, "assistant.example") {
			t.Errorf("connected apps: %s", page)
		}
		// Its header says how long it is kept, up to a day.
		document(described, "Assistant", both, "")
		for _, c := range []struct{ fresh, kept time.Duration }{{time.Hour, time.Hour}, {9999 * time.Hour, 24 * time.Hour}} {
			d.fresh, d.read = c.fresh, 0
			b.Get(path)
			w.Clock.Advance(c.kept - time.Minute)
			b = w.SignedIn(t, olga)
			b.Get(path)
			servertest.Equal(t, "documents read while it is fresh", d.read, 1)
			w.Clock.Advance(2 * time.Minute)
			b.Get(path)
			servertest.Equal(t, "documents read later", d.read, 2)
			w.Clock.Advance(25 * time.Hour)
			b = w.SignedIn(t, olga)
		}
		d.fresh = 0
		// Whatever is wrong, the page is the same.
		pages := map[string]bool{}
		for what, text := range map[string]string{
			"another id":       `{"client_id":"https://assistant.example/other","client_name":"A","redirect_uris":["` + redirect + `"]}`,
			"no id":            `{"client_name":"A","redirect_uris":["` + redirect + `"]}`,
			"no name":          `{"client_id":"` + described + `","redirect_uris":["` + redirect + `"]}`,
			"no redirects":     `{"client_id":"` + described + `","client_name":"A"}`,
			"bad redirects":    `{"client_id":"` + described + `","client_name":"A","redirect_uris":["javascript:alert(1)"]}`,
			"a secret":         `{"client_id":"` + described + `","client_name":"A","redirect_uris":["` + redirect + `"],"client_secret":"x"}`,
			"a shared secret":  `{"client_id":"` + described + `","client_name":"A","redirect_uris":["` + redirect + `"],"token_endpoint_auth_method":"client_secret_post"}`,
			"not JSON":         `<html>`,
			"another type":     `[]`,
			"not to be read":   "",
			"an empty file":    " ",
			"a redirect array": `{"client_id":"` + described + `","client_name":"A","redirect_uris":"` + redirect + `"}`,
		} {
			if d.texts[described] = text; text == "" {
				delete(d.texts, described)
			}
			p := b.Get(authorizePath(described))
			if p.Status != 400 || p.Location != "" || !strings.Contains(p.Body, "Nothing was shared.") {
				t.Errorf("%s: %d %q", what, p.Status, p.Location)
			}
			pages[p.Body] = true
			w.Clock.Advance(time.Minute)
		}
		servertest.Equal(t, "different pages", len(pages), 1)
		// The addresses of another app are not those of this one.
		document(described, "Assistant", both, "")
		if p := b.Get(authorizePath(described)); p.Status != 400 || !strings.Contains(p.Body, "not the app&#39;s") {
			t.Errorf("another redirect: %d %s", p.Status, p.Body)
		}
		d.read = 0
		for _, id := range []string{
			"http://assistant.example/client.json", "https://assistant.example", "https://assistant.example/", "https://assistant.example/a#b",
			"https://user@assistant.example/a", "https://assistant.example/a/../b", "https://assistant.example/%2e%2e/b", "https://127.0.0.1/a",
			"https://[::1]/a", "https://169.254.169.254/latest", "https://Assistant.example/a", "https://ässistant.example/a", `https://assistant.example\a`,
			"https://assistant.example/" + strings.Repeat("a", 1000),
		} {
			if p := b.Get(authorizePath(id)); p.Status != 400 || p.Location != "" {
				t.Errorf("%s: %d %q", id, p.Status, p.Location)
			}
		}
		servertest.Equal(t, "documents read at addresses that are not valid", d.read, 0)
	})
}

// TestDocumentsAreThrottled stops people who make the service read many documents, and reads none if that is off.
func TestDocumentsAreThrottled(t *testing.T) {
	d := &documents{}
	w := servertest.NewSQLite(t, func(s *server.Server) { s.Service.Documents, s.Service.SignInRate = d.get, 5 })
	if r := call(t, w, "GET", "/.well-known/oauth-authorization-server", "", ""); !strings.Contains(r.body, `"client_id_metadata_document_supported":true`) {
		t.Errorf("the metadata: %s", r.body)
	}
	b := w.SignedIn(t, w.Verified("Olga"))
	for i := range 20 {
		b.Get(authorizePath(fmt.Sprint("https://assistant.example/", i)))
	}
	servertest.Equal(t, "documents read", d.read, 5)
	w.Service.Documents = nil
	w.Clock.Advance(time.Minute)
	if p := b.Get(authorizePath(described)); p.Status != 400 || d.read != 5 {
		t.Errorf("off: %d", p.Status)
	}
}
