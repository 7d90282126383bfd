package picture

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/jpeg"
	"io"
)

// format is how to decode an image.
type format struct {
	decode      func(io.Reader) (image.Image, error)
	memory      int64 // bytes that decoding takes
	orientation int   // of the camera, as in Exif
}

// Markers of a JPEG.
const (
	markerBaseline    = 0xc0
	markerProgressive = 0xc2
	markerHuffman     = 0xc4
	markerReset       = 0xd0
	markerEnd         = 0xd9
	markerScan        = 0xda
	markerQuantize    = 0xdb
	markerRestart     = 0xdd
	markerApp0        = 0xe0
	markerExif        = 0xe1
	markerAdobe       = 0xee
	markerApp15       = 0xef
	markerComment     = 0xfe
)

// jpegFormat reads the segments before the first scan as image/jpeg does, but accepts nothing between them: what
// it finds is then what image/jpeg decodes. Decoding fails if there is a second frame.
func jpegFormat(content []byte) (format, error) {
	f := format{decode: jpeg.Decode, orientation: 1}
	adobe := false
	if !bytes.HasPrefix(content, []byte{0xff, 0xd8}) {
		return f, ErrNone
	}
	for at := 2; at+4 <= len(content) && content[at] == 0xff; {
		marker := content[at+1]
		if marker == 0xff { // fill byte
			at++
			continue
		}
		if marker >= markerReset && marker < markerReset+8 {
			at += 2
			continue
		}
		end := at + 2 + int(binary.BigEndian.Uint16(content[at+2:]))
		if end < at+4 || end > len(content) {
			break
		}
		segment := content[at+4 : end]
		switch {
		case marker == markerExif:
			if o := exifOrientation(segment); o != 0 {
				f.orientation = o
			}
		case marker == markerAdobe:
			adobe = true
		case marker >= markerBaseline && marker <= markerProgressive:
			if f.memory > 0 {
				return f, fmt.Errorf("%w: two frames", ErrNone)
			}
			progressive := marker == markerProgressive
			if f.memory = frameMemory(segment, progressive, adobe); f.memory == 0 {
				return f, ErrNone
			}
			if scans := bytes.Count(content, []byte{0xff, markerScan}); progressive && scans > maxScans {
				return f, fmt.Errorf("%w: %d scans", ErrNone, scans)
			}
		case marker == markerScan && f.memory > 0:
			return f, nil
		case marker == markerHuffman, marker == markerQuantize, marker == markerRestart,
			marker >= markerApp0 && marker <= markerApp15, marker == markerComment:
		default:
			return f, fmt.Errorf("%w: marker %x", ErrNone, marker)
		}
		at = end
	}
	return f, fmt.Errorf("%w: damaged JPEG header", ErrNone)
}

// frameMemory returns the number of bytes that decoding a frame takes, or 0 if its header is invalid: a byte per
// sample, four more if all coefficients are kept, and four per pixel if colours are converted.
func frameMemory(frame []byte, progressive, adobe bool) int64 {
	if len(frame) < 6 || frame[0] != 8 {
		return 0
	}
	height, width := int64(binary.BigEndian.Uint16(frame[1:])), int64(binary.BigEndian.Uint16(frame[3:]))
	components := frame[6:]
	if n := int(frame[5]); n != len(components)/3 || len(components)%3 != 0 || n == 0 || n > 4 || width*height == 0 {
		return 0
	}
	var across, down, blocks int64
	rgb := len(components) == 9 && components[0] == 'R' && components[3] == 'G' && components[6] == 'B'
	for c := components; len(c) > 0; c = c[3:] {
		h, v := int64(c[1]>>4), int64(c[1]&15)
		if h == 0 || v == 0 || h > 4 || v > 4 {
			return 0
		}
		across, down, blocks = max(across, h), max(down, v), blocks+h*v
	}
	units := ((width + 8*across - 1) / (8 * across)) * ((height + 8*down - 1) / (8 * down))
	memory := units * blocks * 64
	if progressive {
		memory *= 5
	}
	if adobe || rgb || len(components) == 12 {
		memory += 4 * width * height
	}
	return memory
}

// exifOrientation returns the orientation in an Exif segment, or 0 if it has none.
func exifOrientation(segment []byte) int {
	const orientationTag, short = 0x0112, 3
	tiff, ok := bytes.CutPrefix(segment, []byte("Exif\x00\x00"))
	if !ok || len(tiff) < 8 {
		return 0
	}
	var order binary.ByteOrder = binary.BigEndian
	if tiff[0] == 'I' {
		order = binary.LittleEndian
	}
	start := int64(order.Uint32(tiff[4:]))
	if start+2 > int64(len(tiff)) {
		return 0
	}
	entries := tiff[start+2:]
	for range order.Uint16(tiff[start:]) {
		if len(entries) < 12 {
			return 0
		}
		if order.Uint16(entries) == orientationTag && order.Uint16(entries[2:]) == short {
			if o := int(order.Uint16(entries[8:])); o >= 1 && o <= 8 {
				return o
			}
			return 0
		}
		entries = entries[12:]
	}
	return 0
}

// turned reports whether an orientation exchanges width and height.
func turned(orientation int) bool { return orientation >= 5 }

// upright returns the pixel of the stored image that is at x, y of the upright one, whose size is given.
func upright(orientation, x, y, width, height int) (int, int) {
	switch orientation {
	case 2:
		return width - 1 - x, y
	case 3:
		return width - 1 - x, height - 1 - y
	case 4:
		return x, height - 1 - y
	case 5:
		return y, x
	case 6:
		return y, width - 1 - x
	case 7:
		return height - 1 - y, width - 1 - x
	case 8:
		return height - 1 - y, x
	}
	return x, y
}
