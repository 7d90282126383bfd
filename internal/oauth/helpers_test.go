package oauth_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

const (
	publicURL = servertest.PublicURL
	resource  = publicURL + "/api/mcp"
	redirect  = "https://atlas-assistant.example/callback"
	verifier  = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
)

var challenge = func() string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}()

// reply is a response of an endpoint for apps.
type reply struct {
	status int
	header http.Header
	body   string

	AccessToken  string `json:"access_token"`
	RefreshToken string `json:"refresh_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int    `json:"expires_in"`
	Scope        string `json:"scope"`
	Error        string `json:"error"`
	Description  string `json:"error_description"`
	ClientID     string `json:"client_id"`
}

// call sends a request as an app does: without cookies, following no redirects.
func call(t testing.TB, w *servertest.World, method, path, mediaType, body string, headers ...string) reply {
	t.Helper()
	req, err := http.NewRequest(method, w.HTTP.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if mediaType != "" {
		req.Header.Set("Content-Type", mediaType)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Error(err)
		return reply{}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	r := reply{status: resp.StatusCode, header: resp.Header, body: string(text)}
	_ = json.Unmarshal(text, &r) // empty if it is not JSON
	if strings.HasPrefix(path, "/oauth/") && !errorText.MatchString(r.Error+r.Description) {
		t.Errorf("%s %s: the error has characters that RFC 6749 does not allow: %s", method, path, text)
	}
	return r
}

// errorText is what errors and their descriptions consist of (RFC 6749 5.2).
var errorText = regexp.MustCompile(`^[\x20-\x21\x23-\x5B\x5D-\x7E]*$`)

// post sends a form to an endpoint; pairs are names and values.
func post(t testing.TB, w *servertest.World, path string, pairs ...string) reply {
	t.Helper()
	return call(t, w, "POST", path, "application/x-www-form-urlencoded", form(pairs...).Encode())
}

func form(pairs ...string) url.Values {
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		values.Add(pairs[i], pairs[i+1])
	}
	return values
}

// register registers a client and returns its id.
func register(t testing.TB, w *servertest.World, name string, redirects ...string) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"client_name": name, "redirect_uris": redirects})
	if err != nil {
		t.Fatal(err)
	}
	r := call(t, w, "POST", "/oauth/register", "application/json", string(body))
	if r.status != http.StatusCreated || r.ClientID == "" {
		t.Fatalf("registering: %d %s", r.status, r.body)
	}
	return r.ClientID
}

// authorizePath returns the address that an app sends the browser to. pairs replace or, if the value is "-", remove
// parameters.
func authorizePath(client string, pairs ...string) string {
	query := form("response_type", "code", "client_id", client, "redirect_uri", redirect, "code_challenge", challenge,
		"code_challenge_method", "S256", "state", "the state", "resource", resource)
	for i := 0; i < len(pairs); i += 2 {
		query.Set(pairs[i], pairs[i+1])
		if pairs[i+1] == "-" {
			query.Del(pairs[i])
		}
	}
	return "/oauth/authorize?" + query.Encode()
}

// requestID returns the id in the form of a consent page.
func requestID(t testing.TB, p servertest.Page) string {
	t.Helper()
	_, rest, _ := strings.Cut(p.Body, `name="request" value="`)
	id, _, _ := strings.Cut(rest, `"`)
	if p.Status != http.StatusOK || id == "" {
		t.Fatalf("no consent page: %d %s", p.Status, p.Body)
	}
	return id
}

// answered returns the parameters with which the browser is sent back to the app.
func answered(t testing.TB, p servertest.Page, to string) url.Values {
	t.Helper()
	rest, ok := strings.CutPrefix(p.Location, to+"?")
	if p.Status != http.StatusSeeOther || !ok {
		t.Fatalf("no answer to %s: %d %s %s", to, p.Status, p.Location, p.Body)
	}
	values, err := url.ParseQuery(rest)
	if err != nil || values.Get("iss") != publicURL {
		t.Fatalf("the answer %v %v", values, err)
	}
	return values
}

// back follows the link on a page that says what is wrong with a request. Nothing sent the browser anywhere.
func back(t testing.TB, p servertest.Page, text string) servertest.Page {
	t.Helper()
	host, _, _ := strings.Cut(strings.TrimPrefix(redirect, "https://"), "/")
	if p.Status != http.StatusBadRequest || p.Location != "" || p.Header.Get("Refresh") != "" ||
		!strings.Contains(p.Body, text) || !strings.Contains(p.Body, `<b class="whole">`+host+`</b>`) {
		t.Fatalf("open redirector: %d %q %s", p.Status, p.Location, p.Body)
	}
	_, rest, _ := strings.Cut(p.Body, `<a class="btn" href="`)
	to, rest, _ := strings.Cut(rest, `"`)
	if !strings.HasPrefix(rest, ">Back to "+host+"</a>") {
		t.Fatalf("no way back: %s", p.Body)
	}
	return servertest.Page{Status: http.StatusSeeOther, Location: html.UnescapeString(to)}
}

// allow lets the person of a browser connect an app, and returns the code.
func allow(t testing.TB, b *servertest.Browser, path, to string, pairs ...string) string {
	t.Helper()
	id := requestID(t, b.Get(path))
	values := answered(t, b.Post("/oauth/authorize", append([]string{"request", id, "decision", "allow"}, pairs...)...), to)
	if values.Get("code") == "" || values.Get("error") != "" {
		t.Fatalf("no code: %v", values)
	}
	return values.Get("code")
}

// app is a connected app.
type app struct {
	client          string
	access, refresh string
}

// exchange exchanges a code.
func exchange(t testing.TB, w *servertest.World, client, code string, pairs ...string) reply {
	t.Helper()
	values := form("grant_type", "authorization_code", "code", code, "redirect_uri", redirect, "client_id", client,
		"code_verifier", verifier)
	for i := 0; i < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
		if pairs[i+1] == "-" {
			values.Del(pairs[i])
		}
	}
	return call(t, w, "POST", "/oauth/token", "application/x-www-form-urlencoded", values.Encode())
}

func refresh(t testing.TB, w *servertest.World, a app) reply {
	t.Helper()
	return post(t, w, "/oauth/token", "grant_type", "refresh_token", "refresh_token", a.refresh, "client_id", a.client)
}

// connect connects an app for a person, with scopes, for their own account.
func connect(t testing.TB, w *servertest.World, p servertest.Person, scopes ...warranty.Scope) app {
	t.Helper()
	return connectIn(t, w, p, p.ID, scopes...)
}

func connectIn(t testing.TB, w *servertest.World, p servertest.Person, account string, scopes ...warranty.Scope) app {
	t.Helper()
	client := register(t, w, "Atlas Assistant", redirect)
	pairs := []string{"account", account}
	if scopes == nil {
		scopes = warranty.AllScopes
	}
	for _, s := range scopes {
		pairs = append(pairs, "scope", string(s))
	}
	code := allow(t, w.SignedIn(t, p), authorizePath(client), redirect, pairs...)
	r := exchange(t, w, client, code)
	if r.status != http.StatusOK || r.TokenType != "Bearer" || r.ExpiresIn != 3600 ||
		r.Scope != warranty.Scopes(scopes).String() || r.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("exchanging: %d %s", r.status, r.body)
	}
	return app{client, r.AccessToken, r.RefreshToken}
}

// tools calls the MCP endpoint with an access token.
func tools(t testing.TB, w *servertest.World, secret string) reply {
	t.Helper()
	return rpc(t, w, secret, "tools/list", `{}`)
}

func rpc(t testing.TB, w *servertest.World, secret, method, params string) reply {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
	if secret == "" {
		return call(t, w, "POST", "/api/mcp", "application/json", body)
	}
	return call(t, w, "POST", "/api/mcp", "application/json", body, "Authorization", "Bearer "+secret)
}

// works fails the test unless an access token works, or does not.
func works(t testing.TB, w *servertest.World, what, secret string, yes bool) {
	t.Helper()
	r := tools(t, w, secret)
	if yes && r.status != http.StatusOK || !yes && r.status != http.StatusUnauthorized {
		t.Errorf("%s: %d %s", what, r.status, r.body)
	}
	if !yes && !strings.Contains(r.header.Get("WWW-Authenticate"), `error="invalid_token"`) {
		t.Errorf("%s: %q", what, r.header.Get("WWW-Authenticate"))
	}
}

// denied fails the test unless a response has the status and the error of RFC 6749.
func denied(t testing.TB, what string, r reply, status int, code string) {
	t.Helper()
	if r.status != status || r.Error != code || r.AccessToken != "" {
		t.Errorf("%s: %d %s, want %d %s", what, r.status, r.body, status, code)
	}
}
