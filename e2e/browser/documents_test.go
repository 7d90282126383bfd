//go:build browser

package browser

import (
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"warranty.example/svc/e2e/lab"
)

// photo writes a picture and returns its path.
func photo(t testing.TB, name string, tone uint8) string {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, 600, 800))
	for y := range 800 {
		for x := range 600 {
			m.SetRGBA(x, y, color.RGBA{R: tone, G: uint8(x / 4), B: uint8(y / 4), A: 255})
		}
	}
	path := filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	if err == nil {
		err = png.Encode(f, m)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// loaded tells whether an image is shown.
func loaded(selector string) string {
	return `(i => i?.complete && i.naturalWidth > 1)(document.querySelector(` + "`" + selector + "`" + `))`
}

// TestDocumentsOnAPhone looks at documents, with script and without.
func TestDocumentsOnAPhone(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	scripted := s.visitor(t)
	scripted.signIn(t, s.account(t, "collector"), lab.Password)
	for name, b := range map[string]*tab{"script": scripted, "no-script": scripted.withoutScript(t)} {
		b.look(t, "light", 390)
		b.mustOpen(t, "/warranties/new")
		b.fill(t, "#product_name", "Kettle", "[name=length][value=date]", "true", "#end_date", "2020-01-01", "[name=file]", photo(t, "receipt.png", 90))
		b.do(t, chromedp.Click(chromedp.CSS("main form .btn.primary"))) // with script, the answer replaces the form
		b.until(t, `!!document.querySelector("main form .kept")`)
		b.mustShow(t, "receipt.png is kept. You don't need to choose it again.", "Remove")
		b.snap(t, "kept-"+name, 390)
		b.fill(t, "[name=length][value='36']", "true")
		b.press(t, "Save warranty")
		b.until(t, loaded(".thumb img"))
		b.snap(t, "documents-record-"+name, 390, 1024)
		b.click(t, `a.doc`)
		b.mustShow(t, "receipt.png", "Uploaded by", "Download")
		b.until(t, loaded(".sheet img"))
		b.snap(t, "document-"+name, 390, 768, 1440)
		b.mustOpen(t, eval[string](t, b, `location.pathname`)+"/view")
		b.until(t, loaded("img"))
		b.mustOpen(t, "/documents")
		b.until(t, loaded(".thumb img"))
		b.snap(t, "documents-"+name, 390, 1440)
	}
	scripted.mustBeQuiet(t, 422)
}
