//go:build browser

package browser

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/ncruces/go-sqlite3/driver"

	"warranty.example/svc/e2e/lab"
)

// operate runs a user command beside the running server.
func (s *site) operate(t testing.TB, command, email string) {
	t.Helper()
	out, err := exec.Command(lab.Svcd(), "user", command, email, "--data="+filepath.Join(s.Dir, "data")).CombinedOutput()
	if err != nil {
		t.Fatalf("user %s: %v\n%s", command, err, out)
	}
}

// appoint makes an account an operator.
func (s *site) appoint(t testing.TB, email string) {
	t.Helper()
	s.confirm(t, email)
	s.operate(t, "admin", email)
}

// confirm verifies the address of an account.
func (s *site) confirm(t testing.TB, email string) {
	t.Helper()
	session := s.Want(t, 201, lab.Call{Method: "POST", Path: "/api/auth/sessions",
		Body: map[string]string{"email": email, "password": lab.Password}}).Must(t, "data.access_token")
	code, err := s.Mailed(email, "Confirm your email address")
	if err != nil {
		t.Fatal(err)
	}
	s.Want(t, 200, lab.Call{Method: "POST", Path: "/api/auth/verify-email", Secret: session, Body: map[string]string{"code": code}})
}

// trouble adds emails that wait or failed, and an error, each with a text.
func (s *site) trouble(t testing.TB, text string) {
	t.Helper()
	db, err := driver.Open("file:" + filepath.Join(s.Dir, "data", "svc.db") + "?_pragma=busy_timeout(60000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	now := time.Now()
	const mail = `INSERT INTO mails (id, address, subject, body, code, attempts, failed_attempts, claimed_until, failed_at,
		last_error, expires_at) VALUES (randomblob(16), ?, ?, 'Your code: 1234', ?, ?, ?, ?, ?, ?, ?)`
	never := time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC).UnixMicro()
	later := now.Add(100 * time.Hour).UnixMicro()
	for _, m := range [][]any{
		{"waiting@people.example", text, "", 3, 3, later, nil, text, nil},
		{"sending@people.example", "Your sign-in code", "1234", 2, 1, later, nil, "connection refused", later},
		{"failed@people.example", strings.Repeat("A very long subject. ", 500), "", 20, 20, never, now.UnixMicro(), text, nil},
		{"expired@people.example", "Reset your password", "1234", 20, 20, never, now.UnixMicro(),
			"mail: sending through 127.0.0.1:25: connection refused", now.UnixMicro()},
	} {
		if _, err := db.Exec(mail, m...); err != nil {
			t.Fatal(err)
		}
	}
	for i, source := range []string{"GET /warranties/{id}", "worker: send mail"} {
		_, err := db.Exec(`INSERT INTO server_errors (at, id, replica, request_id, source, status, user_id, message)
			VALUES (?, randomblob(16), 'replica-1', ?, ?, ?, randomblob(16), ?)`,
			now.UnixMicro(), []string{"01a1e56a-ded7-7c9d-a59d-4e3119f970d0", ""}[i], source, 500-500*i,
			text+"\n"+strings.Repeat("goroutine ", 50))
		if err != nil {
			t.Fatal(err)
		}
	}
}

// adminPages are the pages of operators that have no id in their address.
var adminPages = []string{"/admin", "/admin/users", "/admin/users?q=nobody+like+that", "/admin/mails",
	"/admin/mails?state=failed", "/admin/errors", "/admin/errors?request_id=unknown", "/admin/settings", "/admin/history"}

// TestAdminPagesShowText puts payloads into everything that the admin pages show, and disables an
// account with the keyboard.
func TestAdminPagesShowText(t *testing.T) {
	t.Parallel()
	s := openUndrawn(t)
	root := s.account(t, "root")
	s.appoint(t, root)
	victim := fmt.Sprintf("victim%d@people.example", time.Now().UnixNano())
	s.Want(t, 201, lab.Call{Method: "POST", Path: "/api/auth/register",
		Body: map[string]string{"name": payloads[4], "email": victim, "password": lab.Password}})
	s.trouble(t, strings.Join(payloads, "\n"))
	b := s.visitor(t)
	b.signIn(t, root, lab.Password)
	for _, path := range adminPages {
		b.mustOpen(t, path)
		b.mustBeText(t)
	}
	b.mustOpen(t, "/admin/users?q="+victim)
	b.mustBeText(t, payloads[4])
	b.mustOpen(t, b.links(t, `td a[href^="/admin/users/"]`)[0])
	b.mustBeText(t, payloads[4])
	b.do(t, chromedp.Focus(chromedp.CSS("main details > summary")), keys(kb.Enter))
	b.until(t, `document.querySelector("main details").open`)
	b.do(t, keys(kb.Tab))
	b.leads(t, keys(kb.Enter))
	b.mustBeText(t, "Account disabled.", "Enable account")
	b.mustOpen(t, "/admin/history")
	b.mustBeText(t, victim)
}
