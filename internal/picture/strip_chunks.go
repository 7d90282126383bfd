package picture

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
)

// pngStripper strips a PNG.
type pngStripper struct {
	*stripper
	inside bool // after the signature
}

// pngKept are the optional chunks that belong to the picture: colours, transparency, size and the frames of animations.
var pngKept = []string{
	"tRNS", "cHRM", "gAMA", "iCCP", "sBIT", "sRGB", "cICP", "mDCV", "cLLI", "bKGD", "hIST", "sPLT", "pHYs", "acTL", "fcTL", "fdAT",
}

// next reads the header of a chunk.
func (p *pngStripper) next() error {
	if !p.inside {
		p.inside, p.pass = true, int64(len(pngSignature))
		return nil
	}
	head, err := p.peek(8)
	if err != nil {
		return err
	}
	if len(head) < 8 {
		p.pass = int64(len(head))
		return nil
	}
	size, kind := int64(binary.BigEndian.Uint32(head)), string(head[4:])
	if size > 1<<31-1 || slices.ContainsFunc(head[4:], func(c byte) bool { return !isLetter(c) }) {
		return ErrDamaged
	}
	switch needed := kind[0] < 'a'; {
	case needed, slices.Contains(pngKept, kind):
		p.pass, p.last = size+pngChunk, kind == "IEND"
		return nil
	case kind == "eXIf":
		return p.exif(size)
	}
	return p.leaveOut(size + pngChunk)
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// exif reduces Exif data to the orientation, if a picture would not be upright without it.
func (p *pngStripper) exif(size int64) error {
	content, err := p.take(8 + min(size, maxExif))
	if err != nil {
		return err
	}
	if o := exifOrientation(content[min(8, len(content)):]); o > 1 {
		body := append([]byte("eXIf"), orientationOnly(o)...)
		p.out = append(binary.BigEndian.AppendUint32(nil, uint32(len(body)-4)), body...)
		p.out = binary.BigEndian.AppendUint32(p.out, crc32.ChecksumIEEE(body))
	}
	return p.leaveOut(size - min(size, maxExif) + 4)
}

// webpStripper strips a WebP. Its header has the size of the whole file, so nothing is left out: zeros take the place of
// metadata.
type webpStripper struct {
	*stripper
	inside bool  // after the header
	left   int64 // bytes of chunks, according to the header
}

const (
	webpHead  = 12     // "RIFF", the size, and "WEBP"
	webpXMP   = 1 << 2 // the flag of VP8X that says that there is an XMP chunk
	webpFlags = 8      // where the flags of a VP8X chunk are
	webpFrame = 8 + 16 // the header of a frame, which chunks follow
	webpNone  = "JUNK" // a chunk that programs ignore
)

// next reads the header of a chunk.
func (w *webpStripper) next() error {
	if !w.inside {
		return w.header()
	}
	if w.left <= 0 {
		w.last = true
		return nil
	}
	head, err := w.peek(8)
	if err != nil {
		return err
	}
	if len(head) < 8 {
		w.pass = int64(len(head))
		return nil
	}
	size := int64(binary.LittleEndian.Uint32(head[4:]))
	whole := 8 + size + size%2
	if whole == w.left+1 { // some programs leave the last byte out, which makes the size even
		whole--
	}
	if whole > w.left {
		return ErrDamaged
	}
	kind := string(head[:4])
	if kind == "ANMF" && size >= webpFrame-8 {
		whole = webpFrame
	}
	w.left -= whole
	switch kind {
	case "VP8 ", "VP8L", "ALPH", "ANIM", "ICCP", "ANMF":
		w.pass = whole
		return nil
	case "VP8X":
		return w.replace(whole, min(whole, webpFlags+1), func(content []byte) {
			if len(content) > webpFlags {
				content[webpFlags] &^= webpXMP
			}
		})
	case "EXIF":
		w.blank = true
		return w.replace(whole, min(whole, 8+maxExif), orient)
	}
	w.blank = true
	return w.replace(whole, 8, func(content []byte) { copy(content, webpNone) })
}

func (w *webpStripper) header() error {
	head, err := w.peek(webpHead)
	if err != nil {
		return err
	}
	if len(head) == webpHead {
		if w.left = int64(binary.LittleEndian.Uint32(head[4:])) - 4; w.left <= 0 {
			return ErrDamaged
		}
	}
	w.inside, w.pass = true, webpHead
	return nil
}

// replace changes the first bytes of a chunk and passes the others.
func (w *webpStripper) replace(whole, first int64, change func(content []byte)) error {
	content, err := w.take(first)
	if err != nil {
		return err
	}
	change(content)
	w.out, w.pass = content, whole-first
	return nil
}

// orient reduces the Exif data of a chunk to the orientation.
func orient(chunk []byte) {
	if len(chunk) <= 8 {
		return
	}
	exif := chunk[8:]
	o := max(1, exifOrientation(exif))
	prefix := ""
	if string(exif[:min(len(exif), len(exifPrefix))]) == exifPrefix {
		prefix = exifPrefix
	}
	clear(exif)
	if reduced := append([]byte(prefix), orientationOnly(o)...); len(reduced) <= len(exif) {
		copy(exif, reduced)
	}
}
