package svc_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/config"
	"warranty.example/svc/internal/describe"
	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

var update = flag.Bool("update", false, "rewrite the generated files")

// TestGeneratedFiles compares every generated file with the code. With -update it writes
// them; make generate does that.
func TestGeneratedFiles(t *testing.T) {
	t.Run("docs/openapi.json", func(t *testing.T) { generated(t, "docs/openapi.json", openAPI(t)) })
	t.Run("internal/describe/answers.json", func(t *testing.T) {
		generated(t, "internal/describe/answers.json", answers(t))
	})
	t.Run("internal/mcp/testdata/tools.json", func(t *testing.T) {
		generated(t, "internal/mcp/testdata/tools.json", tools(t))
	})
	t.Run("docs/api.md", func(t *testing.T) {
		generated(t, "docs/api.md", tables(t, "docs/api.md", map[string][][]string{
			"operations": operationRows(),
			"errors":     errorRows(),
			"roles":      roleRows(),
			"scopes":     scopeRows(),
		}))
	})
	t.Run("docs/agents.md", func(t *testing.T) {
		generated(t, "docs/agents.md", tables(t, "docs/agents.md", map[string][][]string{"tools": toolRows()}))
	})
	t.Run("docs/operations.md", func(t *testing.T) {
		generated(t, "docs/operations.md", tables(t, "docs/operations.md", map[string][][]string{"settings": settingRows()}))
	})
	t.Run("SECURITY.md", func(t *testing.T) { generated(t, "SECURITY.md", tables(t, "SECURITY.md", endingRows())) })
	t.Run("deploy/svcd.toml", func(t *testing.T) { generated(t, "deploy/svcd.toml", configFile(t)) })
}

// generated compares a file with its expected content, or writes it.
func generated(t *testing.T, file, want string) {
	t.Helper()
	have := read(t, file)
	if have == want {
		return
	}
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	was, is := firstDifference(have, want)
	t.Errorf("%s is out of date. If the change is intended, run make generate and review the diff. "+
		"It starts with:\n-%s\n+%s", file, was, is)
}

// firstDifference returns the first line that differs.
func firstDifference(a, b string) (string, string) {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return x[i], y[i]
		}
	}
	return fmt.Sprintf("(%d lines)", len(x)), fmt.Sprintf("(%d lines)", len(y))
}

// --- tables in documents ---------------------------------------------------------

// tables returns the text of a document with the tables between its comments replaced.
func tables(t *testing.T, file string, list map[string][][]string) string {
	t.Helper()
	text := read(t, file)
	for name, rows := range list {
		begin, end := "<!-- from the code: "+name+" -->\n", "<!-- end: "+name+" -->"
		before, rest, found := strings.Cut(text, begin)
		_, after, closed := strings.Cut(rest, end)
		if !found || !closed {
			t.Fatalf("%s has no %q and %q", file, strings.TrimSpace(begin), end)
		}
		text = before + begin + "\n" + table(rows) + "\n" + end + after
	}
	return text
}

// table formats rows as Markdown. The first row is the header.
func table(rows [][]string) string {
	var b strings.Builder
	for i, row := range rows {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	return b.String()
}

func settingRows() [][]string {
	rows := [][]string{{"flag", "environment variable", "default", "what it is"}}
	for _, s := range config.Table() {
		def := "none"
		if s.Default != "" {
			def = "`" + s.Default + "`"
		}
		rows = append(rows, []string{"`--" + s.Flag + "`", "`" + s.Env + "`", def, s.Help})
	}
	return rows
}

// configFile returns the configuration file of the packages. It sets the data folder,
// and has every other setting with its default as a comment.
func configFile(t *testing.T) string {
	t.Helper()
	const data = "/var/lib/svcd"
	resolve := func(args ...string) (config.Config, []config.Value) {
		flags := pflag.NewFlagSet("svcd", pflag.ContinueOnError)
		config.AddFlags(flags)
		if err := flags.Parse(args); err != nil {
			t.Fatal(err)
		}
		c, values, err := config.Resolve(flags, func(string) string { return "" }, "")
		if err != nil {
			t.Fatal(err)
		}
		return c, values
	}
	want, values := resolve("--data=" + data)
	var b, set strings.Builder
	b.WriteString(`# Settings of svcd. "svcd config --config /etc/svcd/svcd.toml" checks and prints them;
# "man svcd" describes them. Restart svcd after a change: systemctl restart svcd
#
# Each setting is shown with its default. A setting that can contain a password can also
# be read from a file: database-file = "/etc/svcd/database"

`)
	for _, v := range values {
		if v.Setting.Flag == config.FileFlag {
			continue
		}
		text := v.Text
		if !v.Setting.Literal() {
			text = strconv.Quote(text)
		}
		line := v.Setting.Flag + " = " + text + "\n"
		set.WriteString(line)
		if v.Setting.Flag != "data" {
			line = "#" + line
		}
		b.WriteString("# " + v.Setting.Help + "\n" + line + "\n")
	}
	// Without the comment signs, the settings are still the defaults.
	file := filepath.Join(t.TempDir(), "svcd.toml")
	if err := os.WriteFile(file, []byte(set.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	got, _ := resolve("--config=" + file)
	got.ConfigFile = ""
	if got.String() != want.String() {
		t.Errorf("the file sets\n%s\nwant\n%s", got, want)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// endingRows returns the tables of what ends what. TestEndings in internal/service proves them.
func endingRows() map[string][][]string {
	list := map[string][][]string{}
	for _, table := range servertest.Endings() {
		rows := [][]string{append([]string{""}, table.Events...)}
		for _, r := range table.Rows {
			row := []string{r.What}
			for _, cell := range r.Cells {
				row = append(row, string(cell))
			}
			rows = append(rows, row)
		}
		list[table.Name] = rows
	}
	return list
}

func operationRows() [][]string {
	credentials := map[api.Auth]string{api.Credential: "token or session", api.SessionOnly: "session", api.Public: "none"}
	rows := [][]string{{"call", "credential", "scope of a token", "what it does"}}
	for _, s := range api.Operations() {
		scope := "–"
		switch {
		case s.Scope != "":
			scope = "`" + string(s.Scope) + "`"
		case s.Auth == api.Credential:
			scope = "any"
		}
		rows = append(rows, []string{"`" + s.Method + " " + s.Route() + "`", credentials[s.Auth], scope, s.Summary})
	}
	return rows
}

func errorRows() [][]string {
	rows := [][]string{{"status", "code", "what to do"}}
	for _, c := range warranty.Codes() {
		rows = append(rows, []string{fmt.Sprint(c.Status), "`" + string(c.Code) + "`", c.Fix})
	}
	return rows
}

// roleRows is the table of roles, which TestTheTableOfRolesIsTried compares with what is tried on every door.
func roleRows() [][]string {
	yes := map[bool]string{true: "yes", false: "–"}
	rows := [][]string{{"", "self-recorder", "owner of an issued one", "issuer of an issued one", "confirmed seller", ""}}
	for _, r := range warranty.Rights() {
		row := []string{r.Name}
		for _, roles := range [][]warranty.Role{
			{warranty.Owner, warranty.Issuer}, {warranty.Owner}, {warranty.Issuer}, {warranty.Seller},
		} {
			row = append(row, yes[r.Allows(warranty.NewRoles(roles...))])
		}
		rows = append(rows, append(row, r.Note))
	}
	return rows
}

// scopeRows lists the tools of each scope.
func scopeRows() [][]string {
	tools := map[warranty.Scope][]string{}
	var scopes []warranty.Scope
	for _, op := range api.Operations() {
		if op.Tool == "" {
			continue
		}
		if tools[op.Scope] == nil {
			scopes = append(scopes, op.Scope)
		}
		tools[op.Scope] = append(tools[op.Scope], "`"+op.Tool+"`")
	}
	rows := [][]string{{"tool", "scope"}}
	for _, scope := range scopes {
		rows = append(rows, []string{strings.Join(tools[scope], ", "), "`" + string(scope) + "`"})
	}
	return rows
}

func toolRows() [][]string {
	yes := map[bool]string{true: "yes", false: "no"}
	rows := [][]string{{"tool", "scope", "read-only", "destructive", "idempotent", "open-world", "arguments"}}
	for _, op := range api.Operations() {
		if op.Tool == "" {
			continue
		}
		var arguments []string
		idempotent := yes[op.Repeats()]
		for _, p := range op.Params {
			name := "`" + p.Name + "`"
			if p.Required {
				name = "**" + name + "**"
			}
			if p.Name == "idempotency_key" {
				idempotent = "with a key"
			}
			arguments = append(arguments, name)
		}
		rows = append(rows, []string{"`" + op.Tool + "`", "`" + string(op.Scope) + "`", yes[op.Reads()],
			yes[op.Destroys()], idempotent, yes[op.Emails], strings.Join(arguments, ", ")})
	}
	return rows
}

// --- OpenAPI ---------------------------------------------------------------------

const versionFile = "internal/describe/openapi.go"

// openAPI returns the OpenAPI document. With -update it first increases the version if
// the document differs from the committed one.
func openAPI(t *testing.T) string {
	t.Helper()
	document := func(version string) string {
		doc, err := describe.OpenAPI(servertest.PublicURL, version)
		if err != nil {
			t.Fatal(err)
		}
		return string(doc)
	}
	version := describe.Version
	if *update {
		committed, err := exec.Command("git", "show", "HEAD:docs/openapi.json").Output()
		if err != nil {
			t.Logf("the version stays %s: git show: %v", version, err)
			return document(version)
		}
		version = nextVersion(t, string(committed), document)
		source := read(t, versionFile)
		changed := regexp.MustCompile(`(?m)^const Version = ".*"$`).ReplaceAllString(source, `const Version = "`+version+`"`)
		if err := os.WriteFile(versionFile, []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return document(version)
}

// nextVersion returns the version of the document: that of the committed one if nothing
// else differs, with the minor number increased if members were added, and otherwise with
// the patch number increased.
func nextVersion(t *testing.T, committed string, document func(version string) string) string {
	t.Helper()
	var was, is map[string]any
	if err := json.Unmarshal([]byte(committed), &was); err != nil {
		t.Fatal(err)
	}
	old := was["info"].(map[string]any)["version"].(string)
	if document(old) == committed {
		return old
	}
	if err := json.Unmarshal([]byte(document(old)), &is); err != nil {
		t.Fatal(err)
	}
	var major, minor, patch int
	if _, err := fmt.Sscanf(old, "%d.%d.%d", &major, &minor, &patch); err != nil {
		t.Fatal(err)
	}
	if len(members(is, "")) > len(members(was, "")) {
		return fmt.Sprintf("%d.%d.0", major, minor+1)
	}
	return fmt.Sprintf("%d.%d.%d", major, minor, patch+1)
}

// members returns the paths of all members of a JSON value.
func members(value any, at string) map[string]bool {
	list := map[string]bool{at: true}
	if object, ok := value.(map[string]any); ok {
		for name, member := range object {
			maps.Copy(list, members(member, at+"/"+name))
		}
	}
	return list
}

// --- tools -----------------------------------------------------------------------

// tools returns the response to tools/list: every tool's name, description, hints and
// schemas. Clients may have asked their user to approve exactly these.
func tools(t *testing.T) string {
	t.Helper()
	w := servertest.New(t, servertest.SQLite(t))
	w.Client.Transport = http.DefaultTransport // /api/mcp is not in the OpenAPI document
	token, _ := w.Token(w.Person("Ada"))
	answer := w.Must(http.StatusOK, servertest.Request{Method: "POST", Path: "/api/mcp", Secret: token,
		Body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`})
	var list struct {
		Result struct{ Tools json.RawMessage }
	}
	if err := json.Unmarshal([]byte(answer.Body), &list); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, list.Result.Tools, "", "  "); err != nil {
		t.Fatal(err)
	}
	return b.String() + "\n"
}

// --- responses to the examples ---------------------------------------------------

// answers returns the responses to the examples, which /docs shows (C16). The service is
// a real one with a fixed clock and fixed randomness.
func answers(t *testing.T) string {
	t.Helper()
	examples, err := describe.Examples()
	if err != nil {
		t.Fatal(err)
	}
	lines := make([]string, len(examples))
	t.Run("each", func(t *testing.T) {
		for i, e := range examples {
			t.Run(e.Spec.Name, func(t *testing.T) {
				t.Parallel()
				lines[i] = `"` + e.Spec.Name + `": ` + recordedAnswer(t, e)
			})
		}
	})
	return "{" + strings.Join(lines, ",\n") + "}\n"
}

// recordedAnswer returns the response to one example. Each example has its own service,
// so that they do not affect each other.
func recordedAnswer(t *testing.T, e describe.Example) string {
	t.Helper()
	clock := time.Date(2026, time.June, 1, 9, 30, 0, 0, time.UTC)
	random := rand.NewChaCha8([32]byte([]byte("the examples of the reference...")))
	w := servertest.New(t, servertest.SQLite(t), func(s *server.Server) {
		s.Service.Now, s.Service.Random = func() time.Time { return clock }, random
		ids := 0
		s.Service.NewID = func() warranty.ID {
			ids++
			return exampleID(clock, ids)
		}
	})
	stage := &servertest.Stage{T: t, URL: w.HTTP.URL, Client: w.Client, MailedCode: w.MailedCode,
		MailedNotMe: w.MailedNotMe,
		Account:     servertest.Person{Name: "Ada Moreno", Email: "ada@shop.example", Password: "plum ladder quiet harbour"}}
	if _, err := w.Service.AddUser(t.Context(), warranty.Register{Name: stage.Account.Name, Email: stage.Account.Email,
		Password: stage.Account.Password}); err != nil {
		t.Fatal(err)
	}
	stage.Passkey = func() string { return w.Passkey(stage.Account.Email) }
	values := stage.Set(e.Spec)
	switch {
	case e.Spec.Name == api.UndoBulk.Name, e.Spec.Name == api.ConfirmTOTP.Name: // which are too late then
	case e.Spec.Name == api.RestoreAccount.Name: // so is this, after 10 minutes
		clock = clock.Add(5 * time.Minute)
	case slices.Contains(e.Spec.Errors, warranty.ConfirmationRequired): // so is this, after 15 minutes
		clock = clock.Add(10 * time.Minute)
	default:
		clock = clock.Add(26 * time.Minute)
	}
	if e.Spec.Name == api.ListTokenRequests.Name {
		w.Must(200, servertest.Request{Method: "GET", Path: "/api/v1/warranties", Secret: values["TOKEN_SECRET"],
			Header: map[string]string{
				"User-Agent": "erp/2.1", "X-Request-Id": "019e8267-5f40-7b1d-9c3a-64d0f2a81e57"}})
		if err := w.Service.FlushUsage(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	path, body := e.Request(values)
	r := servertest.Request{Method: e.Method, Path: path, Header: map[string]string{}}
	for name := range e.Header {
		r.Header[name] = e.Header.Get(name)
	}
	if body != "" {
		r.Body = body
	}
	switch e.Spec.Auth {
	case api.Credential:
		r.Secret = values["SVC_API_KEY"]
	case api.SessionOnly:
		r.Secret = values["SVC_SESSION"]
	}
	if e.ForOrganization() {
		r.Header["X-Account"] = values["ORGANIZATION_ID"]
	}
	a := w.Do(r)
	if a.Status != e.Spec.Status {
		t.Errorf("%s %s %s: got %d, want %d: %s", e.Spec.Name, e.Method, path, a.Status, e.Spec.Status, a.Body)
	}
	text, err := json.Marshal(struct {
		Status int             `json:"status"`
		Body   json.RawMessage `json:"body,omitempty"`
	}{a.Status, json.RawMessage(unsecret(a.Body))})
	if err != nil {
		t.Fatalf("%s: %v", e.Spec.Name, err)
	}
	return string(text)
}

var (
	keys    = regexp.MustCompile(`("secret":"|secret=)[A-Z2-7]{32}`)
	codes   = regexp.MustCompile(`"[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){5}"`)
	secrets = regexp.MustCompile(`\b(sv[cs]_)[0-9A-Za-z]{49}`)
	took    = regexp.MustCompile(`"ms":\d+`)
	cursor  = regexp.MustCompile(`"cursor":"[^"]+"`)    // has the same
	synced  = regexp.MustCompile(`"synced_to":"[^"]+"`) // by the database's clock
)

// unsecret removes what looks like a credential, and values that the fixed clock does not
// control.
func unsecret(body string) string {
	body = secrets.ReplaceAllString(body, "${1}xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")
	body = keys.ReplaceAllString(body, "${1}GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ")
	body = codes.ReplaceAllString(body, `"XXXX-XXXX-XXXX-XXXX-XXXX-XXXX"`)
	body = cursor.ReplaceAllString(body, `"cursor":"AAZTLqhPgAAABlMuqE-AAAGegoTFwHocjQJvO5HEIAoAAAAAAAAAAAAGUy6oT3________________________w"`)
	return synced.ReplaceAllString(took.ReplaceAllString(body, `"ms":4`), `"synced_to":"2026-06-01T09:56:00Z"`)
}

// exampleID returns a deterministic UUIDv7 for the time.
func exampleID(at time.Time, n int) warranty.ID {
	ms := at.UnixMilli()
	id := warranty.ID{6: 0x7a, 7: 0x1c, 8: 0x8d, 9: 0x02, 10: 0x6f, 11: 0x3b, 12: 0x91, 13: 0xc4, 14: 0x20, 15: byte(n)}
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	return id
}
