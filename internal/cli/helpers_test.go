package cli

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/client"
	"warranty.example/svc/warranty"
)

// key is a well-formed token that does not exist.
const key = "svc_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg3YSfms"

const id = "01935b2e-7c4a-7def-8123-456789abcdef"

// harness runs svc on a terminal or in a script.
type harness struct {
	t        *testing.T
	env      map[string]string
	stdin    string
	terminal bool
	columns  int
	now      time.Time
	secret   string // typed without echo
	handler  http.Handler

	stdout, stderr string
}

func newHarness(t *testing.T, handler http.Handler) *harness {
	return &harness{
		t:       t,
		handler: handler,
		columns: 100,
		now:     time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC),
		env:     map[string]string{"SVC_API_KEY": key, "HOME": t.TempDir()},
	}
}

// svc runs a command line and returns its exit code.
func (d *harness) svc(args ...string) int {
	d.t.Helper()
	base := "http://127.0.0.1:1/api/v1"
	if d.handler != nil {
		server := httptest.NewServer(d.handler)
		defer server.Close()
		base = server.URL + "/api/v1"
	}
	var out, errs bytes.Buffer
	p := &Program{
		Version:        "1.2.3",
		BaseURL:        base,
		Stdin:          strings.NewReader(d.stdin),
		Stdout:         &out,
		Stderr:         &errs,
		StdinTerminal:  d.terminal,
		StdoutTerminal: d.terminal,
		StderrTerminal: d.terminal,
		Width:          func() int { return d.columns },
		ReadSecret:     func(context.Context) (string, error) { return d.secret, nil },
		Getenv:         func(name string) string { return d.env[name] },
		ConfigDir:      func() (string, error) { return filepath.Join(d.env["HOME"], ".config"), nil },
		FindMCP:        func() (string, bool) { return "/usr/local/bin/svc-mcp", true },
		Now:            func() time.Time { return d.now },
		ClientOptions:  []client.Option{client.WithAttempts(2)},
	}
	code := p.Execute(d.t.Context(), args)
	d.stdout, d.stderr = out.String(), errs.String()
	return code
}

// want runs a command line and fails the test on another exit code.
func (d *harness) want(code int, args ...string) {
	d.t.Helper()
	if got := d.svc(args...); got != code {
		d.t.Fatalf("svc %s: exit code %d, want %d\nstdout: %s\nstderr: %s",
			strings.Join(args, " "), got, code, d.stdout, d.stderr)
	}
}

// answers returns a handler that always sends the same response.
func answers(status int, text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		media := "application/json"
		if status >= 300 {
			media = "application/problem+json"
		}
		w.Header().Set("Content-Type", media)
		w.Header().Set("ETag", `"3"`)
		w.WriteHeader(status)
		fmt.Fprint(w, text)
	})
}

// record returns the JSON of a warranty. product is the JSON of its product name.
func record(product string) string {
	return `{"id":"` + id + `","reference_number":"WR-7K2M-9QXT-4D8P-HV3A","product_name":` + product +
		`,"description":null,"serial_number":null,"category":null,"supplier":null,"seller_name":null,"seller_email":null,` +
		`"start_date":"2026-01-01","end_date":"2027-12-31","status":"active","days_remaining":411,` +
		`"roles":["owner","issuer"],"verify_url":"http://x/verify/WR-7K2M-9QXT-4D8P-HV3A",` +
		`"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"}`
}

func page(records ...string) string {
	return fmt.Sprintf(`{"data":[%s],"pagination":{"page":1,"limit":20,"total":%d,"total_pages":1}}`,
		strings.Join(records, ","), len(records))
}

func problemText(code warranty.Code) string {
	info := code.Info()
	return fmt.Sprintf(`{"type":"http://x/docs/errors#%s","title":%q,"status":%d,"code":%q,`+
		`"detail":"what and how","request_id":"0193-r"}`, code, info.Title, info.Status, code)
}
