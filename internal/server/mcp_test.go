package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// These tests cover the middleware in front of the MCP endpoint. The endpoint itself
// is tested in internal/mcp.

const mcpList = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`

// mcpEach runs a test on both databases in parallel.
func mcpEach(t *testing.T, test func(t *testing.T, w *servertest.World), options ...func(*server.Server)) {
	t.Helper()
	t.Parallel()
	for name, open := range map[string]func(testing.TB) string{"sqlite": servertest.SQLite, "postgres": servertest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, servertest.New(t, open(t), options...))
		})
	}
}

// mcpAnswer is a response of the endpoint, which is always JSON-RPC.
type mcpAnswer struct {
	status int
	header http.Header
	body   string
	id     string
	code   int
	detail string
	data   warranty.Problem
}

// mcpSend sends a message; headers alternates names and values.
func mcpSend(t testing.TB, w *servertest.World, path, body string, headers ...string) mcpAnswer {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, w.HTTP.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := mcpAnswer{status: resp.StatusCode, header: resp.Header, body: string(text)}
	if resp.StatusCode == http.StatusAccepted {
		return a
	}
	var message struct {
		JSONRPC string
		ID      json.RawMessage
		Error   struct {
			Code    int
			Message string
			Data    warranty.Problem
		}
	}
	if err := json.Unmarshal(text, &message); err != nil || message.JSONRPC != "2.0" || resp.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("the response %d is not JSON-RPC: %s", resp.StatusCode, text)
	}
	a.id, a.code, a.detail, a.data = string(message.ID), message.Error.Code, message.Error.Message, message.Error.Data
	for name, want := range map[string]string{"Cache-Control": "no-store", "Vary": "Authorization, x-api-key", "X-Content-Type-Options": "nosniff"} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%d: %s is %q, want %q", resp.StatusCode, name, got, want)
		}
	}
	for _, name := range []string{"X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
		if resp.Header.Get(name) == "" {
			t.Errorf("%d: no %s", resp.StatusCode, name)
		}
	}
	return a
}

// mcpRefused expects an error for the whole request.
func mcpRefused(t testing.TB, what string, a mcpAnswer, code warranty.Code, rpc int) {
	t.Helper()
	if a.status != code.Info().Status || a.code != rpc || a.data.Code != code || a.data.Status != a.status || a.detail != a.data.Detail || a.id != "null" ||
		a.data.RequestID != a.header.Get("X-Request-Id") || a.data.Type != servertest.PublicURL+"/docs/errors#"+string(code) {
		t.Errorf("%s: want %s and %d: %d %s", what, code, rpc, a.status, a.body)
	}
}

// TestMCPWantsACredential expects the same errors for missing and invalid credentials
// as in REST.
func TestMCPWantsACredential(t *testing.T) {
	mcpEach(t, func(t *testing.T, w *servertest.World) {
		ada := w.Person("Ada")
		secret, _ := w.Token(ada)
		revoked, revokedID := w.Token(ada)
		w.Must(204, servertest.Request{Method: "DELETE", Path: "/api/integration-tokens/" + revokedID, Secret: ada.Session})
		typo := secret[:20] + "x" + secret[21:]
		if typo == secret {
			typo = secret[:20] + "y" + secret[21:]
		}
		for what, c := range map[string]struct {
			path    string
			headers []string
			code    warranty.Code
			rpc     int
		}{
			"nothing":             {"/api/mcp", nil, warranty.MissingCredential, 40100},
			"an empty key":        {"/api/mcp", []string{"X-Api-Key", " "}, warranty.MissingCredential, 40100},
			"a cookie":            {"/api/mcp", []string{"Cookie", "session=" + ada.Session}, warranty.MissingCredential, 40100},
			"a key in the query":  {"/api/mcp?api_key=" + secret, nil, warranty.MissingCredential, 40100},
			"nonsense":            {"/api/mcp", []string{"X-Api-Key", "nonsense"}, warranty.InvalidCredential, 40100},
			"a typing error":      {"/api/mcp", []string{"X-Api-Key", typo}, warranty.InvalidCredential, 40100},
			"another scheme":      {"/api/mcp", []string{"Authorization", "Basic " + secret}, warranty.InvalidCredential, 40100},
			"a session as key":    {"/api/mcp", []string{"X-Api-Key", ada.Session}, warranty.InvalidCredential, 40100},
			"a revoked token":     {"/api/mcp", []string{"X-Api-Key", revoked}, warranty.TokenRevoked, 40100},
			"two that differ":     {"/api/mcp", []string{"X-Api-Key", secret, "Authorization", "Bearer " + ada.Session}, warranty.MalformedRequest, -32600},
			"two keys that do so": {"/api/mcp", []string{"X-Api-Key", secret, "X-Api-Key", revoked}, warranty.MalformedRequest, -32600},
		} {
			for _, body := range []string{mcpList, "nonsense", ""} {
				a := mcpSend(t, w, c.path, body, c.headers...)
				mcpRefused(t, what, a, c.code, c.rpc)
				// A wrong key must not start a sign-in with OAuth.
				key := c.code != warranty.MissingCredential && c.headers[0] == "X-Api-Key"
				if challenge := a.header.Get("WWW-Authenticate"); a.status == 401 && (!strings.HasPrefix(challenge, "Bearer ") || strings.Contains(challenge, "resource_metadata") == key) {
					t.Errorf("%s: the challenge is %q", what, challenge)
				}
			}
		}
		for what, headers := range map[string][]string{
			"a key": {"X-Api-Key", secret}, "a token as Bearer": {"Authorization", "Bearer " + secret}, "a session": {"Authorization", "bearer " + ada.Session},
			"the same twice": {"X-Api-Key", secret, "Authorization", "Bearer " + secret},
		} {
			if a := mcpSend(t, w, "/api/mcp", mcpList, headers...); a.status != 200 || a.code != 0 {
				t.Errorf("%s: %d %s", what, a.status, a.body)
			}
		}
		w.Clock.Advance(366 * 24 * time.Hour)
		mcpRefused(t, "an expired token", mcpSend(t, w, "/api/mcp", mcpList, "X-Api-Key", secret), warranty.TokenExpired, 40100)
		mcpRefused(t, "an expired session", mcpSend(t, w, "/api/mcp", mcpList, "Authorization", "Bearer "+ada.Session), warranty.SessionExpired, 40100)
	})
}

// TestEveryToolWantsACredential walks the operation table (threat 2).
func TestEveryToolWantsACredential(t *testing.T) {
	t.Parallel()
	w := servertest.New(t, servertest.SQLite(t))
	for _, op := range api.Operations() {
		if op.Tool == "" {
			continue
		}
		if op.Auth != api.Credential || op.Scope == "" {
			t.Errorf("the tool %s requires no credential with a scope", op.Tool)
		}
		a := mcpSend(t, w, "/api/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+op.Tool+`","arguments":{}}}`)
		mcpRefused(t, op.Tool, a, warranty.MissingCredential, 40100)
	}
}

// TestMCPSharesTheWindowOfREST expects one rate limit for both, and every message to
// count, whatever its outcome (threat 30).
func TestMCPSharesTheWindowOfREST(t *testing.T) {
	mcpEach(t, func(t *testing.T, w *servertest.World) {
		ada := w.Person("Ada")
		var token struct{ Secret string }
		w.Must(201, servertest.Request{Method: "POST", Path: "/api/integration-tokens", Secret: ada.Session,
			Body: map[string]any{"name": "slow", "scopes": warranty.AllScopes, "rate_limit_per_minute": 8}}).Into(t, &token)
		left := 8
		remains := func(what string, h http.Header) {
			t.Helper()
			left--
			if h.Get("X-RateLimit-Limit") != "8" || h.Get("X-RateLimit-Remaining") != strconv.Itoa(left) {
				t.Errorf("%s: %s of %s remain, want %d of 8",
					what, h.Get("X-RateLimit-Remaining"), h.Get("X-RateLimit-Limit"), left)
			}
		}
		rest := servertest.Request{Method: "GET", Path: "/api/v1/warranties", Secret: token.Secret}
		remains("REST", w.Must(200, rest).Header)
		for what, body := range map[string]string{
			"a list": mcpList, "a call": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_claims"}}`, "a batch": "[" + mcpList + "," + mcpList + "]",
			"nonsense": "nonsense", "a notification": `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "an unknown method": `{"jsonrpc":"2.0","id":1,"method":"x"}`,
		} {
			remains(what, mcpSend(t, w, "/api/mcp", body, "X-Api-Key", token.Secret).header)
		}
		remains("REST once more", w.Must(200, rest).Header)
		w.Must(429, rest)
		for range 3 {
			a := mcpSend(t, w, "/api/mcp", mcpList, "X-Api-Key", token.Secret)
			mcpRefused(t, "over the limit", a, warranty.RateLimited, 42900)
			if wait, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || wait < 1 || wait > 61 || a.header.Get("X-RateLimit-Remaining") != "0" {
				t.Errorf("Retry-After %q, remaining %q", a.header.Get("Retry-After"), a.header.Get("X-RateLimit-Remaining"))
			}
		}
		w.Clock.Advance(61 * time.Second)
		if a := mcpSend(t, w, "/api/mcp", mcpList, "X-Api-Key", token.Secret); a.status != 200 {
			t.Errorf("in the next window: %d %s", a.status, a.body)
		}
	})
}

// TestMCPIsUnderTheIPThrottle expects the limit before credentials are checked.
func TestMCPIsUnderTheIPThrottle(t *testing.T) {
	t.Parallel()
	w := servertest.New(t, servertest.SQLite(t), func(s *server.Server) { s.IPRate = 3 })
	for range 3 {
		mcpRefused(t, "without a credential", mcpSend(t, w, "/api/mcp", mcpList), warranty.MissingCredential, 40100)
	}
	a := mcpSend(t, w, "/api/mcp", mcpList)
	mcpRefused(t, "too often", a, warranty.IPThrottled, 42900)
	if a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}

// TestMCPIsLoggedAndRemembered expects one log line per request, without the secret,
// and history entries with the door.
func TestMCPIsLoggedAndRemembered(t *testing.T) {
	mcpEach(t, func(t *testing.T, w *servertest.World) {
		ada := w.Person("Ada")
		secret, id := w.Token(ada)
		before := strings.Count(w.Log.String(), "\n")
		a := mcpSend(t, w, "/api/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_warranty","arguments":`+
			`{"product_name":"Lamp","start_date":"2026-01-01","end_date":"2027-01-01"}}}`, "X-Api-Key", secret, "X-Request-Id", "agent-request-1")
		if a.status != 200 || a.header.Get("X-Request-Id") != "agent-request-1" {
			t.Fatalf("%d %s", a.status, a.body)
		}
		if all := strings.Count(w.Log.String(), "\n") - before; all != 1 {
			t.Errorf("a request wrote %d log lines: %s", all, w.Log)
		}
		lines := 0
		for line := range strings.Lines(w.Log.String()) {
			var l struct {
				RequestID               string `json:"request_id"`
				Msg, Route, Door, Token string
				Status                  int
			}
			if json.Unmarshal([]byte(line), &l) == nil && l.RequestID == "agent-request-1" {
				lines++
				if l.Msg != "request" || l.Route != "POST /api/mcp" || l.Door != "mcp" || l.Token != id || l.Status != 200 {
					t.Errorf("the log line is %s", line)
				}
			}
		}
		if lines != 1 || strings.Contains(w.Log.String(), secret) {
			t.Errorf("got %d log lines, or the secret is logged: %s", lines, w.Log)
		}
		var list []struct{ ID string }
		w.Must(200, servertest.Request{Method: "GET", Path: "/api/v1/warranties", Secret: secret}).Into(t, &list)
		if len(list) != 1 {
			t.Fatalf("got %d records", len(list))
		}
		history := w.Must(200, servertest.Request{Method: "GET", Path: "/api/warranties/" + list[0].ID + "/history", Secret: ada.Session}).Body
		if !strings.Contains(history, `"mcp"`) {
			t.Errorf("the history does not name the door: %s", history)
		}
	})
}

// TestMCPTellsHowLongToWait expects the wait in the message, because models do not
// see headers (C19).
func TestMCPTellsHowLongToWait(t *testing.T) {
	t.Parallel()
	w := servertest.New(t, servertest.SQLite(t), func(s *server.Server) { s.Service.RateLimit = 1 })
	session := w.Person("Ada").Session
	mcpSend(t, w, "/api/mcp", mcpList, "Authorization", "Bearer "+session)
	a := mcpSend(t, w, "/api/mcp", mcpList, "Authorization", "Bearer "+session)
	wait := strconv.FormatInt(a.data.RetryAfterSeconds, 10)
	if a.status != http.StatusTooManyRequests || wait != a.header.Get("Retry-After") || !strings.Contains(a.detail, wait+" second") || strings.Contains(a.detail, "Retry-After") {
		t.Errorf("%d %s, Retry-After %s", a.status, a.body, a.header.Get("Retry-After"))
	}
}

// TestOAuthFallbacksAnswerInJSON requests the paths that an OAuth client tries when it
// ignores the metadata (C19). The sign-up form at /register keeps working.
func TestOAuthFallbacksAnswerInJSON(t *testing.T) {
	t.Parallel()
	w := servertest.New(t, servertest.SQLite(t))
	for _, c := range []struct{ method, path, mediaType, body, accept string }{
		{"POST", "/register", "application/json", `{"client_name":"x","redirect_uris":["http://127.0.0.1/cb"]}`, "application/json"},
		{"POST", "/register", "application/json; charset=utf-8", `{}`, "*/*"},
		{"POST", "/register", "application/json", `{}`, ""},
		{"POST", "/register", "application/json", `{}`, "text/html"},
		{"POST", "/token", "application/x-www-form-urlencoded", "grant_type=authorization_code", "application/json"},
		{"GET", "/authorize?response_type=code", "", "", "application/json"},
		{"GET", "/.well-known/oauth-authorization-server/api/mcp", "", "", "application/json"},
		{"GET", "/.well-known/openid-configuration", "", "", "*/*"},
	} {
		req, err := http.NewRequest(c.method, w.HTTP.URL+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", c.mediaType)
		req.Header.Set("Accept", c.accept)
		req.Header.Set("Origin", "https://client.example")
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		var p warranty.Problem
		err = json.NewDecoder(resp.Body).Decode(&p)
		if resp.StatusCode != http.StatusNotFound || resp.Header.Get("Content-Type") != "application/problem+json" || err != nil || p.Code != warranty.NotFound {
			t.Errorf("%s %s: %d %s %+v %v", c.method, c.path, resp.StatusCode, resp.Header.Get("Content-Type"), p, err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
