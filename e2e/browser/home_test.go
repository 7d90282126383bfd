//go:build browser

package browser

import (
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"warranty.example/svc/e2e/lab"
)

// homeWidths are the widths of the pages in the drawings, and those between.
var homeWidths = []int64{390, 768, 1024, 1440}

// mustPassAxeAt runs axe on what is shown at each width, in turns light and dark.
func (b *tab) mustPassAxeAt(t *testing.T, what string, widths ...int64) {
	t.Helper()
	if len(widths) == 1 {
		widths = append(widths, widths[0])
	}
	var in []look
	for i, width := range widths {
		in = append(in, look{[]string{"light", "dark"}[i%2], width})
	}
	b.mustPassAxeIn(t, what, in...)
}

// TestHomeOfABusiness: the headline of a business is what waits, each line of today's work leads to the claims that it
// counts, and the bars show their numbers at every width. A new business has steps in place of figures.
func TestHomeOfABusiness(t *testing.T) {
	t.Parallel()
	s := openUndrawn(t)
	b := s.person(t, halden)
	b.look(t, "light", 1440)
	b.mustOpen(t, "/")
	b.mustShow(t, "Today", "Issued in", "Claims filed", "Ending, next 12 months", "Activity")
	if n := eval[int](t, b, `document.querySelectorAll(".today li").length`); n < 1 || n > 5 {
		t.Errorf("today has %d lines", n)
	}
	for _, width := range homeWidths {
		b.look(t, "light", width)
		if shown := eval[int](t, b, `[...document.querySelectorAll(".bars b")].filter(n => {
			const at = n.getBoundingClientRect(), card = n.closest("section").getBoundingClientRect();
			return n.innerText && at.width > 0 && at.left >= card.left && at.right <= card.right && n.scrollWidth <= n.clientWidth + 1;
		}).length`); shown != 13 {
			t.Errorf("%d px: %d of 13 numbers fit", width, shown)
		}
	}
	b.snap(t, "home-business", homeWidths...)
	b.mustPassAxeAt(t, "the home of a business", homeWidths...)
	b.click(t, ".today li .btn")
	b.mustShow(t, "Waiting for us")

	fresh := s.visitor(t)
	fresh.signIn(t, s.account(t, "founder"), lab.Password)
	fresh.found(t, "Nordhaus Elektro")
	fresh.mustOpen(t, "/")
	fresh.mustShow(t, "Get Nordhaus Elektro ready", "0 of 6 done", "Add what you sell")
	if n := eval[int](t, fresh, `document.querySelectorAll(".stats, .bars, .today").length`); n > 0 {
		t.Errorf("a new business has figures or amber: %d", n)
	}
	fresh.snap(t, "home-new", 390, 1440)
	fresh.mustPassAxeAt(t, "the home of a new business", 390, 1440)
	fresh.product(t)
	fresh.mustOpen(t, "/")
	fresh.mustShow(t, "1 of 6 done")

	own := s.person(t, nora)
	own.mustOpen(t, "/")
	own.snap(t, "home-own", 390, 1440)
	own.mustPassAxeAt(t, "the home of a person", 390, 1440)
	b.mustBeQuiet(t)
}

// TestLargeTextOnTheMainPages doubles the size of text on a phone: nothing overlaps on any main page. Finding T13.
func TestLargeTextOnTheMainPages(t *testing.T) {
	t.Parallel()
	s := openUndrawn(t)
	for _, who := range []string{nora, halden} {
		b := s.person(t, who)
		b.look(t, "light", 390)
		large := page.SetFontSizesParams{FontSizes: &page.FontSizes{Standard: 32, Fixed: 26}}
		if _, err := chromedp.Call(b.ctx, page.SetFontSizes, large); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/", "/warranties", "/claims", "/documents", "/settings", "/search?q=bosch", "/warranties/new"} {
			b.mustOpen(t, path)
			if wrong := eval[[]string](t, b, largeTextFaults); len(wrong) > 0 {
				t.Errorf("%s of %s: %v", path, who, wrong)
			}
			b.snap(t, "large-"+who[:4]+"-"+map[bool]string{true: "home", false: path[1:min(4, len(path))]}[path == "/"], 390)
		}
	}
}

// largeTextFaults lists what is covered by the navigation or wider than the window, and texts over other texts.
const largeTextFaults = `(() => {
	const wrong = [], at = (e) => e.getBoundingClientRect();
	const nav = document.querySelector(".rail nav"), main = document.querySelector("main");
	if (getComputedStyle(nav).display !== "none" && at(nav).bottom > at(main).top + 1) wrong.push("the navigation covers the page");
	if (document.documentElement.scrollWidth > innerWidth) wrong.push("wider than the window: " + document.documentElement.scrollWidth);
	for (const a of document.querySelectorAll(".nav a")) if (a.scrollWidth > a.clientWidth + 1) wrong.push("too long: " + a.innerText);
	const boxes = [...document.querySelectorAll("main :is(h1, h2, .btn, .figure, .stat dd, .bars b, .bars span, dt, .t1, .hint, .chip)")]
		.filter((e) => at(e).width > 1 && e.checkVisibility());
	for (const a of boxes) for (const b of boxes) {
		if (a === b || a.contains(b) || b.contains(a)) continue;
		const p = at(a), q = at(b);
		if (Math.min(p.right, q.right) - Math.max(p.left, q.left) > 2 && Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 4)
			wrong.push("overlap: " + a.innerText.slice(0, 30) + " / " + b.innerText.slice(0, 30));
	}
	return wrong.slice(0, 5);
})()`
