//go:build browser

package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestKeyboard uses the pages without a mouse.
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

	// Shortcuts navigate, except while a field has the focus.
	b.mustOpen(t, "/")
	go1("/warranties", "gw")
	go1("/claims", "gc")
	go1("/documents", "gd")
	go1("/settings/api", "gs")
	go1("/", "go")
	go1("/warranties/new", "n")
	b.do(t, chromedp.Focus(chromedp.CSS("#product_name")), keys("/n?gw"))
	got := eval[string](t, b, `document.querySelector("#product_name").value`)
	if got != "/n?gw" || b.path(t) != "/warranties/new" {
		t.Errorf("typed %q, now at %s", got, b.path(t))
	}

	// "/" opens the search dialog; see browser_search_test.go.
	b.mustOpen(t, "/settings/profile")
	b.do(t, keys("/"))
	b.until(t, `document.querySelector("#palette").open`)
	mustFocus("palette-q")
	b.leads(t, keys("bosch serie 6"+kb.Enter))
	b.mustShow(t, "Bosch Serie 6")

	// The first tab stop skips the navigation.
	b.mustOpen(t, "/claims")
	b.do(t, keys(kb.Tab))
	mustFocus("#main")
	if top := eval[float64](t, b, `document.activeElement.getBoundingClientRect().top`); top < 0 {
		t.Errorf("the skip link is not visible: it is at %v", top)
	}
	b.do(t, keys(kb.Enter))
	b.until(t, `document.activeElement.id === "main"`)
	b.do(t, keys(kb.Tab))
	if got := eval[bool](t, b, `document.querySelector("#main").contains(document.activeElement)`); !got {
		t.Errorf("after the skip link, Tab leads to %s", focus())
	}

	// A dialog traps the focus. Esc closes it and restores the focus.
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

	// A tab list is one tab stop, and arrow keys move between tabs.
	b.do(t, chromedp.Focus(chromedp.CSS(`[role=tab][aria-selected=true]`)), keys(kb.ArrowRight))
	got = eval[string](t, b, `[...document.querySelectorAll("[role=tabpanel]:not([hidden])")].map(p => p.id).join()`)
	if got != "panel-cli" || focus() != "tab-cli" {
		t.Errorf("the arrow shows %s and focuses %s", got, focus())
	}
	b.do(t, keys(kb.Tab))
	if got := focus(); strings.HasPrefix(got, "tab-") {
		t.Errorf("Tab leads to another tab, %s", got)
	}
	b.mustBeQuiet(t)
}

// walk presses Tab in an open dialog in both directions, more often than it has tab stops, and
// closes it.
func (b *tab) walk(t *testing.T, dialog string) {
	t.Helper()
	for _, modifiers := range [][]chromedp.Modifier{nil, {chromedp.ModifierShift}} {
		stops := eval[int](t, b, `document.querySelectorAll("`+dialog+` :is(a, button, input:not([type=hidden]), select, textarea)").length`)
		for range stops + 2 {
			b.do(t, keys(kb.Tab, modifiers...))
			// Between the last stop and the first, the focus is on the browser's own controls.
			inside := eval[bool](t, b, `document.querySelector("`+dialog+`").contains(document.activeElement) ||
				document.activeElement === document.body`)
			if !inside {
				at := eval[string](t, b, "document.activeElement.outerHTML.slice(0, 200)")
				t.Fatalf("Tab left the dialog %s for %s", dialog, at)
			}
		}
	}
	b.do(t, keys(kb.Escape))
	b.until(t, `!document.querySelector("`+dialog+`").open`)
}
