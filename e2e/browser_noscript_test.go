//go:build browser

package e2e

import (
	"slices"
	"strings"
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

// TestPagesWorkWithoutScript looks at every page without script, and sends the
// forms that matter most.
func TestPagesWorkWithoutScript(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	_, all := s.company(t)
	seen := &seen{}
	addresses := slices.DeleteFunc(slices.Clone(all), func(v visit) bool {
		return v.by != nil || seen.before(v.who+strings.SplitN(v.path, "?", 2)[0])
	})
	s.eachVisit(t, addresses, (*tab).withoutScript, func(t *testing.T, b *tab, v visit) {
		b.mustVisit(t, v)
		b.mustNotNeedScript(t)
	})
	t.Run("forms", func(t *testing.T) { sendForms(t, s) })
}

// mustNotNeedScript fails when something of the page can not be seen, opened or
// sent without script. What a dialog offers is also on a page of its own, to which
// the link leads that opens it; of the days on which a token may end, CSS shows the
// chosen one.
func (b *tab) mustNotNeedScript(t *testing.T) {
	t.Helper()
	wrong := eval[[]string](t, b, `[
		...("htmx" in window ? ["a script ran"] : []),
		...(document.querySelector("h1")?.checkVisibility() ? [] : ["there is no heading"]),
		...[...document.querySelectorAll("main *")].filter(e => [...e.childNodes].some(n => n.nodeType === Node.TEXT_NODE && n.data.trim()) && !e.checkVisibility() &&
			!e.closest("dialog, details:not([open]), [role=tablist], option, .closer, .ends")).map(e => "not shown: " + e.outerHTML.slice(0, 200)),
		...[...document.querySelectorAll("main [data-open]")].filter(e => !e.getAttribute("href")).map(e => "opens nothing: " + e.outerHTML.slice(0, 200)),
		...[...document.querySelectorAll("form")].filter(f => !f.closest("dialog") && !f.querySelector("button:not([type=button])")).map(f => "can not be sent: " + f.outerHTML.slice(0, 200))]`)
	for _, w := range wrong {
		t.Error(w)
	}
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
