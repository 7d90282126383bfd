package files

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"unicode/utf8"

	"warranty.example/svc/warranty"
)

// Scanner reads a file on its way to the store: it finds out what the file is,
// counts and sums it, and stops at what is not taken. It holds a few bytes, never
// the file.
type Scanner struct {
	from  io.Reader
	sum   hash.Hash
	size  int64
	kind  string // "" until the beginning was seen
	head  []byte
	carry []byte // the beginning of a character that the next read completes
	err   error  // what ended the reading, if not the end of the file
}

// NewScanner scans what it reads.
func NewScanner(from io.Reader) *Scanner { return &Scanner{from: from, sum: sha256.New()} }

// headLength is enough to know every kind that is taken.
const headLength = 512

// Read passes the file on while nothing is wrong with it.
func (s *Scanner) Read(b []byte) (int, error) {
	n, err := s.read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// Err is why the file could not be read to its end: a refusal, or the reader's
// own error. With nil, a failure to store the file is the store's.
func (s *Scanner) Err() error { return s.err }

func (s *Scanner) read(b []byte) (int, error) {
	if s.kind == "" {
		if err := s.begin(); err != nil {
			return 0, err
		}
	}
	n := copy(b, s.head)
	s.head = s.head[n:]
	var err error
	if n == 0 {
		n, err = s.from.Read(b)
	}
	s.size += int64(n)
	if s.size > warranty.MaxFileSize {
		return 0, errTooLarge
	}
	s.sum.Write(b[:n])
	if s.kind == "text/plain" && !s.isText(b[:n], err == io.EOF) {
		return 0, ErrKind
	}
	return n, err
}

// begin reads the head and tells the kind by it.
func (s *Scanner) begin() error {
	s.head = make([]byte, headLength)
	n, err := io.ReadFull(s.from, s.head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	s.head = s.head[:n]
	if s.kind = kindOf(s.head); s.kind == "" {
		return ErrKind
	}
	return nil
}

// kindOf tells the media type by the first bytes; "" is none that is taken.
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
	// Markup of any kind (HTML, SVG, XML) begins with "<", and is a program to a browser.
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF")), " \t\r\n\f")
	if len(text) == 0 || text[0] == '<' {
		return ""
	}
	return "text/plain"
}

// isText tells whether the bytes go on being UTF-8 text without control characters.
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

// Kind is the media type that was found.
func (s *Scanner) Kind() string { return s.kind }

// Size is the number of bytes that were read.
func (s *Scanner) Size() int64 { return s.size }

// SHA256 is the sum of what was read, in hexadecimal.
func (s *Scanner) SHA256() string { return hex.EncodeToString(s.sum.Sum(nil)) }
