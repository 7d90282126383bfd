//go:build browser

package browser

import (
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"warranty.example/svc/internal/testenv"
)

// TestFirstVisitIsSmall measures the transfer size of the first visit of public pages.
func TestFirstVisitIsSmall(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	nora := s.person(t, nora)
	nora.mustOpen(t, "/warranties?status=active")
	nora.mustOpen(t, nora.links(t, `td a[href^="/warranties/"]`)[0])
	verify := nora.links(t, `a[href^="/verify/"]`)[0]
	for _, path := range []string{"/sign-in", "/register", verify, "/docs", "/docs/warranties"} {
		b := s.visitor(t) // with an empty cache
		var mu sync.Mutex
		var total float64
		var count int
		var asked []string
		arrived, sent := chromedp.Events(b.ctx, network.LoadingFinished), chromedp.Events(b.ctx, network.RequestWillBeSent)
		go func() {
			for e, err := range arrived {
				if err != nil {
					return
				}
				mu.Lock()
				total += e.EncodedDataLength
				count++
				mu.Unlock()
			}
		}()
		go func() {
			for e, err := range sent {
				if err != nil {
					return
				}
				mu.Lock()
				asked = append(asked, e.Request.URL)
				mu.Unlock()
			}
		}()
		b.mustOpen(t, path)
		testenv.Wait(t, "all files are loaded", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(asked) > 3 && count == len(asked)
		})
		b.mustBeQuiet(t)
		mu.Lock()
		t.Logf("%s: %.1f KB in %d requests", path, total/1000, len(asked))
		if total > 120_000 {
			t.Errorf("the first visit of %s takes %.0f bytes, want at most 120,000", path, total)
		}
		for _, address := range asked {
			if !strings.HasPrefix(address, s.URL+"/") {
				t.Errorf("%s loads from another host: %s", path, address)
			}
		}
		mu.Unlock()
	}
}

// TestLargeTextDoesNotCoverTheNavigation doubles the size of text on a phone: the words of the navigation fit, and it
// covers nothing of the page. Finding T13.
func TestLargeTextDoesNotCoverTheNavigation(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	for _, who := range []string{nora, halden} { // an organization has a link more
		b := s.person(t, who)
		b.look(t, "light", 390)
		large := page.SetFontSizesParams{FontSizes: &page.FontSizes{Standard: 32, Fixed: 26}}
		if _, err := chromedp.Call(b.ctx, page.SetFontSizes, large); err != nil {
			t.Fatal(err)
		}
		b.mustOpen(t, "/warranties")
		if size := eval[string](t, b, `getComputedStyle(document.documentElement).fontSize`); size != "32px" {
			t.Fatalf("text is %s large", size)
		}
		if got := eval[[]string](t, b, `[...document.querySelectorAll(".nav a")].filter((a) => a.scrollWidth > a.clientWidth + 1)
			.map((a) => a.innerText)`); len(got) > 0 {
			t.Errorf("words are wider than their links: %v", got)
		}
		if !eval[bool](t, b, `(() => {
			const nav = document.querySelector(".rail nav").getBoundingClientRect(), main = document.querySelector("main").getBoundingClientRect();
			return nav.bottom <= main.top && document.documentElement.scrollWidth <= innerWidth;
		})()`) {
			t.Error("the navigation covers the page, or the page is wider than the window")
		}
		b.snap(t, "large-text-"+who[:5], 390)
	}
}
