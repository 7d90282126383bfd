//go:build browser

package browser

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"warranty.example/svc/internal/testenv"
)

//go:embed testdata/axe/axe.min.js
var axe string

// look is a color scheme and a width.
type look struct {
	scheme string
	width  int64
}

// looks are those to check. Schemes differ in colors and widths in layout.
var looks = []look{{"light", 320}, {"dark", 320}, {"dark", 1280}, {"light", 1280}}

// The rules of axe about what an element looks like depend on the look, and take longest. The others do not.
const (
	everyRule       = `{type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}`
	appearanceRules = `["color-contrast", "link-in-text-block", "target-size"]`
	otherRules      = everyRule + `, rules: {"color-contrast": {enabled: false}, "link-in-text-block": {enabled: false},
		"target-size": {enabled: false}}`
)

// keepFewArticles removes all but the first articles of the API reference, which differ only in their texts. axe takes
// as long for a page with excluded elements as for all of it.
const keepFewArticles = `for (const a of [...document.querySelectorAll("main article.card")].slice(5)) a.remove()`

// TestEveryPage runs axe on every page with details, dialogs and tabs open, and opens the page again without scripts. In a
// long run each page has every look and all articles of the API reference are checked, except for their colors; otherwise
// each page has one look, so that each look has a quarter of the pages, and one page of each kind is
// opened without scripts and seen by axe's rules that are not about appearance.
func TestEveryPage(t *testing.T) {
	t.Parallel()
	s := openUndrawn(t)
	_, all := s.company(t)
	mustLeaveNothingOut(t, all)
	var plain sync.Map // maps each tab to its tab without scripts
	open := func(b *tab, t testing.TB) *tab {
		scripted := b.another(t)
		plain.Store(scripted, b.withoutScript(t))
		return scripted
	}
	addresses, kinds := &seen{}, firstOfTheirKind(all)
	s.eachVisit(t, all, open, func(t *testing.T, b *tab, v visit) {
		chosen := sample(v.number, looks)
		b.show(t, chosen[0])
		b.mustVisit(t, v)
		whole := testenv.Long() || kinds[v.number]
		if whole && v.by == nil && !addresses.before(fmt.Sprint(v.who, strings.SplitN(v.path, "?", 2)[0], v.status)) {
			other, _ := plain.Load(b)
			b.mustWorkWithoutScript(t, other.(*tab), v)
		}
		b.inspect(t, chosen, whole)
	})
}

// firstOfTheirKind returns which visits are the first ones to a page of their kind. Pages of a kind differ in the person
// who sees them, their records and their parameters.
func firstOfTheirKind(all []visit) map[int]bool {
	first, kinds := map[int]bool{}, &seen{}
	for i, v := range all {
		path, _, _ := strings.Cut(v.path, "?")
		first[i] = v.by != nil || !kinds.before(fmt.Sprint(anyReference.ReplaceAllString(path, "*"), v.status))
	}
	return first
}

// sample returns the looks in which a page is checked: all of them in a long run, and otherwise the one that a number
// chooses.
func sample(number int, looks []look) []look {
	if testenv.Long() {
		return looks
	}
	return looks[number%len(looks):][:1]
}

// seen records what was checked, so that what pages share is checked once.
type seen struct{ sync.Map }

var (
	anyID        = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)
	anyReference = regexp.MustCompile(`WR-[0-9A-Z-]+`)
)

func (s *seen) before(id string) bool {
	_, before := s.LoadOrStore(anyID.ReplaceAllString(id, "*"), true)
	return before
}

// inspect checks how the page looks. The first of the looks is shown. whole says whether axe's rules that are not about
// appearance see the page.
func (b *tab) inspect(t *testing.T, chosen []look, whole bool) {
	t.Helper()
	b.mustNotScrollSideways(t, chosen[0].width) // also with details closed
	eval[chromedp.Void](t, b, `for (const d of document.querySelectorAll("details")) d.open = true`)
	if eval[int](t, b, `document.querySelectorAll("main article.card").length`) > 5 {
		b.mustNotScrollSidewaysWithAnyTab(t)
		if testenv.Long() {
			b.mustPassAxe(t, "the whole page", otherRules, "document")
		}
		eval[chromedp.Void](t, b, keepFewArticles)
	}
	parts := b.parts(t)
	for i, l := range chosen {
		b.show(t, l)
		b.mustNotScrollSideways(t, l.width)
		b.mustStayInTheRail(t)
		in := fmt.Sprintf("%s, %d px", l.scheme, l.width)
		b.mustPassAxeHere(t, "page, "+in, "document", i == 0, whole)
		for _, p := range parts {
			eval[chromedp.Void](t, b, p.open)
			b.mustNotScrollSideways(t, l.width)
			b.mustPassAxeHere(t, p.name+", "+in, p.element, i == 0, true)
			eval[chromedp.Void](t, b, p.close)
		}
	}
	b.mustFitOtherwise(t, chosen)
	b.mustBeQuiet(t)
}

// mustFitOtherwise shows the page in the widths that are not among the looks.
func (b *tab) mustFitOtherwise(t *testing.T, chosen []look) {
	t.Helper()
	for _, l := range looks[1:3] {
		if !slices.ContainsFunc(chosen, func(c look) bool { return c.width == l.width }) {
			b.show(t, l)
			b.mustNotScrollSideways(t, l.width)
			b.mustStayInTheRail(t)
		}
	}
}

// part is a dialog, a menu or a tab that is not open when the page is.
type part struct{ name, element, open, close string }

// parts returns those that were on no page before.
func (b *tab) parts(t *testing.T) (parts []part) {
	t.Helper()
	for _, id := range eval[[]string](t, b, `[...document.querySelectorAll("dialog")].map(d => d.id)`) {
		e := fmt.Sprintf("document.getElementById(%q)", id)
		parts = append(parts, part{"dialog " + id, e, e + ".showModal()", e + ".close()"})
	}
	for _, id := range eval[[]string](t, b, `[...document.querySelectorAll("[popover]")].map(p => p.id)`) {
		e := fmt.Sprintf("document.getElementById(%q)", id)
		parts = append(parts, part{"popover " + id, e, e + ".showPopover()", e + ".hidePopover()"})
	}
	// The first tabs of all lists of tabs are open. Check the second ones together, then the third ones.
	click := func(ids []string) string {
		list, err := json.Marshal(ids)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("for (const id of %s) document.getElementById(id).click()", list)
	}
	first := b.tabsAt(t, 0)
	for n := 1; ; n++ {
		ids := b.tabsAt(t, n)
		if len(ids) == 0 {
			break
		}
		unseen := slices.DeleteFunc(ids, func(id string) bool { return b.site.checked.before("tab " + id) })
		if len(unseen) > 0 {
			parts = append(parts, part{fmt.Sprintf("tabs %q", unseen), `document.querySelector("main")`, click(unseen), click(first)})
		}
	}
	return slices.DeleteFunc(parts, func(p part) bool { return b.site.checked.before(p.name) })
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

// show sets the look of the tab.
func (b *tab) show(t *testing.T, l look) {
	t.Helper()
	b.look(t, l.scheme, l.width)
}

// mustPassAxeIn runs axe on the page in several looks, or, except in a long run, in one of them.
func (b *tab) mustPassAxeIn(t *testing.T, what string, looks ...look) {
	t.Helper()
	chosen := sample(int(crc32.ChecksumIEEE([]byte(what))), looks)
	for _, l := range looks {
		b.show(t, l)
		b.mustNotScrollSideways(t, l.width)
		if i := slices.Index(chosen, l); i >= 0 {
			b.mustPassAxeHere(t, fmt.Sprintf("%s, %s, %d px", what, l.scheme, l.width), "document", i == 0, true)
		}
	}
}

// mustPassAxeHere runs axe on an element in the present look: if it is whole, every rule in the first look, and in the
// others on what the earlier ones did not show; and the rules about appearance on what looks as nothing before did.
func (b *tab) mustPassAxeHere(t *testing.T, what, element string, first, whole bool) {
	t.Helper()
	appearances, more := b.appears(t, element, first && element == "document")
	defer eval[bool](t, b, `(window.holding = false)`)
	appearances = slices.DeleteFunc(appearances, b.site.checked.before)
	switch {
	case !whole:
	case first:
		b.mustPassAxe(t, what, otherRules, element)
	case more:
		b.mustPassAxe(t, what, otherRules, "window.more")
	}
	if len(appearances) > 0 {
		list, err := json.Marshal(appearances)
		if err != nil {
			t.Fatal(err)
		}
		b.mustPassAxe(t, what, appearanceRules, string(list)+`.map(a => window.appearances[a])`)
	}
}

// appears returns the appearances of visible texts and small controls in an element, and whether this look shows elements
// that earlier ones did not, which it leaves in window.more. A text appears as its colors and its font do, a small control
// as its place does; window.appearances has one element for each.
func (b *tab) appears(t *testing.T, element string, fresh bool) (appearances []string, more bool) {
	t.Helper()
	found := eval[struct {
		Appearances []string
		More        bool
	}](t, b, fmt.Sprintf(`(fresh => {
		if (fresh) window.shown = new WeakSet()
		// A part of a page that asks for news is not replaced before axe has run.
		if (window.holding === undefined) {
			document.addEventListener("htmx:beforeSwap", e => { if (window.holding) e.preventDefault() })
		}
		window.holding = true
		window.appearances = {}
		window.more = []
		const name = e => e ? e.tagName + "." + (e.getAttribute("class") ?? "") : ""
		const styles = new Map()
		const style = e => styles.get(e) ?? styles.set(e, getComputedStyle(e)).get(e)
		const behind = e => { // what is behind a text
			const all = []
			for (; e; e = e.parentElement) {
				const s = style(e)
				if (s.backgroundImage !== "none") all.push(s.backgroundImage)
				if (s.opacity !== "1") all.push(s.opacity)
				if (s.position !== "static" && s.position !== "relative") all.push(s.position, name(e))
				if (s.backgroundColor !== "rgba(0, 0, 0, 0)") all.push(s.backgroundColor)
				if (/^(rgb\(|oklch\([^/]*$)/.test(s.backgroundColor)) break
			}
			return all
		}
		for (const e of %s.querySelectorAll("*")) {
			if (!e.checkVisibility()) continue
			if (!shown.has(e)) {
				shown.add(e)
				if (!more.some(m => m.contains(e))) more.push(e)
			}
			const control = e.matches("a, button, input, select, textarea, summary, label, [tabindex], [role]")
			if (control || [...e.childNodes].some(n => n.nodeType === Node.TEXT_NODE && n.data.trim())) {
				const s = style(e), p = style(e.parentElement)
				const link = e.matches("a") ? [s.textDecorationLine, p.color, p.display, p.fontWeight] : []
				appearances[[s.color, s.fontSize, s.fontWeight, s.textShadow, control, ...link, ...behind(e)].join(" ")] ??= e
			}
			const box = e.getBoundingClientRect()
			if (control && Math.min(box.width, box.height) < 24) {
				const around = [e.parentElement?.parentElement, e.parentElement, e.previousElementSibling, e, e.nextElementSibling]
				appearances[[innerWidth, ...around.map(name)].join(" ")] ??= e
			}
		}
		return {Appearances: Object.keys(appearances), More: more.length > 0}
	})(%t)`, element, fresh))
	return found.Appearances, found.More
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
