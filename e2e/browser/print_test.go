//go:build browser

package browser

import (
	"bytes"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// TestVerificationsFitOnAPage prints the verification page.
func TestVerificationsFitOnAPage(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	b := s.person(t, nora)
	b.mustOpen(t, "/warranties?q=bosch")
	record := b.links(t, `td a[href^="/warranties/"]`)[0]
	b.mustOpen(t, record)
	b.mustOpen(t, b.links(t, `a[href^="/verify/"]`)[0])
	margins := page.PrintToPDFParams{MarginTop: new(0.0), MarginBottom: new(0.0)}
	printed, err := chromedp.Call(b.ctx, page.PrintToPDF, margins)
	if err != nil {
		t.Fatal(err)
	}
	if pages := bytes.Count(printed.Data, []byte("/Type /Page\n")); pages != 1 {
		t.Errorf("it takes %d pages", pages)
	}
}
