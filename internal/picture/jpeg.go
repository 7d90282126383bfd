package picture

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image/jpeg"
)

// Markers of a JPEG.
const (
	markerBaseline    = 0xc0
	markerProgressive = 0xc2
	markerHuffman     = 0xc4
	markerReset       = 0xd0
	markerStart       = 0xd8
	markerEnd         = 0xd9
	markerScan        = 0xda
	markerQuantize    = 0xdb
	markerRestart     = 0xdd
	markerApp0        = 0xe0
	markerExif        = 0xe1
	markerProfile     = 0xe2
	markerAdobe       = 0xee
	markerApp15       = 0xef
	markerComment     = 0xfe
)

// maxApp is the size up to which the decoder gets an application segment: it reads the first 12 bytes.
const maxApp = 64

// jpegFormat walks all segments of a JPEG. Its decoder gets the tables, frames and scans that the walk found and nothing
// else, so it cannot find a scan in a comment or after the end of the image.
func jpegFormat(content []byte) (format, error) {
	j := jpegWalk{f: format{decode: jpeg.Decode, orientation: 1}}
	if !bytes.HasPrefix(content, []byte{0xff, markerStart}) {
		return j.f, ErrNone
	}
	j.f.keep(content, 0, 2)
	for at := 2; at+2 <= len(content) && content[at] == 0xff; {
		marker := content[at+1]
		if marker == 0xff { // fill byte
			at++
			continue
		}
		if marker >= markerReset && marker < markerReset+8 {
			at += 2
			continue
		}
		if marker == markerEnd {
			break
		}
		if at+4 > len(content) {
			return j.f, errHeader
		}
		end := at + 2 + int(binary.BigEndian.Uint16(content[at+2:]))
		if end < at+4 || end > len(content) {
			return j.f, errHeader
		}
		segment := content[at+4 : end]
		keep, err := j.segment(marker, segment)
		if err != nil {
			return j.f, err
		}
		if marker == markerScan {
			end = entropyEnd(content, end)
		}
		if keep {
			j.f.keep(content, at, end)
		}
		at = end
	}
	if j.scans == 0 {
		return j.f, errHeader
	}
	j.f.memory = j.frame.memory(j.progressive, j.adobe)
	j.f.parts = append(j.f.parts, []byte{0xff, markerEnd})
	return j.f, nil
}

var errHeader = fmt.Errorf("%w: damaged JPEG header", ErrNone)

// jpegWalk is what a walk over the segments of a JPEG found so far.
type jpegWalk struct {
	f           format
	adobe       bool
	progressive bool
	frame       jpegFrame
	scans       int
	scanned     [256]bool // components that a scan had
}

// segment checks a segment and reports whether the decoder needs it.
func (j *jpegWalk) segment(marker byte, segment []byte) (keep bool, err error) {
	switch {
	case marker == markerExif:
		if o := exifOrientation(segment); o != 0 && bytes.HasPrefix(segment, []byte(exifPrefix)) {
			j.f.orientation = o
		}
		return false, nil
	case marker >= markerBaseline && marker <= markerProgressive:
		return true, j.start(marker == markerProgressive, segment)
	case marker == markerScan:
		return true, j.scan(segment)
	case marker == markerHuffman, marker == markerQuantize, marker == markerRestart:
		return true, j.hidden(segment)
	case (marker == markerApp0 || marker == markerAdobe) && len(segment) <= maxApp:
		j.adobe = j.adobe || marker == markerAdobe
		return true, j.hidden(segment)
	case marker >= markerApp0 && marker <= markerApp15, marker == markerComment:
		return false, nil
	}
	return false, fmt.Errorf("%w: marker %x", ErrNone, marker)
}

// hidden counts what a decoder could find in a segment when it skips damaged data to find a restart marker.
func (j *jpegWalk) hidden(segment []byte) error {
	j.adobe = j.adobe || bytes.Contains(segment, []byte{0xff, markerAdobe})
	scans := bytes.Count(segment, []byte{0xff, markerScan})
	return j.spend(int64(scans) * max(1, j.frame.units*j.frame.blocks))
}

// start notes the frame.
func (j *jpegWalk) start(progressive bool, segment []byte) (err error) {
	if j.frame.units > 0 {
		return fmt.Errorf("%w: two frames", ErrNone)
	}
	if j.frame, err = parseFrame(segment); err != nil {
		return err
	}
	j.progressive = progressive
	return nil
}

// scan counts the work of a scan. The scans of a baseline image have each component once, so there are at most as many
// scans as components. Those of a progressive one have each component several times.
func (j *jpegWalk) scan(segment []byte) error {
	if j.frame.units == 0 || len(segment) < 1 || len(segment) < 1+2*int(segment[0]) {
		return errHeader
	}
	if j.scans++; j.scans > maxScans {
		return fmt.Errorf("%w: more than %d scans", ErrNone, maxScans)
	}
	var blocks int64
	for c := segment[1 : 1+2*int(segment[0])]; len(c) > 0; c = c[2:] {
		if j.scanned[c[0]] && !j.progressive {
			return fmt.Errorf("%w: a baseline JPEG with repeated scans", ErrNone)
		}
		j.scanned[c[0]] = true
		blocks += j.frame.perUnit[c[0]]
	}
	return j.spend(j.frame.units * blocks)
}

// spend counts blocks that the decoder goes through.
func (j *jpegWalk) spend(blocks int64) error {
	if j.f.work += 64 * blocks; j.f.work > maxWork {
		return errWork
	}
	return nil
}

// entropyEnd returns where the data of a scan ends: at a marker that is neither a restart nor an escaped byte.
func entropyEnd(content []byte, at int) int {
	for {
		next := bytes.IndexByte(content[at:], 0xff)
		if at += next; next < 0 || at+1 >= len(content) {
			return len(content)
		}
		if m := content[at+1]; m != 0 && m != 0xff && (m < markerReset || m >= markerReset+8) {
			return at
		}
		at++
	}
}

// jpegFrame is the header of a frame: an image consists of units, which have some blocks of each component.
type jpegFrame struct {
	width, height int64
	units, blocks int64
	perUnit       [256]int64 // blocks of a component
	components    int
	rgb           bool
}

// parseFrame reads the header of a frame.
func parseFrame(frame []byte) (f jpegFrame, err error) {
	if len(frame) < 6 || frame[0] != 8 {
		return f, errHeader
	}
	f.height, f.width = int64(binary.BigEndian.Uint16(frame[1:])), int64(binary.BigEndian.Uint16(frame[3:]))
	list := frame[6:]
	f.components = int(frame[5])
	if 3*f.components != len(list) || f.components == 0 || f.components > 4 || f.width*f.height == 0 {
		return f, errHeader
	}
	f.rgb = f.components == 3 && list[0] == 'R' && list[3] == 'G' && list[6] == 'B'
	var across, down int64
	for c := list; len(c) > 0; c = c[3:] {
		h, v := int64(c[1]>>4), int64(c[1]&15)
		if h == 0 || v == 0 || h > 4 || v > 4 {
			return f, errHeader
		}
		across, down, f.blocks = max(across, h), max(down, v), f.blocks+h*v
		f.perUnit[c[0]] = h * v
	}
	f.units = ((f.width + 8*across - 1) / (8 * across)) * ((f.height + 8*down - 1) / (8 * down))
	return f, nil
}

// memory returns the number of bytes that decoding takes: a byte per sample, four more if all coefficients are kept,
// and four per pixel if colours are converted.
func (f jpegFrame) memory(progressive, adobe bool) int64 {
	memory := f.units * f.blocks * 64
	if progressive {
		memory *= 5
	}
	if adobe || f.rgb || f.components == 4 {
		memory += 4 * f.width * f.height
	}
	return memory
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
