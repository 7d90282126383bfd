package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"warranty.example/svc/e2e/approve"
	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/testenv"
)

// actAsBrowser makes this test binary a browser, for BROWSER: allow, read or deny.
const actAsBrowser = "SVC_TEST_ACT_AS_BROWSER"

func openInBrowser() int {
	ctx, cancel := context.WithTimeout(context.Background(), testenv.Patience)
	defer cancel()
	act := os.Getenv(actAsBrowser)
	ada := approve.Person{Email: "ada@people.example", Password: lab.Password, Deny: act == "deny", ReadOnly: act == "read"}
	if err := ada.Open(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// computer is where a person uses svc and svc-mcp.
type computer struct {
	home string
	base string // URL of the API
}

func (c computer) env(act string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.home, "XDG_CONFIG_HOME=" + c.home, "SVC_BASE_URL=" + c.base,
		"BROWSER=" + os.Args[0], actAsBrowser + "=" + act}
}

// svc runs svc, with a browser that acts as told.
func (c computer) svc(act string, args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	cmd := exec.Command(lab.Svc(), args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = c.env(act), &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return "", err.Error(), -1
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// stored reads the credentials file.
func (c computer) stored(t *testing.T) (file string, s struct {
	Keys        map[string]string
	Connections map[string]map[string]string
}) {
	t.Helper()
	file = filepath.Join(c.home, "svc", "credentials")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return file, s
}

// expire makes the stored access token look expired.
func (c computer) expire(t *testing.T) {
	t.Helper()
	file, s := c.stored(t)
	s.Connections[c.base]["expires_at"] = time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	text, err := json.Marshal(map[string]any{"keys": s.Keys, "connections": s.Connections})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// exchanges counts the requests to the token endpoint.
func exchanges(p *lab.Process) (n int) {
	for _, line := range p.Logged("request") {
		if fmt.Sprint(line["route"], line["path"]) != "" && strings.Contains(fmt.Sprint(line["route"], line["path"]), "/oauth/token") {
			n++
		}
	}
	return n
}

// TestSignInWithTheBrowser signs svc and svc-mcp in with the pages of the service, refreshes the connection from many
// processes at once, and ends it.
func TestSignInWithTheBrowser(t *testing.T) {
	t.Parallel()
	p := lab.Start(t, "--rate-limit=100000", "--max-token-rate=100000", "--ip-rate-limit=0")
	session := p.Register(t, "ada")
	c := computer{t.TempDir(), p.URL + "/api/v1"}
	must := func(act string, args ...string) (stdout, stderr string) {
		t.Helper()
		out, errs, code := c.svc(act, args...)
		if code != 0 {
			t.Fatalf("svc %v: %d\n%s\n%s", args, code, out, errs)
		}
		return out, errs
	}
	refuses := func(act string, code int, text string, args ...string) {
		t.Helper()
		if out, errs, got := c.svc(act, args...); got != code || !strings.Contains(errs, text) {
			t.Errorf("svc %v: %d, want %d and %q\n%s\n%s", args, got, code, text, out, errs)
		}
	}

	refuses("deny", 4, "not allowed in the browser", "auth", "login", "--web")
	out, errs := must("read", "auth", "login", "--web")
	if !strings.Contains(out, `"name":"svc"`) || strings.Contains(out, "warranties:write") ||
		!strings.Contains(errs, p.URL+"/oauth/authorize?") || strings.Contains(errs, "sva_") ||
		!strings.Contains(errs, "Account: ada@people.example (personal account). svc may use: warranties:read, claims:read, documents:read.") {
		t.Errorf("%s\n%s", out, errs)
	}
	refuses("", 4, "warranties:write", "warranties", "create", "--product-name=Kettle", "--start-date=2026-01-01", "--end-date=2027-01-01")
	_, before := c.stored(t)
	must("allow", "auth", "login", "--web")
	file, now := c.stored(t)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v %v", info.Mode(), err)
	}
	must("", "warranties", "create", "--product-name=Kettle", "--start-date=2026-01-01", "--end-date=2027-01-01")
	// The first connection was replaced, so it ended.
	if a := p.Want(t, 401, lab.Call{Method: "GET", Path: "/api/v1/auth/status", Secret: before.Connections[c.base]["access_token"]}); a.Must(t, "code") != "token_revoked" {
		t.Error(a.Body)
	}
	// An access token of svc is for the API alone.
	p.Want(t, 401, lab.Call{Method: "POST", Path: "/api/mcp", Secret: now.Connections[c.base]["access_token"], Body: map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}})

	for _, client := range []string{"claude-code", "vscode", "codex"} {
		if out, errs := must("", "mcp", "config", "--client="+client); strings.Contains(out, "SVC_API_KEY") || strings.Contains(out, "inputs") || !strings.Contains(errs, "needs no key") {
			t.Errorf("%s\n%s", out, errs)
		}
	}
	m := mcpStart(t, append([]string{"SVC_API_KEY="}, c.env("")...))
	m.ask("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
	if a := m.ask("tools/call", `{"name":"list_warranties","arguments":{}}`); !strings.Contains(string(a.Result), "Kettle") {
		t.Errorf("%s", a.Result)
	}

	c.expire(t)
	exchanged := exchanges(p)
	var wait sync.WaitGroup
	for range 12 {
		wait.Go(func() {
			if out, errs, code := c.svc("", "auth", "status"); code != 0 {
				t.Errorf("%d %s %s", code, out, errs)
			}
		})
	}
	wait.Wait()
	if n := exchanges(p) - exchanged; n != 1 {
		t.Errorf("12 processes refreshed %d times", n)
	}
	if _, after := c.stored(t); after.Connections[c.base]["refresh_token"] == now.Connections[c.base]["refresh_token"] {
		t.Error("the refresh token was not rotated")
	}

	refuses("", 2, "cannot be an argument", "auth", "login", "--web", "nonsense")
	_, errs = must("", "auth", "logout")
	if _, s := c.stored(t); !strings.Contains(errs, "Signed out") || len(s.Connections) != 0 {
		t.Errorf("%s %v", errs, s)
	}
	if _, errs = must("", "auth", "logout"); !strings.Contains(errs, "No key is stored") {
		t.Error(errs)
	}
	refuses("", 4, "svc auth login --web", "auth", "status")
	if a := m.ask("tools/call", `{"name":"list_warranties","arguments":{}}`); !strings.Contains(string(a.Result), "isError") {
		t.Errorf("svc-mcp goes on after the connection ended: %s", a.Result)
	}
	m.end()

	login := mcpCommand(t, c.env("allow"), "login")
	if text, err := login.CombinedOutput(); err != nil || !strings.Contains(string(text), "Signed in to "+c.base) ||
		!strings.Contains(string(text), "Account: ada@people.example (personal account). svc-mcp may use: warranties:read") {
		t.Fatalf("%v %s", err, text)
	}
	must("", "auth", "status")
	p.Want(t, 200, lab.Call{Method: "POST", Path: "/api/auth/password", Secret: session, Body: map[string]any{
		"current_password": lab.Password, "new_password": "another horse battery staple", "revoke_tokens": true}})
	refuses("", 4, "has ended", "auth", "status")
	p.MustStop(t)
	refuses("", 7, "could not end it at the service", "auth", "logout")
	if _, s := c.stored(t); len(s.Connections) != 0 {
		t.Errorf("%v", s)
	}
	refuses("", 7, "unreachable", "auth", "login", "--web")
}

// TestSignInNeedsTheAddressOfTheService: the browser is only sent to the service that svc was told to use.
func TestSignInNeedsTheAddressOfTheService(t *testing.T) {
	t.Parallel()
	for publicURL, want := range map[string]string{
		"http://warranty.shop.example":  "does not support signing in with a browser",
		"https://warranty.shop.example": "has another address: https://warranty.shop.example",
	} {
		p := lab.Start(t, "--public-url="+publicURL)
		c := computer{t.TempDir(), p.URL + "/api/v1"}
		if _, errs, code := c.svc("allow", "auth", "login", "--web"); code != 4 || !strings.Contains(errs, want) {
			t.Errorf("%s: %d %s", publicURL, code, errs)
		}
	}
}

// TestGoClientConnectsByAddressAlone connects the Go SDK with its own OAuth client: it knows only the address. Called
// without a scope that it needs, it asks for more.
func TestGoClientConnectsByAddressAlone(t *testing.T) {
	t.Parallel()
	p := lab.Start(t)
	p.Register(t, "ada")
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	ada := approve.Person{Email: "ada@people.example", Password: lab.Password, ReadOnly: true}
	asked := 0
	const redirect = "http://127.0.0.1:1/callback"
	handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		RedirectURL: redirect,
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{ClientName: "Go SDK", RedirectURIs: []string{redirect}},
		},
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			asked++
			to, err := ada.Answer(ctx, args.URL)
			if err != nil {
				return nil, err
			}
			q := to.Query()
			return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: p.URL + "/api/mcp", OAuthHandler: handler}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	list, err := session.ListTools(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(list.Tools, func(t *mcp.Tool) bool { return t.Name == "create_warranty" }) || asked != 1 {
		t.Errorf("%d tools, asked %d times", len(list.Tools), asked)
	}
	ada.ReadOnly = false
	made, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "create_warranty",
		Arguments: map[string]any{"product_name": "Kettle", "start_date": "2026-01-01", "end_date": "2027-01-01"}})
	if err != nil || made.IsError || asked != 2 {
		t.Errorf("%v %+v, asked %d times", err, made, asked)
	}
}
