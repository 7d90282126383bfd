//go:build browser

package browser

import (
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/ncruces/go-sqlite3/driver"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/testenv"
)

// TestErrorsArePages breaks the database of a running server and checks the error pages: they have
// the usual layout, show no internals and lead back.
func TestErrorsArePages(t *testing.T) {
	t.Parallel()
	s := &site{Process: lab.Start(t, lab.Unthrottled...), browser: openUndrawn(t).browser}
	db, err := driver.Open("file:" + filepath.Join(s.Dir, "data", "svc.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ada, stranger := s.visitor(t), s.visitor(t)
	ada.signIn(t, s.account(t, "ada"), lab.Password)
	damaged, panics := s.account(t, "damaged"), s.account(t, "panics")
	signIn := func(email string) func(testing.TB, *tab) int {
		return func(t testing.TB, b *tab) int {
			b.mustOpen(t, "/sign-in")
			b.fill(t, "#email", email, "#password", lab.Password)
			return b.press(t, "Sign in")
		}
	}
	for i, c := range []struct {
		name     string
		breaking string
		b        *tab
		visit    visit
		back     string // where "Go to overview" leads
	}{
		{"a damaged row", `UPDATE users SET password_hash = 'something else' WHERE email = '` + damaged + `'`,
			stranger, visit{status: http.StatusInternalServerError, by: signIn(damaged)}, "/"},
		{"a panic", `UPDATE users SET password_hash = '$argon2id$v=19$m=19456,t=0,p=1$AAAA$AAAA' WHERE email = '` + panics + `'`,
			stranger, visit{status: http.StatusInternalServerError, by: signIn(panics)}, "/"},
		{"a missing table", `ALTER TABLE documents RENAME TO lost`,
			ada, visit{status: http.StatusInternalServerError, path: "/documents"}, "/"},
		{"a public page", `ALTER TABLE warranties RENAME TO lost_too`,
			stranger, visit{status: http.StatusInternalServerError, path: "/verify/WR-0000-0000-0000-0000"}, "/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := db.Exec(c.breaking); err != nil {
				t.Fatal(err)
			}
			chosen := sample(i, looks)
			c.b.show(t, chosen[0])
			c.b.mustVisit(t, c.visit)
			c.b.inspect(t, chosen, true)
			c.b.mustBeAnErrorPage(t, c.visit.status)
			if c.b.press(t, "Go to overview"); c.b.path(t) != c.back {
				t.Errorf("the button leads to %s, not %s", c.b.path(t), c.back)
			}
		})
	}
}

// TestOutageIsAPage disconnects the database while a user is signed in.
func TestOutageIsAPage(t *testing.T) {
	t.Parallel()
	p, database := lab.BehindProxy(t)
	s := &site{Process: p, browser: openSite(t).browser}
	b := s.visitor(t)
	b.signIn(t, s.account(t, "ada"), lab.Password)
	database.SetCut(true)
	b.mustVisit(t, visit{status: http.StatusServiceUnavailable, path: "/warranties"})
	b.show(t, looks[0])
	b.inspect(t, looks[:1], true)
	b.mustBeAnErrorPage(t, http.StatusServiceUnavailable)
	database.SetCut(false)
	testenv.Wait(t, "the page works again", func() bool {
		status := b.open(t, "/warranties")
		return status == http.StatusOK && b.path(t) == "/warranties"
	})
}

// TestEndedSessionLeadsToSignIn searches after the session has ended.
func TestEndedSessionLeadsToSignIn(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	b := s.visitor(t)
	email := s.account(t, "forgetful")
	b.signIn(t, email, lab.Password)
	createKettle(t, b)
	b.mustOpen(t, "/warranties")
	other := b.another(t)
	other.signOut(t)
	b.leads(t, chromedp.Focus(chromedp.CSS("#q")), keys("kettle"))
	if got := b.path(t); !strings.HasPrefix(got, "/sign-in?next=%2Fwarranties%3Fq%3D") {
		t.Errorf("the search leads to %s", got)
	}
	b.fill(t, "#email", email, "#password", lab.Password)
	b.press(t, "Sign in")
	b.mustShow(t, "Kettle")
}

var internals = regexp.MustCompile(`(?i)argon|hash|panic|goroutine|sql|table|\.go\b`)

// mustBeAnErrorPage fails unless the page has the usual layout, shows the id of a request in the
// log, and shows no internals.
func (b *tab) mustBeAnErrorPage(t *testing.T, status int) {
	t.Helper()
	text := b.text(t)
	if found := internals.FindString(text); found != "" {
		t.Errorf("the page says %q:\n%s", found, text)
	}
	shown := eval[map[string]string](t, b, `({
		status: document.querySelector("main .status").innerText,
		brand: document.querySelector(".brand").innerText,
		font: getComputedStyle(document.body).fontFamily,
		request: document.querySelector("main code").innerText})`)
	if shown["status"] != strconv.Itoa(status) || shown["brand"] != "Warranty Records" || !strings.Contains(shown["font"], "Geist") {
		t.Errorf("the page shows %v", shown)
	}
	for _, message := range []string{"page failed", "request failed"} {
		for _, line := range b.site.Logged(message) {
			if line["request_id"] == shown["request"] {
				return
			}
		}
	}
	t.Errorf("the request %q is not in the log", shown["request"])
}
