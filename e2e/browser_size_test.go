//go:build browser

package e2e

import (
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
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
	for _, path := range []string{"/sign-in", "/register", verify, "/docs"} {
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
			if !strings.HasPrefix(address, s.url+"/") {
				t.Errorf("%s loads from another host: %s", path, address)
			}
		}
		mu.Unlock()
	}
}
