//go:build browser

package browser

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"warranty.example/svc/e2e/lab"
)

// TestAppConnectsInTheBrowser connects an app at another origin, as its own site does it: the person signs in in a window
// that the app opened, decides, and the window goes back to the app, which still reaches it. Policies that are too strict
// show only in a browser. If SVC_SCREENSHOTS names a folder, it takes screenshots.
func TestAppConnectsInTheBrowser(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	codes := make(chan url.Values, 1)
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/callback" {
			codes <- r.URL.Query()
			_, _ = io.WriteString(w, `<!DOCTYPE html><title>Back</title><p>Connected<p>`)
			return
		}
		_, _ = io.WriteString(w, `<!DOCTYPE html><title>App</title><button onclick="opened = window.open(new URLSearchParams(location.search).get('to'))">Connect</button>`)
	}))
	t.Cleanup(app.Close)
	client := s.Want(t, 201, lab.Call{Method: "POST", Path: "/oauth/register",
		Body: map[string]any{"client_name": "Atlas Assistant", "redirect_uris": []string{app.URL + "/callback"}}}).Must(t, "client_id")
	const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
	sum := sha256.Sum256([]byte(verifier))
	path := "/oauth/authorize?" + url.Values{"response_type": {"code"}, "client_id": {client}, "redirect_uri": {app.URL + "/callback"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"}, "state": {"s t&a"},
		"resource": {s.URL + "/api/mcp"}}.Encode()

	email := s.account(t, "atlas")
	b := s.visitor(t)
	b.mustOpen(t, path)
	b.mustShow(t, "Sign in")
	b.fill(t, "#email", email, "#password", lab.Password)
	b.click(t, "form .primary")
	b.mustShow(t, "Connect “Atlas Assistant”?", "an app on this computer", email)
	b.snap(t, "consent", 390, 768, 1024, 1440)
	b.leads(t, chromedp.Click(`[value="allow"]`))
	b.mustShow(t, "Connected")
	answer := <-codes
	if answer.Get("state") != "s t&a" || answer.Get("iss") != s.URL || answer.Get("code") == "" {
		t.Fatalf("the answer: %v", answer)
	}
	form := url.Values{"grant_type": {"authorization_code"}, "code": {answer.Get("code")}, "redirect_uri": {app.URL + "/callback"},
		"client_id": {client}, "code_verifier": {verifier}, "resource": {s.URL + "/api/mcp"}}
	resp, err := http.PostForm(s.URL+"/oauth/token", form)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var tokens struct {
		Access string `json:"access_token"`
		Scope  string
	}
	if err := json.NewDecoder(resp.Body).Decode(&tokens); err != nil || tokens.Scope != "warranties:read claims:read documents:read" {
		t.Fatalf("%d %+v %v", resp.StatusCode, tokens, err)
	}
	list := s.Want(t, 200, lab.Call{Method: "POST", Path: "/api/mcp", Secret: tokens.Access,
		Body: map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": "list_warranties", "arguments": map[string]any{}}}})
	if !strings.Contains(list.Body, `"total":`) {
		t.Errorf("the tool: %s", list.Body)
	}
	b.mustOpen(t, "/settings/apps")
	b.mustShow(t, "Atlas Assistant")
	b.snap(t, "apps", 390, 768, 1024, 1440)
	eval[bool](t, b, `document.querySelector("main details").open = true`)
	b.snap(t, "apps-open", 390, 1440)
	b.press(t, "Disconnect")
	b.mustShow(t, "Disconnected.")
	s.Want(t, 401, lab.Call{Method: "POST", Path: "/api/mcp", Secret: tokens.Access, Body: map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}})

	// Declining is an answer too, and so is an error.
	for what, want := range map[string]string{path: "access_denied", strings.Replace(path, "S256", "plain", 1): "invalid_request"} {
		if b.open(t, what); want == "access_denied" {
			b.leads(t, chromedp.Click(`[value="deny"]`))
		}
		if got := <-codes; got.Get("error") != want || got.Has("code") {
			t.Errorf("%s: %v", want, got)
		}
	}
	// The window that the app opened still knows it afterwards.
	to := app.URL + "/?to=" + url.QueryEscape(s.URL+strings.Replace(path, "S256", "plain", 1))
	b.leads(t, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, page.Navigate, page.NavigateParams{URL: to})
		return err
	}))
	b.do(t, chromedp.Click("button"))
	<-codes
	b.until(t, `(() => { try { return opened.location.pathname === "/callback" && opened.opener === window; } catch { return false; } })()`)
}
