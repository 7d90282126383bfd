//go:build browser

package browser

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/ncruces/go-sqlite3/driver"

	"warranty.example/svc/e2e/lab"
)

// expireSessions lets the sessions of a person expire a minute ago.
func (s *site) expireSessions(t testing.TB, email string) {
	t.Helper()
	db, err := driver.Open("file:" + filepath.Join(s.Dir, "data", "svc.db") + "?_pragma=busy_timeout(60000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`UPDATE sessions SET expires_at = ? WHERE user_id = (SELECT id FROM users WHERE email = ?)`,
		time.Now().Add(-time.Minute).UnixMicro(), email); err != nil {
		t.Fatal(err)
	}
}

// lateForm is a form with a file. path and fill are those of the form, button sends it.
type lateForm struct {
	path, button string
	fields       []string
	kept         string // the expression of what was typed
	done         string // what the page says when it was performed
}

// TestFormsWithFilesOutliveTheirSession fills every form with a file, lets the session expire and sends it. With scripts
// the form stays on its page until the person has signed in in another tab; without, it is shown again after sign-in.
// Both have what was typed and the file, and sending it performs it.
func TestFormsWithFilesOutliveTheirSession(t *testing.T) {
	t.Parallel()
	s := openUndrawn(t)
	b, _, email := s.member(t, "late")
	createKettle(t, b)
	id := strings.TrimPrefix(strings.SplitN(b.path(t), "?", 2)[0], "/warranties/")
	b.mustOpen(t, "/documents/new?warranty_id="+id)
	b.fill(t, "#file", receipt(t, "first.pdf"))
	b.press(t, "Upload")
	document := b.links(t, `main a[href^="/documents/"]:not([href*="new"]):not([href*="view"]):not([href*="file"])`)[0]
	b.mustOpen(t, "/claims/new?warranty_id="+id)
	b.fill(t, "#incident_date", "2025-01-02", "#description", "It leaks.")
	b.press(t, "File claim")
	claim := strings.SplitN(b.path(t), "?", 2)[0]
	forms := []lateForm{
		{"/claims/new?warranty_id=" + id, "File claim", []string{"#incident_date", "2025-01-02", "#description", "It flickers."},
			`document.querySelector("#description").value`, "It flickers."},
		{claim, "Add note", []string{"#body", "It flickers."}, `document.querySelector("#body").value`, "It flickers."},
		{"/warranties/new", "Save warranty", []string{"#product_name", "It flickers."}, `document.querySelector("#product_name").value`, "It flickers."},
		{"/documents/new?warranty_id=" + id, "Upload", nil, `"It flickers."`, "Document uploaded."},
		{document, "Replace file", nil, `"It flickers."`, "evidence"},
	}
	for i, f := range forms {
		for _, script := range []bool{true, false} {
			what := fmt.Sprintf("%s, script %v", f.path, script)
			page := b.another(t)
			if !script {
				page = b.withoutScript(t)
			}
			name := fmt.Sprintf("evidence-%d-%v.txt", i, script)
			page.mustOpen(t, f.path)
			eval[bool](t, page, `document.querySelectorAll("main details").forEach(d => d.open = true) === undefined`)
			page.fill(t, f.fields...)
			page.fill(t, `main input[name=file]:not([capture])`, note(t, name))
			s.expireSessions(t, email)
			if script {
				page.do(t, chromedp.Click(sendButton(f.button), chromedp.NodeVisible))
				page.until(t, `!!document.querySelector("form [data-signed-out]")`)
				b.signIn(t, email, lab.Password)
				if kept := eval[string](t, page, f.kept); kept != "It flickers." {
					t.Errorf("%s: the form has %q", what, kept)
				}
			} else {
				if status := page.leads(t, chromedp.Click(sendButton(f.button), chromedp.NodeVisible)); status != http.StatusUnauthorized {
					t.Fatalf("%s: %d\n%s", what, status, page.describe())
				}
				page.fill(t, "#email", email, "#password", lab.Password)
				page.press(t, "Sign in")
				page.mustShow(t, name+" is kept. You don't need to choose it again.", "You were signed out.")
				if kept := eval[string](t, page, f.kept); kept != "It flickers." {
					t.Errorf("%s: the form has %q", what, kept)
				}
				b.mustOpen(t, "/") // the session of the browser is the new one
			}
			page.leads(t, chromedp.Click(sendButton(f.button), chromedp.NodeVisible))
			page.mustShow(t, f.done)
			b.mustOpen(t, "/documents")
			b.mustShow(t, name)
		}
	}
}

// note writes a text file.
func note(t testing.TB, name string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte("What "+name+" says.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// sendButton is the XPath of the button that sends a form.
func sendButton(text string) string { return fmt.Sprintf(`//main//button[normalize-space()=%q]`, text) }
