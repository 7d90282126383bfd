package files

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"slices"
	"unicode/utf8"

	"warranty.example/svc/internal/picture"
	"warranty.example/svc/warranty"
)

// Scanner is a reader of a file as it is stored: it detects the type of what was sent, fails if that is not supported,
// leaves out the metadata of images, and counts and hashes the rest. It never holds the whole file.
type Scanner struct {
	from  io.Reader // what was sent
	body  io.Reader // what is stored; nil before the first read
	sent  int64     // bytes read from from
	sum   hash.Hash
	size  int64
	kind  string // "" before the first read
	head  []byte
	carry []byte // start of a character that the next read completes
	err   error  // why reading failed, except io.EOF
}

// NewScanner returns a Scanner that reads from from.
func NewScanner(from io.Reader) *Scanner { return &Scanner{from: from, sum: sha256.New()} }

// headLength is enough to detect every supported type.
const headLength = 512

// Read implements io.Reader.
func (s *Scanner) Read(b []byte) (int, error) {
	n, err := s.read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// Err returns why the file could not be read: an unsupported file, or an error of the
// underlying reader. If it is nil, a failure to store the file is the disk's.
func (s *Scanner) Err() error { return s.err }

func (s *Scanner) read(b []byte) (int, error) {
	if s.body == nil {
		if err := s.begin(); err != nil {
			return 0, err
		}
		s.body = picture.Strip(received{s}, s.kind)
	}
	n, err := s.body.Read(b)
	s.size += int64(n)
	s.sum.Write(b[:n])
	if errors.Is(err, picture.ErrDamaged) {
		err = errDamaged
	}
	return n, err
}

// received is a reader of a file as it was sent, which fails if it is too large or not supported.
type received struct{ *Scanner }

// Read implements io.Reader.
func (r received) Read(b []byte) (int, error) {
	n := copy(b, r.head)
	r.head = r.head[n:]
	var err error
	if n == 0 {
		n, err = r.from.Read(b)
	}
	if r.sent += int64(n); r.sent > warranty.MaxFileSize {
		return 0, errTooLarge
	}
	if r.kind == "text/plain" && !r.isText(b[:n], err == io.EOF) {
		return 0, ErrKind
	}
	return n, err
}

// begin reads the head and detects the type.
func (s *Scanner) begin() error {
	s.head = make([]byte, headLength)
	n, err := io.ReadFull(s.from, s.head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	s.head = s.head[:n]
	if s.kind = kindOf(s.head); s.kind != "" {
		return nil
	}
	if isHEIC(s.head) {
		return errHEIC
	}
	return ErrKind
}

// isHEIC reports whether the first bytes are those of a HEIC image: a box that names one of its brands.
func isHEIC(head []byte) bool {
	if len(head) < 12 || string(head[4:8]) != "ftyp" {
		return false
	}
	return slices.Contains([]string{"heic", "heix", "heim", "heis", "hevc", "mif1", "msf1"}, string(head[8:12]))
}

// kindOf detects the media type from the first bytes. It returns "" if it is not
// supported.
func kindOf(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("%PDF-")):
		return "application/pdf"
	case bytes.HasPrefix(head, []byte("\xFF\xD8\xFF")):
		return "image/jpeg"
	case bytes.HasPrefix(head, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case len(head) >= 12 && bytes.Equal(head[:4], []byte("RIFF")) && bytes.Equal(head[8:12], []byte("WEBP")):
		return "image/webp"
	}
	// Markup (HTML, SVG, XML) starts with "<" and can contain scripts.
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF")), " \t\r\n\f")
	if len(text) == 0 || text[0] == '<' {
		return ""
	}
	return "text/plain"
}

// isText reports whether the bytes continue UTF-8 text without control characters.
func (s *Scanner) isText(b []byte, last bool) bool {
	b = append(s.carry, b...)
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size == 1 {
			if !last && !utf8.FullRune(b) {
				break
			}
			return false
		}
		if r < ' ' && r != '\n' && r != '\r' && r != '\t' && r != '\f' || r == 0x7F {
			return false
		}
		b = b[size:]
	}
	s.carry = append([]byte(nil), b...)
	return !last || len(b) == 0
}

// Kind returns the detected media type.
func (s *Scanner) Kind() string { return s.kind }

// Size returns the number of bytes to store.
func (s *Scanner) Size() int64 { return s.size }

// SHA256 returns the hash of the bytes to store, in hexadecimal.
func (s *Scanner) SHA256() string { return hex.EncodeToString(s.sum.Sum(nil)) }
