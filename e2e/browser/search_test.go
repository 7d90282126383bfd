//go:build browser

package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestSearchWhileTyping does everything with the keyboard: the dialog opens with a key, finds from the second letter, says
// how much, and arrows and Enter lead to a record.
func TestSearchWhileTyping(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	b := s.person(t, halden)
	b.look(t, "light", 1440)
	const open, hits = `document.querySelector("#palette").open`, `document.querySelectorAll("#palette-hits [role=option]").length`
	chosen := func() string {
		t.Helper()
		return eval[string](t, b, `(() => {
			const active = document.querySelector("#palette-q").getAttribute("aria-activedescendant");
			return active && document.querySelector("#" + active).getAttribute("aria-selected") === "true" ? active : "";
		})()`)
	}
	// On a page with a search field of its own too.
	b.mustOpen(t, "/warranties")
	b.do(t, keys("/"))
	b.until(t, open+` && document.activeElement.id === "palette-q"`)
	b.do(t, keys("b"))
	b.until(t, `document.querySelector("#palette [data-hint]").checkVisibility()`)
	if n := eval[int](t, b, hits); n != 0 {
		t.Errorf("one letter finds %d", n)
	}
	b.do(t, keys("os"))
	b.until(t, hits+` > 2`)
	top := chosen()
	if !strings.HasSuffix(top, "-0") {
		t.Errorf("the first result is %q", top)
	}
	if got := eval[string](t, b, `document.querySelector("#palette [role=status]").textContent`); got == "" {
		t.Error("the number of results is not announced")
	}
	if n := eval[int](t, b, `Math.max(...[...document.querySelectorAll("#palette-hits [role=group]")]
		.map(g => g.querySelectorAll(".hit:not(.all)").length))`); n > 3 {
		t.Errorf("a group has %d results", n)
	}
	b.snap(t, "search", homeWidths...)
	b.mustPassAxeAt(t, "the search dialog", homeWidths...)
	b.look(t, "light", 1440)
	b.do(t, keys(kb.ArrowDown))
	second := chosen()
	b.do(t, keys(kb.ArrowUp), keys(kb.ArrowUp))
	if last := chosen(); second == "" || second == top || last == top || last == "" {
		t.Errorf("arrows lead to %q and %q", second, last)
	}
	b.do(t, keys(kb.Escape))
	b.until(t, `!`+open)

	// A name and Enter: the record, also before the results are shown.
	b.do(t, keys("k", chromedp.ModifierCtrl))
	b.until(t, open)
	b.leads(t, keys("bosch serie"+kb.Enter))
	if eval[int](t, b, `document.querySelectorAll("main h1").length`) != 1 || b.path(t) == "/warranties" {
		t.Errorf("Enter leads to %s", b.path(t))
	}
	first := b.path(t)
	b.mustOpen(t, "/")
	b.do(t, chromedp.Click(chromedp.CSS(".kbtn")))
	b.until(t, open)
	b.do(t, keys("zzzz nothing"))
	b.until(t, `document.querySelector("#palette [data-hint]").textContent.includes("Nothing found")`)
	b.mustPassAxeAt(t, "the search dialog without results", 390, 1440)
	if first == "/" {
		t.Error("the search led nowhere")
	}
	b.mustBeQuiet(t)
}

// TestSearchWithoutScript: the field in the header leads to a page of results.
func TestSearchWithoutScript(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	b := s.person(t, halden)
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	b.look(t, "light", 1440)
	b.mustOpen(t, "/")
	b.fill(t, "#header-q", "bosch")
	b.leads(t, keys(kb.Enter))
	if got := b.path(t); got != "/search?q=bosch" {
		t.Errorf("the field leads to %s", got)
	}
	b.mustShow(t, "Search", "results", "Warranties", "Bosch")
	b.snap(t, "search-page", 390, 1440)
}
