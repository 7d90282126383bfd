package picture

import (
	"bytes"
	"encoding/binary"
)

// jpegStripper strips a JPEG.
type jpegStripper struct {
	*stripper
	inside   bool // after the start of the image
	scan     bool // in the data of a scan
	oriented bool // the orientation was written
}

// next reads a segment or a piece of a scan.
func (j *jpegStripper) next() error {
	if j.scan {
		return j.scanned()
	}
	head, err := j.peek(2)
	if err != nil {
		return err
	}
	if len(head) < 2 {
		j.pass = 1
		return nil
	}
	marker := head[1]
	switch {
	case head[0] != 0xff:
		return ErrDamaged
	case marker == 0xff: // fill byte
		return j.leaveOut(1)
	case marker == markerStart && !j.inside:
		j.inside, j.pass = true, 2
		return nil
	case marker == markerEnd:
		j.pass, j.last = 2, true
		return nil
	case marker >= markerReset && marker < markerReset+8:
		j.pass = 2
		return nil
	case marker < markerBaseline, marker == markerStart:
		return ErrDamaged
	}
	return j.segment(marker)
}

// scanned passes the data of a scan that is in the buffer.
func (j *jpegStripper) scanned() error {
	j.count-- // the network decides in how many pieces it comes
	if _, err := j.peek(2); err != nil {
		return err
	}
	data, err := j.peek(j.in.Buffered())
	if err != nil {
		return err
	}
	end := entropyEnd(data, 0)
	if end == len(data) && len(data) > 1 && data[end-1] == 0xff {
		end-- // the next byte tells whether it is a marker
	}
	if j.pass = int64(end); end == 0 {
		j.scan = false
	}
	return nil
}

// segment keeps a segment, leaves it out, or reduces it to the orientation.
func (j *jpegStripper) segment(marker byte) error {
	head, err := j.peek(4 + len(colourProfile))
	if err != nil {
		return err
	}
	if len(head) < 4 {
		j.pass = int64(len(head))
		return nil
	}
	size := 2 + int64(binary.BigEndian.Uint16(head[2:]))
	if size < 4 {
		return ErrDamaged
	}
	switch {
	case marker == markerExif:
		content, err := j.take(size)
		if err != nil {
			return err
		}
		j.orient(content[min(4, len(content)):])
		return nil
	case marker == markerComment, marker >= markerApp0 && marker <= markerApp15 && !keptApp(marker, head[4:]):
		return j.leaveOut(size)
	}
	j.pass, j.scan = size, marker == markerScan
	return nil
}

// orient writes the orientation that Exif data has, if a picture would not be upright without it.
func (j *jpegStripper) orient(exif []byte) {
	o := exifOrientation(exif)
	if o <= 1 || j.oriented || !bytes.HasPrefix(exif, []byte(exifPrefix)) {
		return
	}
	j.oriented = true
	content := append([]byte(exifPrefix), orientationOnly(o)...)
	j.out = append(binary.BigEndian.AppendUint16([]byte{0xff, markerExif}, uint16(len(content)+2)), content...)
}

// colourProfile is how a segment with a part of a colour profile begins.
const colourProfile = "ICC_PROFILE\x00"

// keptApp reports whether an application segment is kept, because it says how to show the colours.
func keptApp(marker byte, content []byte) bool {
	begins := map[byte]string{markerApp0: "JFIF\x00", markerProfile: colourProfile, markerAdobe: "Adobe"}[marker]
	return begins != "" && bytes.HasPrefix(content, []byte(begins))
}
