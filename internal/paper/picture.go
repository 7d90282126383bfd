package paper

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
)

// maxSide is the longest side of a logo, in pixels, so that a small file cannot take much memory.
const maxSide = 2048

// picture is a logo as 8-bit PNG, which PDF writers read.
type picture struct {
	png           []byte
	width, height int
}

// newPicture reads a PNG file. It returns nil if there is none that can be printed: a paper without a logo is valid.
func newPicture(file []byte, blackOnly bool) *picture {
	size, err := png.DecodeConfig(bytes.NewReader(file))
	if err != nil || size.Width < 1 || size.Height < 1 || size.Width > maxSide || size.Height > maxSide {
		return nil
	}
	decoded, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		return nil
	}
	var b bytes.Buffer
	if err := png.Encode(&b, onWhite(decoded, blackOnly)); err != nil {
		return nil
	}
	return &picture{b.Bytes(), size.Width, size.Height}
}

// onWhite returns a picture on white paper, or only its dark parts in black, for printers without other colors.
func onWhite(from image.Image, blackOnly bool) image.Image {
	bounds := from.Bounds()
	at := func(x, y int) (r, g, b uint32) {
		r, g, b, a := from.At(bounds.Min.X+x, bounds.Min.Y+y).RGBA()
		return r + 0xFFFF - a, g + 0xFFFF - a, b + 0xFFFF - a
	}
	size := image.Rect(0, 0, bounds.Dx(), bounds.Dy())
	if blackOnly {
		out := image.NewPaletted(size, color.Palette{color.White, color.Black})
		for y := range size.Dy() {
			for x := range size.Dx() {
				const dark = 0xA800
				if r, g, b := at(x, y); (299*r+587*g+114*b)/1000 < dark {
					out.SetColorIndex(x, y, 1)
				}
			}
		}
		return out
	}
	out := image.NewRGBA(size)
	for y := range size.Dy() {
		for x := range size.Dx() {
			r, g, b := at(x, y)
			out.SetRGBA(x, y, color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 0xFF})
		}
	}
	return out
}
