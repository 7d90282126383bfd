// Package picture makes small pictures of uploaded images, in bounded memory and time.
package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"

	"golang.org/x/image/webp"
)

const (
	// Size is the largest width and height of a small picture.
	Size = 240
	// maxMemory is the most that decoding an image may take. It is enough for photos of 50 megapixels.
	maxMemory = 96 << 20
	// maxScans is the most passes over a progressive JPEG. Each one may take a few bytes and as long as decoding
	// the whole image.
	maxScans = 100
	quality  = 75
	// samples is the number of pixels per direction that one pixel of a small picture is the mean of, at most.
	samples = 8
)

// ErrNone means that there is no small picture of a file: it is not an image, or damaged, or too large.
var ErrNone = errors.New("no picture")

// Small returns a small picture of an image as a JPEG, upright and without its metadata. The media type must be
// that of the content. Any error is ErrNone.
func Small(content []byte, mediaType string) (small []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: the decoder panicked: %v", ErrNone, p)
		}
	}()
	f, err := check(content, mediaType)
	if err != nil {
		return nil, err
	}
	full, err := f.decode(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, shrink(full, f.orientation), &jpeg.Options{Quality: quality}); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}
	return out.Bytes(), nil
}

// check reads the header of an image. It is an error if decoding would take too much memory or time.
func check(content []byte, mediaType string) (f format, err error) {
	switch mediaType {
	case "image/jpeg":
		f, err = jpegFormat(content)
	case "image/png":
		f, err = pngFormat(content)
	case "image/webp":
		f, err = webpFormat(content)
	default:
		err = ErrNone
	}
	if err == nil && f.memory > maxMemory {
		err = fmt.Errorf("%w: it would take %d MiB of memory", ErrNone, f.memory>>20)
	}
	return f, err
}

func pngFormat(content []byte) (format, error) {
	c, err := png.DecodeConfig(bytes.NewReader(content))
	if err != nil {
		return format{}, fmt.Errorf("%w: %w", ErrNone, err)
	}
	f := format{decode: png.Decode, orientation: 1, memory: int64(c.Width) * int64(c.Height)}
	switch c.ColorModel {
	case color.RGBA64Model, color.NRGBA64Model, color.Gray16Model:
		f.memory *= 8
	case color.RGBAModel, color.NRGBAModel, color.GrayModel:
		f.memory *= 4
	}
	if interlaced := content[28] != 0; interlaced { // DecodeConfig has read the header, which ends with this byte
		f.memory *= 2
	}
	return f, nil
}

// webpFormat accepts what cameras and websites make. Lossless images and transparency are not decoded: their
// tables may take much memory whatever the size of the image.
func webpFormat(content []byte) (format, error) {
	const header = 12
	for rest := content[min(header, len(content)):]; len(rest) >= 8; {
		size := int64(rest[4]) | int64(rest[5])<<8 | int64(rest[6])<<16 | int64(rest[7])<<24
		switch string(rest[:4]) {
		case "VP8 ":
			c, err := webp.DecodeConfig(bytes.NewReader(content))
			if err != nil {
				return format{}, fmt.Errorf("%w: %w", ErrNone, err)
			}
			return format{decode: webp.Decode, orientation: 1, memory: 2 * int64(c.Width) * int64(c.Height)}, nil
		case "VP8L", "ALPH":
			return format{}, fmt.Errorf("%w: a lossless WebP", ErrNone)
		}
		if size += size%2 + 8; size > int64(len(rest)) {
			break
		}
		rest = rest[size:]
	}
	return format{}, ErrNone
}

// shrink returns a smaller copy of an image on white, turned upright.
func shrink(full image.Image, orientation int) image.Image {
	source, ok := full.(image.RGBA64Image)
	if !ok { // every decoder returns one
		source = image.White
	}
	b := full.Bounds()
	width, height := b.Dx(), b.Dy()
	if turned(orientation) {
		width, height = height, width
	}
	w, h := width, height
	if longest := max(w, h); longest > Size {
		w, h = max(1, w*Size/longest), max(1, h*Size/longest)
	}
	small := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			area := image.Rect(x*width/w, y*height/h, (x+1)*width/w, (y+1)*height/h)
			small.SetRGBA(x, y, mean(source, area, func(x, y int) (int, int) {
				x, y = upright(orientation, x, y, width, height)
				return b.Min.X + x, b.Min.Y + y
			}))
		}
	}
	return small
}

// mean returns the mean colour of some pixels of an area, on white.
func mean(source image.RGBA64Image, area image.Rectangle, at func(x, y int) (int, int)) color.RGBA {
	var r, g, b, n uint32
	across, down := min(samples, area.Dx()), min(samples, area.Dy())
	for j := range down {
		for i := range across {
			c := source.RGBA64At(at(area.Min.X+(2*i+1)*area.Dx()/(2*across), area.Min.Y+(2*j+1)*area.Dy()/(2*down)))
			white := uint32(0xffff - c.A)
			r, g, b, n = r+(uint32(c.R)+white)>>8, g+(uint32(c.G)+white)>>8, b+(uint32(c.B)+white)>>8, n+1
		}
	}
	n = max(1, n)
	return color.RGBA{R: uint8(r / n), G: uint8(g / n), B: uint8(b / n), A: 0xff}
}
