//go:build browser

package e2e

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/chromedp/chromedp"
)

// maxPicture is how large a picture may be: they are part of the repository.
const maxPicture = 250_000

// TestPictures looks at the main pages of the demo as they are printed in the
// README. With SVC_SCREENSHOTS, the pictures are written into that folder.
func TestPictures(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	token := regexp.MustCompile(`SVC_API_KEY=(\S+)`).FindStringSubmatch(s.output())[1]
	for i, path := range []string{"/api/v1/warranties?limit=5", "/api/v1/warranties?status=active", "/api/v1/auth/status", "/api/v1/claims", "/api/v1/warranties?limit=5&page=2"} {
		s.want(t, http.StatusOK, call{method: "GET", path: path, secret: token, header: map[string]string{"User-Agent": []string{"svc/0.1.0", "curl/8.14.1", "svc-mcp/0.1.0"}[i%3]}})
	}
	b := s.person(t, nora)
	b.mustOpen(t, "/warranties?q=bosch")
	detail := b.links(t, `td a[href^="/warranties/"]`)[0]
	b.mustOpen(t, detail)
	verify := b.links(t, `a[href^="/verify/"]`)[0]
	eventually(t, "the requests are listed", pagePatience, func() bool {
		b.mustOpen(t, "/settings/api")
		return eval[int](t, b, `document.querySelectorAll("#latest tbody tr").length`) >= 5
	})

	pictures := []struct {
		name, path, scheme string
		width              int64
		open               string
	}{
		{"overview", "/", "light", 1280, ""}, {"overview-dark", "/", "dark", 1280, ""},
		{"warranties", "/warranties", "light", 1280, ""}, {"detail", detail, "light", 1280, ""},
		{"settings", "/settings/api", "light", 1280, ""}, {"token", "/settings/api", "dark", 1280, "#new"},
		{"verify", verify, "light", 1280, ""},
		{"phone-warranties", "/warranties", "light", 390, ""}, {"phone-verify", verify, "dark", 390, ""},
	}
	for _, p := range pictures {
		b.look(t, p.scheme, p.width)
		b.mustOpen(t, p.path)
		if p.open != "" {
			b.do(t, chromedp.Click(chromedp.CSS(`[data-open="`+p.open+`"]`)))
		}
		eval[bool](t, b, "document.fonts.ready.then(() => true)", chromedp.EvalAwaitPromise)
		b.mustNotScrollSideways(t, p.width)
		b.picture(t, p.name)
	}
	b.mustBeQuiet(t)
}

// picture takes what the tab shows.
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
	var small bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, shown); err != nil {
		t.Fatal(err)
	}
	if small.Len() > maxPicture {
		t.Errorf("the picture %s has %d bytes, want %d at most", name, small.Len(), maxPicture)
	}
	if folder := os.Getenv("SVC_SCREENSHOTS"); folder != "" {
		if err := os.WriteFile(filepath.Join(folder, name+".png"), small.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
