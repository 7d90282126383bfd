package picture

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
)

// Limits of logos, in pixels.
const (
	// LogoSize is the largest width and height of a logo that is kept, and LeastLogo the least larger side of an
	// image that is accepted; the other one may be half of it.
	LogoSize  = 512
	LeastLogo = 48
	// logoShape is how many times wider than high a logo may be, or the other way around.
	logoShape = 8
	// maxLogo is the most bytes of a logo that is kept.
	maxLogo = 512 << 10
)

// LogoError is why an image cannot be a logo. It is not ErrNone: the image can be decoded.
type LogoError string

// Error returns the reason.
func (e LogoError) Error() string { return string(e) }

// The reasons of LogoError.
const (
	LogoTooSmall LogoError = "too small"
	LogoTooLong  LogoError = "too long"
	LogoBlank    LogoError = "blank on white"
)

// Logo returns an image as a PNG on white, upright, of at most LogoSize, without its metadata. The media type must be that
// of the content. Like Small, it needs bounded memory and time.
func Logo(ctx context.Context, content []byte, mediaType string) (logo []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: the decoder panicked: %v", ErrNone, p)
		}
	}()
	full, orientation, err := decode(ctx, content, mediaType)
	if err != nil {
		return nil, err
	}
	width, height := full.Bounds().Dx(), full.Bounds().Dy()
	switch {
	case max(width, height) < LeastLogo || min(width, height) < LeastLogo/2:
		return nil, LogoTooSmall
	case max(width, height) > logoShape*min(width, height):
		return nil, LogoTooLong
	}
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	for size := LogoSize; ; size /= 2 {
		small := shrink(full, orientation, size)
		if blank(small) {
			return nil, LogoBlank
		}
		var out bytes.Buffer
		if err := encoder.Encode(&out, small); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNone, err)
		}
		if out.Len() <= maxLogo || size <= LeastLogo {
			return out.Bytes(), nil
		}
	}
}

// blank reports whether nothing can be seen of an image on white.
func blank(m *image.RGBA) bool {
	const nearly = 0xe6
	dark := 0
	b := m.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if c := m.RGBAAt(x, y); min(c.R, c.G, c.B) < nearly {
				dark++
			}
		}
	}
	return dark < b.Dx()*b.Dy()/200
}
