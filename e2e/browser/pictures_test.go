//go:build browser

package browser

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
)

// maxPicture is the maximum size of a screenshot in the repository.
const maxPicture = 150_000

// TestPictures takes screenshots of the main pages of the demo. If SVC_SCREENSHOTS names a folder, it
// takes them in every look and writes them to the folder.
func TestPictures(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	b := s.person(t, nora)
	b.mustOpen(t, "/warranties?q=bosch")
	detail := b.links(t, `td a[href^="/warranties/"]`)[0]
	b.mustOpen(t, detail)
	verify := b.links(t, `a[href^="/verify/"]`)[0]

	wanted := looks
	if os.Getenv("SVC_SCREENSHOTS") == "" {
		wanted = looks[:1]
	}
	for _, page := range []struct{ name, path, open string }{
		{"overview", "/", ""},
		{"warranties", "/warranties", ""},
		{"warranty", detail, ""},
		{"settings", "/settings/api", ""},
		{"token", "/settings/api", "#new"},
		{"verify", verify, ""},
	} {
		for _, look := range wanted {
			b.look(t, look.scheme, look.width)
			b.mustOpen(t, page.path)
			if page.open != "" {
				b.do(t, chromedp.Click(chromedp.CSS(`[data-open="`+page.open+`"]`)))
			}
			eval[bool](t, b, "document.fonts.ready.then(() => true)", chromedp.EvalAwaitPromise)
			b.mustNotScrollSideways(t, look.width)
			b.picture(t, fmt.Sprintf("%s-%s-%d", page.name, look.scheme, look.width))
		}
	}
	b.mustBeQuiet(t)
}

// picture takes a screenshot of the tab.
func (b *tab) picture(t *testing.T, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, pagePatience)
	defer cancel()
	taken, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	shown, _, err := image.Decode(bytes.NewReader(taken))
	if err != nil {
		t.Fatal(err)
	}
	writePicture(t, os.Getenv("SVC_SCREENSHOTS"), name, shown)
}

// writePicture writes a picture to a folder, if there is one.
func writePicture(t testing.TB, folder, name string, shown image.Image) {
	t.Helper()
	var small bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, fewColours(shown)); err != nil {
		t.Fatal(err)
	}
	if small.Len() > maxPicture {
		t.Errorf("the picture %s has %d bytes, want at most %d", name, small.Len(), maxPicture)
	}
	if folder != "" {
		if err := os.WriteFile(filepath.Join(folder, name+".png"), small.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// fewColours reduces a screenshot to its 256 most frequent colors. Only antialiasing is lost, and the
// file is a quarter of the size.
func fewColours(shown image.Image) *image.Paletted {
	counts := map[color.RGBA]int{}
	bounds := shown.Bounds()
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(shown.At(x, y)).(color.RGBA) }
	for y := range bounds.Dy() {
		for x := range bounds.Dx() {
			counts[at(x, y)]++
		}
	}
	most := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int { return cmp.Compare(counts[b], counts[a]) })
	few := image.NewPaletted(bounds, nil)
	for _, c := range most[:min(256, len(most))] {
		few.Palette = append(few.Palette, c)
	}
	nearest := map[color.RGBA]uint8{}
	for c := range counts {
		nearest[c] = uint8(few.Palette.Index(c))
	}
	for y := range bounds.Dy() {
		for x := range bounds.Dx() {
			few.SetColorIndex(x, y, nearest[at(x, y)])
		}
	}
	return few
}
