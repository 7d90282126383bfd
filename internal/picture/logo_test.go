package picture

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"math/rand/v2"
	"testing"
	"time"
)

// logoFile returns a picture as PNG, with a chunk of text in it and something behind its end.
func logoFile(t *testing.T, m image.Image, hidden string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return append(b.Bytes(), hidden...)
}

// TestLogosAreMadeAgain: a logo is a small PNG that has only the pixels of what was sent, on white.
func TestLogosAreMadeAgain(t *testing.T) {
	t.Parallel()
	noise := image.NewNRGBA(image.Rect(0, 0, 1200, 1200))
	random := rand.New(rand.NewPCG(34, 2))
	for i := range noise.Pix {
		noise.Pix[i] = byte(random.Uint32())
	}
	made, err := Logo(t.Context(), logoFile(t, noise, "<script>alert(1)</script>"), "image/png")
	if err != nil {
		t.Fatal(err)
	}
	logo, err := png.Decode(bytes.NewReader(made))
	if err != nil {
		t.Fatal(err)
	}
	if len(made) > maxLogo || logo.Bounds().Dx() > LogoSize || logo.Bounds().Dy() > LogoSize {
		t.Errorf("a logo of noise has %d bytes, %v", len(made), logo.Bounds())
	}
	if bytes.Contains(made, []byte("script")) || !bytes.HasSuffix(made, []byte("IEND\xaeB`\x82")) {
		t.Error("a logo has something behind its end")
	}
	for y := range logo.Bounds().Dy() {
		for x := range logo.Bounds().Dx() {
			if _, _, _, a := logo.At(x, y).RGBA(); a != 0xffff {
				t.Fatal("a logo is transparent")
			}
		}
	}
}

// TestLogosWithinTheBudget: pictures that would take much memory or time are no logos, whatever their files say.
func TestLogosWithinTheBudget(t *testing.T) {
	t.Parallel()
	bomb := pngBomb(t, 30_000, 30_000)
	if _, err := Logo(t.Context(), bomb, "image/png"); err == nil {
		t.Error("a picture of 900 million pixels is a logo")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	<-ctx.Done()
	black := image.NewNRGBA(image.Rect(0, 0, 1000, 1000))
	for i := 3; i < len(black.Pix); i += 4 {
		black.Pix[i] = 0xff
	}
	if _, err := Logo(ctx, logoFile(t, black, ""), "image/png"); err == nil || errors.As(err, new(LogoError)) {
		t.Errorf("after its time: %v", err)
	}
}
