// Package picture makes small pictures and logos of uploaded images, in bounded memory and time.
package picture

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/webp"
)

const (
	// Size is the largest width and height of a small picture.
	Size = 240
	// maxMemory is the most that decoding an image may take. It is enough for photos of 50 megapixels.
	maxMemory = 96 << 20
	// maxWork is the most samples that decoding an image may go through, in all of its passes together. It is enough
	// for 13 passes over the largest progressive JPEG; encoders make 6.
	maxWork = 256 << 20
	// maxScans is the most passes over a JPEG, however small it is.
	maxScans = 100
	// maxParts is the most pieces of a file that a decoder gets.
	maxParts = 10_000
	quality  = 75
	// samples is the number of pixels per direction that one pixel of a small picture is the mean of, at most.
	samples = 8
)

// ErrNone means that there is no small picture of a file: it is not an image, or damaged, or too large.
var ErrNone = errors.New("no picture")

var errWork = fmt.Errorf("%w: decoding would take too long", ErrNone)

// Small returns a small picture of an image as a JPEG, upright and without its metadata. The media type must be
// that of the content. Decoding stops when ctx ends; any error is that of ctx or ErrNone.
func Small(ctx context.Context, content []byte, mediaType string) (small []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: the decoder panicked: %v", ErrNone, p)
		}
	}()
	full, orientation, err := decode(ctx, content, mediaType)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, shrink(full, orientation, Size), &jpeg.Options{Quality: quality}); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}
	return out.Bytes(), nil
}

// decode decodes an image, and returns the orientation of the camera.
func decode(ctx context.Context, content []byte, mediaType string) (full image.Image, orientation int, err error) {
	f, err := check(content, mediaType)
	if err != nil {
		return nil, 0, err
	}
	full, err = f.decode(&source{ctx: ctx, parts: f.parts})
	if ctx.Err() != nil {
		return nil, 0, ctx.Err()
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrNone, err)
	}
	return full, f.orientation, nil
}

// format is how to decode an image.
type format struct {
	decode      func(io.Reader) (image.Image, error)
	parts       [][]byte // what the decoder reads
	memory      int64    // bytes that decoding takes
	work        int64    // samples that decoding goes through
	orientation int      // of the camera, as in Exif
}

// keep gives a part of the content to the decoder.
func (f *format) keep(content []byte, from, to int) {
	if n := len(f.parts); n > 0 {
		// Parts that follow each other in the content are one.
		if last := f.parts[n-1]; cap(last)-len(last) == len(content)-from {
			f.parts[n-1] = last[:len(last)+to-from]
			return
		}
	}
	f.parts = append(f.parts, content[from:to:len(content)])
}

// source reads parts of a file until its context ends.
type source struct {
	ctx   context.Context
	parts [][]byte
}

// chunk is the number of bytes that a decoder reads at once.
const chunk = 4 << 10

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	for len(s.parts) > 0 && len(s.parts[0]) == 0 {
		s.parts = s.parts[1:]
	}
	if len(s.parts) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), chunk)], s.parts[0])
	s.parts[0] = s.parts[0][n:]
	return n, nil
}

// check walks an image without decoding it. It is an error if decoding would take too much memory or time.
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
	switch {
	case err != nil:
		return f, err
	case f.memory > maxMemory:
		return f, fmt.Errorf("%w: it would take %d MiB of memory", ErrNone, f.memory>>20)
	case f.work > maxWork || len(f.parts) > maxParts:
		return f, errWork
	}
	return f, nil
}

// pngFormat gives the decoder the chunks that it needs: the size, the palette and the pixels.
func pngFormat(content []byte) (format, error) {
	c, err := png.DecodeConfig(bytes.NewReader(content))
	if err != nil {
		return format{}, fmt.Errorf("%w: %w", ErrNone, err)
	}
	pixels := int64(c.Width) * int64(c.Height)
	f := format{decode: png.Decode, orientation: 1, memory: pixels}
	switch c.ColorModel {
	case color.RGBA64Model, color.NRGBA64Model, color.Gray16Model:
		f.memory *= 8
	case color.RGBAModel, color.NRGBAModel, color.GrayModel:
		f.memory *= 4
	}
	rows := int64(c.Height)
	f.work = f.memory
	if interlaced := content[28] != 0; interlaced { // DecodeConfig has read the header, which ends with this byte
		f.memory *= 2
		rows *= pngPasses
	}
	f.work += rows * rowWork
	f.keep(content, 0, len(pngSignature))
	var data int64
	for at := len(pngSignature); at+pngChunk <= len(content); {
		size := int64(binary.BigEndian.Uint32(content[at:]))
		end := int64(at) + pngChunk + size
		if end > int64(len(content)) {
			break
		}
		switch string(content[at+4 : at+8]) {
		case "IDAT":
			data += size
			f.keep(content, at, int(end))
		case "IHDR", "PLTE", "tRNS", "IEND":
			f.keep(content, at, int(end))
		}
		at = int(end)
	}
	// Pixels that do not compress take their own size. More than that is empty blocks, which take time.
	if data > f.memory+f.memory/8+64<<10 {
		return f, errWork
	}
	return f, nil
}

const (
	pngSignature = "\x89PNG\r\n\x1a\n"
	pngChunk     = 12 // length, type and checksum of a chunk
	pngPasses    = 7  // of an interlaced image
	rowWork      = 64 // samples that take as long as beginning a row
)

// byteWork is the number of samples that take as long as a byte of a lossy WebP. Its decoder cannot be interrupted.
const byteWork = 32

// webpFormat accepts what cameras and websites make, and gives the decoder only the pixels. Animations, lossless images
// and transparency are not decoded: their tables may take much memory whatever the size of the image.
func webpFormat(content []byte) (format, error) {
	const header = 12
	for at := header; at+8 <= len(content); {
		size := int64(binary.LittleEndian.Uint32(content[at+4:]))
		end := min(int64(at)+8+size, int64(len(content)))
		switch string(content[at : at+4]) {
		case "VP8 ":
			return lossyWebP(content[at:end])
		case "VP8L", "ALPH", "ANIM", "ANMF":
			return format{}, fmt.Errorf("%w: a lossless or animated WebP", ErrNone)
		}
		at = int(end + size%2)
	}
	return format{}, ErrNone
}

// lossyWebP returns the format of an image that has only a chunk of lossy pixels.
func lossyWebP(pixels []byte) (format, error) {
	head := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(4+len(pixels)+len(pixels)%2))
	parts := [][]byte{append(head, "WEBP"...), pixels, make([]byte, len(pixels)%2)}
	c, err := webp.DecodeConfig(io.MultiReader(bytes.NewReader(parts[0]), bytes.NewReader(pixels)))
	if err != nil {
		return format{}, fmt.Errorf("%w: %w", ErrNone, err)
	}
	samples := 2 * int64(c.Width) * int64(c.Height)
	work := samples + byteWork*int64(len(pixels))
	return format{decode: webp.Decode, parts: parts, orientation: 1, memory: samples, work: work}, nil
}

// shrink returns a copy of an image on white of at most size, turned upright.
func shrink(full image.Image, orientation, size int) *image.RGBA {
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
	if longest := max(w, h); longest > size {
		w, h = max(1, w*size/longest), max(1, h*size/longest)
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
