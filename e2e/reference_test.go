package e2e

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3/driver"

	"warranty.example/svc/api"
	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// TestReferenceRuns runs every example of the reference unchanged on a demo, and compares the
// status and the shape of the response with those on the page (C16).
func TestReferenceRuns(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
	p := lab.Start(t, append(slices.Clone(lab.Unthrottled), "--demo", "--organization-limit=200")...)
	m := regexp.MustCompile(`owner@demo\.example +password (\S+)`).FindStringSubmatch(p.Output())
	stage := &servertest.Stage{T: t, URL: p.URL, Client: http.DefaultClient, MailedCode: newestCode(t, p, "code"),
		MailedNotMe: newestCode(t, p, "not_me"),
		Account:     servertest.Person{Email: "owner@demo.example", Password: m[1]}}
	page := referencePage{examples: map[string]map[string]string{}}
	for _, m := range regexp.MustCompile(`<h2 id="\w+"><a href="(/docs/\w+)">`).FindAllStringSubmatch(page.read(t, p.URL+"/docs"), -1) {
		page.read(t, p.URL+m[1])
	}
	stage.Passkey = func() string { return passkeyOf(t, p, stage.Account.Email) }

	t.Run("setup", func(t *testing.T) {
		key := stage.Set(api.GetAuthStatus.Spec)["SVC_API_KEY"]
		out := shell(t, page.setup+"\necho \"$SVC_SESSION $WARRANTY_ID $REFERENCE $CLAIM_ID $DOCUMENT_ID $TOKEN_ID\"",
			map[string]string{"EMAIL": stage.Account.Email, "PASSWORD": stage.Account.Password, "SVC_API_KEY": key})
		const id = `[0-9a-f-]{36}`
		if !regexp.MustCompile(`^svs_\w{49} ` + id + ` WR-[0-9A-Z-]{19} ` + id + ` ` + id + ` ` + id + `\n$`).MatchString(out) {
			t.Errorf("the variables are %q", out)
		}
	})
	for _, op := range api.Operations() {
		t.Run(op.Name, func(t *testing.T) {
			shown, ok := page.examples[op.Name]
			if !ok || shown["curl"] == "" || shown["response"] == "" {
				t.Fatalf("the page shows %q", shown)
			}
			if strings.HasPrefix(shown["status"], "0") {
				t.Skip("answers.json has no response yet; TestGeneratedFiles reports that")
			}
			stage.T = t
			page.tryCurl(t, shown, stage.Set(op))
			if shown["cli"] != "" {
				page.tryCLI(t, p, shown, stage.Set(op))
			}
			if shown["mcp"] != "" {
				page.tryMCP(t, shown, stage.Set(op))
			}
		})
	}
}

// passkeyOf adds a passkey to an account, and returns its id.
func passkeyOf(t *testing.T, p *lab.Process, email string) string {
	t.Helper()
	db, err := driver.Open("file:" + filepath.Join(p.Dir, "data", "svc.db") + "?_pragma=busy_timeout(60000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var id warranty.ID
	_, _ = rand.Read(id[:]) // never fails
	if _, err := db.Exec(`INSERT INTO passkeys (id, user_id, name, credential_id, public_key, counter, transports, backup_eligible,
		backed_up, created_at) SELECT ?, id, 'Phone', ?, x'00', 0, '', 0, 0, created_at FROM users WHERE email = ?`,
		id[:], id[:], email); err != nil {
		t.Fatal(err)
	}
	return id.String()
}

// referencePage holds the examples of /docs and the pages of its groups.
type referencePage struct {
	setup    string
	examples map[string]map[string]string // by operation and kind
}

// read adds the examples of a page and returns it.
func (page *referencePage) read(t *testing.T, address string) string {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/html")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?s)<pre data-example="(\w+)" data-op="([\w.]+)"[^>]*aria-label="([^"]*)"[^>]*>(.*?)</pre>`).FindAllStringSubmatch(string(body), -1) {
		kind, name, label, text := m[1], m[2], m[3], html.UnescapeString(m[4])
		if page.examples[name] == nil {
			page.examples[name] = map[string]string{}
		}
		page.examples[name][kind] = text
		if kind == "response" {
			page.examples[name]["status"] = label[strings.LastIndex(label, ": ")+2:]
		}
	}
	if m := regexp.MustCompile(`(?s)<pre id="setup-commands"[^>]*>(.*?)</pre>`).FindStringSubmatch(string(body)); m != nil {
		page.setup = html.UnescapeString(m[1])
	}
	return string(body)
}

// shell runs a script in bash with these variables.
func shell(t *testing.T, script string, values map[string]string) string {
	t.Helper()
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", script)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=" + lab.Binaries + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + cmd.Dir}
	for name, value := range values {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.WaitDelay = time.Minute
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%v\n%s\n%s%s", err, script, out, errs.String())
	}
	return string(out)
}

// curlTells makes curl print the status after the body.
const curlTells = "curl() { command curl -sS -w '\\n%{http_code}' \"$@\"; }\n"

func (page referencePage) tryCurl(t *testing.T, shown, values map[string]string) {
	t.Helper()
	out := shell(t, curlTells+shown["curl"], values)
	body, status := out[:max(0, strings.LastIndex(out, "\n"))], out[strings.LastIndex(out, "\n")+1:]
	if status != strings.Fields(shown["status"])[0] {
		t.Errorf("the page shows %s, the service returned %s: %s", shown["status"], status, body)
	}
	sameShape(t, "curl", body, shown["response"])
}

func (page referencePage) tryCLI(t *testing.T, p *lab.Process, shown, values map[string]string) {
	t.Helper()
	values["SVC_BASE_URL"] = p.URL + "/api/v1"
	sameShape(t, "svc", shell(t, shown["cli"], values), shown["response"])
}

func (page referencePage) tryMCP(t *testing.T, shown, values map[string]string) {
	t.Helper()
	var answer struct {
		Result struct {
			IsError           bool
			StructuredContent map[string]any
		}
	}
	out := shell(t, curlTells+shown["mcp"], values)
	body := out[:max(0, strings.LastIndex(out, "\n"))]
	if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Result.IsError || answer.Result.StructuredContent == nil {
		t.Errorf("the tool returned %v %s", err, body)
		return
	}
	if answer.Result.StructuredContent["done"] == true {
		return
	}
	var rest map[string]any
	if err := json.Unmarshal([]byte(shown["response"]), &rest); err != nil {
		t.Fatal(err)
	}
	delete(answer.Result.StructuredContent, "etag")  // a header in REST
	delete(answer.Result.StructuredContent, "today") // the Date header in REST
	for _, difference := range shapes("", answer.Result.StructuredContent, rest, true) {
		t.Error("mcp: " + difference)
	}
}

// sameShape compares the members and types of two JSON documents, not their values.
func sameShape(t *testing.T, what, got, shown string) {
	t.Helper()
	if !strings.HasPrefix(shown, "{") { // the page shows that there is no body
		if strings.TrimSpace(got) != "" {
			t.Errorf("%s: a body where the page shows none: %s", what, got)
		}
		return
	}
	var ours, theirs any
	if err := json.Unmarshal([]byte(got), &ours); err != nil {
		t.Errorf("%s: %v: %s", what, err, got)
		return
	}
	if err := json.Unmarshal([]byte(shown), &theirs); err != nil {
		t.Errorf("%s: the response on the page is not JSON: %v", what, err)
		return
	}
	for _, difference := range shapes("", ours, theirs, false) {
		t.Errorf("%s: %s", what, difference)
	}
}

// shapes lists the differences between the types of two values. null matches any type;
// with nullsLeftOut, members that are null may be missing.
func shapes(at string, got, shown any, nullsLeftOut bool) (differences []string) {
	if got == nil || shown == nil {
		return nil
	}
	switch shown := shown.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			return []string{at + " is not an object"}
		}
		for name, value := range shown {
			if _, ok := got[name]; !ok && !nullsLeftOut {
				differences = append(differences, at+"."+name+" is shown and does not come")
			}
			differences = append(differences, shapes(at+"."+name, got[name], value, nullsLeftOut)...)
		}
		for name := range got {
			if _, ok := shown[name]; !ok {
				differences = append(differences, at+"."+name+" comes and is not shown")
			}
		}
	case []any:
		got, ok := got.([]any)
		if !ok {
			return []string{at + " is not a list"}
		}
		if len(got) > 0 && len(shown) > 0 {
			return shapes(at+"[]", got[0], shown[0], nullsLeftOut)
		}
	default:
		if fmt.Sprintf("%T", got) != fmt.Sprintf("%T", shown) {
			return []string{fmt.Sprintf("%s is a %T, and a %T is shown", at, got, shown)}
		}
	}
	return differences
}

// newestCode returns a function that waits for a code emailed to an address that it
// has not returned before.
func newestCode(t *testing.T, p *lab.Process, what string) func(email string) string {
	given := map[string]int{}
	return func(email string) string {
		var codes []string
		testenv.Wait(t, "a code is emailed to "+email, func() bool {
			codes = nil
			for _, line := range p.Logged("mail") {
				if code, ok := line[what].(string); ok && line["to"] == email {
					codes = append(codes, code)
				}
			}
			return len(codes) > given[email]
		})
		given[email] = len(codes)
		return codes[len(codes)-1]
	}
}

// TestSvcHelpShowsExamples expects an example in the help of every operation (C16).
func TestSvcHelpShowsExamples(t *testing.T) {
	t.Parallel()
	svc := filepath.Join(lab.Binaries, "svc")
	for _, op := range api.Operations() {
		if !op.HasCommand() {
			continue
		}
		noun, verb, _ := strings.Cut(op.Name, ".")
		words := []string{noun, strings.ReplaceAll(verb, "_", "-"), "--help"}
		if op.Name == api.VerifyWarranty.Name {
			words = words[1:]
		}
		out, err := exec.Command(svc, words...).Output()
		if err != nil || !strings.Contains(string(out), "Examples:\n  svc "+strings.Join(words[:len(words)-1], " ")) {
			t.Errorf("svc %s: %v, the help has no example:\n%s", strings.Join(words, " "), err, out)
		}
	}
}
