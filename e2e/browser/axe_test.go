//go:build browser

package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// looks are the color schemes and widths to check, each with the axe rules to run. Between light
// and dark only colors change, so only the color rules run again.
var looks = []struct {
	scheme string
	width  int64
	rules  string
}{{"light", 1280, everyRule}, {"dark", 1280, colourRules}, {"dark", 320, everyOther}, {"light", 320, colourRules}}

const (
	everyRule   = `{type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}`
	everyOther  = everyRule + `, rules: {"color-contrast": {enabled: false}, "link-in-text-block": {enabled: false}}`
	colourRules = `["color-contrast", "link-in-text-block"]`
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
	axe, err := os.ReadFile("testdata/axe/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	_, all := s.company(t)
	mustLeaveNothingOut(t, all)
	seen := &seen{}
	s.eachVisit(t, all, (*tab).another, func(t *testing.T, b *tab, v visit) { inspect(t, b, v, string(axe), seen) })
}

// seen records the dialogs and tabs that were checked, so that shared ones are checked once.
type seen struct{ sync.Map }

var anyID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)

func (s *seen) before(id string) bool {
	_, before := s.LoadOrStore(anyID.ReplaceAllString(id, "*"), true)
	return before
}

// inspect checks one page.
func inspect(t *testing.T, b *tab, v visit, axe string, seen *seen) {
	b.look(t, looks[0].scheme, looks[0].width)
	b.mustVisit(t, v)
	eval[chromedp.Void](t, b, axe)
	inAllLooks := func(what string) {
		for _, look := range looks {
			b.look(t, look.scheme, look.width)
			b.mustPassAxe(t, fmt.Sprintf("%s, %s, %d px", what, look.scheme, look.width), look.rules)
			b.mustNotScrollSideways(t, look.width)
		}
	}
	b.mustStayInTheRail(t)
	b.look(t, "light", 320)
	b.mustNotScrollSideways(t, 320) // also with details closed
	eval[chromedp.Void](t, b, `for (const d of document.querySelectorAll("details")) d.open = true`)
	if eval[int](t, b, `document.querySelectorAll("main article.card").length`) > 5 {
		b.mustNotScrollSidewaysWithAnyTab(t)
		b.look(t, looks[0].scheme, looks[0].width)
		b.mustPassAxe(t, "the whole page", everyOther)
		eval[chromedp.Void](t, b, keepFewArticles)
	}
	inAllLooks("page")
	for _, id := range eval[[]string](t, b, `[...document.querySelectorAll("dialog")].map(d => d.id)`) {
		if seen.before("dialog " + id) {
			continue
		}
		dialog := fmt.Sprintf("document.getElementById(%q)", id)
		eval[chromedp.Void](t, b, dialog+".showModal()")
		inAllLooks("dialog " + id)
		eval[chromedp.Void](t, b, dialog+".close()")
	}
	for _, id := range eval[[]string](t, b, `[...document.querySelectorAll("[popover]")].map(p => p.id)`) {
		if seen.before("popover " + id) {
			continue
		}
		popover := fmt.Sprintf("document.getElementById(%q)", id)
		eval[chromedp.Void](t, b, popover+".showPopover()")
		inAllLooks("popover " + id)
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
		inAllLooks(fmt.Sprintf("tabs %q", unseen))
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

// mustPassAxe fails for each violation that axe finds.
func (b *tab) mustPassAxe(t *testing.T, what, rules string) {
	t.Helper()
	found := eval[[]struct {
		ID, Impact, Help string
		Nodes            []struct{ HTML, FailureSummary string }
	}](t, b, `axe.run(document, {
			resultTypes: ["violations"], elementRef: false, selectors: false, preload: false, runOnly: `+rules+`
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
