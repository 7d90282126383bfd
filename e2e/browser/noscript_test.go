//go:build browser

package browser

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"warranty.example/svc/e2e/lab"
)

// withoutScript opens another tab with the same session and scripts disabled.
func (b *tab) withoutScript(t testing.TB) *tab {
	t.Helper()
	plain := b.another(t)
	disable := emulation.SetScriptExecutionDisabledParams{Value: true}
	if _, err := chromedp.Call(plain.ctx, emulation.SetScriptExecutionDisabled, disable); err != nil {
		t.Fatal(err)
	}
	return plain
}

// TestFormsWorkWithoutScript sends the main forms without scripts.
func TestFormsWorkWithoutScript(t *testing.T) {
	t.Parallel()
	s := openUndrawn(t)
	t.Run("forms", func(t *testing.T) { sendForms(t, s) })
	t.Run("public forms", func(t *testing.T) { sendPublicForms(t, s) })
}

// mustWorkWithoutScript compares an open page with the same page in a tab without scripts. Both must have the same text,
// and everything must be usable without scripts. Public pages, and the page about an invalid request of an app, must load
// no script but theme.js and seen.js, and /take and the sign-in pages their own.
func (b *tab) mustWorkWithoutScript(t *testing.T, plain *tab, v visit) {
	t.Helper()
	want := []string{"app.js", "htmx.min.js", "seen.js", "theme.js"}
	switch {
	case v.who == stranger, strings.HasPrefix(v.path, "/oauth/authorize") && v.status == http.StatusBadRequest:
		want = []string{"seen.js", "theme.js"}
	case v.who == keeper && strings.HasPrefix(v.path, "/issue"):
		want = []string{"app.js", "htmx.min.js", "issue.js", "seen.js", "theme.js"}
	}
	own := map[string]string{"/warranties": "list.js", "/claims": "list.js", "/customers": "list.js",
		"/warranties/new": "upload.js", "/settings/profile": "zone.js",
		"/sign-in": "zone.js", "/sign-in/code": "zone.js", "/register": "zone.js", "/offline": "offline.js",
		"/verify": "scan.js", "/verify/WR-0000-0000-0000-0000": "scan.js"}[strings.SplitN(v.path, "?", 2)[0]]
	if strings.HasPrefix(v.path, "/claims/") ||
		strings.HasPrefix(v.path, "/documents/") && !strings.HasPrefix(v.path, "/documents/versions") {
		own = "upload.js"
	}
	if strings.HasPrefix(v.path, "/take") {
		own = "take.js"
	}
	if strings.HasPrefix(v.path, "/take/done/") {
		want = append(want, "upload.js") // for the receipt
	}
	if own != "" && v.status != http.StatusForbidden {
		want = append(want, own)
	}
	slices.Sort(want)
	if loaded := b.scripts(t); !slices.Equal(loaded, want) {
		t.Errorf("the page loads %q, want %q", loaded, want)
	}
	b.mustSayTheSame(t, plain, v)
	plain.mustNotNeedScript(t)
}

// scripts returns the sorted names of the scripts that a page loaded.
func (b *tab) scripts(t testing.TB) []string {
	t.Helper()
	names := eval[[]string](t, b, `performance.getEntriesByType("resource")
		.map(e => new URL(e.name).pathname.split("/").pop()).filter(name => name.endsWith(".js"))`)
	slices.Sort(names)
	return names
}

// anyTime matches texts that change with the time.
var anyTime = regexp.MustCompile(`\d\d:\d\d(:\d\d)?|\d+ min ago|just now`)

// mustSayTheSame compares the texts of a page with and without scripts. It retries, because other
// tests may change the page.
func (b *tab) mustSayTheSame(t testing.TB, plain *tab, v visit) {
	t.Helper()
	content := func(b *tab) string {
		text := eval[string](t, b, `(m => {
			for (const n of m.querySelectorAll("noscript")) n.remove();
			return m.textContent.replace(/\s+/g, " ");
		})(document.querySelector("main").cloneNode(true))`)
		return anyID.ReplaceAllString(anyTime.ReplaceAllString(text, "…"), "*") // an error page shows its request id
	}
	var with, without string
	for range 30 {
		plain.mustVisit(t, v)
		if with, without = content(b), content(plain); with == without {
			return
		}
		b.mustVisit(t, v)
	}
	t.Errorf("the page with scripts:\n%s\nwithout scripts:\n%s", with, without)
}

// sendPublicForms verifies a warranty, compares its serial number, registers, signs in, requests a
// password reset, and follows every link of the public pages.
func sendPublicForms(t *testing.T, s *site) {
	keeper := s.person(t, nora)
	keeper.mustOpen(t, "/warranties?q=bosch")
	keeper.mustOpen(t, keeper.links(t, `td a[href^="/warranties/"]`)[0])
	verify := keeper.links(t, `a[href^="/verify/"]`)[0]
	reference := strings.TrimPrefix(verify, "/verify/")

	b := s.visitor(t).withoutScript(t)
	b.mustOpen(t, "/verify")
	b.fill(t, "#reference", "WR-1234")
	b.press(t, "Check")
	b.mustShow(t, "Check a warranty")
	b.fill(t, "#reference", strings.ToLower(strings.ReplaceAll(reference, "-", " ")))
	b.press(t, "Check")
	if got := b.path(t); got != verify {
		t.Errorf("the form leads to %s, not %s", got, verify)
	}
	b.mustShow(t, "Bosch Serie 6", reference)
	b.fill(t, "#serial", "FD9906-003217")
	b.click(t, "main form .btn")
	b.mustShow(t, "Matches this record.")

	email := fmt.Sprint("stranger", time.Now().UnixNano(), "@people.example")
	b.mustOpen(t, "/register")
	b.fill(t, "#name", "Stranger", "#email", email, "#password", lab.Password)
	b.press(t, "Create account")
	b.mustShow(t, email)
	code, err := s.Mailed(email, "Confirm your email address")
	if err != nil {
		t.Fatal(err)
	}
	b.fill(t, "#code", code)
	b.press(t, "Verify")
	b.mustShow(t, "Email address verified.")
	b.signOut(t)
	b.signIn(t, email, lab.Password)
	b.signOut(t)
	b.mustOpen(t, "/reset-password")
	b.fill(t, "#email", email)
	b.press(t, "Email me a code")
	if got := b.path(t); !strings.HasPrefix(got, "/reset-password/confirm") {
		t.Errorf("requesting a code leads to %s", got)
	}
	b.mustBeQuiet(t, 422)
	b.mustFollowLinks(t, "/verify", verify, "/sign-in", "/register", "/reset-password", "/sign-in/code", "/docs/errors", "/nowhere")
}

// mustFollowLinks opens every internal link of the pages.
func (b *tab) mustFollowLinks(t *testing.T, pages ...string) {
	t.Helper()
	seen := map[string]bool{}
	for _, page := range pages {
		b.open(t, page)
		for _, link := range b.links(t, `a[href^="/"]`) {
			if seen[link] {
				continue
			}
			seen[link] = true
			if status := b.open(t, link); status != http.StatusOK {
				t.Errorf("%s links to %s, which returns %d", page, link, status)
			}
		}
	}
}

// mustNotNeedScript fails if an element of the page is hidden or unusable without scripts. Links
// that open a dialog must lead to a page, and buttons that need scripts must be hidden (finding
// C17).
func (b *tab) mustNotNeedScript(t *testing.T) {
	t.Helper()
	wrong := eval[[]string](t, b, `(() => {
		const all = (selector, filter, problem) => [...document.querySelectorAll(selector)].filter(filter)
			.map(e => problem + ": " + e.outerHTML.slice(0, 200));
		const hasText = e => [...e.childNodes].some(n => n.nodeType === Node.TEXT_NODE && n.data.trim());
		const mayBeHidden = "dialog, details:not([open]), [role=tablist], option, .closer, .ends, [data-copy], [data-scan], .of-sheets, .of-own, .of-own *, .of-sheets *"
			+ ", .bulk, .other" // the style sheet shows them once something is chosen
			+ ", .order, .people .w, .bulk .slim, .dock"; // and these if rows are cards
		return [
			...(matchMedia("(scripting: none)").matches ? [] : ["scripts are enabled"]),
			...(document.querySelector("h1")?.checkVisibility() ? [] : ["no visible heading"]),
			...all("main *", e => hasText(e) && !e.checkVisibility() && !e.closest(mayBeHidden), "hidden"),
			...all("button:is([data-copy], [data-open], [data-theme-toggle])", e => e.checkVisibility(), "needs a script"),
			...all("main [data-open]", e => !e.getAttribute("href"), "has no link"),
			...all("form", f => !f.closest("dialog") && !f.querySelector("button:not([type=button])"), "has no submit button"),
		];
	})()`)
	for _, w := range wrong {
		t.Error(w)
	}
}

// sendForms creates a warranty, files a claim, uploads a document, searches, and generates and
// revokes a token.
func sendForms(t *testing.T, s *site) {
	visitor := s.visitor(t)
	visitor.signIn(t, s.account(t, "plain"), lab.Password)
	b := visitor.withoutScript(t)
	b.openNew(t)
	b.fill(t, "#product_name", "Plain kettle", "#start_date", "2024-01-01", "#end_date", "2099-12-31", "#seller_email", "not an address")
	b.do(t, chromedp.SetAttributeValue(chromedp.CSS("#seller_email"), "type", "text")) // so that the browser does not refuse it
	b.press(t, "Save warranty")
	if value := eval[string](t, b, `document.querySelector("#product_name").value`); value != "Plain kettle" {
		t.Errorf("the value is lost: %q", value)
	}
	b.fill(t, "#seller_email", haldenSells)
	b.press(t, "Save warranty")
	b.mustShow(t, "Warranty created.", "Plain kettle")
	b.press(t, "File a claim")
	b.fill(t, "#incident_date", today(-1), "#description", "It does not boil.")
	b.press(t, "File claim")
	b.mustShow(t, "Claim filed.", "It does not boil.")
	b.mustOpen(t, "/documents/new")
	b.fill(t, "#file", receipt(t, "plain.pdf"))
	b.press(t, "Upload")
	b.mustShow(t, "Document uploaded.", "plain.pdf")
	b.mustOpen(t, "/warranties")
	b.fill(t, "#q", "plain", `input[name="status"][value="active"]`, "true")
	b.press(t, "Apply")
	b.mustShow(t, "Plain kettle")
	b.mustOpen(t, "/claims")
	b.openDetails(t, "Filter")
	b.fill(t, "#status", "rejected")
	b.press(t, "Apply")
	b.mustShow(t, "No claims match")
	b.mustOpen(t, "/settings/api")
	b.click(t, `.head a[href="/settings/api/new"]`)
	b.fill(t, "#name", "plain")
	b.press(t, "Generate token")
	b.mustShow(t, "Copy your token now", "Check again")
	b.press(t, "Done")
	b.click(t, `td a[href$="#h-revoke"]`)
	b.press(t, "Revoke")
	b.mustShow(t, "Token revoked.")
	b.mustOpen(t, "/settings/email")
	b.fill(t, "#days", "60, 5")
	b.click(t, `form[action="/settings/email"] button`)
	b.mustShow(t, "Saved.")
	b.signOut(t)
	b.mustBeQuiet(t, 422)
}
