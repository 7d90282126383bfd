package svc_test

import (
	"bufio"
	"database/sql"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // for the recipe on PostgreSQL

	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// --- names and links -------------------------------------------------------------

// documents returns all Markdown files of the project.
func documents(t *testing.T) []string { return files(t, ".md") }

// files returns the project's files with this ending.
func files(t *testing.T, ending string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"bin", "coverage", "data", "node_modules", "testdata"}, d.Name())) {
			return fs.SkipDir
		}
		if err == nil && strings.HasSuffix(path, ending) {
			list = append(list, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// scripts returns the names of the scripts of package e2e.
func scripts(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob("e2e/testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestNamedTestsExist checks that every test and script that a document names exists.
func TestNamedTestsExist(t *testing.T) {
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	have := map[string]bool{}
	for _, file := range files(t, "_test.go") {
		for _, m := range declared.FindAllStringSubmatch(read(t, file), -1) {
			have[m[1]] = true
		}
	}
	for _, file := range scripts(t) {
		have[filepath.Base(file)] = true
	}
	named := regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w*|[\w-]+\.txtar\b`)
	for _, file := range documents(t) {
		for _, name := range named.FindAllString(read(t, file), -1) {
			if !have[name] {
				t.Errorf("%s names %s, which does not exist", file, name)
			}
		}
	}
	if !named.MatchString(read(t, "SECURITY.md")) {
		t.Error("SECURITY.md names no test")
	}
}

// TestLinksLead checks the links between the documents, including their anchors.
func TestLinksLead(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, file := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(withoutCode(read(t, file)), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			path := file
			if target != "" {
				path = filepath.Join(filepath.Dir(file), target)
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s links to %s, which does not exist", file, m[1])
				continue
			}
			if anchor != "" && !slices.Contains(anchors(read(t, path)), anchor) {
				t.Errorf("%s links to %s, which has no such heading", file, m[1])
			}
		}
	}
}

var fenced = regexp.MustCompile("(?ms)^```.*?^```$")

func withoutCode(markdown string) string { return fenced.ReplaceAllString(markdown, "") }

// anchors returns the anchors of a document's headings.
func anchors(markdown string) []string {
	var list []string
	for line := range strings.Lines(withoutCode(markdown)) {
		title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if !ok || line[0] != '#' {
			continue
		}
		list = append(list, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 127:
				return r
			}
			return -1
		}, strings.ToLower(strings.TrimSpace(title))))
	}
	return list
}

// TestThirdPartyIsComplete expects a line for every direct dependency of the main module and of e2e.
func TestThirdPartyIsComplete(t *testing.T) {
	text := read(t, "THIRD_PARTY.md")
	for _, file := range []string{"go.mod", "e2e/go.mod"} {
		out, err := exec.Command("go", "mod", "edit", "-json", file).Output()
		if err != nil {
			t.Fatal(err)
		}
		var mod struct {
			Require []struct {
				Path     string
				Indirect bool
			}
		}
		if err := json.Unmarshal(out, &mod); err != nil {
			t.Fatal(err)
		}
		for _, r := range mod.Require {
			if r.Path != module && !r.Indirect && !strings.Contains(text, "| `"+r.Path+"` |") {
				t.Errorf("THIRD_PARTY.md has no line for %s", r.Path)
			}
		}
	}
}

// --- restoring a backup ----------------------------------------------------------

// credentialColumns are all columns that contain a credential or look like it, with the
// statement of the restore recipe that ends them, or the reason why none is needed.
var credentialColumns = map[string]string{
	"sessions.secret_hash":      "DELETE FROM sessions;",
	"token_secrets.secret_hash": "UPDATE tokens SET revoked_at = ",
	"one_time_codes.code_hash":  "DELETE FROM one_time_codes;",
	"calendars.secret_hash":     "DELETE FROM calendars;",
	"invitations.code_hash":     "DELETE FROM invitations;",
	"address_codes.code_hash":   "DELETE FROM address_codes;",
	"address_codes.stop_hash":   "DELETE FROM address_codes;",
	"offer_codes.code_hash":     "DELETE FROM offer_codes WHERE transfer = 1;", // customers have the others, which no longer sign in
	"mails.code":                "DELETE FROM mails;",
	"unsubscribe_keys.value":    "DELETE FROM unsubscribe_keys;",

	"oauth_requests.code_hash":   "DELETE FROM oauth_requests;",
	"oauth_codes.code_hash":      "DELETE FROM oauth_codes;",
	"setup_codes.code_hash":      "DELETE FROM setup_codes;",
	"asked_codes.page_hash":      "DELETE FROM asked_codes;",
	"asked_codes.link_hash":      "DELETE FROM asked_codes;",
	"asked_codes.code_hash":      "DELETE FROM asked_codes;",
	"ended_codes.code_hash":      "codes that no longer work",
	"refresh_tokens.secret_hash": "DELETE FROM refresh_tokens;",
	"refresh_tokens.parent_hash": "DELETE FROM refresh_tokens;",
	"users.password_hash":        "the text says that passwords are the old ones",
	"users.credential_epoch":     "a counter",
	"users.passkey_handle":       "names a person to their passkeys and lets nobody in",

	"not_me_codes.code_hash":         "DELETE FROM not_me_codes;",
	"sign_in_flows.flow_hash":        "DELETE FROM sign_in_flows;",
	"sign_in_flows.browser_hash":     "DELETE FROM sign_in_flows;",
	"sign_in_flows.state":            "DELETE FROM sign_in_flows;",
	"passkeys.credential_id":         "names a passkey; its key is in the device",
	"passkeys.public_key":            "the public half of a key",
	"totp.sealed_secret":             "a second factor, sealed with a key that is not in the database",
	"totp_pending.sealed_secret":     "a second factor, sealed with a key that is not in the database",
	"recovery_codes.code_hash":       "a second factor, which lets nobody in without the first",
	"used_challenges.challenge_hash": "a challenge that no longer works",

	"devices.device_hash":      "tells a known browser from a new one and lets nobody in",
	"documents.sha256":         "a checksum of a file",
	"signing_keys.public_key":  "the public half of a key",
	"idempotency.fingerprint":  "a checksum of a request",
	"drafts.sha256":            "a checksum of a file",
	"document_versions.sha256": "a checksum of a file",
	"logos.sha256":             "a checksum of a file",
	"thumbnails.content":       "a small picture",
	"mails.unsubscribe":        "names who can unsubscribe; the key signs it when the email is sent",
	"index_parts.part":         "the name of a part of an index",
	"index_parts.data":         "a part of an index",
}

// TestRestoreEndsEveryCredential checks that the recipe for other backup tools covers every
// credential in the schema, and runs it (B13). svcd restore is tested in internal/archive.
func TestRestoreEndsEveryCredential(t *testing.T) {
	text := read(t, "docs/operations.md")
	_, rest, _ := strings.Cut(text, "```sql\n")
	recipe, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("docs/operations.md has no restore recipe")
	}
	secret := looksSecret(t)
	for column := range secret {
		how, ok := credentialColumns[column]
		if !ok {
			t.Errorf("%s looks like a credential: end it in store.Loader, in the recipe in docs/operations.md and in this test", column)
		}
		if isStatement := strings.HasPrefix(how, "DELETE ") || strings.HasPrefix(how, "UPDATE "); isStatement && !strings.Contains(recipe, how) {
			t.Errorf("the restore recipe does not cover %s: it lacks %q", column, how)
		}
	}
	for column := range credentialColumns {
		if !secret[column] {
			t.Errorf("%s does not exist", column)
		}
	}
	runRecipe(t, testenv.Postgres(t), recipe)
}

// looksSecret returns the columns of all migrations whose name or type suggests a secret.
func looksSecret(t *testing.T) map[string]bool {
	t.Helper()
	table := regexp.MustCompile(`^(?:CREATE|ALTER) TABLE (\w+)`)
	column := regexp.MustCompile(`^(?:ALTER TABLE \w+ ADD COLUMN)?\s+(\w*(?:hash|secret|code|password|credential)\w*|\w+ BYTEA)\b`)
	found := map[string]bool{}
	for _, file := range files(t, ".sql") {
		if !strings.HasPrefix(file, "internal/store/migrations/") {
			continue
		}
		name := ""
		for line := range strings.Lines(read(t, file)) {
			if m := table.FindStringSubmatch(line); m != nil {
				name = m[1]
			}
			if m := column.FindStringSubmatch(line); m != nil {
				found[name+"."+strings.TrimSuffix(m[1], " BYTEA")] = true
			}
		}
	}
	return found
}

// runRecipe creates an account with all kinds of credentials, and runs the recipe.
func runRecipe(t *testing.T, database, recipe string) {
	t.Helper()
	st, err := store.Open(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s := service.New(st, slog.New(slog.DiscardHandler))
	now := s.Now()
	id, hash := s.NewID(), warranty.Hash{1}
	err = st.Write(t.Context(), func(tx *store.Tx) error {
		return errors.Join(
			tx.InsertToken(id, id, warranty.Token{ID: id, Name: "x", ExpiresAt: now.AddDate(1, 0, 0), CreatedAt: now}, hash),
			tx.InsertSession(store.Session{ID: id, User: id, Secret: hash, Created: now, Expires: now.AddDate(1, 0, 0)}),
			tx.InsertProof(id, id, id, now),
			tx.InsertFlow(store.Flow{Hash: hash, Kind: store.FlowSecondStep, User: &id, State: []byte("{}"), Created: now, Expires: now}),
			tx.InsertCode(hash, store.ForReset, id, now.AddDate(1, 0, 0)),
			tx.InsertInvitation(id, id, warranty.Invitation{ID: id, Email: "a@a.example", Role: warranty.Admin, CreatedAt: now, ExpiresAt: now}, hash),
			tx.InsertAddressCode(store.AddressCode{Account: id, Email: "a@a.example", Expires: now}, hash),
			tx.InsertMail(store.Mail{ID: id, To: "a@a.example", Code: "x"}))
	})
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for statement := range strings.SplitSeq(recipe, ";") {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	for _, left := range []string{`tokens WHERE revoked_at IS NULL OR revoked_at > 4000000000000000`, `sessions`, `session_proofs`, `sign_in_flows`, `not_me_codes`, `one_time_codes`, `calendars`, `invitations`, `address_codes`, `offer_codes WHERE transfer = 1 OR signs_in_until IS NOT NULL`, `mails`} {
		n := 0
		if err := db.QueryRow(`SELECT count(*) FROM ` + left).Scan(&n); err != nil || n > 0 {
			t.Errorf("%s still has %d rows, %v", left, n, err)
		}
	}
}

// --- commands that are run -------------------------------------------------------

// TestDocumentsRun runs the commands in the documents. Each document is one script
// against a new svcd, made of the parts between <!-- run --> and <!-- end of run -->.
func TestDocumentsRun(t *testing.T) {
	bin := t.TempDir()
	if err := testenv.Programs(bin, "svcd", "svc"); err != nil {
		t.Fatal(err)
	}
	for _, doc := range []struct {
		file  string
		needs string   // a program that may not be installed
		shows []string // texts in the output
	}{
		{"README.md", "curl", []string{`"credential":"token"`, `"pagination":`, "HTTP/1.1 201 Created", "Idempotent-Replayed: true",
			`"assurance":"unverified"`}},
		{"docs/api.md", "curl", []string{`"secret":"svc_`, `"code":"idempotency_key_reused"`, `"code":"precondition_failed"`, "HTTP/1.1 204 No Content", `"code":"token_revoked"`,
			`"status":"submitted"`, `"file_name":"receipt.txt"`, `"content_type":"text/plain`, `"structuredContent":{`, `"length_months":24,`, `"next":null,"synced_to":"20`}},
		{"docs/agents.md", "curl", []string{`"name":"list_warranties"`, `"inputSchema":{`}},
		{"docs/operations.md", "bash", []string{"added ada@shop.example", "new password set for ada@shop.example", "disabled ada@shop.example", "enabled ada@shop.example", "erased ada@shop.example", "all sessions, tokens, codes", "all checksums equal; 11 files", "ok      files     11 files", "all checksums right", "ok      records ",
			`signup = "closed" # SVC_SIGNUP`, `# smtp = "smtps://mail.example" # --smtp; secret hidden`}},
	} {
		t.Run(doc.file, func(t *testing.T) {
			if _, err := exec.LookPath(doc.needs); err != nil {
				t.Skipf("%s is not installed", doc.needs)
			}
			demo := startDemo(t, bin)
			out := demo.run(t, bin, script(t, doc.file))
			for _, want := range doc.shows {
				if !strings.Contains(out, want) {
					t.Errorf("the output does not contain %q:\n%s", want, out)
				}
			}
			for line := range strings.Lines(out) {
				if strings.HasPrefix(line, "{") && !json.Valid([]byte(line)) {
					t.Errorf("a response is not JSON: %s", line)
				}
			}
		})
	}
}

// TestShownProblemsAreReal compares the problems in the documents with the real one (C16).
func TestShownProblemsAreReal(t *testing.T) {
	err := (&warranty.CreateWarranty{ProductName: "Kettle", StartDate: warranty.NewDate(2027, 1, 1), EndDate: warranty.NewDate(2026, 1, 1)}).Check()
	want := warranty.AsError(err).Problem("https://warranty.example.com", "019e8267-5f40-7b1d-9c3a-64d0f2a81e57")
	want.Parts = nil // it is not sent
	for _, file := range []string{"docs/api.md", "docs/agents.md"} {
		found := 0
		for _, block := range jsonBlock.FindAllStringSubmatch(read(t, file), -1) {
			var shown warranty.Problem
			if json.Unmarshal([]byte(block[1]), &shown) != nil || shown.Code == "" {
				continue // another example
			}
			found++
			if !reflect.DeepEqual(shown, want) {
				t.Errorf("%s shows %+v, but the service returns %+v", file, shown, want)
			}
		}
		if found == 0 {
			t.Errorf("%s shows no problem", file)
		}
	}
}

var jsonBlock = regexp.MustCompile("(?ms)^```json\n(.*?)^```$")

var (
	runnable = regexp.MustCompile(`(?s)<!-- run -->(.*?)<!-- end of run -->`)
	shBlock  = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")
)

// script returns the commands of a document.
func script(t *testing.T, file string) string {
	t.Helper()
	var b strings.Builder
	for _, part := range runnable.FindAllStringSubmatch(read(t, file), -1) {
		for _, block := range shBlock.FindAllStringSubmatch(part[1], -1) {
			b.WriteString(block[1])
		}
	}
	if b.Len() == 0 {
		t.Fatalf("%s has no commands", file)
	}
	return b.String()
}

// demo is a running svcd --demo.
type demo struct {
	folder, url, token, password string
}

// startDemo starts svcd in a new folder and stops it when the test ends.
func startDemo(t *testing.T, bin string) demo {
	t.Helper()
	d := demo{folder: t.TempDir()}
	cmd := exec.Command(filepath.Join(bin, "svcd"), "--demo", "--listen=127.0.0.1:0")
	cmd.Dir, cmd.Env = d.folder, append(clean(os.Environ()), "SVC_DRAIN=0s")
	// A file instead of a pipe: it has everything that was printed before svcd listens.
	printed, err := os.Create(filepath.Join(t.TempDir(), "printed"))
	if err != nil {
		t.Fatal(err)
	}
	defer printed.Close()
	cmd.Stdout = printed
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	listening := make(chan string, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(log); lines.Scan(); {
			var line struct{ Msg, Address string }
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "listening" {
				listening <- line.Address
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		testenv.Receive(t, "svcd ends", ended)
		if err := cmd.Wait(); err != nil {
			t.Errorf("svcd: %v", err)
		}
	})
	select {
	case address := <-listening:
		d.url = "http://" + address
	case <-ended:
		t.Fatal("svcd exited before it listened")
	case <-time.After(testenv.Patience):
		t.Fatalf("svcd does not listen after %v", testenv.Patience)
	}
	welcome := read(t, printed.Name())
	m := regexp.MustCompile(`(?s)owner@demo\.example +password (\S+).*export SVC_API_KEY=(\S+)`).FindStringSubmatch(welcome)
	if m == nil {
		t.Fatalf("the demo printed no password or no token:\n%s", welcome)
	}
	d.password, d.token = m[1], m[2]
	return d
}

// clean returns an environment without settings of svcd, so that the defaults apply.
func clean(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool { return strings.HasPrefix(v, "SVC_") })
}

// run runs a script with the sign-ins and the token of the demo.
func (d demo) run(t *testing.T, bin, script string) string {
	t.Helper()
	const printed = "http://127.0.0.1:8080"
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", strings.ReplaceAll(script, printed, d.url))
	cmd.Dir = d.folder
	cmd.Env = append(clean(os.Environ()), "SVC_API_KEY="+d.token, "DEMO_PASSWORD="+d.password, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.WaitDelay = time.Minute
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Fatalf("%v\n%s\n%s", err, out, exit.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
