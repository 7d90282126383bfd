//go:build browser

package e2e

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestKeyboard goes through the pages without a mouse.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	b := s.person(t, nora)
	focus := func() string {
		return eval[string](t, b, `(e => e.id || e.getAttribute("href") || e.textContent.trim() || e.tagName)(document.activeElement)`)
	}
	mustFocus := func(want string) {
		t.Helper()
		if got := focus(); got != want {
			t.Errorf("%s: the focus is on %q, want %q", b.path(t), got, want)
		}
	}
	go1 := func(want, pressed string) {
		t.Helper()
		b.leads(t, keys(pressed))
		if got := b.path(t); got != want {
			t.Errorf("%q leads to %s, want %s", pressed, got, want)
		}
	}

	// Letters lead everywhere, but not while somebody types.
	b.mustOpen(t, "/")
	go1("/warranties", "gw")
	go1("/claims", "gc")
	go1("/documents", "gd")
	go1("/settings/api", "gs")
	go1("/", "go")
	go1("/warranties/new", "n")
	b.do(t, chromedp.Focus(chromedp.CSS("#product_name")), keys("/n?gw"))
	if got := eval[string](t, b, `document.querySelector("#product_name").value`); got != "/n?gw" || b.path(t) != "/warranties/new" {
		t.Errorf("typed %q, now at %s", got, b.path(t))
	}

	// Search: the field of the page, or a dialog where there is none.
	b.mustOpen(t, "/warranties")
	b.do(t, keys("/"))
	mustFocus("q")
	b.mustOpen(t, "/claims")
	b.do(t, keys("/"))
	b.until(t, `document.querySelector("#palette").open`)
	mustFocus("palette-q")
	b.leads(t, keys("bosch"+kb.Enter))
	if got := b.path(t); got != "/warranties?q=bosch" {
		t.Errorf("the search leads to %s", got)
	}
	b.mustShow(t, "Bosch Serie 6")

	// The first Tab is the way around the navigation, and it works.
	b.mustOpen(t, "/claims")
	b.do(t, keys(kb.Tab))
	mustFocus("#main")
	if top := eval[float64](t, b, `document.activeElement.getBoundingClientRect().top`); top < 0 {
		t.Errorf("the link that skips the navigation can not be seen: it is at %v", top)
	}
	b.do(t, keys(kb.Enter))
	b.until(t, `document.activeElement.id === "main"`)
	b.do(t, keys(kb.Tab))
	if got := eval[bool](t, b, `document.querySelector("#main").contains(document.activeElement)`); !got {
		t.Errorf("after the content was skipped to, Tab leads to %s", focus())
	}

	// A dialog keeps the focus, and Esc closes it and gives the focus back.
	b.do(t, keys("?"))
	b.until(t, `document.querySelector("#shortcuts").open`)
	b.walk(t, "#shortcuts")
	b.mustOpen(t, "/settings/api")
	b.do(t, chromedp.Focus(chromedp.CSS(`.head [data-open="#new"]`)), keys(kb.Enter))
	b.until(t, `document.querySelector("#new").open`)
	b.walk(t, "#new")
	if got := eval[string](t, b, `document.activeElement.dataset.open`); got != "#new" {
		t.Errorf("the dialog gave the focus to %s", focus())
	}

	// Tabs are one stop, and arrows go between them.
	b.do(t, chromedp.Focus(chromedp.CSS(`[role=tab][aria-selected=true]`)), keys(kb.ArrowRight))
	if got := eval[string](t, b, `[...document.querySelectorAll("[role=tabpanel]:not([hidden])")].map(p => p.id).join()`); got != "panel-cli" || focus() != "tab-cli" {
		t.Errorf("the arrow shows %s and focuses %s", got, focus())
	}
	b.do(t, keys(kb.Tab))
	if got := focus(); strings.HasPrefix(got, "tab-") {
		t.Errorf("Tab leads to another tab, %s", got)
	}
	b.mustBeQuiet(t)
}

// walk goes through an open dialog by Tab, in both directions and further than it
// has stops, and closes it.
func (b *tab) walk(t *testing.T, dialog string) {
	t.Helper()
	for _, modifiers := range [][]chromedp.Modifier{nil, {chromedp.ModifierShift}} {
		stops := eval[int](t, b, `document.querySelectorAll("`+dialog+` :is(a, button, input:not([type=hidden]), select, textarea)").length`)
		for range stops + 2 {
			b.do(t, keys(kb.Tab, modifiers...))
			// The browser's own controls are between the last stop and the first.
			if !eval[bool](t, b, `document.querySelector("`+dialog+`").contains(document.activeElement) || document.activeElement === document.body`) {
				t.Fatalf("Tab left the dialog %s for %s", dialog, eval[string](t, b, "document.activeElement.outerHTML.slice(0, 200)"))
			}
		}
	}
	b.do(t, keys(kb.Escape))
	b.until(t, `!document.querySelector("`+dialog+`").open`)
}
