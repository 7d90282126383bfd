package picture

import (
	"bufio"
	"errors"
	"io"
)

// ErrDamaged means that the structure of an image is broken, so that its metadata cannot be found.
var ErrDamaged = errors.New("damaged picture")

// maxExif is how much of the Exif data of an image is read to find its orientation.
const maxExif = 64 << 10

// maxPieces is the most pieces of an image that are looked at: segments, chunks and fill bytes. A file of 20 MiB could
// have millions of them, which take seconds. Pictures have some thousand.
const maxPieces = 100_000

// Strip returns a reader of an image without metadata: Exif, XMP, IPTC, comments and whatever follows the image, all of
// which may say where a photo was taken. It keeps the orientation and the colour profile, and leaves the picture as it
// is, byte for byte. An image that ends early is read to its end. Other files are returned as they are.
func Strip(from io.Reader, mediaType string) io.Reader {
	s := &stripper{in: bufio.NewReaderSize(from, maxExif)}
	switch mediaType {
	case "image/jpeg":
		s.next = (&jpegStripper{stripper: s}).next
	case "image/png":
		s.next = (&pngStripper{stripper: s}).next
	case "image/webp":
		s.next = (&webpStripper{stripper: s}).next
	default:
		return from
	}
	return s
}

// stripper copies an image piece by piece.
type stripper struct {
	in    *bufio.Reader
	next  func() error // reads what begins at in, and sets the fields below
	out   []byte       // bytes that come first
	pass  int64        // number of bytes that follow from in
	count int          // pieces read so far
	blank bool         // zeros take the place of these bytes
	last  bool         // the image ends after them
	err   error
}

// Read implements io.Reader.
func (s *stripper) Read(p []byte) (n int, err error) {
	for n < len(p) {
		switch {
		case len(s.out) > 0:
			copied := copy(p[n:], s.out)
			n, s.out = n+copied, s.out[copied:]
		case s.err != nil:
			return n, s.err
		case s.pass > 0:
			got, err := s.in.Read(p[n : n+int(min(s.pass, int64(len(p)-n)))])
			if s.blank {
				clear(p[n : n+got])
			}
			n, s.pass, s.err = n+got, s.pass-int64(got), err
		case s.last:
			// What follows is read and left out, so that an upload which breaks off is noticed.
			if _, s.err = io.Copy(io.Discard, s.in); s.err == nil {
				s.err = io.EOF
			}
		default:
			s.blank = false
			if s.count++; s.count > maxPieces {
				s.err = ErrDamaged
				continue
			}
			s.err = s.next()
		}
	}
	return n, nil
}

// peek returns the next n bytes without reading them; fewer only at the end of the file, and io.EOF if there are none.
func (s *stripper) peek(n int) ([]byte, error) {
	b, err := s.in.Peek(n)
	if errors.Is(err, io.EOF) && len(b) > 0 {
		err = nil
	}
	return b, err
}

// leaveOut reads the next n bytes and leaves them out.
func (s *stripper) leaveOut(n int64) error {
	_, err := io.CopyN(io.Discard, s.in, n)
	return err
}

// take reads n bytes; fewer only at the end of the file.
func (s *stripper) take(n int64) ([]byte, error) {
	return io.ReadAll(io.LimitReader(s.in, n))
}
