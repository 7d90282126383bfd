package oauth_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// TestAppConnectsByAddressAlone goes from the 401 to a tool call, as an MCP client does.
func TestAppConnectsByAddressAlone(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *servertest.World) {
		olga := w.Verified("Olga")
		record := w.Warranty(olga.Session, nil)
		r := tools(t, w, "")
		want := `Bearer scope="warranties:read warranties:write claims:read documents:read", ` +
			`resource_metadata="` + publicURL + `/.well-known/oauth-protected-resource/api/mcp"`
		if r.status != 401 || r.header.Get("WWW-Authenticate") != want {
			t.Errorf("without a credential: %d %q", r.status, r.header.Get("WWW-Authenticate"))
		}
		a := connect(t, w, olga, warranty.WarrantiesRead)
		if r := rpc(t, w, a.access, "tools/call", `{"name":"list_warranties","arguments":{}}`); !strings.Contains(r.body, record.ID) {
			t.Errorf("the list: %d %s", r.status, r.body)
		}
		next := refresh(t, w, a)
		if next.status != 200 || next.AccessToken == a.access || next.RefreshToken == a.refresh {
			t.Errorf("refreshing: %d %s", next.status, next.body)
		}
		works(t, w, "the first access token", a.access, true)
		works(t, w, "the second access token", next.AccessToken, true)
		// The connection is not one of the integration tokens.
		servertest.Equal(t, "tokens", len(ids(t, w.Get("/api/integration-tokens", olga.Session))), 0)
	})
}

func ids(t testing.TB, a servertest.Answer) []string {
	t.Helper()
	var list []string
	for rest := a.Body; ; {
		_, after, found := strings.Cut(rest, `"id":"`)
		if !found {
			return list
		}
		list, rest = append(list, after[:36]), after
	}
}

// TestCodeAttacks uses codes in every wrong way (RFC 9700, 4.5).
func TestCodeAttacks(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *servertest.World) {
		olga := w.Verified("Olga")
		b := w.SignedIn(t, olga)
		client, other := register(t, w, "Atlas", redirect), register(t, w, "Other", redirect)
		code := allow(t, b, authorizePath(client), redirect, "account", olga.ID, "scope", "warranties:read")

		denied(t, "code for another client", exchange(t, w, other, code), 400, "invalid_grant")
		denied(t, "unknown client", exchange(t, w, "app_none", code), 401, "invalid_client")
		denied(t, "verifier wrong", exchange(t, w, client, code, "code_verifier", strings.Repeat("a", 43)), 400, "invalid_grant")
		denied(t, "verifier missing", exchange(t, w, client, code, "code_verifier", "-"), 400, "invalid_request")
		denied(t, "challenge as verifier", exchange(t, w, client, code, "code_verifier", challenge), 400, "invalid_grant")
		denied(t, "another redirect", exchange(t, w, client, code, "redirect_uri", redirect+"/x"), 400, "invalid_grant")
		denied(t, "redirect missing", exchange(t, w, client, code, "redirect_uri", "-"), 400, "invalid_request")
		denied(t, "another resource", exchange(t, w, client, code, "resource", "https://other.example/mcp"), 400, "invalid_target")
		denied(t, "another grant type", exchange(t, w, client, code, "grant_type", "password"), 400, "unsupported_grant_type")
		denied(t, "code as refresh token", post(t, w, "/oauth/token", "grant_type", "refresh_token", "refresh_token", code,
			"client_id", client), 400, "invalid_grant")
		denied(t, "repeated parameter", post(t, w, "/oauth/token", "grant_type", "refresh_token", "grant_type", "refresh_token"),
			400, "invalid_request")
		denied(t, "repeated parameter with an odd name", post(t, w, "/oauth/token", "\"\\é\x00\u202e", "", "\"\\é\x00\u202e", ""), 400, "invalid_request")
		denied(t, "resource with a fragment", exchange(t, w, client, code, "resource", resource+"#x"), 400, "invalid_target")
		denied(t, "parameters in the address", call(t, w, "POST", "/oauth/token?"+form("grant_type", "authorization_code", "code", code,
			"redirect_uri", redirect, "client_id", client, "code_verifier", verifier).Encode(), "application/x-www-form-urlencoded", ""),
			400, "invalid_request")
		works(t, w, "the code as access token", code, false)

		// None of these used up the code.
		first := exchange(t, w, client, code, "resource", resource)
		if first.status != 200 {
			t.Fatalf("%d %s", first.status, first.body)
		}
		works(t, w, "the access token", first.AccessToken, true)
		denied(t, "code reuse with a wrong verifier", exchange(t, w, client, code, "code_verifier", strings.Repeat("b", 43)), 400, "invalid_grant")
		works(t, w, "after that", first.AccessToken, true)
		denied(t, "code reuse", exchange(t, w, client, code), 400, "invalid_grant")
		works(t, w, "after code reuse", first.AccessToken, false)
		denied(t, "refresh after code reuse", refresh(t, w, app{client: client, refresh: first.RefreshToken}), 400, "invalid_grant")

		late := allow(t, b, authorizePath(client), redirect, "account", olga.ID, "scope", "warranties:read")
		w.Clock.Advance(61 * time.Second)
		denied(t, "code after a minute", exchange(t, w, client, late), 400, "invalid_grant")
	})
}

// TestCodeWorksOnce uses one code 32 times at once, on all replicas.
func TestCodeWorksOnce(t *testing.T) {
	servertest.EachReplicas(t, func(t *testing.T, worlds []*servertest.World) {
		w := worlds[0]
		olga := w.Verified("Olga")
		client := register(t, w, "Atlas", redirect)
		code := allow(t, w.SignedIn(t, olga), authorizePath(client), redirect, "account", olga.ID,
			"scope", "warranties:read")
		var won, lost atomic.Int32
		var token atomic.Value
		testenv.Together(32, func(i int) {
			switch r := exchange(t, worlds[i%len(worlds)], client, code); {
			case r.status == 200:
				won.Add(1)
				token.Store(r.AccessToken)
			case r.status == 400 && r.Error == "invalid_grant":
				lost.Add(1)
			default:
				t.Errorf("%d %s", r.status, r.body)
			}
		})
		if won.Load() != 1 || lost.Load() != 31 {
			t.Errorf("%d successes, %d refusals", won.Load(), lost.Load())
		}
		secret, _ := token.Load().(string)
		for _, w := range worlds {
			works(t, w, "after 31 reuses", secret, false)
		}
	})
}

// TestAuthorizationErrorsGoToTheApp sends requests that are not valid. Errors carry the issuer and the state (RFC 9207,
// RFC 9700 4.4 and 4.8). Anyone can register an address on the web: nobody is sent there without having seen it, and
// nobody is told that it is there before they signed in (RFC 9700 4.11.2).
func TestAuthorizationErrorsGoToTheApp(t *testing.T) {
	w := servertest.NewSQLite(t)
	const local, document = "http://127.0.0.1:4711/callback", "https://assistant.example/oauth/client.json"
	w.Service.Documents = (&documents{texts: map[string]string{document: `{"client_id":"` + document +
		`","client_name":"Assistant","redirect_uris":["` + redirect + `","http://127.0.0.1/callback"]}`}}).get
	b := w.SignedIn(t, w.Verified("Olga"))
	for _, client := range []string{register(t, w, "Atlas", redirect, local), document} {
		for _, c := range []struct{ what, err, text, name, value string }{
			{"plain PKCE", "invalid_request", "does not protect the answer", "code_challenge_method", "plain"},
			{"PKCE method missing", "invalid_request", "does not protect the answer", "code_challenge_method", "-"},
			{"challenge missing", "invalid_request", "does not protect the answer", "code_challenge", "-"},
			{"challenge too short", "invalid_request", "does not protect the answer", "code_challenge", "abc"},
			{"implicit grant", "unsupported_response_type", "a response type that we", "response_type", "token"},
			{"response type missing", "invalid_request", "missing, repeated", "response_type", "-"},
			{"audience confusion", "invalid_target", "another service", "resource", "https://other.example/api/mcp"},
			{"audience of the REST API", "invalid_target", "another service", "resource", publicURL + "/api/v1"},
			{"answer in a form", "invalid_request", "missing, repeated", "response_mode", "form_post"},
			{"a repeated parameter", "invalid_request", "missing, repeated", "scope", "a&scope=b"},
			{"without a page", "interaction_required", "without asking you", "prompt", "none"},
		} {
			ask := func(to string) servertest.Page {
				path := authorizePath(client, "redirect_uri", to, c.name, c.value)
				return b.Get(strings.Replace(path, "a%26scope%3Db", "a&scope=b", 1))
			}
			onTheWeb := back(t, ask(redirect), c.text)
			for _, values := range []url.Values{answered(t, ask(local), local), answered(t, onTheWeb, redirect)} {
				if values.Get("error") != c.err || values.Get("state") != "the state" || values.Has("code") {
					t.Errorf("%s: %v", c.what, values)
				}
			}
		}
	}
	client := register(t, w, "Atlas", redirect)
	for _, path := range []string{authorizePath(client, "response_type", "-"), authorizePath(client, "prompt", "none")} {
		if p := w.Browser(t).Get(path); p.Status != 303 || !strings.HasPrefix(p.Location, "/sign-in?") {
			t.Errorf("open redirector: %d %q", p.Status, p.Location)
		}
	}
	// state may be missing, and is then not invented.
	id := requestID(t, b.Get(authorizePath(client, "state", "-", "resource", resource+"/")))
	if values := answered(t, b.Post("/oauth/authorize", "request", id, "decision", "deny"), redirect); values.Has("state") || values.Get("error") != "access_denied" {
		t.Errorf("state loss: %v", values)
	}
}

// TestRedirectTricks never sends a browser to an address that is not the client's (RFC 9700 4.1).
func TestRedirectTricks(t *testing.T) {
	w := servertest.NewSQLite(t)
	client := register(t, w, "Atlas", redirect, "http://localhost:1234/callback", "http://127.0.0.1/", "http://[::1]:5/cb?x=1",
		"cursor://anysphere.cursor-mcp/oauth/callback")
	b := w.SignedIn(t, w.Verified("Olga"))
	for _, to := range []string{
		redirect + "/", redirect + "/..", redirect + "?x=1", redirect + "#", redirect + "#x", redirect + "%2f", redirect + "/%2e%2e/x",
		"https://atlas-assistant.example.evil.example/callback", "https://evil.example/callback",
		"https://atlas-assistant.example@evil.example/callback", "https://atlas-assistant.example:8443/callback",
		"https://atlas-assistant.example:443/callback", `https://evil.example\@atlas-assistant.example/callback`,
		"https://ATLAS-assistant.example/callback", "http://atlas-assistant.example/callback",
		"https://atlas\u2010assistant.example/callback", "https://xn--atlas-assistant.example/callback",
		"//atlas-assistant.example/callback", "/callback", "javascript:alert(1)//" + redirect, "data:text/html,x",
		"http://localhost:80@evil.example/callback", "http://localhost.evil.example/callback", "http://localhost:123456/callback",
		"http://localhost:/callback", "http://localhost:99/other", "http://127.0.0.1:99/callback", "http://127.0.0.2/",
		"https://localhost:1234/callback", "http://[::1]:7/cb?x=2", "http://[::1]:7/cb", "cursor://anysphere.cursor-mcp/oauth/callback/",
		"cursor://evil/oauth/callback", " " + redirect, redirect + "\n", "",
	} {
		p := b.Get(authorizePath(client, "redirect_uri", to))
		if p.Status != 400 || p.Location != "" || !strings.Contains(p.Body, "Nothing was shared.") {
			t.Errorf("%q: %d, location %q", to, p.Status, p.Location)
		}
	}
	for _, to := range []string{
		redirect, "http://localhost/callback", "http://localhost:49152/callback", "http://127.0.0.1:33418/", "http://[::1]:7/cb?x=1",
		"cursor://anysphere.cursor-mcp/oauth/callback",
	} {
		id := requestID(t, b.Get(authorizePath(client, "redirect_uri", to)))
		p := b.Post("/oauth/authorize", "request", id, "decision", "deny")
		if p.Status != 303 || !strings.HasPrefix(p.Location, to) {
			t.Errorf("%q: %d %q", to, p.Status, p.Location)
		}
	}
	for _, c := range []struct{ what, path string }{
		{"unknown client", authorizePath("app_unknown")},
		{"no client", authorizePath(client, "client_id", "-")},
		{"two clients", authorizePath(client) + "&client_id=" + url.QueryEscape(client)},
		{"two redirects", authorizePath(client) + "&redirect_uri=" + url.QueryEscape("https://evil.example/")},
	} {
		if p := b.Get(c.path); p.Status != 400 || p.Location != "" {
			t.Errorf("%s: %d %q", c.what, p.Status, p.Location)
		}
	}
	for _, bad := range []string{
		"javascript:alert(1)", "http://evil.example/cb", "https://user@evil.example/cb", "https://evil.example/cb#f", "ftp://x/y",
		"vscode://x/cb", "https:///cb", "https://evil.example/../cb", "https://*.example/cb", "https://ünicode.example/cb", "",
	} {
		r := call(t, w, "POST", "/oauth/register", "application/json", `{"redirect_uris":["`+redirect+`","`+bad+`"]}`)
		denied(t, "registering "+bad, r, 400, "invalid_redirect_uri")
	}
}

// TestConsentAttacks tries to get around the person's decision (RFC 9700 4.16; confused deputy).
func TestConsentAttacks(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *servertest.World) {
		olga, eve := w.Verified("Olga"), w.Verified("Eve")
		b := w.SignedIn(t, olga)
		client := register(t, w, "Atlas", redirect)
		p := b.Get(authorizePath(client))
		if csp := p.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "frame-ancestors 'none'") || strings.Contains(csp, "form-action") {
			t.Errorf("clickjacking: %s", csp)
		}
		id := requestID(t, p)
		own := []string{"request", id, "account", olga.ID, "scope", "warranties:read", "decision", "allow"}
		forged := b.Send("POST", "/oauth/authorize", form(own...), "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example")
		servertest.Equal(t, "CSRF on consent", forged.Status, 403)
		if p := w.SignedIn(t, eve).Post("/oauth/authorize", own...); p.Status != 400 || p.Location != "" {
			t.Errorf("request of another person: %d %q", p.Status, p.Location)
		}
		if p := w.SignedIn(t, olga).Post("/oauth/authorize", own...); p.Status != 400 || p.Location != "" {
			t.Errorf("request of another session: %d %q", p.Status, p.Location)
		}
		if p := w.Browser(t).Post("/oauth/authorize", own...); p.Status != 303 || !strings.HasPrefix(p.Location, "/sign-in") {
			t.Errorf("without a session: %d %q", p.Status, p.Location)
		}
		none := b.Post("/oauth/authorize", "request", id, "account", olga.ID, "decision", "allow")
		if none.Status != 422 || !strings.Contains(none.Body, "Choose at least one.") {
			t.Errorf("no scope: %d %s", none.Status, none.Body)
		}
		if p := b.Post("/oauth/authorize", "request", id, "account", eve.ID, "scope", "warranties:read", "decision", "allow"); p.Location != "" {
			t.Errorf("another account: %d %q", p.Status, p.Location)
		}
		if p := b.Post("/oauth/authorize", own...); p.Status != 303 {
			t.Fatalf("allowing: %d %s", p.Status, p.Body)
		}
		if p := b.Post("/oauth/authorize", own...); p.Status != 400 || p.Location != "" {
			t.Errorf("sent again: %d %q", p.Status, p.Location)
		}
		// Never more than asked for, whatever the form says.
		asked := b.Get(authorizePath(client, "scope", "openid warranties:read offline_access"))
		if strings.Contains(asked.Body, `value="warranties:write"`) {
			t.Error("the page offers more than the app asks for")
		}
		got := answered(t, b.Post("/oauth/authorize", "request", requestID(t, asked), "account", olga.ID,
			"scope", "warranties:read", "scope", "warranties:write", "decision", "allow"), redirect)
		if r := exchange(t, w, client, got.Get("code")); r.Scope != "warranties:read" {
			t.Errorf("the scopes are %q", r.Scope)
		}
		late := requestID(t, b.Get(authorizePath(client)))
		w.Clock.Advance(10 * time.Minute)
		if p := b.Post("/oauth/authorize", "request", late, "account", olga.ID, "scope", "warranties:read", "decision", "allow"); p.Status != 400 || p.Location != "" {
			t.Errorf("after ten minutes: %d %q", p.Status, p.Location)
		}
	})
}

// TestSignInKeepsTheRequest signs in between: the request survives, and reading is preselected.
func TestSignInKeepsTheRequest(t *testing.T) {
	w := servertest.NewSQLite(t)
	olga := w.Verified("Olga")
	client := register(t, w, "Atlas", "http://localhost/callback")
	path := authorizePath(client, "redirect_uri", "http://localhost:4711/callback")
	b := w.Browser(t)
	asked := b.Get(path)
	next, err := url.Parse(asked.Location)
	if err != nil || asked.Status != 303 || next.Path != "/sign-in" {
		t.Fatalf("%d %s", asked.Status, asked.Location)
	}
	if b.Get(asked.Location).Header.Get("Cross-Origin-Opener-Policy") != "" {
		t.Error("the sign-in page loses its opener")
	}
	in := b.Post("/sign-in", "email", olga.Email, "password", olga.Password, "next", next.Query().Get("next"))
	servertest.Equal(t, "after sign-in", in.Location, path)
	p := b.Get(in.Location)
	for _, want := range []string{"Connect “Atlas”?", "not verified", "an app on this computer", olga.Email,
		`value="warranties:read" checked`, `value="claims:read" checked`, `value="documents:read" checked`, `value="warranties:write">`} {
		if !strings.Contains(p.Body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestLookAlikeNames registers names that try to look like others.
func TestLookAlikeNames(t *testing.T) {
	w := servertest.NewSQLite(t)
	b := w.SignedIn(t, w.Verified("Olga"))
	for name, shown := range map[string]string{
		"Claude":                           "Connect “Claude”?",
		"Claude” by claude.ai. Verified “": "Connect “Claude&#39; by claude.ai. Verified &#39;”?",
		"\u202eedualC\u202c\u200b":         "Connect “edualC”?",
		"<b>Claude</b>":                    "Connect “&lt;b&gt;Claude&lt;/b&gt;”?",
		"a\nb\tc":                          "Connect “a b c”?",
	} {
		p := b.Get(authorizePath(register(t, w, name, redirect)))
		if !strings.Contains(p.Body, shown) || !strings.Contains(p.Body, "It is not verified.") || !strings.Contains(p.Body, "atlas-assistant.example") {
			t.Errorf("%q: %s", name, p.Body)
		}
	}
}

// TestEveryCredentialHasItsDoor uses each kind of secret at each door (audience, RFC 9700 4.10).
func TestEveryCredentialHasItsDoor(t *testing.T) {
	w := servertest.NewSQLite(t)
	olga := w.Verified("Olga")
	a := connect(t, w, olga)
	integration, _ := w.Token(olga)
	command := connectCommand(t, w, olga)
	for _, c := range []struct {
		what, secret            string
		mcp, rest, session, key int
	}{
		{"access token of an app", a.access, 200, 401, 401, 401},
		{"refresh token", a.refresh, 401, 401, 401, 401},
		{"access token of svc", command.access, 401, 200, 401, 401},
		{"integration token", integration, 200, 200, 403, 200},
		{"session", olga.Session, 200, 200, 200, 401},
	} {
		bearer := []string{"Authorization", "Bearer " + c.secret}
		got := []int{
			tools(t, w, c.secret).status,
			call(t, w, "GET", "/api/v1/warranties", "", "", bearer...).status,
			call(t, w, "GET", "/api/integration-tokens", "", "", bearer...).status,
			call(t, w, "GET", "/api/v1/warranties", "", "", "X-Api-Key", c.secret).status,
		}
		servertest.Equal(t, c.what, got, []int{c.mcp, c.rest, c.session, c.key})
	}
	// The credential comes before the method, and a wrong integration token starts no sign-in.
	for _, method := range []string{"GET", "DELETE", "PUT", "OPTIONS"} {
		r := call(t, w, method, "/api/mcp", "", "")
		if r.status != 401 || !strings.Contains(r.header.Get("WWW-Authenticate"), "resource_metadata=") {
			t.Errorf("%s: %d %q", method, r.status, r.header.Get("WWW-Authenticate"))
		}
	}
	for _, header := range []string{"X-Api-Key", "Authorization"} {
		value := map[string]string{"X-Api-Key": "svc_wrong", "Authorization": "Bearer svc_wrong"}[header]
		r := call(t, w, "POST", "/api/mcp", "application/json", `{}`, header, value)
		if r.status != 401 || strings.Contains(r.header.Get("WWW-Authenticate"), "resource_metadata") {
			t.Errorf("%s: %d %q", header, r.status, r.header.Get("WWW-Authenticate"))
		}
	}
	works(t, w, "token of another server", "sva_"+strings.Repeat("x", 49), false)
	// No account but that of the connection.
	r := call(t, w, "POST", "/api/mcp", "application/json", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		"Authorization", "Bearer "+a.access, "X-Account", w.Person("Eve").ID)
	servertest.Equal(t, "another account", r.status, 403)
}

// connectCommand connects svc.
func connectCommand(t testing.TB, w *servertest.World, p servertest.Person) app {
	t.Helper()
	const local = "http://127.0.0.1:4711/callback"
	path := authorizePath(warranty.CommandClient, "redirect_uri", local, "resource", "-")
	code := allow(t, w.SignedIn(t, p), path, local, "account", p.ID, "scope", "warranties:read")
	r := exchange(t, w, warranty.CommandClient, code, "redirect_uri", local)
	if r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	return app{warranty.CommandClient, r.AccessToken, r.RefreshToken}
}

// TestMissingScopeAsksForMore calls a tool without its scope: 403 for an app, so that it can ask the person.
func TestMissingScopeAsksForMore(t *testing.T) {
	w := servertest.NewSQLite(t)
	olga := w.Verified("Olga")
	a := connect(t, w, olga, warranty.WarrantiesRead)
	for params, method := range map[string]string{
		`{"name":"create_warranty","arguments":{}}`:   "tools/call",
		`{"name":"list_claims","arguments":{}}`:       "tools/call",
		`{"uri":"warranty://claims/` + olga.ID + `"}`: "resources/read",
	} {
		r := rpc(t, w, a.access, method, params)
		header := r.header.Get("WWW-Authenticate")
		if r.status != 403 || !strings.HasPrefix(header, `Bearer error="insufficient_scope", scope="`) ||
			!strings.Contains(header, "resource_metadata=") || !strings.Contains(r.body, "Connected apps") {
			t.Errorf("%s: %d %q %s", params, r.status, header, r.body)
		}
	}
}

// TestRefreshTheft uses a refresh token again, just before and after its grace ends (RFC 9700 4.14).
func TestRefreshTheft(t *testing.T) {
	servertest.EachStopped(t, func(t *testing.T, w *servertest.World, clock *servertest.StoppedClock) {
		olga := w.Verified("Olga")
		a := connect(t, w, olga)
		denied(t, "refresh token of another client", refresh(t, w, app{client: register(t, w, "Other", redirect), refresh: a.refresh}), 400, "invalid_grant")
		denied(t, "refresh token for another resource", post(t, w, "/oauth/token", "grant_type", "refresh_token", "refresh_token", a.refresh,
			"client_id", a.client, "resource", publicURL+"/api/v1"), 400, "invalid_target")
		winner := refresh(t, w, a)
		clock.Set(clock.Now().Add(119 * time.Second))
		again := refresh(t, w, a)
		if winner.status != 200 || again.status != 200 || again.RefreshToken == winner.RefreshToken {
			t.Fatalf("in the grace: %d %d %s", winner.status, again.status, again.body)
		}
		works(t, w, "the winner", winner.AccessToken, true)
		works(t, w, "the other", again.AccessToken, true)
		clock.Set(clock.Now().Add(2 * time.Second))
		denied(t, "refresh reuse", refresh(t, w, a), 400, "invalid_grant")
		for _, secret := range []string{a.access, winner.AccessToken, again.AccessToken} {
			works(t, w, "after refresh reuse", secret, false)
		}
		denied(t, "the winner's refresh token", refresh(t, w, app{client: a.client, refresh: winner.RefreshToken}), 400, "invalid_grant")
	})
}

// TestRefreshFork uses a refresh token again in its grace, although the app already used what it got for it, and more
// often than an app does.
func TestRefreshFork(t *testing.T) {
	servertest.EachStopped(t, func(t *testing.T, w *servertest.World, _ *servertest.StoppedClock) {
		olga := w.Verified("Olga")
		a := connect(t, w, olga)
		for n := range warranty.MaxRefreshPairs {
			if r := refresh(t, w, a); r.status != 200 {
				t.Fatalf("pair %d: %d %s", n, r.status, r.body)
			}
		}
		denied(t, "too many pairs", refresh(t, w, a), 400, "invalid_grant")
		works(t, w, "the connection after too many pairs", a.access, true)
		b := connect(t, w, olga)
		first := refresh(t, w, b)
		second := refresh(t, w, app{client: b.client, refresh: first.RefreshToken})
		works(t, w, "the second pair", second.AccessToken, true)
		denied(t, "the first refresh token, after its successor was used", refresh(t, w, b), 400, "invalid_grant")
		works(t, w, "after the fork", second.AccessToken, false)
	})
}

// TestTextThatNoDatabaseKeeps sends NUL and invalid UTF-8 where text is looked up or kept.
func TestTextThatNoDatabaseKeeps(t *testing.T) {
	servertest.Each(t, func(t *testing.T, w *servertest.World) {
		client := register(t, w, "App", redirect)
		b := w.SignedIn(t, w.Verified("Olga"))
		for _, odd := range []string{"\x00", "\xff", "\xed\xa0\x80", "a\x00b"} {
			for path, fields := range map[string]url.Values{
				"/oauth/token":  form("grant_type", "refresh_token", "client_id", odd, "refresh_token", odd),
				"/oauth/revoke": form("client_id", odd, "token", odd),
			} {
				if r := call(t, w, "POST", path, "application/x-www-form-urlencoded", fields.Encode()); r.status >= 500 {
					t.Errorf("%s with %q: %d %s", path, odd, r.status, r.body)
				}
			}
			for _, fields := range []url.Values{
				form("client_id", odd, "redirect_uri", redirect),
				form("client_id", client, "redirect_uri", redirect+odd),
				form("client_id", client, "redirect_uri", redirect, "response_type", "code", "code_challenge_method", "S256",
					"code_challenge", strings.Repeat("a", 43), "state", odd),
			} {
				page := b.Get("/oauth/authorize?" + fields.Encode())
				if page.Status >= 500 || page.Status == 200 || strings.Contains(page.Header.Get("Location"), "state=") {
					t.Errorf("authorize with %q: %d %s", fields, page.Status, page.Header.Get("Location"))
				}
			}
		}
	})
}

// TestLifetimes lets access tokens, idle and old connections end.
func TestLifetimes(t *testing.T) {
	w := servertest.NewSQLite(t)
	olga := w.Verified("Olga")
	a := connect(t, w, olga)
	w.Clock.Advance(time.Hour)
	works(t, w, "an access token after an hour", a.access, false)
	for day := 0; day < 365; day += 89 {
		r := refresh(t, w, a)
		if r.status != 200 {
			t.Fatalf("day %d: %d %s", day, r.status, r.body)
		}
		a.refresh = r.RefreshToken
		w.Clock.Advance(89 * 24 * time.Hour)
	}
	denied(t, "a connection after a year", refresh(t, w, a), 400, "invalid_grant")
	b := connect(t, w, olga)
	w.Clock.Advance(90 * 24 * time.Hour)
	denied(t, "an idle connection", refresh(t, w, b), 400, "invalid_grant")
	works(t, w, "its access token", b.access, false)
}

// TestBasicIdentifiesTheClient accepts the client_id in the Authorization header, and ignores secrets.
func TestBasicIdentifiesTheClient(t *testing.T) {
	w := servertest.NewSQLite(t)
	a := connect(t, w, w.Verified("Olga"))
	send := func(client string, pairs ...string) reply {
		basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(client)+":ignored"))
		return call(t, w, "POST", "/oauth/token", "application/x-www-form-urlencoded",
			form(append(pairs, "grant_type", "refresh_token", "refresh_token", a.refresh)...).Encode(), "Authorization", basic)
	}
	if r := send(a.client); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	r := send("unknown")
	denied(t, "unknown client", r, 401, "invalid_client")
	servertest.Equal(t, "its header", r.header.Get("WWW-Authenticate"), `Basic realm="svc"`)
	denied(t, "two clients", send(a.client, "client_id", "other"), 400, "invalid_request")
}

// TestParametersThatSayNothing: those without a value count as absent, and unknown ones are ignored, at every endpoint
// (RFC 6749 3.1, 3.2; RFC 7591 2).
func TestParametersThatSayNothing(t *testing.T) {
	w := servertest.NewSQLite(t)
	olga := w.Verified("Olga")
	b := w.SignedIn(t, olga)
	r := call(t, w, "POST", "/oauth/register", "application/json", `{"redirect_uris":["`+redirect+`"],"client_name":"Atlas","x":[1],
		"token_endpoint_auth_method":"client_secret_post","scope":"all","jwks":{},"application_type":"native"}`)
	var got map[string]any
	if err := json.Unmarshal([]byte(r.body), &got); err != nil || r.status != 201 || r.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %s", r.status, r.body)
	}
	delete(got, "client_id")
	delete(got, "client_id_issued_at")
	servertest.Equal(t, "the registration", fmt.Sprint(got), fmt.Sprint(map[string]any{
		"client_name": "Atlas", "redirect_uris": []any{redirect}, "grant_types": []any{"authorization_code", "refresh_token"},
		"response_types": []any{"code"}, "token_endpoint_auth_method": "none", "scope": warranty.AllScopes.String(),
	}))
	code := allow(t, b, authorizePath(r.ClientID, "resource", "", "scope", "", "prompt", "", "nonsense", "1"), redirect,
		"account", olga.ID, "scope", "warranties:read")
	tokens := exchange(t, w, r.ClientID, code, "resource", "", "nonsense", "1", "client_secret", "ignored")
	if tokens.status != 200 || tokens.header.Get("Pragma") != "no-cache" {
		t.Fatalf("%d %s", tokens.status, tokens.body)
	}
	// A refresh gets what the person allowed, whatever it asks for.
	more := post(t, w, "/oauth/token", "grant_type", "refresh_token", "refresh_token", tokens.RefreshToken, "client_id", r.ClientID,
		"scope", "warranties:read warranties:write", "nonsense", "")
	if more.status != 200 || more.Scope != "warranties:read" {
		t.Errorf("%d %s", more.status, more.body)
	}
	denied(t, "an empty grant type", exchange(t, w, r.ClientID, code, "grant_type", ""), 400, "invalid_request")
	denied(t, "an empty code", exchange(t, w, r.ClientID, "", "x", "y"), 400, "invalid_request")
}

// TestRegistrationFlood registers equal clients, and too many different ones.
func TestRegistrationFlood(t *testing.T) {
	w := servertest.NewSQLite(t)
	first := register(t, w, "Atlas", redirect, "http://localhost:1/cb")
	for i := range 10_000 {
		if id := register(t, w, "Atlas", fmt.Sprintf("http://localhost:%d/cb", i+2), redirect); id != first {
			t.Fatal("equal metadata give another client")
		}
	}
	servertest.Equal(t, "clients", w.Count(`SELECT count(*) FROM oauth_clients`), 1)
	var refused reply
	for i := range 130 {
		body := fmt.Sprintf(`{"client_name":"App %d","redirect_uris":["%s"]}`, i, redirect)
		if refused = call(t, w, "POST", "/oauth/register", "application/json", body); refused.status != 201 {
			break
		}
	}
	if refused.status != 429 || refused.header.Get("Retry-After") == "" || refused.Error == "" {
		t.Errorf("%d %s", refused.status, refused.body)
	}
	if n := w.Count(`SELECT count(*) FROM oauth_clients`); n > 121 {
		t.Errorf("%d clients", n)
	}
	big := `{"redirect_uris":["` + redirect + `"],"client_name":"` + strings.Repeat("x", 17<<10) + `"}`
	denied(t, "giant metadata", call(t, w, "POST", "/oauth/register", "application/json", big), 400, "invalid_client_metadata")
	for _, body := range []string{`[]`, `{`, `{"redirect_uris":"x"}`, `{"redirect_uris":[]}`, `{}`, `{"redirect_uris":["` + redirect + `"],"grant_types":["client_credentials"]}`,
		`{"redirect_uris":["` + redirect + `"],"response_types":["token"]}`} {
		if r := call(t, w, "POST", "/oauth/register", "application/json", body); r.status != 400 || !strings.HasPrefix(r.Error, "invalid_") {
			t.Errorf("%s: %d %s", body, r.status, r.body)
		}
	}
	denied(t, "a form", post(t, w, "/oauth/register", "redirect_uris", redirect), 400, "invalid_client_metadata")
	// Unused clients are removed, connected ones stay.
	w.Clock.Advance(time.Hour)
	a := connect(t, w, w.Verified("Olga"))
	w.Clock.Advance(31 * 24 * time.Hour)
	if err := w.Store.Sweep(t.Context(), w.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	servertest.Equal(t, "clients after 31 days", w.Count(`SELECT count(*) FROM oauth_clients`), 1)
	if r := refresh(t, w, a); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// TestMetadata reads the documents as a client does, from a script of another site.
func TestMetadata(t *testing.T) {
	w := servertest.NewSQLite(t)
	const protected = `{"resource":"P/api/mcp","authorization_servers":["P"],"scopes_supported":["warranties:read","warranties:write",` +
		`"claims:read","documents:read"],"bearer_methods_supported":["header"],"resource_name":"Warranty Records"}`
	for path, want := range map[string]string{
		"/.well-known/oauth-protected-resource":         protected,
		"/.well-known/oauth-protected-resource/api/mcp": protected,
		"/.well-known/oauth-authorization-server": `{"issuer":"P","authorization_endpoint":"P/oauth/authorize","token_endpoint":"P/oauth/token",` +
			`"registration_endpoint":"P/oauth/register","revocation_endpoint":"P/oauth/revoke","response_types_supported":["code"],` +
			`"grant_types_supported":["authorization_code","refresh_token"],"token_endpoint_auth_methods_supported":["none"],` +
			`"revocation_endpoint_auth_methods_supported":["none"],"code_challenge_methods_supported":["S256"],` +
			`"client_id_metadata_document_supported":false,"authorization_response_iss_parameter_supported":true,` +
			`"scopes_supported":["warranties:read","warranties:write","claims:read","documents:read"],"service_documentation":"P/docs"}`,
	} {
		r := call(t, w, "GET", path, "", "", "Origin", "https://client.example")
		if r.status != 200 || r.header.Get("Access-Control-Allow-Origin") != "*" || r.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %v", path, r.status, r.header)
		}
		servertest.Equal(t, path, r.body, strings.ReplaceAll(want, `"P`, `"`+publicURL))
	}
	for _, path := range []string{"/.well-known/oauth-authorization-server", "/oauth/token", "/oauth/register", "/oauth/revoke"} {
		r := call(t, w, "OPTIONS", path, "", "", "Origin", "https://client.example")
		if r.status != 204 || !strings.Contains(r.header.Get("Access-Control-Allow-Headers"), "MCP-Protocol-Version") {
			t.Errorf("%s: %d %v", path, r.status, r.header)
		}
	}
	for _, path := range []string{"/oauth/authorize", "/api/mcp"} {
		if r := call(t, w, "OPTIONS", path, "", "", "Origin", "https://client.example"); r.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s is open to scripts", path)
		}
	}
	for _, path := range []string{"/.well-known/openid-configuration", "/.well-known/oauth-authorization-server/api/mcp"} {
		if r := call(t, w, "GET", path, "", ""); r.status != 404 || !strings.Contains(r.body, "not_found") {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
	if r := call(t, w, "GET", "/oauth/token", "", ""); r.status != http.StatusMethodNotAllowed || r.Error == "" {
		t.Errorf("GET: %d %s", r.status, r.body)
	}
}
