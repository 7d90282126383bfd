//go:build browser

package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"warranty.example/svc/e2e/lab"
)

// found creates an organization, which the browser then acts for.
func (b *tab) found(t testing.TB, name string) {
	t.Helper()
	b.mustOpen(t, "/settings/organizations/new")
	b.fill(t, "#name", name)
	if status := b.click(t, "main form .btn.primary"); status != http.StatusOK || b.path(t) != "/?done=organization_created" {
		t.Fatalf("creating %s: %d\n%s", name, status, b.describe())
	}
}

// invite invites an address to the organization that the browser acts for.
func (b *tab) invite(t testing.TB, email, role string) {
	t.Helper()
	b.mustOpen(t, "/settings/members/invite")
	b.fill(t, "#email", email, fmt.Sprintf("main [name=role][value=%s]", role), "true")
	if b.press(t, "Send invitation"); b.path(t) != "/settings/members?done=invited" {
		t.Fatalf("inviting %s\n%s", email, b.describe())
	}
}

// joins makes the person of this tab a member of the organization that admin acts for.
func (b *tab) joins(t testing.TB, admin *tab, email, role string) {
	t.Helper()
	admin.invite(t, email, role)
	code, err := b.site.Mailed(email, "invited you to")
	if err != nil {
		t.Fatal(err)
	}
	b.mustOpen(t, "/invitations/accept")
	b.fill(t, "#code", code)
	if b.press(t, "Join organization"); b.path(t) != "/?done=joined" {
		t.Fatalf("joining\n%s", b.describe())
	}
}

// acting returns the name and role in the account switcher.
func (b *tab) acting(t testing.TB) string {
	t.Helper()
	return eval[string](t, b, `[...document.querySelectorAll("button.acct .who > *")].map(e => e.textContent).join(", ")`)
}

// switchTo chooses an account in the switcher.
func (b *tab) switchTo(t testing.TB, name string) {
	t.Helper()
	b.do(t, chromedp.Click(chromedp.CSS("button.acct")))
	b.until(t, `document.querySelector("#accounts").matches(":popover-open")`)
	b.leads(t, chromedp.Click(fmt.Sprintf(`//form[@id="accounts"]//button[.//b[text()=%q]]`, name), chromedp.NodeVisible))
	if got := b.acting(t); !strings.HasPrefix(got, name+", ") {
		t.Fatalf("acting for %q after switching to %q\n%s", got, name, b.describe())
	}
}

// member signs in a new person with a verified address and returns the tab, the name and the address.
func (s *site) member(t testing.TB, name string) (b *tab, full, email string) {
	t.Helper()
	email = s.account(t, name)
	s.confirm(t, email)
	b = s.visitor(t)
	b.signIn(t, email, lab.Password)
	return b, strings.TrimSuffix(email, "@people.example"), email
}

// TestTwoTabsActForTwoAccounts switches accounts in one tab while another has a form open: the form is not
// saved for the wrong account, nothing typed is lost, and lists stay those of their page.
func TestTwoTabsActForTwoAccounts(t *testing.T) {
	t.Parallel()
	s := openUndrawn(t)
	b, name, _ := s.member(t, "mara")
	createKettle(t, b)
	b.found(t, "Lumen & Oak")
	if got := b.acting(t); got != "Lumen & Oak, Admin" {
		t.Fatalf("acting for %q", got)
	}
	b.openNew(t)
	b.fill(t, "#product_name", "Oak lamp", "#start_date", "2024-01-01", "#end_date", "2099-12-31", "#description", "one\ntwo")
	other := b.another(t)
	other.mustOpen(t, "/")
	other.switchTo(t, name)
	other.mustShow(t, "Kettle")

	// The form of Lumen & Oak, while the browser acts for Mara.
	if status := b.press(t, "Save warranty"); status != http.StatusPreconditionFailed {
		t.Fatalf("got %d\n%s", status, b.describe())
	}
	b.mustShow(t, fmt.Sprintf("You switched to %s. This form belongs to Lumen & Oak.", name), "Nothing was saved.")
	other.mustOpen(t, "/warranties")
	if text := other.text(t); strings.Contains(text, "Oak lamp") {
		t.Fatalf("the form was saved for the wrong account\n%s", text)
	}
	if status := b.press(t, "Switch back and save"); status != http.StatusOK || b.acting(t) != "Lumen & Oak, Admin" {
		t.Fatalf("got %d\n%s", status, b.describe())
	}
	b.mustShow(t, "Oak lamp", "one\ntwo", "(Lumen & Oak) created the warranty")

	// The list in the second tab is Mara's, and stays so while she searches in it.
	if got := other.acting(t); got != name+", Personal" {
		t.Fatalf("the second tab shows %q", got)
	}
	other.fill(t, "#q", "kett")
	other.until(t, `new URLSearchParams(location.search).get("q") === "kett" && document.querySelector("#rows").innerText.includes("Kettle")`)
	other.fill(t, "#q", "lamp")
	other.until(t, `new URLSearchParams(location.search).get("q") === "lamp" && !document.querySelector("#rows").innerText.includes("Kettle")`)
	if text := other.text(t); strings.Contains(text, "Oak lamp") {
		t.Errorf("the list of %s shows a record of the organization", name)
	}
	// Links of a page stay in its account, and so do the search and the keys; the tabs take turns.
	for range 2 {
		other.click(t, `.nav a[href="/"]`)
		if got := other.acting(t); got != name+", Personal" {
			t.Errorf("a link in the second tab leads to %q", got)
		}
		b.click(t, `.nav a[href="/warranties"]`)
		if got := b.acting(t); got != "Lumen & Oak, Admin" || !strings.Contains(b.text(t), "Oak lamp") {
			t.Errorf("a link in the first tab leads to %q\n%s", got, b.describe())
		}
	}
	other.leads(t, keys("gw"))
	if got := other.acting(t); got != name+", Personal" || other.path(t) != "/warranties" {
		t.Errorf("a shortcut in the second tab leads to %q, %s", got, other.path(t))
	}
	other.click(t, `td a[href^="/warranties/"]`)
	other.mustShow(t, "Kettle")
	// An address that is typed opens for the account that the browser acts for.
	b.click(t, `.nav a[href="/"]`)
	other.mustOpen(t, "/warranties")
	if got := other.acting(t); got != "Lumen & Oak, Admin" {
		t.Errorf("a new address shows %q", got)
	}
	for _, width := range []int64{320, 390, 768, 1024, 1440} {
		b.look(t, "light", width)
		b.mustNotScrollSideways(t, width)
		b.do(t, chromedp.Click(chromedp.CSS("button.acct"))) // visible at every width
		b.until(t, `document.querySelector("#accounts").matches(":popover-open")`)
		if !eval[bool](t, b, `(r => r.left >= 0 && r.right <= innerWidth && r.top >= 0 && r.bottom <= innerHeight)(
			document.querySelector("#accounts").getBoundingClientRect())`) {
			t.Errorf("the menu does not fit at %d px", width)
		}
		eval[chromedp.Void](t, b, `document.querySelector("#accounts").hidePopover()`)
	}
	b.mustBeQuiet(t, http.StatusPreconditionFailed)
	other.mustBeQuiet(t)
}

// TestSwitchWithoutScript switches accounts without scripts.
func TestSwitchWithoutScript(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	b, name, _ := s.member(t, "nils")
	b.found(t, "Lumen & Oak")
	plain := b.withoutScript(t)
	plain.mustOpen(t, "/warranties")
	plain.switchTo(t, name)
	plain.switchTo(t, "Lumen & Oak")
}

// TestInvitationStory invites a person who has no account yet: they register in a second browser, join and
// work; the admin removes them, and their next form is refused.
func TestInvitationStory(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	admin, _, _ := s.member(t, "mara")
	admin.found(t, "Halden Repairs")
	admin.mustOpen(t, "/settings/members")
	admin.mustShow(t, "You are the only admin. Make someone else admin first.")
	email := strings.Replace(s.account(t, "decoy"), "decoy", "ivo", 1)
	admin.invite(t, email, "member")
	admin.mustShow(t, email, "Cancel invitation")
	code, err := s.Mailed(email, "invited you to")
	if err != nil {
		t.Fatal(err)
	}

	b := s.visitor(t)
	b.mustOpen(t, "/invitations/accept")
	b.press(t, "Create an account")
	b.fill(t, "#name", "Ivo Brenner", "#email", email, "#password", lab.Password)
	b.press(t, "Create account")
	verification, err := s.Mailed(email, "Confirm your email address")
	if err != nil {
		t.Fatal(err)
	}
	b.fill(t, "#code", verification)
	if b.press(t, "Verify"); b.path(t) != "/invitations/accept" {
		t.Fatalf("registering does not lead back\n%s", b.describe())
	}
	b.mustShow(t, email)
	b.fill(t, "#code", code)
	b.press(t, "Join organization")
	if got := b.acting(t); got != "Halden Repairs, Member" {
		t.Fatalf("acting for %q", got)
	}
	createKettle(t, b)
	b.mustShow(t, "Ivo Brenner (Halden Repairs) created the warranty")
	b.openNew(t)
	b.fill(t, "#product_name", "Late kettle", "#start_date", "2024-01-01", "#end_date", "2099-12-31")

	admin.mustOpen(t, "/settings/members")
	admin.click(t, `td a[href^="/settings/members/"]`)
	admin.mustShow(t, "Ivo Brenner", "Remove member")
	if admin.click(t, `form[action$="/remove"] button`); admin.path(t) != "/settings/members?done=member_removed" {
		t.Fatalf("removing\n%s", admin.describe())
	}
	if status := b.press(t, "Save warranty"); status != http.StatusPreconditionFailed {
		t.Fatalf("got %d\n%s", status, b.describe())
	}
	b.mustShow(t, "This form belongs to another account", "This is what you typed.", "Late kettle")
	b.mustOpen(t, "/warranties")
	if got := b.acting(t); got != "Ivo Brenner, Personal" || strings.Contains(b.text(t), "ettle") {
		t.Errorf("a removed member acts for %q\n%s", got, b.describe())
	}
	admin.mustOpen(t, "/warranties")
	if text := admin.text(t); !strings.Contains(text, "Kettle") || strings.Contains(text, "Late kettle") {
		t.Errorf("the organization has %s", text)
	}
}
