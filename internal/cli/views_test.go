package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

func TestCoverageLine(t *testing.T) {
	date := func(s string) warranty.Date { d, _ := warranty.ParseDate(s); return d }
	for _, test := range []struct{ start, end, today, status, want string }{
		{"2026-01-01", "2026-12-31", "2026-01-01", "active", "●─────"},
		{"2026-01-01", "2026-12-31", "2026-07-10", "active", "━━●───"},
		{"2026-01-01", "2026-12-31", "2026-12-31", "active", "━━━━━●"},
		{"2026-01-01", "2026-12-31", "2025-12-31", "upcoming", "○─────"},
		{"2026-01-01", "2026-12-31", "2027-01-01", "expired", "━━━━━○"},
		{"2026-01-01", "2026-12-31", "2026-07-01", "void", "╌╌╌╌╌╌"},
		{"2026-01-01", "9999-12-31", "2026-07-01", "active", "━●───∞"},
		{"2026-01-01", "2026-01-01", "2026-01-01", "active", "●─────"},
		{"0001-01-01", "9999-12-30", "9999-01-01", "active", "━━━━●─"},
	} {
		c := coverage{date(test.start), date(test.end), warranty.Status(test.status), nil}
		if got := c.bar(6, date(test.today)); got != test.want {
			t.Errorf("%s to %s on %s: %s, want %s", test.start, test.end, test.today, got, test.want)
		}
	}
}

func TestTablesFitTheTerminal(t *testing.T) {
	long := record(`"` + strings.Repeat("Wäschetrockner 你好 ", 9) + `"`)
	d := newHarness(t, answers(200, page(record(`"Kettle"`), long)))
	d.terminal = true
	d.env["NO_COLOR"] = "1"
	for _, d.columns = range []int{60, 72, 80, 100, 132, 200} {
		d.want(0, "warranties", "list")
		rows := strings.Split(strings.TrimSuffix(d.stdout, "\n"), "\n")
		if len(rows) != 3 || !strings.HasPrefix(rows[0], "PRODUCT") ||
			!strings.Contains(rows[1], "WR-7K2M-9QXT-4D8P-HV3A") || !strings.Contains(rows[1], "active") {
			t.Errorf("%d columns:\n%s", d.columns, d.stdout)
		}
		for _, row := range rows {
			if width(row) > d.columns {
				t.Errorf("%d columns: a line has %d: %s", d.columns, width(row), row)
			}
		}
	}
	if !strings.Contains(d.stdout, "━━━━●───────") || !strings.Contains(d.stdout, id) {
		t.Errorf("200 columns do not show everything:\n%s", d.stdout)
	}
	if d.stderr != "2 total.\n" {
		t.Errorf("%q", d.stderr)
	}
}

func TestColourIsForTerminals(t *testing.T) {
	colored := func(d *harness, args ...string) bool {
		d.svc(append(args, "warranties", "list")...)
		return strings.Contains(d.stdout+d.stderr, "\x1b[")
	}
	d := newHarness(t, answers(200, page(record(`"Kettle"`))))
	d.terminal = true
	if !colored(d) {
		t.Error("no color on a terminal")
	}
	if colored(d, "--no-color") || colored(d, "-o", "json") {
		t.Error("color although it is disabled")
	}
	d.env["NO_COLOR"] = "1"
	if colored(d) {
		t.Error("NO_COLOR is ignored")
	}
	delete(d.env, "NO_COLOR")
	d.env["TERM"] = "dumb"
	if colored(d) {
		t.Error("color on a dumb terminal")
	}
	delete(d.env, "TERM")
	d.terminal = false
	if colored(d) || colored(d, "-o", "table") {
		t.Error("color in a pipe")
	}
}

func TestPipedOutputIsTheServicesOwn(t *testing.T) {
	newer := page(strings.Replace(record(`"Kettle"`), `"id"`, `"colour":"of a newer service","id"`, 1))
	d := newHarness(t, answers(200, newer))
	d.want(0, "warranties", "list")
	if d.stdout != newer+"\n" || d.stderr != "" {
		t.Errorf("%q %q", d.stdout, d.stderr)
	}
	d.handler = answers(200, strings.ReplaceAll(newer, `,"`, ",\n  \"")) // a proxy that reformats JSON
	d.want(0, "warranties", "list")
	if d.stdout != newer+"\n" {
		t.Errorf("%q", d.stdout)
	}
	for _, args := range []string{"--pretty", "-o ndjson", "-o json --pretty"} {
		d.want(0, append(strings.Fields(args), "warranties", "list")...)
		if !json.Valid([]byte(d.stdout)) || !strings.Contains(d.stdout, "of a newer service") {
			t.Errorf("%s: %q", args, d.stdout)
		}
	}
}

func TestOtherFormsOfOneRecord(t *testing.T) {
	d := newHarness(t, answers(200, `{"data":`+record(`"=Kettle"`)+`}`))
	d.want(0, "warranties", "get", id, "-o", "csv")
	if !strings.Contains(d.stdout, ",'=Kettle,") || strings.Count(d.stdout, "\n") != 2 {
		t.Errorf("%q", d.stdout)
	}
	d.want(0, "warranties", "get", id, "-o", "table")
	if !strings.Contains(d.stdout, "=Kettle\n") || !strings.Contains(d.stdout, "active, 411 days left") ||
		!strings.Contains(d.stdout, `"3"`) {
		t.Errorf("%s", d.stdout)
	}
}

func TestAgentsAreConnectedWithoutTheKey(t *testing.T) {
	d := newHarness(t, nil)
	for _, a := range agents {
		for _, hosted := range []bool{false, true} {
			args := []string{"mcp", "config", "--client", a.name, "--base-url", "https://w.example/api/v1"}
			if hosted {
				args = append(args, "--hosted")
			}
			exit := 0
			if hosted && a.hosted == nil {
				exit = 2
			}
			d.want(exit, args...)
			if strings.Contains(d.stdout+d.stderr, key[4:20]) {
				t.Errorf("%v prints the key: %s", args, d.stdout)
			}
			if exit != 0 {
				continue
			}
			if a.name == "codex" {
				if !strings.HasPrefix(d.stdout, "[mcp_servers.warranty]\n") ||
					hosted && !strings.Contains(d.stdout, `env_http_headers = { "x-api-key" = "SVC_API_KEY" }`) {
					t.Errorf("%s", d.stdout)
				}
			} else if !json.Valid([]byte(d.stdout)) {
				t.Errorf("%v: %s", args, d.stdout)
			}
			want := "https://w.example/api/v1"
			if hosted {
				want = "https://w.example/api/mcp"
			}
			if !strings.Contains(d.stdout, want) || !strings.Contains(d.stdout, "SVC_API_KEY") &&
				!strings.Contains(d.stdout, "svc-api-key") {
				t.Errorf("%v: %s", args, d.stdout)
			}
		}
	}
	d.want(2, "mcp", "config", "--client", "cursor", "--base-url", "nonsense")
}

func TestManPages(t *testing.T) {
	d := newHarness(t, nil)
	dir := filepath.Join(t.TempDir(), "man")
	d.want(0, "man", dir)
	for _, name := range []string{"svc.1", "svc-warranties.1", "svc-warranties-list.1", "svc-warranties-import.1",
		"svc-verify.1", "svc-auth-login.1", "svc-completion-bash.1", "svc-exit-codes.1"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.HasPrefix(string(text), ".TH ") || !strings.Contains(string(text), ".SH DESCRIPTION") {
			t.Errorf("%s: %v", name, err)
		}
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("groff is not installed")
	}
	pages, _ := filepath.Glob(filepath.Join(dir, "*.1"))
	for _, page := range pages {
		out, err := exec.Command(groff, "-man", "-Tutf8", "-ww", "-z", page).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("%s: %v %s", filepath.Base(page), err, out)
		}
	}
}

func TestAboutItself(t *testing.T) {
	d := newHarness(t, nil)
	d.want(0, "version")
	if !strings.HasPrefix(d.stdout, `{"data":{"version":"1.2.3","go":"go`) {
		t.Errorf("%s", d.stdout)
	}
	d.want(0, "--version")
	if d.stdout != "svc 1.2.3\n" {
		t.Errorf("%q", d.stdout)
	}
	d.want(0, "help", "exit-codes")
	for _, e := range exitCodes {
		if !strings.Contains(d.stdout, fmt.Sprintf("%5d  ", e.Code)) {
			t.Errorf("exit code %d is missing:\n%s", e.Code, d.stdout)
		}
	}
	for _, command := range []string{"", "warranties", "help warranties list", "auth --help"} {
		d.want(0, strings.Fields(command)...)
		if !strings.Contains(d.stdout, "Usage:") || d.stderr != "" {
			t.Errorf("svc %s: %s %s", command, d.stdout, d.stderr)
		}
	}
	d.want(0, "__complete", "warranties", "list", "--status", "")
	if !strings.HasPrefix(d.stdout, "active\nvoid\ncancelled\nupcoming\nexpired\n") {
		t.Errorf("%q", d.stdout)
	}
}

// TestFieldsAreTheColumns selects fields: a table and CSV have only their columns.
func TestFieldsAreTheColumns(t *testing.T) {
	const partial = `{"id":"` + id + `","product_name":"Kettle","status":"active"}`
	d := newHarness(t, answers(200, page(partial)))
	d.env["NO_COLOR"] = "1"
	for _, test := range []struct{ format, want string }{
		{"table", "ID                                    PRODUCT_NAME  STATUS\n" + id + "  Kettle        active\n"},
		{"csv", "id,product_name,status\n" + id + ",Kettle,active\n"},
		{"ndjson", partial + "\n"},
		{"json", page(partial) + "\n"},
	} {
		d.want(0, "warranties", "list", "--fields", "status,id,product_name", "-o", test.format)
		if got := strings.ReplaceAll(d.stdout, "\r\n", "\n"); got != test.want {
			t.Errorf("%s:\n%s\nwant:\n%s", test.format, got, test.want)
		}
	}
	d.handler = answers(200, `{"data":`+partial+`}`)
	d.want(0, "warranties", "get", id, "--fields", "product_name,status", "-o", "table")
	if d.stdout != "product name  Kettle\nstatus        active\n" {
		t.Errorf("%q", d.stdout)
	}
	d.handler = answers(200, page(`{"warranty":{"id":"`+id+`","product_name":"Kettle"}}`))
	d.want(0, "claims", "list", "--fields", "warranty", "-o", "csv")
	if !strings.HasPrefix(d.stdout, "warranty.id,warranty.reference_number,warranty.product_name") ||
		!strings.Contains(d.stdout, id+",,Kettle") {
		t.Errorf("%q", d.stdout)
	}
	d.want(2, "warranties", "list", "--fields", "id,colour")
	if !strings.Contains(d.stderr, "Unknown field: colour.") {
		t.Errorf("%q", d.stderr)
	}
}

// TestChangesSayHowToContinue lists changes and deletions.
func TestChangesSayHowToContinue(t *testing.T) {
	next := strings.Repeat("A", 43)
	const deletion = `{"id":"` + id + `","reference_number":"WR-7K2M-9QXT-4D8P-HV3A","deleted_at":"2026-11-14T09:00:00Z"}`
	const synced = `"synced_to":"2026-11-15T11:00:00.000123Z"}`
	var asked string
	body := `{"data":[],"next":"` + next + `",` + synced
	d := newHarness(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Path + "?" + r.URL.RawQuery
		answers(200, body).ServeHTTP(w, r)
	}))
	d.terminal = true
	d.want(0, "warranties", "list", "--updated-since", "2026-11-09T00:00:00Z", "--after", next)
	if asked != "/api/v1/warranties?after="+next+"&limit=20&updated_since=2026-11-09T00%3A00%3A00Z" {
		t.Errorf("asked %s", asked)
	}
	if !strings.Contains(d.stderr, "Next: --after "+next) {
		t.Errorf("%q", d.stderr)
	}
	body = `{"data":[` + deletion + `],"next":null,` + synced
	d.want(0, "warranties", "deleted", "--since", "2026-11-09T00:00:00Z")
	if !strings.Contains(d.stdout, "WR-7K2M-9QXT-4D8P-HV3A") || !strings.Contains(d.stderr, "2026-11-15T11:00:00.000123Z") {
		t.Errorf("%q %q", d.stdout, d.stderr)
	}
	d.want(0, "warranties", "deleted", "-o", "ndjson")
	if d.stdout != deletion+"\n" {
		t.Errorf("%q", d.stdout)
	}
}
