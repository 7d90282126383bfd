//go:build browser

package browser

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"warranty.example/svc/e2e/lab"
)

// widths are those of phones, tablets and desktops.
var widths = []int64{390, 768, 1024, 1440}

// TestTrashAndSelection deletes and restores a warranty, and selected ones of the list, with keys and at every
// width. If SVC_SCREENSHOTS names a folder, it takes screenshots.
func TestTrashAndSelection(t *testing.T) {
	t.Parallel()
	s := openUndrawn(t)
	b := s.visitor(t)
	email := s.account(t, "tidy")
	s.confirm(t, email)
	b.signIn(t, email, lab.Password)
	for i := range 4 {
		b.openNew(t)
		b.fill(t, "#product_name", fmt.Sprint("Kettle ", i), "#start_date", "2024-01-01", "#end_date", "2099-12-31")
		b.press(t, "Save warranty")
	}
	has := func(want string) {
		t.Helper()
		if text := eval[string](t, b, `document.querySelector("main").innerText`); !strings.Contains(text, want) {
			t.Errorf("%s does not say %q: %s", b.path(t), want, text)
		}
	}
	visible := `document.querySelector(".bulk")?.checkVisibility()`

	// One record, from its page.
	record := eval[string](t, b, `location.pathname`)
	eval[chromedp.Void](t, b, `document.querySelector("form[action$='/delete']").closest("details").open = true`)
	b.press(t, "Delete warranty")
	has("Warranty deleted.")
	b.press(t, "Undo")
	if got := b.path(t); !strings.HasPrefix(got, record) {
		t.Errorf("undo leads to %s", got)
	}
	has("Warranty restored.")

	// Several, with keys.
	b.mustOpen(t, "/warranties")
	if eval[bool](t, b, visible) {
		t.Error("the bar is visible without a selection")
	}
	b.do(t, keys("x"))
	b.until(t, visible+` && document.querySelector("[data-selected]").textContent === "1 selected"`)
	b.do(t, keys(kb.Escape))
	b.until(t, `!`+visible)
	b.do(t, chromedp.Click(chromedp.CSS("[data-all]")))
	b.until(t, `document.querySelector("[data-selected]").textContent === "4 selected"`)
	b.do(t, chromedp.Click(chromedp.CSS(`tbody tr:first-child [name=id]`)))
	b.until(t, `document.querySelector("[data-selected]").textContent === "3 selected"`)
	b.pictures(t, "selection")
	b.do(t, chromedp.Click(chromedp.CSS(".bulk .rest > summary")))
	b.pictures(t, "menu")
	b.press(t, "Delete")
	has("3 warranties move to the trash")
	b.pictures(t, "delete")
	b.press(t, "Delete")
	b.until(t, `/warranties moved to the trash/.test(document.querySelector("main").innerText)`)
	has("3 of 3 warranties moved to the trash.")
	b.pictures(t, "deleted")
	b.mustOpen(t, "/trash")
	has("Kettle 0")
	b.pictures(t, "trash")
	b.mustOpen(t, "/trash")
	b.press(t, "Restore Kettle 0")
	has("Warranty restored.")
	b.mustOpen(t, "/warranties")
	b.do(t, chromedp.Click(chromedp.CSS(`tbody tr:first-child [name=id]`)), chromedp.Click(chromedp.CSS(".bulk .rest > summary")))
	if status := b.press(t, "Void"); status != http.StatusOK {
		t.Errorf("got %d", status)
	}
	b.pictures(t, "void")
	b.mustBeQuiet(t)
}

// pictures looks at the page at every width and in both themes.
func (b *tab) pictures(t *testing.T, name string) {
	t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range widths {
			b.look(t, scheme, width)
			b.mustNotScrollSideways(t, width)
			if os.Getenv("SVC_SCREENSHOTS") != "" {
				b.picture(t, fmt.Sprintf("%s-%s-%d", name, scheme, width))
			}
		}
	}
}

// TestRemindersOnAPhone chooses days for the account and for one warranty at 390 px.
func TestRemindersOnAPhone(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	b := s.visitor(t)
	email := s.account(t, "reminded")
	s.confirm(t, email)
	b.signIn(t, email, lab.Password)
	b.look(t, "light", 390)
	b.mustOpen(t, "/settings/email")
	b.fill(t, "#days", "90, 1x")
	if status := b.click(t, `form[action="/settings/email"] button`); status != http.StatusUnprocessableEntity {
		t.Errorf("wrong days return %d", status)
	}
	b.mustShow(t, "Enter numbers of days, separated by commas, such as 30, 7, 1.")
	b.snap(t, "email-mistaken", 390)
	b.fill(t, "#days", "90, 10")
	b.click(t, `form[action="/settings/email"] button`)
	b.mustShow(t, "Saved.")
	b.snap(t, "email", widths...)

	b.openNew(t)
	b.fill(t, "#product_name", "Kettle", "#start_date", "2024-01-01", "#end_date", "2099-12-31")
	b.press(t, "Save warranty")
	b.mustShow(t, "Days before the end: 90, 10.")
	b.do(t, chromedp.Click(chromedp.CSS("#reminders summary")))
	b.fill(t, `#reminders [value=own]`, "true", "#reminders #days", "200")
	b.snap(t, "warranty-reminders", 390, 1440)
	b.click(t, "#reminders button")
	b.mustShow(t, "Days before the end: 200.")
	b.mustBeQuiet(t, 422)
}
