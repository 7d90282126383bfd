//go:build browser

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// looks are all ways in which pages are shown, each one change from the one before.
var looks = []struct {
	scheme string
	width  int64
}{{"light", 1280}, {"dark", 1280}, {"dark", 320}, {"light", 320}}

// TestPagesAreAccessible has axe look at every page in every look, with what can
// be opened on it open. A page is loaded once: what it looks like is all CSS.
func TestPagesAreAccessible(t *testing.T) {
	s := openSite(t)
	axe, err := os.ReadFile("testdata/axe/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	people, all := s.company(t)
	mustLeaveNothingOut(t, all)
	seen := &seen{}
	inOrder := map[string][]visit{} // by person; what a form leads to has an order
	queue := make(chan visit, 1000)
	for _, v := range all {
		if v.by != nil {
			inOrder[v.who] = append(inOrder[v.who], v)
		} else {
			queue <- v
		}
	}
	close(queue)

	var wg sync.WaitGroup
	look := func(b *tab, v visit) {
		t.Run(v.String(), func(t *testing.T) { inspect(t, b, v, string(axe), seen) })
	}
	wg.Go(func() {
		for who, list := range inOrder {
			for _, v := range list {
				look(people[who], v)
			}
		}
		others(t, people, queue, look)
	})
	for range 2 {
		wg.Go(func() { others(t, people, queue, look) })
	}
	wg.Wait()
}

// others looks at what is left, in tabs of its own.
func others(t *testing.T, people map[string]*tab, queue chan visit, look func(*tab, visit)) {
	tabs := map[string]*tab{}
	for v := range queue {
		if tabs[v.who] == nil {
			tabs[v.who] = people[v.who].another(t)
		}
		look(tabs[v.who], v)
	}
}

// seen remembers the parts that many pages have, so that axe looks at each once.
type seen struct{ sync.Map }

var anyID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)

func (s *seen) before(id string) bool {
	_, before := s.LoadOrStore(anyID.ReplaceAllString(id, "*"), true)
	return before
}

// inspect looks at one page.
func inspect(t *testing.T, b *tab, v visit, axe string, seen *seen) {
	b.look(t, looks[0].scheme, looks[0].width)
	want := v.status
	if want == 0 {
		want = http.StatusOK
	}
	var status int
	if v.by != nil {
		status = v.by(t, b)
	} else {
		status = b.open(t, v.path)
	}
	if status != want {
		t.Fatalf("got %d, want %d\n%s", status, want, b.describe())
	}
	b.mustBeQuiet(t, v.status)
	eval[chromedp.Void](t, b, axe)
	inAllLooks := func(what, scope string) {
		for _, look := range looks {
			b.look(t, look.scheme, look.width)
			b.mustPassAxe(t, fmt.Sprintf("%s, %s, %d px", what, look.scheme, look.width), scope)
			b.mustNotScrollSideways(t, look.width)
		}
	}
	started := time.Now()
	defer func() { t.Logf("took %v", time.Since(started).Round(time.Millisecond)) }()
	b.look(t, "light", 320)
	b.mustNotScrollSideways(t, 320) // also before everything is opened
	eval[chromedp.Void](t, b, `for (const d of document.querySelectorAll("details")) d.open = true`)
	inAllLooks("page", "document")
	for _, id := range eval[[]string](t, b, `[...document.querySelectorAll("dialog")].map(d => d.id)`) {
		if seen.before("dialog " + id) {
			continue
		}
		dialog := fmt.Sprintf("document.getElementById(%q)", id)
		eval[chromedp.Void](t, b, dialog+".showModal()")
		inAllLooks("dialog "+id, "document")
		eval[chromedp.Void](t, b, dialog+".close()")
	}
	for _, id := range eval[[]string](t, b, `[...document.querySelectorAll("[role=tab]")].map(d => d.id)`) {
		if seen.before("tab " + id) {
			continue
		}
		eval[chromedp.Void](t, b, fmt.Sprintf("document.getElementById(%q).click()", id))
		inAllLooks("tab "+id, fmt.Sprintf("document.getElementById(%q).closest('section')", id))
	}
	b.mustBeQuiet(t)
}

// mustPassAxe fails for everything that axe finds.
func (b *tab) mustPassAxe(t *testing.T, what, scope string) {
	t.Helper()
	found := eval[[]struct {
		ID, Impact, Help string
		Nodes            []struct{ HTML, FailureSummary string }
	}](t, b, `axe.run(`+scope+`, {resultTypes: ["violations"], elementRef: false,
		runOnly: {type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}}).then(r => r.violations.map(v =>
		({ID: v.id, Impact: v.impact, Help: v.help, Nodes: v.nodes.map(n => ({HTML: n.html, FailureSummary: n.failureSummary}))})))`, chromedp.EvalAwaitPromise)
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

// mustNotScrollSideways fails when the page is wider than the window, and says why.
func (b *tab) mustNotScrollSideways(t *testing.T, width int64) {
	t.Helper()
	wide := eval[[]string](t, b, `document.documentElement.scrollWidth <= innerWidth ? [] : [document.documentElement.scrollWidth + " px",
		...[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".tablewrap, pre, .sr")).slice(0, 5).map(e => e.outerHTML.slice(0, 150))]`)
	if len(wide) > 0 {
		t.Errorf("scrolls sideways at %d px: %s", width, strings.Join(wide, "\n"))
	}
}
