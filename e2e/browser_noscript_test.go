//go:build browser

package e2e

import (
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// withoutScript is another tab of the same person, in which no script runs.
func (b *tab) withoutScript(t testing.TB) *tab {
	t.Helper()
	plain := b.another(t)
	if _, err := chromedp.Call(plain.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	return plain
}

// passing is a line that is another one each time: a moment, or the id of the request.
var passing = regexp.MustCompile(`UTC|just now| ago|name the request`)

// TestPagesWorkWithoutScript compares every page with itself without script, and
// sends the forms that matter most.
func TestPagesWorkWithoutScript(t *testing.T) {
	s := openSite(t)
	people, all := s.company(t)
	queue := make(chan visit, 1000)
	seen := &seen{}
	for _, v := range all {
		if v.by == nil && !seen.before(v.who+strings.SplitN(v.path, "?", 2)[0]) {
			queue <- v
		}
	}
	close(queue)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			scripted, plain := map[string]*tab{}, map[string]*tab{}
			for v := range queue {
				if scripted[v.who] == nil {
					scripted[v.who], plain[v.who] = people[v.who].another(t), people[v.who].withoutScript(t)
				}
				t.Run(v.String(), func(t *testing.T) { compare(t, scripted[v.who], plain[v.who], v) })
			}
		})
	}
	wg.Wait()
	t.Run("forms", func(t *testing.T) { sendForms(t, s) })
}

// compare fails when the page without script lacks what it has with it.
func compare(t *testing.T, scripted, plain *tab, v visit) {
	if a, b := scripted.open(t, v.path), plain.open(t, v.path); a != b {
		t.Fatalf("%d with script and %d without", a, b)
	}
	if eval[bool](t, plain, `!!document.documentElement.dataset.theme || "htmx" in window`) {
		t.Fatal("a script ran")
	}
	const shown = `[...document.querySelectorAll("main, .rail nav")].map(e => e.innerText).join("\n")`
	have := eval[string](t, plain, shown)
	if !eval[bool](t, plain, `document.querySelector("h1").offsetHeight > 0`) {
		t.Error("there is no heading")
	}
	for line := range strings.Lines(eval[string](t, scripted, shown)) {
		if line = strings.TrimSpace(line); line != "" && !passing.MatchString(line) && !strings.Contains(have, line) {
			t.Errorf("missing without script: %q", line)
		}
	}
	plain.mustBeQuiet(t, v.status)
}

// sendForms creates a warranty, files a claim on it, uploads a document,
// searches, and generates and revokes a token.
func sendForms(t *testing.T, s *site) {
	visitor := s.visitor(t)
	visitor.signIn(t, s.account(t, "plain"), password)
	b := visitor.withoutScript(t)
	b.mustOpen(t, "/warranties/new")
	b.fill(t, "#product_name", "Plain kettle", "#start_date", "2024-01-01", "#end_date", "2099-12-31", "#seller_email", "not an address")
	b.do(t, chromedp.SetAttributeValue(chromedp.CSS("#seller_email"), "type", "text")) // so that the answer comes from the service
	b.press(t, "Create warranty")
	if value := eval[string](t, b, `document.querySelector("#product_name").value`); value != "Plain kettle" {
		t.Errorf("what was typed is lost: %q", value)
	}
	b.fill(t, "#seller_email", halden)
	b.press(t, "Create warranty")
	b.mustShow(t, "The warranty was created.", "Plain kettle")
	b.press(t, "File a claim")
	b.fill(t, "#incident_date", today(-1), "#description", "It does not boil.")
	b.press(t, "File claim")
	b.mustShow(t, "The claim was filed.", "It does not boil.")
	b.mustOpen(t, "/documents/new")
	b.fill(t, "#file", receipt(t, "plain.pdf"))
	b.press(t, "Upload")
	b.mustShow(t, "The document was uploaded.", "plain.pdf")
	b.mustOpen(t, "/warranties")
	b.fill(t, "#q", "plain", `input[name="status"][value="active"]`, "true")
	b.press(t, "Apply")
	b.mustShow(t, "Plain kettle")
	b.mustOpen(t, "/claims")
	b.fill(t, "#status", "rejected")
	b.press(t, "Apply")
	b.mustShow(t, "No claim")
	b.mustOpen(t, "/settings/api")
	b.click(t, `.head a[href="/settings/api/new"]`)
	b.fill(t, "#name", "plain")
	b.press(t, "Generate token")
	b.mustShow(t, "Copy your token now", "Check again")
	b.press(t, "I have stored it")
	b.click(t, `td a[href$="#h-revoke"]`)
	b.press(t, "Revoke")
	b.mustShow(t, "The token was revoked")
	b.mustOpen(t, "/settings/profile")
	b.press(t, "Sign out")
	if got := b.path(t); got != "/sign-in" {
		t.Errorf("signed out at %s", got)
	}
	b.mustBeQuiet(t, 422)
}
