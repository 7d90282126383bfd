//go:build browser

package browser

import (
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"warranty.example/svc/e2e/lab"
)

// TestTablesFitAtEveryWidth looks for clipped columns and buttons at widths from phone to desktop,
// with the records of the demo and with long names without spaces. Finding C15.
func TestTablesFitAtEveryWidth(t *testing.T) {
	t.Parallel()
	s := openUndrawn(t)
	s.person(t, nora).mustFit(t)

	b, long := s.visitor(t), strings.Repeat("Dampfkessel", 8)
	b.signIn(t, s.account(t, "verbose"), lab.Password)
	b.openNew(t)
	b.fill(t, "#product_name", long, "#start_date", today(-30), "#end_date", today(700), "#category", long, "#serial_number", long)
	b.press(t, "Save warranty")
	record := strings.SplitN(b.path(t), "?", 2)[0]
	b.click(t, `a[href^="/documents/new?warranty_id="]`)
	b.fill(t, "#type", "receipt", "#file", receipt(t, long+".pdf"))
	b.press(t, "Upload")
	b.mustOpen(t, record)
	b.press(t, "File a claim")
	b.fill(t, "#type", "repair", "#incident_date", today(-2), "#description", long)
	b.press(t, "File claim")
	b.mustShow(t, "Claim filed.")
	b.mustFit(t)
}

// mustFit checks the pages with tables.
func (b *tab) mustFit(t *testing.T) {
	t.Helper()
	for _, path := range []string{"/", "/warranties", "/claims", "/documents", "/settings/api", "/settings/api/requests"} {
		b.mustOpen(t, path)
		for _, width := range []int64{320, 390, 768, 900, 1024, 1280, 1440} {
			b.look(t, "light", width)
			cut := eval[[]string](t, b, `[...document.querySelectorAll(".tablewrap:has(> table)")]
				.filter(e => e.scrollWidth > e.clientWidth)
				.map(e => e.getAttribute("aria-label") + ": " + e.scrollWidth + " > " + e.clientWidth)`)
			if len(cut) > 0 {
				t.Errorf("%s at %d px is clipped: %v", path, width, cut)
			}
		}
	}
	b.mustBeQuiet(t)
}

// TestShortcutsCanBeSwitchedOff turns single-key shortcuts off with the mouse. They stay off on the
// next page. Finding C17.
func TestShortcutsCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	b := s.visitor(t)
	b.signIn(t, s.account(t, "speaker"), lab.Password)
	b.mustOpen(t, "/claims")
	b.do(t, chromedp.Click(chromedp.CSS(".kbtn")), chromedp.Click(chromedp.CSS(`#palette [data-open="#shortcuts"]`)))
	b.until(t, `document.querySelector("#shortcuts").open && !document.querySelector("#palette").open`)
	b.do(t, chromedp.Click(chromedp.CSS("[data-shortcuts]")), chromedp.Click(chromedp.CSS("#shortcuts [data-close]")))
	for range 2 {
		b.do(t, keys("?/gwn"))
		if open := eval[int](t, b, `document.querySelectorAll("dialog[open]").length`); open > 0 || b.path(t) != "/claims" {
			t.Errorf("a key did something: %d dialogs are open, at %s", open, b.path(t))
		}
		b.mustOpen(t, "/claims")
	}
	b.do(t, keys("k", chromedp.ModifierCtrl))
	b.until(t, `document.querySelector("#palette").open`)
	b.mustBeQuiet(t)
}

// TestSearchSaysWhatItFound reads the live region while typing. Finding C17.
func TestSearchSaysWhatItFound(t *testing.T) {
	t.Parallel()
	b := openSite(t).person(t, nora)
	b.mustOpen(t, "/warranties")
	b.do(t, chromedp.Focus(chromedp.CSS("#q")), keys("fairphone"))
	b.until(t, `document.querySelector("#live").textContent === "1 warranty found"`)
	b.do(t, keys("zzz"))
	b.until(t, `document.querySelector("#live").textContent === "0 warranties found"`)
	b.mustBeQuiet(t)
}

// TestErrorsGetTheFocus sends invalid forms: the focus is on the first invalid field, or on the error
// of the whole form. Finding C17.
func TestErrorsGetTheFocus(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	b := s.visitor(t)
	b.mustOpen(t, "/sign-in")
	b.fill(t, "#email", "nobody@people.example", "#password", "not the password")
	b.press(t, "Sign in")
	b.until(t, `document.activeElement.matches(".wrong[role=alert]")`)
	b.signIn(t, s.account(t, "hasty"), lab.Password)
	b.openNew(t)
	b.fill(t, "#product_name", "Kettle", "#start_date", "2026-02-01", "#end_date", "2026-01-01")
	b.press(t, "Save warranty")
	b.until(t, `document.activeElement.matches(".fixlist[role=alert]")`)
	b.mustBeQuiet(t, 422, 422)
}

// TestFormIsThereAfterSignIn sends a form after the session ended in another tab. The filled form is
// shown again after sign-in. Finding A6.
func TestFormIsThereAfterSignIn(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	b := s.visitor(t)
	email := s.account(t, "slow")
	b.signIn(t, email, lab.Password)
	b.openNew(t)
	b.fill(t, "#product_name", "Slow cooker", "#start_date", "2026-02-01", "#end_date", "2028-01-31", "#category", "Kitchen")
	other := b.another(t)
	other.signOut(t)
	b.press(t, "Save warranty")
	b.mustShow(t, "You were signed out.")
	b.fill(t, "#email", email, "#password", lab.Password)
	b.press(t, "Sign in")
	b.mustShow(t, "Check the form and send it again.")
	b.press(t, "Save warranty")
	b.mustShow(t, "Slow cooker", "Kitchen")
	b.mustBeQuiet(t, 401)
}

// TestPastedAddressIsAReference pastes the address of a verification page into the form, and opens an
// address with a mistyped reference. Finding C18.
func TestPastedAddressIsAReference(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	owner := s.person(t, nora)
	owner.mustOpen(t, "/warranties")
	reference := eval[string](t, owner, `document.querySelector("td.mono > span").innerText`)
	b := s.visitor(t)
	b.mustOpen(t, "/verify")
	b.fill(t, "#reference", "https://warranty.example/verify/"+reference+"?serial=x#top")
	b.press(t, "Check")
	b.mustShow(t, reference)
	mistyped := reference[:len(reference)-1] + map[bool]string{true: "1", false: "0"}[reference[len(reference)-1] == '0']
	b.open(t, "/verify/"+url.PathEscape(mistyped))
	b.mustShow(t, "typing error")
	if got := eval[string](t, b, `document.querySelector("#reference").value`); got != mistyped {
		t.Errorf("the form shows %q", got)
	}
	b.mustBeQuiet(t, 404)
}
