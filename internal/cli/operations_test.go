package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

func find(t *testing.T, path string) *cobra.Command {
	t.Helper()
	d := newHarness(t, nil)
	r := &run{Program: &Program{Getenv: func(string) string { return "" }, Stdout: io.Discard, Stderr: io.Discard,
		Stdin: strings.NewReader(d.stdin)}}
	cmd, rest, err := r.root().Find(strings.Fields(path))
	if err != nil || len(rest) > 0 {
		t.Fatalf("svc %s does not exist: %v", path, err)
	}
	return cmd
}

// TestInterfaceIsThere checks the commands and flags of the documented interface.
func TestInterfaceIsThere(t *testing.T) {
	for command, options := range map[string]string{
		"auth status": "", "warranties list": "status pretty", "claims list": "status pretty",
		"documents list":    "query pretty",
		"warranties create": "product-name start-date end-date idempotency-key", "verify": "",
		"warranties get": "", "warranties update": "status product-name", "warranties delete": "yes",
		"warranties import": "dry-run map", "warranties export": "status",
		"claims get": "", "documents get": "", "auth login": "", "auth logout": "", "api": "data", "mcp config": "client",
		"completion bash": "", "version": "", "help": "", "exit-codes": "",
	} {
		cmd := find(t, command)
		for option := range strings.FieldsSeq(options) {
			if cmd.Flags().Lookup(option) == nil && cmd.InheritedFlags().Lookup(option) == nil {
				t.Errorf("svc %s has no --%s", command, option)
			}
		}
	}
}

// TestEveryParameterIsAFlag checks that every parameter of every operation has a flag.
func TestEveryParameterIsAFlag(t *testing.T) {
	for _, op := range api.Operations() {
		if !op.HasCommand() {
			continue
		}
		cmd := find(t, strings.NewReplacer(".", " ", "_", "-").Replace(strings.Replace(op.Name, "warranties.verify", "verify", 1)))
		for _, p := range op.Params {
			if p.In == api.Path {
				if !strings.Contains(cmd.Use, "<"+p.Name+">") {
					t.Errorf("%s does not show <%s>", cmd.Use, p.Name)
				}
				continue
			}
			flag := cmd.Flags().Lookup(api.FlagName(p.Name))
			if flag == nil || flag.Usage == "" {
				t.Errorf("svc %s has no --%s", cmd.CommandPath(), api.FlagName(p.Name))
				continue
			}
			offered, ok := cmd.GetFlagCompletionFunc(api.FlagName(p.Name))
			if !ok {
				t.Errorf("--%s of %s has no completion", api.FlagName(p.Name), op.Name)
				continue
			}
			if got, _ := offered(cmd, nil, ""); !slices.Equal(got, p.Enum) {
				t.Errorf("--%s of %s completes %v, want %v", api.FlagName(p.Name), op.Name, got, p.Enum)
			}
		}
	}
}

// TestRequestIsWhatTheFlagsSay checks the requests of commands.
func TestRequestIsWhatTheFlagsSay(t *testing.T) {
	var got *http.Request
	var sent string
	handler := func(status int, text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			got, sent = r, string(b)
			answers(status, text).ServeHTTP(w, r)
		})
	}
	one := `{"data":` + record(`"Kettle"`) + `}`
	for _, test := range []struct {
		status  int
		answer  string
		args    string
		request string
		body    string
	}{
		{200, page(), "warranties list --status active --query bosch --expiring-within-days 0",
			"GET /api/v1/warranties?expiring_within_days=0&limit=20&page=1&q=bosch&status=active", ""},
		{200, page(), "warranties list --q bosch --expiring_within_days=5 --limit 3",
			"GET /api/v1/warranties?expiring_within_days=5&limit=3&page=1&q=bosch", ""},
		{200, page(), "claims list --status submitted --warranty-id " + id,
			"GET /api/v1/claims?limit=20&page=1&status=submitted&warranty_id=" + id, ""},
		{200, page(), "warranties list --has-open-claim --limit 1",
			"GET /api/v1/warranties?has_open_claim=true&limit=1&page=1", ""},
		{200, page(), "warranties list --has-open-claim=false",
			"GET /api/v1/warranties?has_open_claim=false&limit=20&page=1", ""},
		{200, page(), "documents list --query invoice", "GET /api/v1/documents?limit=20&page=1&q=invoice", ""},
		{200, one, "warranties get " + id, "GET /api/v1/warranties/" + id, ""},
		{201, one, "warranties create --product-name Kettle --start-date 2026-01-01 --end-date 2027-12-31",
			"POST /api/v1/warranties", `{"product_name":"Kettle","start_date":"2026-01-01","end_date":"2027-12-31"}`},
		{200, one, "warranties update " + id + " --status void --category=", "PUT /api/v1/warranties/" + id,
			`{"status":"void","category":""}`},
		{204, "", "warranties delete " + id + " --yes", "DELETE /api/v1/warranties/" + id, ""},
		{200, one, "api get /warranties?limit=1", "GET /api/v1/warranties?limit=1", ""},
		{201, one, "api POST /api/claims -d {\"a\":1}", "POST /api/claims", `{"a":1}`},
	} {
		d := newHarness(t, handler(test.status, test.answer))
		d.want(0, strings.Fields(test.args)...)
		if line := got.Method + " " + got.URL.String(); line != test.request || sent != test.body {
			t.Errorf("svc %s sends %s %s", test.args, line, sent)
		}
		if got.Header.Get("X-Api-Key") != key || got.Header.Get("User-Agent") != "svc/1.2.3" {
			t.Errorf("svc %s sends %v", test.args, got.Header)
		}
		creates := got.Method == "POST" && got.URL.Path == "/api/v1/warranties"
		if made := got.Header.Get("Idempotency-Key"); creates != (made != "") {
			t.Errorf("svc %s sends the key %q", test.args, made)
		}
	}
	d := newHarness(t, handler(200, one))
	d.want(0, "warranties", "update", id, "--if-match", "3", "--category", "x")
	if got.Header.Get("If-Match") != `"3"` {
		t.Errorf("If-Match is %s", got.Header.Get("If-Match"))
	}
	d.want(0, "warranties", "create", "--product-name", "K", "--start-date", "2026-01-01", "--end-date", "2026-01-02",
		"--idempotency-key", "mine", "--debug")
	if got.Header.Get("Idempotency-Key") != "mine" || strings.Contains(d.stderr, "idempotency key") {
		t.Errorf("%v %s", got.Header, d.stderr)
	}
	d.want(0, "warranties", "create", "--product-name", "K", "--start-date", "2026-01-01", "--end-date", "2026-01-02",
		"--debug")
	if !strings.Contains(d.stderr, "idempotency key "+got.Header.Get("Idempotency-Key")) {
		t.Errorf("%v %s", got.Header, d.stderr)
	}
}

func TestReferenceStandsForTheID(t *testing.T) {
	var paths []string
	d := newHarness(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.Method+" "+r.URL.String())
		switch {
		case r.URL.Path == "/api/v1/claims":
			answers(200, page()).ServeHTTP(w, r)
		case strings.HasPrefix(r.URL.Path, "/api/v1/claims/"):
			answers(200, `{"data":{}}`).ServeHTTP(w, r)
		default:
			answers(200, `{"data":`+record(`"Kettle"`)+`}`).ServeHTTP(w, r)
		}
	}))
	d.want(0, "warranties", "get", "wr 0000-0000 0000 oooo")
	d.want(0, "claims", "get", "cl 3f9b t6wz oqkn 58r5")
	d.want(0, "claims", "list", "--warranty-id", "wr000000000000OOOO")
	d.want(2, "warranties", "update", "WR-0000-0000-0000-0000", "--status", "expired")
	d.want(2, "claims", "list", "--warranty-id", "CL-3F9B-T6WZ-0QKN-58R5")
	d.want(3, "warranties", "get", "WR-0000-0000-0000-0001")
	want := []string{
		"GET /api/v1/warranties/WR-0000-0000-0000-0000",
		"GET /api/v1/claims/CL-3F9B-T6WZ-0QKN-58R5",
		"GET /api/v1/claims?limit=20&page=1&warranty_id=WR-0000-0000-0000-0000",
	}
	if !slices.Equal(paths, want) {
		t.Errorf("%q", paths)
	}
}

func TestDeleteAsks(t *testing.T) {
	deleted := 0
	d := newHarness(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			deleted++
			w.WriteHeader(204)
			return
		}
		answers(200, `{"data":`+record(`"Kettle\u001b[31m"`)+`}`).ServeHTTP(w, r)
	}))
	for _, no := range []string{"", "n\n", "no\n", "yess\n", "\n"} {
		d.terminal, d.stdin = true, no
		d.want(2, "warranties", "delete", id)
		if !strings.Contains(d.stderr, `Delete Kettle\x1b[31m (WR-7K2M-9QXT-4D8P-HV3A)?`) { // C11
			t.Fatalf("it asks %q", d.stderr)
		}
	}
	d.terminal, d.stdin = false, "y\n"
	d.want(2, "warranties", "delete", id)
	if deleted != 0 {
		t.Fatal("it was deleted")
	}
	d.terminal, d.stdin = true, "Y\n"
	d.want(0, "warranties", "delete", id)
	d.terminal = false
	d.want(0, "warranties", "delete", id, "--yes")
	if deleted != 2 || d.stdout != "" {
		t.Errorf("%d %q", deleted, d.stdout)
	}
}

func TestVerify(t *testing.T) {
	reference := "WR-0000-0000-0000-0000"
	answer := func(status, matches string) string {
		return `{"data":{"reference_number":"` + reference + `","product_name":"Kettle","category":null,"status":"` +
			status + `","start_date":"2026-01-01","end_date":"2026-12-31","serial_number":null,"serial_matches":` + matches +
			`,"issuer":{"name":"Ada","domain":null},"checked_at":"2026-11-15T00:00:00Z"}}`
	}
	var path, sent string
	serve := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			path, sent = r.URL.String(), r.Header.Get("X-Api-Key")
			answers(200, text).ServeHTTP(w, r)
		})
	}
	for _, test := range []struct {
		status, matches string
		exit            int
		verdict         string
	}{
		{"active", "null", 0, "✓ In force"}, {"active", "true", 0, "✓ In force"},
		{"active", "false", 10, "✗ The serial number does not match"},
		{"expired", "null", 10, "✗ Not in force: expired"}, {"void", "true", 10, "✗ Not in force: void"},
		{"upcoming", "null", 10, "upcoming"}, {"cancelled", "null", 10, "cancelled"},
	} {
		d := newHarness(t, serve(answer(test.status, test.matches)))
		d.want(test.exit, "verify", reference)
		if d.stdout != answer(test.status, test.matches)+"\n" || d.stderr != "" {
			t.Errorf("piped: %q %q", d.stdout, d.stderr)
		}
		d.terminal = true
		d.want(test.exit, "verify", reference)
		if !strings.Contains(d.stdout, test.verdict) {
			t.Errorf("%s %s: %s", test.status, test.matches, d.stdout)
		}
	}
	d := newHarness(t, serve(answer("active", "null")))
	d.want(0, "verify", reference, "--serial", "A 1")
	if path != "/api/v1/verify/"+reference+"?serial=A+1" || sent != key {
		t.Error(path, sent)
	}
	delete(d.env, "SVC_API_KEY")
	d.want(0, "verify", reference)
	if path != "/verify/"+reference || sent != "" {
		t.Error("without a key:", path, sent)
	}
	d.want(4, "warranties", "list")
}

func TestSameWordsAsTheService(t *testing.T) {
	d := newHarness(t, nil)
	for args, query := range map[string]string{
		"--status broken": "status=broken", "--limit 0": "limit=0", "--page x": "page=x",
		"--expiring-within-days -1": "expiring_within_days=-1", "--status=": "status=",
		"--role boss --limit 101": "role=boss&limit=101",
	} {
		d.want(2, append([]string{"warranties", "list"}, strings.Fields(args)...)...)
		_, err := api.ListWarranties.Decode(api.Parts{Query: query})
		want, _ := json.Marshal(err.(*warranty.Error).Fields)
		if !strings.Contains(d.stderr, `"errors":`+string(want)) {
			t.Errorf("svc warranties list %s: %s, want %s", args, d.stderr, want)
		}
	}
}
