//go:build browser

package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// selected is the number in the bar under the queue, or "" while the bar is hidden.
const selected = `(bar => bar?.checkVisibility() ? bar.querySelector("[data-selected]").textContent : "")(document.querySelector(".bulk"))`

// mustBeInTheWindow fails if something that is open or fixed leaves the window or covers what it must not.
func (b *tab) mustBeInTheWindow(t *testing.T, selectors ...string) {
	t.Helper()
	for _, selector := range selectors {
		if wrong := eval[string](t, b, fmt.Sprintf(`(e => {
			if (!e?.checkVisibility()) return "is not visible";
			const at = e.getBoundingClientRect();
			if (at.left < 0 || at.top < 0 || at.right > innerWidth + 1 || at.bottom > innerHeight + 1)
				return [at.left, at.top, at.right, at.bottom].map(Math.round) + " is outside the window";
			const x = (at.left + at.right) / 2, top = document.elementFromPoint(x, at.top + 3), end = document.elementFromPoint(x, at.bottom - 3);
			return [top, end].every(o => e.contains(o) || o?.contains(e)) ? "" : "is covered";
		})(document.querySelector(%q))`, selector)); wrong != "" {
			t.Errorf("%s: %s %s", b.path(t), selector, wrong)
		}
	}
}

// TestManyClaimsInTheBrowser works on a queue with boxes and keys: assigns all, asks some with a saved reply, resolves some
// and takes it back. It looks at each page in every width, and counts what a person does.
func TestManyClaimsInTheBrowser(t *testing.T) {
	t.Parallel()
	s := openUndrawn(t)
	const name = "Bulk and Sons"
	b := s.queueOf(t, name, 12)
	b.mustOpen(t, "/settings/replies")
	b.fill(t, "#title", "Type plate", "#body", "Hello {first name},\n\nplease send a photo of the type plate of your {product}.\n\n{your name}, {business}")
	b.press(t, "Save reply")
	b.look(t, "light", 1440)
	b.mustOpen(t, "/claims")
	b.mustShow(t, "12 claims wait for you")
	box := func(i int) string { return fmt.Sprintf("#bulk tbody tr:not(.group):nth-of-type(%d) [name=id]", i) }

	// With the keyboard and the mouse.
	n := b.journey()
	b.do(t, keys("j"), keys("x"))
	n.keys += 2
	b.do(t, chromedp.Click(chromedp.CSS(box(3))))
	n.clicks++
	b.until(t, selected+` === "2 selected"`)
	b.snap(t, "bulk-queue", 390, 768, 1440)
	eval[chromedp.Void](t, b, `document.querySelector(".bulk .rest").open = true`)
	b.mustPassAxeAt(t, "the queue with a selection", 390, 1440)
	for _, width := range []int64{390, 768, 1440} {
		b.look(t, "light", width)
		b.mustBeInTheWindow(t, ".bulk", ".bulk .menu")
	}
	b.snap(t, "bulk-menu", 390, 768, 1440)
	b.look(t, "light", 1440)
	b.do(t, chromedp.Click(chromedp.CSS("thead [data-all]")))
	n.clicks++
	b.until(t, selected+` === "12 selected"`)
	n.key(t, "a")
	b.mustShow(t, "Assign 12 claims", "Lamp 11")
	b.snap(t, "bulk-assign", 390, 768, 1440)
	n.pressing(t, "Assign")
	b.mustShow(t, "12 claims assigned.", "Undo")
	n.report(t, "12 claims assigned", 1440)

	b.look(t, "light", 1440)
	b.mustOpen(t, "/claims")
	n = b.journey()
	for i := 1; i <= 3; i++ {
		b.do(t, chromedp.Click(chromedp.CSS(box(i))))
		n.clicks++
	}
	n.pressing(t, "Ask for information")
	b.mustShow(t, "Ask 3 customers for information", "Goes to", "Saved reply", "For claimant")
	b.mustPassAxeAt(t, "the page that asks", 390, 1440)
	b.snap(t, "bulk-ask", 390, 768, 1440)
	b.look(t, "light", 1440)
	b.do(t, chromedp.Click(chromedp.CSS(".picked li:last-child [name=id]")))
	n.clicks++
	n.clicks++
	b.click(t, "[name=go]")
	b.mustShow(t, "2 customers asked.", "Undo", "You can undo this until", "Lamp 0", "Lamp 1")
	n.report(t, "2 of 3 customers asked", 1440)
	b.mustPassAxeAt(t, "the result", 390, 1440)
	b.snap(t, "bulk-result", 390, 768, 1440)
	n.pressing(t, "Undo")
	b.mustShow(t, "2 claims changed back.")
	b.snap(t, "bulk-undone", 390, 1440)

	// On a phone.
	b.look(t, "light", 390)
	b.mustOpen(t, "/claims")
	b.mustShow(t, "12 claims wait for you")
	n = b.journey()
	for i := 1; i <= 2; i++ {
		b.do(t, chromedp.Click(chromedp.CSS(box(i))))
		n.clicks++
	}
	b.do(t, chromedp.Click(chromedp.CSS(".bulk .rest > summary")))
	n.clicks++
	n.tap(t, ".bulk .menu [value=resolve]")
	b.mustShow(t, "Mark 2 claims as resolved")
	b.snap(t, "bulk-resolve", 390, 768, 1440)
	b.look(t, "light", 390)
	n.typing(t, "#resolution", "repaired")
	b.click(t, "[name=go]")
	n.clicks++
	b.mustShow(t, "2 claims resolved.")
	n.report(t, "2 claims resolved", 390)
	b.press(t, "Undo")
	b.mustShow(t, "2 claims changed back.")

	// Without script.
	plain := b.withoutScript(t)
	plain.look(t, "light", 1440)
	plain.mustOpen(t, "/claims")
	plain.do(t, chromedp.Click(chromedp.CSS(box(1))), chromedp.Click(chromedp.CSS(box(2))))
	plain.click(t, ".bulk .wide[value=ask]")
	plain.mustShow(t, "Ask 2 customers for information", "Type plate")
	plain.click(t, "[name=go]")
	plain.mustShow(t, "2 customers asked.")
	plain.press(t, "Undo")
	plain.mustShow(t, "2 claims changed back.")
	b.mustBeQuiet(t)
}

// TestADecisionIsUndoneInTheBrowser decides with the dock of a phone, undoes it on the page of the next claim, and decides
// what was decided meanwhile.
func TestADecisionIsUndoneInTheBrowser(t *testing.T) {
	t.Parallel()
	s := openUndrawn(t)
	b := s.queueOf(t, "One and Only", 3)
	b.mustOpen(t, "/claims")
	b.press(t, "Start with the oldest")
	claim := b.path(t)
	b.look(t, "light", 390)
	b.mustBeInTheWindow(t, ".dock")
	b.snap(t, "bulk-dock", 390)
	b.look(t, "light", 390)
	b.do(t, chromedp.Click(chromedp.CSS(".dock a")))
	b.until(t, `location.hash === "#body"`)
	b.fill(t, "#body", "The lamp was opened.")
	b.press(t, "Reject claim")
	b.mustShow(t, "Rejected: Lamp 0", "2 left.", "Undo")
	if b.press(t, "Undo"); !strings.HasPrefix(b.path(t), strings.Split(claim, "?")[0]) {
		t.Errorf("undo leads to %s", b.path(t))
	}
	b.mustShow(t, "Undone.", "Lamp 0")
	b.mustBeQuiet(t, 422)

	// Decided meanwhile.
	late := b.another(t)
	late.look(t, "light", 390)
	late.mustOpen(t, claim)
	b.click(t, ".dock [value=approve]")
	b.mustShow(t, "Approved: Lamp 0", "2 left.")
	b.mustPassAxeAt(t, "the next claim", 390, 1440)
	b.snap(t, "bulk-decided", 390, 1440)
	late.fill(t, "#body", "My long reason.")
	if status := late.press(t, "Reject claim"); status != 422 {
		t.Errorf("decided meanwhile: %d", status)
	}
	late.mustShow(t, "Decided meanwhile", "approved this", "My long reason.")
	late.mustPassAxeAt(t, "decided meanwhile", 390, 1440)
	late.snap(t, "bulk-meanwhile", 390, 1440)
}
