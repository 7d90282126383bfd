//go:build browser

package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// focusedRow is the number of the row whose link has the focus, from 1 on, or 0.
const focusedRow = `[...document.querySelectorAll("[data-open-row]")].indexOf(document.activeElement) + 1`

// TestKeysLeadFromPageToPage goes through a queue of three pages with j and k, and selects more than a page of it.
func TestKeysLeadFromPageToPage(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	b := s.queueOf(t, "Long Queue", 105)
	b.look(t, "light", 1440)
	b.mustOpen(t, "/claims")
	b.do(t, keys(strings.Repeat("j", 50)))
	b.until(t, focusedRow+` === 50`)
	b.do(t, keys("j"))
	b.until(t, `location.search.includes("page=2") && document.readyState === "complete" && `+focusedRow+` === 1`)
	b.do(t, keys("k"))
	b.until(t, `!location.search.includes("page=2") && document.readyState === "complete" && `+focusedRow+` === 50`)

	b.do(t, keys("x"), keys("j"))
	b.until(t, selected+` === "1 selected" && `+focusedRow+` === 50`) // it leaves no selection behind
	eval[chromedp.Void](t, b, `document.querySelector(".bulk .rest").open = true`)
	b.mustShow(t, "First 100 of 105")
	b.mustPassAxeAt(t, "a long queue with a selection", 390, 1440)
	for _, width := range []int64{390, 768, 1440} {
		b.look(t, "light", width)
		b.mustBeInTheWindow(t, ".bulk", ".bulk .menu")
	}
	b.do(t, chromedp.Click(chromedp.CSS(".bulk [name=all]")))
	b.press(t, "Assign")
	b.mustShow(t, "Assign 100 claims", "Lamp 99")
}
