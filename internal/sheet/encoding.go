package sheet

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Encoding is the character encoding of a file.
type Encoding string

// The encodings. Detect, the zero value, detects the encoding of a file.
const (
	Detect      Encoding = ""
	UTF8        Encoding = "utf-8"
	UTF16LE     Encoding = "utf-16le"
	UTF16BE     Encoding = "utf-16be"
	Windows1252 Encoding = "windows-1252"
)

// Encodings lists the encodings that can be chosen.
func Encodings() []Encoding { return []Encoding{UTF8, UTF16LE, UTF16BE, Windows1252} }

// ParseEncoding parses the name of an encoding. The empty name is Detect.
func ParseEncoding(name string) (Encoding, bool) {
	switch e := Encoding(strings.ToLower(strings.TrimSpace(name))); e {
	case Detect, UTF8, UTF16LE, UTF16BE, Windows1252:
		return e, true
	case "utf8":
		return UTF8, true
	case "utf-16", "utf16":
		return UTF16LE, true // a byte order mark overrides it
	case "cp1252", "latin1", "iso-8859-1":
		return Windows1252, true
	}
	return Detect, false
}

// headSize is the number of bytes used to detect the encoding.
const headSize = 64 << 10

var (
	markUTF8    = []byte("\xEF\xBB\xBF")
	markUTF16LE = []byte("\xFF\xFE")
	markUTF16BE = []byte("\xFE\xFF")
)

// decoded returns a reader of the file as UTF-8, without a byte order mark, and the
// encoding. valid reports whether the whole file is valid UTF-8.
func decoded(r io.Reader, chosen Encoding, valid bool) (*bufio.Reader, Encoding, error) {
	raw := bufio.NewReaderSize(r, headSize)
	head, err := raw.Peek(headSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, chosen, err
	}
	e := chosen
	switch {
	case bytes.HasPrefix(head, markUTF8) && (e == Detect || e == UTF8):
		_, _ = raw.Discard(len(markUTF8)) // it was just peeked
		e = UTF8
	case bytes.HasPrefix(head, markUTF16LE) && e != UTF8 && e != Windows1252:
		e = UTF16LE
	case bytes.HasPrefix(head, markUTF16BE) && e != UTF8 && e != Windows1252:
		e = UTF16BE
	case e != Detect:
	case zeros(head, 1) > len(head)/5:
		e = UTF16LE
	case zeros(head, 0) > len(head)/5:
		e = UTF16BE
	case valid:
		e = UTF8
	default:
		e = Windows1252
	}
	if (e == UTF8 || e == Windows1252) && bytes.IndexByte(head, 0) >= 0 {
		return nil, e, unreadable() // text has no such bytes
	}
	switch e {
	case UTF16LE:
		return decodeWith(raw, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder()), e, nil
	case UTF16BE:
		return decodeWith(raw, unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewDecoder()), e, nil
	case Windows1252:
		return decodeWith(raw, charmap.Windows1252.NewDecoder()), e, nil
	}
	return raw, UTF8, nil
}

func decodeWith(r io.Reader, t transform.Transformer) *bufio.Reader {
	return bufio.NewReaderSize(transform.NewReader(r, t), headSize)
}

// validUTF8 reports whether the rest of a file is valid UTF-8, and restores its offset.
func validUTF8(file io.ReadSeeker) (bool, error) {
	at, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return false, err
	}
	valid := readsAsUTF8(file)
	_, err = file.Seek(at, io.SeekStart)
	return valid, err
}

func readsAsUTF8(r io.Reader) bool {
	buffer := make([]byte, headSize)
	kept := 0 // bytes of a character that the last read split
	for {
		n, err := r.Read(buffer[kept:])
		text := buffer[:kept+n]
		part := text
		if err == nil {
			part = completeRunes(text)
		}
		if !utf8.Valid(part) {
			return false
		}
		if err != nil {
			return errors.Is(err, io.EOF)
		}
		kept = copy(buffer, text[len(part):])
	}
}

// completeRunes returns text without an incomplete character at its end.
func completeRunes(text []byte) []byte {
	for i := len(text) - 1; i >= max(0, len(text)-utf8.UTFMax+1); i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRune(text[i:]) {
				return text[:i]
			}
			break
		}
	}
	return text
}

// zeros counts the zero bytes at even or odd offsets. In UTF-16, every second byte
// of Latin text is zero.
func zeros(head []byte, first int) int {
	n := 0
	for i := first; i < len(head); i += 2 {
		if head[i] == 0 {
			n++
		}
	}
	return n
}
