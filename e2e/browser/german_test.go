//go:build browser

package browser

import (
	"os"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestPagesInGerman chooses German on the sign-in page and looks at the main pages: nothing is wider than a phone, also from
// right to left, and axe finds nothing. If SVC_SCREENSHOTS names a folder, it takes screenshots.
func TestPagesInGerman(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	axe, err := os.ReadFile("testdata/axe/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	b := s.visitor(t)
	b.mustOpen(t, "/sign-in")
	b.click(t, ".languages [value=de]")
	b.mustShow(t, "Passwort vergessen?")
	b.german(t, "sign-in", string(axe))
	b.fill(t, "#email", nora, "#password", s.passwords[nora])
	b.click(t, "form .primary")
	b.mustOpen(t, "/warranties")
	record := eval[string](t, b, `document.querySelector("tbody a[href^='/warranties/']").getAttribute("href")`)
	for _, page := range []struct{ name, path string }{
		{"overview", "/"}, {"list", "/warranties"}, {"record", record}, {"new", "/warranties/new"}, {"claims", "/claims"},
		{"claim-new", "/claims/new"}, {"profile", "/settings/profile"}, {"api", "/settings/api"}, {"verify", "/verify"},
		{"consent", consent("http://127.0.0.1")}, {"apps", "/settings/apps"},
	} {
		b.mustOpen(t, page.path)
		b.german(t, page.name, string(axe))
	}
	b.mustBeQuiet(t)
}

func (b *tab) german(t *testing.T, name, axe string) {
	t.Helper()
	if lang := eval[string](t, b, "document.documentElement.lang"); lang != "de" {
		t.Errorf("%s is in %s", name, lang)
	}
	b.snap(t, "de-"+name, 1440, 390)
	eval[chromedp.Void](t, b, axe)
	b.mustPassAxe(t, name, everyRule)
	eval[chromedp.Void](t, b, `document.documentElement.dir = "rtl"`)
	b.mustNotScrollSideways(t, 390)
	if os.Getenv("SVC_SCREENSHOTS") != "" {
		b.picture(t, "rtl-"+name)
	}
}
