package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

// TestEveryRefusalHasItsExitCode covers every error code of the service.
func TestEveryRefusalHasItsExitCode(t *testing.T) {
	want := map[warranty.Code]int{}
	for exit, codes := range map[int][]warranty.Code{
		exitServer: {warranty.Internal, warranty.Unavailable},
		exitUsage: {
			warranty.MalformedRequest, warranty.MethodNotAllowed, warranty.NotAcceptable, warranty.BodyTooLarge,
			warranty.UnsupportedMediaType, warranty.ValidationFailed, warranty.InvalidCode, warranty.PreconditionRequired,
		},
		exitNotFound: {warranty.NotFound, warranty.FileMissing},
		exitCredential: {
			warranty.MissingCredential, warranty.InvalidCredential, warranty.TokenExpired, warranty.TokenRevoked,
			warranty.SessionExpired, warranty.InsufficientScope, warranty.SessionRequired, warranty.RoleNotAllowed,
			warranty.EmailNotVerified, warranty.AccountNotAllowed, warranty.SecondFactorRequired, warranty.ConfirmationRequired,
			warranty.TwoStepRequired, warranty.SSORequired, warranty.AccountIsDeleted,
		},
		exitRateLimited: {warranty.RateLimited, warranty.IPThrottled},
		exitConflict: {
			warranty.TokenLimitReached, warranty.InvalidTransition, warranty.AlreadyExists, warranty.PreconditionFailed,
			warranty.IdempotencyKeyReused, warranty.LastAdmin, warranty.InUse, warranty.LastMethod,
			warranty.IdentityInUse, warranty.BreakGlassRequired,
		},
	} {
		for _, code := range codes {
			want[code] = exit
		}
	}
	for _, info := range warranty.Codes() {
		code, ok := want[info.Code]
		if !ok {
			t.Errorf("add the exit code of %s to this test", info.Code)
			continue
		}
		d := newHarness(t, answers(info.Status, problemText(info.Code)))
		d.want(code, "--wait", "1ms", "warranties", "list")
		if d.stdout != "" || strings.TrimSpace(d.stderr) != problemText(info.Code) {
			t.Errorf("%s piped: %q, %q", info.Code, d.stdout, d.stderr)
		}
		d.terminal = true
		d.want(code, "--wait", "1ms", "warranties", "list", "--no-color")
		if got := strings.Split(strings.TrimSuffix(d.stderr, "\n"), "\n"); d.stdout != "" || len(got) != 3 ||
			!strings.Contains(got[0], "what and how") ||
			!strings.Contains(got[1], "0193-r") || !strings.Contains(got[1], string(info.Code)) ||
			strings.TrimSpace(got[2]) == "" {
			t.Errorf("%s on a terminal: %q, %q", info.Code, d.stdout, d.stderr)
		}
	}
}

func TestErrorsFoundHere(t *testing.T) {
	garbage := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<html>hotel</html>")
	})
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
		"unknown format":        {nil, "warranties list -o xml", 2, "usage"},
		"two formats":           {nil, "warranties list -o csv --pretty", 2, "usage"},
		"wrong values":          {nil, "warranties list --status broken --limit 0", 2, "validation_failed"},
		"no such id":            {nil, "warranties get abc", 3, "not_found"},
		"no such reference":     {nil, "verify WR-7K2M", 3, "not_found"},
		"wrong address":         {nil, "--base-url ftp://x warranties list", 2, "usage"},
		"connection refused":    {nil, "warranties list", 7, "unreachable"},
		"another program":       {garbage, "warranties list", 7, "unreachable"},
		"key file missing":      {nil, "--api-key-file /nowhere/key warranties list", 4, "missing_credential"},
		"delete, no terminal":   {nil, "warranties delete " + id, 2, "usage"},
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
			d := newHarness(t, test.handler)
			d.want(test.exit, strings.Fields(test.args)...)
			var p struct{ Type, Title, Code, Detail string }
			if err := json.Unmarshal([]byte(d.stderr), &p); d.stdout != "" || err != nil && test.code != "usage" ||
				p.Code != test.code && !strings.Contains(test.args, "-o table") || strings.Contains(d.stderr, key[4:20]) {
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

// TestKeyIsNeverPrinted passes the key wherever a command might print it.
func TestKeyIsNeverPrinted(t *testing.T) {
	file := t.TempDir() + "/" + key // even as a file's name
	if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"auth", "status"}, {"warranties", "list"}, {"warranties", "get", id}, {"api", "GET", "/x?api_key=" + key},
		{"warranties", "get", key}, {key}, {"warranties", key}, {"--" + key},
		{"verify", key}, {"--api-key-file", file, "auth", "status"}, {"--api-key-file", file + "x", "auth", "status"},
		{"warranties", "import", key}, {"auth", "login", key}, {"mcp", "config", "--client", "codex"},
		{"warranties", "create", "--product-name", "x", "--start-date", key, "--end-date", "2026-01-01"},
		{"--base-url", "http://" + key + "/api/v1", "warranties", "list"}, {"warranties", "list", "-o", key},
	} {
		for _, handler := range []http.Handler{
			answers(401, problemText(warranty.InvalidCredential)), answers(200, page()), nil} {
			for _, terminal := range []bool{true, false} {
				d := newHarness(t, handler)
				d.terminal = terminal
				d.svc(append([]string{"--debug", "--wait", "1ms"}, args...)...)
				if all := d.stdout + d.stderr; strings.Contains(all, key[4:24]) {
					t.Errorf("svc %s prints the key:\n%s", strings.Join(args, " "), all)
				}
			}
		}
	}
}

// TestMissingKeyNamesBothWays (C10): the error says how to set the key.
func TestMissingKeyNamesBothWays(t *testing.T) {
	for _, terminal := range []bool{true, false} {
		d := newHarness(t, nil)
		delete(d.env, "SVC_API_KEY")
		d.terminal = terminal
		d.want(exitCredential, "warranties", "list")
		for _, want := range []string{"SVC_API_KEY", "svc auth login", "http://127.0.0.1:1/api/v1"} {
			if !strings.Contains(d.stderr, want) {
				t.Errorf("terminal %t: %q does not name %s", terminal, d.stderr, want)
			}
		}
	}
}

// TestOtherAnswersAreExplained (C11): the error for a response of a proxy says what
// happened, where, and what to do.
func TestOtherAnswersAreExplained(t *testing.T) {
	page := func(status int, header ...string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			for i := 0; i+1 < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
			_, _ = w.Write([]byte("<html><h1>nginx</h1></html>"))
		})
	}
	for name, test := range map[string]struct {
		handler http.Handler
		wants   []string
	}{
		"bad gateway":     {page(502), []string{"responded with 502 Bad Gateway", "from a proxy", "Try again in a minute"}},
		"gateway timeout": {page(504), []string{"504 Gateway Timeout", "from a proxy"}},
		"not found":       {page(404), []string{"404 Not Found", "not a response of this service", "SVC_BASE_URL"}},
		"redirect": {page(301, "Location", "https://elsewhere.example/"),
			[]string{"301", "https://elsewhere.example/"}},
		"a web page":  {page(200), []string{"200 OK", "response is invalid", "SVC_BASE_URL"}},
		"not running": {nil, []string{"connection refused", "running"}},
	} {
		for _, terminal := range []bool{true, false} {
			d := newHarness(t, test.handler)
			d.terminal = terminal
			d.want(exitNetwork, "--wait", "1ms", "warranties", "list")
			for _, want := range append(test.wants, "http://127.0.0.1:") {
				if !strings.Contains(d.stderr, want) {
					t.Errorf("%s: %q does not say %q", name, d.stderr, want)
				}
			}
			if strings.Contains(d.stderr, "nginx") || strings.Contains(d.stderr, "the answer") {
				t.Errorf("%s: %q", name, d.stderr)
			}
		}
	}
}

// TestNumbersReadWell (C11): the singular, and a page past the end.
func TestNumbersReadWell(t *testing.T) {
	d := newHarness(t, answers(200, page(record(`"Kettle"`))))
	d.want(exitOK, "warranties", "export")
	if d.stderr != "Exported 1 warranty.\n" {
		t.Errorf("an export of one: %q", d.stderr)
	}
	for pagination, want := range map[string]string{
		`{"page":99,"limit":20,"total":25,"total_pages":2}`: "Page 99 does not exist. There are 2 pages (25 total).\n",
		`{"page":3,"limit":20,"total":1,"total_pages":1}`:   "Page 3 does not exist. There is 1 page (1 total).\n",
		`{"page":1,"limit":20,"total":0,"total_pages":0}`:   "No results.\n",
	} {
		text := `{"data":[],"pagination":` + pagination + `}`
		d := newHarness(t, answers(200, text))
		d.terminal = true
		d.want(exitOK, "warranties", "list", "--page", "99")
		if d.stderr != want {
			t.Errorf("%s: %q", text, d.stderr)
		}
	}
}

// TestStatusSaysWhereAndWhence (C11): the status names the service and the source of
// the key.
func TestStatusSaysWhereAndWhence(t *testing.T) {
	d := newHarness(t, answers(200, statusAnswer))
	d.terminal, d.env["NO_COLOR"] = true, "1"
	d.want(exitOK, "auth", "status")
	if !strings.Contains(d.stdout, "http://127.0.0.1:") || !strings.Contains(d.stdout, "key from  ") ||
		!strings.Contains(d.stdout, "SVC_API_KEY\n") {
		t.Errorf("%s", d.stdout)
	}
}
