//go:build browser

package browser

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

//go:embed testdata/axe/axe.min.js
var axe string

// looks are the color schemes and widths to check. Schemes differ in colors and widths in layout, so two looks run every
// rule, and the other two check the colors of the kinds of elements that they have not shown before.
var looks = []struct {
	scheme string
	width  int64
	whole  bool
}{{"light", 1280, true}, {"dark", 320, true}, {"dark", 1280, false}, {"light", 320, false}}

const (
	everyRule  = `{type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}`
	everyOther = everyRule + `, rules: {"color-contrast": {enabled: false}, "link-in-text-block": {enabled: false}}`
	colorRules = `["color-contrast", "link-in-text-block"]`
)

// keepFewArticles removes all but the first articles of the API reference, which differ only in their texts. axe takes
// as long for a page with excluded elements as for all of it.
const keepFewArticles = `for (const a of [...document.querySelectorAll("main article.card")].slice(5)) a.remove()`

// TestPagesAreAccessible runs axe on every page in every look, with details, dialogs and tabs open. All articles of the
// API reference are checked in the first look, except for their colors, and the first articles in every look. Each page is
// loaded once.
func TestPagesAreAccessible(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	_, all := s.company(t)
	mustLeaveNothingOut(t, all)
	s.eachVisit(t, all, (*tab).another, inspect)
}

// seen records what was checked, so that what pages share is checked once.
type seen struct{ sync.Map }

var anyID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)

func (s *seen) before(id string) bool {
	_, before := s.LoadOrStore(anyID.ReplaceAllString(id, "*"), true)
	return before
}

// inspect checks one page.
func inspect(t *testing.T, b *tab, v visit) {
	seen := &b.site.checked
	b.look(t, looks[0].scheme, looks[0].width)
	b.mustVisit(t, v)
	b.mustStayInTheRail(t)
	b.look(t, "light", 320)
	b.mustNotScrollSideways(t, 320) // also with details closed
	eval[chromedp.Void](t, b, `for (const d of document.querySelectorAll("details")) d.open = true`)
	if eval[int](t, b, `document.querySelectorAll("main article.card").length`) > 5 {
		b.mustNotScrollSidewaysWithAnyTab(t)
		b.look(t, looks[0].scheme, looks[0].width)
		b.mustPassAxe(t, "the whole page", everyOther, "document")
		eval[chromedp.Void](t, b, keepFewArticles)
	}
	b.mustPassAxeInAllLooks(t, "page", "document")
	for _, id := range eval[[]string](t, b, `[...document.querySelectorAll("dialog")].map(d => d.id)`) {
		if seen.before("dialog " + id) {
			continue
		}
		dialog := fmt.Sprintf("document.getElementById(%q)", id)
		eval[chromedp.Void](t, b, dialog+".showModal()")
		b.mustPassAxeInAllLooks(t, "dialog "+id, dialog)
		eval[chromedp.Void](t, b, dialog+".close()")
	}
	for _, id := range eval[[]string](t, b, `[...document.querySelectorAll("[popover]")].map(p => p.id)`) {
		if seen.before("popover " + id) {
			continue
		}
		popover := fmt.Sprintf("document.getElementById(%q)", id)
		eval[chromedp.Void](t, b, popover+".showPopover()")
		b.mustPassAxeInAllLooks(t, "popover "+id, popover)
		eval[chromedp.Void](t, b, popover+".hidePopover()")
	}
	// Check the first tabs of all tab lists together, then the second ones.
	for n := 0; ; n++ {
		ids := b.tabsAt(t, n)
		if len(ids) == 0 {
			break
		}
		unseen := slices.DeleteFunc(ids, func(id string) bool { return seen.before("tab " + id) })
		if len(unseen) == 0 {
			continue
		}
		b.clickAll(t, unseen)
		b.mustPassAxeInAllLooks(t, fmt.Sprintf("tabs %q", unseen), `document.querySelector("main")`)
	}
	b.mustBeQuiet(t)
}

// tabsAt returns the ids of the tabs at a position of all tab lists.
func (b *tab) tabsAt(t *testing.T, position int) []string {
	t.Helper()
	return eval[[]string](t, b, fmt.Sprintf(`[...document.querySelectorAll("[role=tablist]")]
		.map(l => l.querySelectorAll("[role=tab]")[%d]).filter(t => t).map(t => t.id)`, position))
}

// clickAll clicks the elements with these ids.
func (b *tab) clickAll(t *testing.T, ids []string) {
	t.Helper()
	list, err := json.Marshal(ids)
	if err != nil {
		t.Fatal(err)
	}
	eval[chromedp.Void](t, b, fmt.Sprintf("for (const id of %s) document.getElementById(id).click()", list))
}

// mustNotScrollSidewaysWithAnyTab opens all tabs, and then the first ones again.
func (b *tab) mustNotScrollSidewaysWithAnyTab(t *testing.T) {
	t.Helper()
	for n := 0; ; n++ {
		ids := b.tabsAt(t, n)
		if len(ids) == 0 {
			break
		}
		b.clickAll(t, ids)
		for _, width := range []int64{1280, 320} {
			b.look(t, "light", width)
			b.mustNotScrollSideways(t, width)
		}
	}
	b.clickAll(t, b.tabsAt(t, 0))
}

// mustPassAxeInAllLooks runs axe on an element in every look.
func (b *tab) mustPassAxeInAllLooks(t *testing.T, what, element string) {
	t.Helper()
	for _, look := range looks {
		b.look(t, look.scheme, look.width)
		b.mustNotScrollSideways(t, look.width)
		in := fmt.Sprintf("%s, %s, %d px", what, look.scheme, look.width)
		if look.whole {
			b.mustPassAxe(t, in, everyRule, element)
		} else if fresh := b.freshKinds(t, element, fmt.Sprint(look)); fresh != "" {
			b.mustPassAxe(t, in, colorRules, fresh)
		}
	}
}

// freshKinds returns an expression for one visible element of each kind that was not shown in this look before, or nothing
// if there is none. Elements with the same classes, in parents with the same classes, are of a kind.
func (b *tab) freshKinds(t *testing.T, element, look string) string {
	t.Helper()
	kinds := eval[[]string](t, b, `(() => {
		window.kinds = {}
		const name = e => e ? e.tagName + "." + (e.getAttribute("class") ?? "") + " " : ""
		for (const e of `+element+`.querySelectorAll("*")) {
			const parent = e.parentElement
			if (e.checkVisibility()) window.kinds[name(parent?.parentElement) + name(parent) + name(e)] ??= e
		}
		return Object.keys(window.kinds)
	})()`)
	kinds = slices.DeleteFunc(kinds, func(kind string) bool { return b.site.checked.before(look + kind) })
	if len(kinds) == 0 {
		return ""
	}
	list, err := json.Marshal(kinds)
	if err != nil {
		t.Fatal(err)
	}
	return string(list) + `.map(kind => window.kinds[kind])`
}

// mustPassAxe fails for each violation that axe finds in an element or in a list of elements.
func (b *tab) mustPassAxe(t *testing.T, what, rules, elements string) {
	t.Helper()
	if eval[bool](t, b, `window.axe === undefined`) {
		eval[chromedp.Void](t, b, axe)
	}
	found := eval[[]struct {
		ID, Impact, Help string
		Nodes            []struct{ HTML, FailureSummary string }
	}](t, b, `axe.run(`+elements+`, {
			resultTypes: ["violations"], elementRef: false, selectors: false, preload: false,
			// Decorations are pseudo elements, and axe would check no color beside them.
			checks: {"color-contrast": {options: {ignorePseudo: true}}},
			runOnly: `+rules+`
		}).then(r => r.violations.map(v => ({
			ID: v.id, Impact: v.impact, Help: v.help,
			Nodes: v.nodes.map(n => ({HTML: n.html, FailureSummary: n.failureSummary}))
		})))`, chromedp.EvalAwaitPromise)
	for _, v := range found {
		var nodes strings.Builder
		for i, n := range v.Nodes {
			if i == 3 {
				fmt.Fprintf(&nodes, "\n… and %d more", len(v.Nodes)-i)
				break
			}
			fmt.Fprintf(&nodes, "\n%s\n%s", shorten(n.HTML), n.FailureSummary)
		}
		t.Errorf("%s: axe %s (%s): %s%s", what, v.ID, v.Impact, v.Help, nodes.String())
	}
}

// mustStayInTheRail fails if an element overflows the navigation, as a long name may.
func (b *tab) mustStayInTheRail(t *testing.T) {
	t.Helper()
	for _, out := range eval[[]string](t, b, `(rail => [...rail?.querySelectorAll("*") ?? []]
		.filter(e => e.getBoundingClientRect().right > rail.getBoundingClientRect().right)
		.map(e => e.outerHTML.slice(0, 150)))(document.querySelector(".rail"))`) {
		t.Errorf("overflows the navigation: %s", out)
	}
}

// mustNotScrollSideways fails if the page is wider than the window, and names the elements.
func (b *tab) mustNotScrollSideways(t *testing.T, width int64) {
	t.Helper()
	wide := eval[[]string](t, b, `document.documentElement.scrollWidth <= innerWidth ? [] : [
		document.documentElement.scrollWidth + " px",
		...[...document.querySelectorAll("body *")]
			.filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".tablewrap, pre, .sr"))
			.slice(0, 5).map(e => e.outerHTML.slice(0, 150))]`)
	if len(wide) > 0 {
		t.Errorf("scrolls sideways at %d px: %s", width, strings.Join(wide, "\n"))
	}
}
