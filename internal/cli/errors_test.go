package cli

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

// TestEveryRefusalHasItsExitCode goes through the service's whole table of codes.
func TestEveryRefusalHasItsExitCode(t *testing.T) {
	want := map[warranty.Code]int{
		warranty.MalformedRequest: 2, warranty.MissingCredential: 4, warranty.InvalidCredential: 4, warranty.TokenExpired: 4, warranty.TokenRevoked: 4, warranty.SessionExpired: 4,
		warranty.InsufficientScope: 4, warranty.SessionRequired: 4, warranty.RoleNotAllowed: 4, warranty.NotFound: 3, warranty.MethodNotAllowed: 2, warranty.NotAcceptable: 2,
		warranty.TokenLimitReached: 6, warranty.InvalidTransition: 6, warranty.AlreadyExists: 6, warranty.PreconditionFailed: 6, warranty.BodyTooLarge: 2,
		warranty.UnsupportedMediaType: 2, warranty.ValidationFailed: 2, warranty.IdempotencyKeyReused: 6, warranty.RateLimited: 5, warranty.IPThrottled: 5, warranty.Internal: 1, warranty.Unavailable: 1,
	}
	for _, info := range warranty.Codes() {
		code, ok := want[info.Code]
		if !ok {
			t.Errorf("%s has no exit code in this test", info.Code)
			continue
		}
		d := newDesk(t, answers(info.Status, problemText(info.Code)))
		d.want(code, "--wait", "1ms", "warranties", "list")
		if d.stdout != "" || strings.TrimSpace(d.stderr) != problemText(info.Code) {
			t.Errorf("%s piped: %q, %q", info.Code, d.stdout, d.stderr)
		}
		d.terminal = true
		d.want(code, "--wait", "1ms", "warranties", "list", "--no-color")
		if got := strings.Split(strings.TrimSuffix(d.stderr, "\n"), "\n"); d.stdout != "" || len(got) != 3 || !strings.Contains(got[0], "what and how") ||
			!strings.Contains(got[1], "0193-r") || !strings.Contains(got[1], string(info.Code)) || strings.TrimSpace(got[2]) == "" {
			t.Errorf("%s on a terminal: %q, %q", info.Code, d.stdout, d.stderr)
		}
	}
}

func TestErrorsFoundHere(t *testing.T) {
	garbage := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>hotel</html>")) })
	for name, test := range map[string]struct {
		handler http.Handler
		args    string
		exit    int
		code    string
	}{
		"unknown command":       {nil, "frobnicate", 2, "usage"},
		"unknown verb":          {nil, "warranties lst", 2, "usage"},
		"unknown flag":          {nil, "warranties list --colour", 2, "usage"},
		"flag without value":    {nil, "warranties list --status", 2, "usage"},
		"missing argument":      {nil, "warranties get", 2, "usage"},
		"one argument too many": {nil, "warranties get a b", 2, "usage"},
		"unknown form":          {nil, "warranties list -o xml", 2, "usage"},
		"two forms":             {nil, "warranties list -o csv --pretty", 2, "usage"},
		"wrong values":          {nil, "warranties list --status broken --limit 0", 2, "validation_failed"},
		"no such id":            {nil, "warranties get abc", 3, "not_found"},
		"no such reference":     {nil, "verify WR-7K2M", 3, "not_found"},
		"wrong address":         {nil, "--base-url ftp://x warranties list", 2, "usage"},
		"nobody listens":        {nil, "warranties list", 7, "unreachable"},
		"somebody else listens": {garbage, "warranties list", 7, "unreachable"},
		"key file missing":      {nil, "--api-key-file /nowhere/key warranties list", 4, "missing_credential"},
		"delete, nobody there":  {nil, "warranties delete " + id, 2, "usage"},
		"unknown agent":         {nil, "mcp config --client emacs", 2, "usage"},
		"agent without name":    {nil, "mcp config", 2, "usage"},
		"path without slash":    {nil, "api GET @evil.example", 2, "usage"},
		"key as a header":       {nil, "api GET /x -H Authorization:Bearer", 2, "usage"},
		"no such method":        {nil, "api FROB /x", 2, "usage"},
		"key as an argument":    {nil, "auth login " + key, 2, "usage"},
		"no such file":          {nil, "warranties import /nowhere.csv", 2, "usage"},
		"export as a table":     {nil, "warranties export -o table", 2, "usage"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, test.handler)
			d.want(test.exit, strings.Fields(test.args)...)
			var p struct{ Type, Title, Code, Detail string }
			if err := json.Unmarshal([]byte(d.stderr), &p); d.stdout != "" || err != nil && test.code != "usage" || p.Code != test.code && !strings.Contains(test.args, "-o table") || strings.Contains(d.stderr, key[4:20]) {
				t.Errorf("piped: %q, %q, %v", d.stdout, d.stderr, err)
			}
			d.terminal = !strings.HasPrefix(name, "delete")
			d.svc(strings.Fields(test.args)...)
			if d.terminal && (strings.Count(d.stderr, "\n") != 3 || d.stdout != "") || strings.Contains(d.stderr, key[4:20]) {
				t.Errorf("on a terminal: %q, %q", d.stdout, d.stderr)
			}
		})
	}
}

// TestKeyIsNeverPrinted puts the key wherever a command might say it again.
func TestKeyIsNeverPrinted(t *testing.T) {
	file := t.TempDir() + "/" + key // even as a file's name
	if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"auth", "status"}, {"warranties", "list"}, {"warranties", "get", id}, {"api", "GET", "/x?api_key=" + key}, {"warranties", "get", key}, {key}, {"warranties", key}, {"--" + key},
		{"verify", key}, {"--api-key-file", file, "auth", "status"}, {"--api-key-file", file + "x", "auth", "status"}, {"warranties", "import", key}, {"auth", "login", key}, {"mcp", "config", "--client", "codex"},
		{"warranties", "create", "--product-name", "x", "--start-date", key, "--end-date", "2026-01-01"}, {"--base-url", "http://" + key + "/api/v1", "warranties", "list"}, {"warranties", "list", "-o", key},
	} {
		for _, handler := range []http.Handler{answers(401, problemText(warranty.InvalidCredential)), answers(200, page()), nil} {
			for _, terminal := range []bool{true, false} {
				d := newDesk(t, handler)
				d.terminal = terminal
				d.svc(append([]string{"--debug", "--wait", "1ms"}, args...)...)
				if all := d.stdout + d.stderr; strings.Contains(all, key[4:24]) {
					t.Errorf("svc %s says the key:\n%s", strings.Join(args, " "), all)
				}
			}
		}
	}
}
