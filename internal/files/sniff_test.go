package files

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"warranty.example/svc/warranty"
)

// scan reads a file through a scanner and returns the output and the error.
func scan(from io.Reader) (*Scanner, []byte, error) {
	s := NewScanner(from)
	got, err := io.ReadAll(s)
	return s, got, err
}

func codeOf(err error) warranty.Code {
	var refusal *warranty.Error
	if errors.As(err, &refusal) {
		return refusal.Code
	}
	return ""
}

func TestScannerKnowsFilesByTheirContent(t *testing.T) {
	for name, c := range map[string]struct{ content, kind string }{ // "" is rejected
		"PDF":                             {"%PDF-1.7\n%\xE2\xE3\xCF\xD3\n\x00\x01", "application/pdf"},
		"JPEG":                            {"\xFF\xD8\xFF\xE0\x00\x10JFIF\x00", "image/jpeg"},
		"PNG":                             {"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "image/png"},
		"WebP":                            {"RIFF\x24\x00\x00\x00WEBPVP8 ", "image/webp"},
		"text":                            {"Terms and conditions.\r\n\tNone.\n", "text/plain"},
		"text with a form feed":           {"page 1\fpage 2", "text/plain"},
		"text with a mark of its order":   {"\xEF\xBB\xBFTerms", "text/plain"},
		"text in many alphabets":          {"Grüße, 保証書, ضمان, 🔧", "text/plain"},
		"one letter":                      {"a", "text/plain"},
		"text that mentions markup":       {"Write <b> for bold.", "text/plain"},
		"the word RIFF":                   {"RIFF is a word", "text/plain"},
		"PDF in the middle":               {"a %PDF-1.7", "text/plain"},
		"nothing":                         {"", ""},
		"nothing but blanks":              {" \r\n\t", ""},
		"nothing but a mark of its order": {"\xEF\xBB\xBF", ""},
		"HTML":                            {"<!doctype html><script>alert(1)</script>", ""},
		"HTML after blanks":               {"\r\n\t  <html>", ""},
		"HTML after a form feed":          {"\f<html>", ""},
		"HTML after a mark of its order":  {"\xEF\xBB\xBF <html>", ""},
		"HTML far behind":                 {strings.Repeat(" ", 600) + "<html>", ""},
		"SVG":                             {`<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`, ""},
		"XML":                             {`<?xml version="1.0"?><x/>`, ""},
		"a comment":                       {"<!-- --><script>", ""},
		"UTF-16":                          {"\xFF\xFEh\x00i\x00", ""},
		"Latin-1":                         {"Gr\xFC\xDFe", ""},
		"a program":                       {"\x7FELF\x02\x01\x01\x00", ""},
		"a Windows program":               {"MZ\x90\x00\x03", ""},
		"an archive":                      {"PK\x03\x04\x14\x00", ""},
		"a GIF":                           {"GIF89a\x01\x00", ""},
		"a sound":                         {"RIFF\x24\x00\x00\x00WAVEfmt ", ""},
		"half a JPEG":                     {"\xFF\xD8", ""},
		"half a PNG":                      {"\x89PNG\r\n", ""},
		"text with a NUL":                 {"a\x00b", ""},
		"text with an escape":             {"a\x1b[2Jb", ""},
		"text with a DEL":                 {"a\x7fb", ""},
		"text with half a character":      {"ab\xE2\x82", ""},
		"text that turns binary late":     {strings.Repeat("a", 70_000) + "\x00", ""},
		"text with a surrogate":           {"a\xED\xA0\x80", ""},
		"text with an overlong slash":     {"a\xC0\xAF", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, got, err := scan(strings.NewReader(c.content))
			if c.kind == "" {
				if codeOf(err) != warranty.ValidationFailed || s.Err() == nil {
					t.Fatalf("taken as %q, %v", s.Kind(), err)
				}
				return
			}
			if err != nil || s.Err() != nil {
				t.Fatalf("refused: %v", err)
			}
			sum := sha256.Sum256([]byte(c.content))
			if s.Kind() != c.kind || s.Size() != int64(len(c.content)) || s.SHA256() != hex.EncodeToString(sum[:]) ||
				string(got) != c.content {
				t.Errorf("%s of %d bytes, %s, %q", s.Kind(), s.Size(), s.SHA256(), got)
			}
		})
	}
}

// TestScannerStopsAtTheLimit accepts 20 MiB and not a byte more.
func TestScannerStopsAtTheLimit(t *testing.T) {
	file := func(size int64) io.Reader {
		return io.MultiReader(strings.NewReader("%PDF-"), io.LimitReader(zeros{}, size-5))
	}
	s := NewScanner(file(warranty.MaxFileSize))
	if n, err := io.Copy(io.Discard, s); n != 20<<20 || err != nil || s.Size() != 20<<20 {
		t.Errorf("20 MiB: %d bytes, %v", n, err)
	}
	s = NewScanner(file(warranty.MaxFileSize + 1))
	if n, err := io.Copy(io.Discard, s); n > 20<<20 || codeOf(err) != warranty.BodyTooLarge ||
		codeOf(s.Err()) != warranty.BodyTooLarge {
		t.Errorf("a byte more: %d bytes, %v, %v", n, err, s.Err())
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// TestScannerPassesTheReadersErrorOn distinguishes a broken connection from a failed
// store.
func TestScannerPassesTheReadersErrorOn(t *testing.T) {
	broken := errors.New("the line broke")
	for _, before := range []string{"", "%PDF-1.7", strings.Repeat("text", 1000)} {
		s, _, err := scan(io.MultiReader(strings.NewReader(before), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) || !errors.Is(s.Err(), broken) {
			t.Errorf("after %d bytes: %v, %v", len(before), err, s.Err())
		}
	}
}

// pieces returns a file in reads of the given sizes, in turn.
type pieces struct {
	rest  []byte
	sizes []byte
	turn  int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	size := 1 + int(p.sizes[p.turn%len(p.sizes)])
	p.turn++
	n := copy(b, p.rest[:min(size, len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}

// TestScannerReadsCharactersThatAreSplit splits a text inside its characters, at every
// position and around the length of the head.
func TestScannerReadsCharactersThatAreSplit(t *testing.T) {
	text := strings.Repeat("x", headLength-2) + "€🔧é" + strings.Repeat("保", 40_000)
	for _, size := range []byte{0, 1, 2, 3, 4, 6, 30, 254} {
		s, got, err := scan(&pieces{rest: []byte(text), sizes: []byte{size}})
		if err != nil || string(got) != text || s.Kind() != "text/plain" {
			t.Errorf("in pieces of %d: %v", size+1, err)
		}
		_, _, err = scan(&pieces{rest: []byte(text[:len(text)-1]), sizes: []byte{size}})
		if codeOf(err) != warranty.ValidationFailed {
			t.Errorf("cut inside its last character, in pieces of %d: %v", size+1, err)
		}
	}
	for _, reader := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader} {
		if s, got, err := scan(reader(strings.NewReader(text))); err != nil || string(got) != text ||
			s.Size() != int64(len(text)) {
			t.Errorf("%v", err)
		}
	}
}

// FuzzScanner checks the scanner's promises for any file, and that its result does not
// depend on the read sizes.
func FuzzScanner(f *testing.F) {
	for _, seed := range []string{
		"", "%PDF-1.7", "\xFF\xD8\xFF", "RIFF....WEBP", "text €", "\xEF\xBB\xBF\n<svg>", "a\xE2\x82", "\f<html>",
		strings.Repeat(" ", 511) + "<", strings.Repeat("x", 511) + "€", strings.Repeat("x", 512) + "\x00",
	} {
		f.Add([]byte(seed), []byte{0}, uint8(3))
		f.Add([]byte(seed), []byte{200, 0, 7}, uint8(255))
	}
	f.Fuzz(func(t *testing.T, content, sizes []byte, buffer uint8) {
		whole, all, err := scan(bytes.NewReader(content))
		if len(sizes) == 0 {
			sizes = []byte{0}
		}
		split := NewScanner(&pieces{rest: content, sizes: sizes})
		var got bytes.Buffer
		_, splitErr := io.CopyBuffer(struct{ io.Writer }{&got}, split, make([]byte, 1+int(buffer)))
		if (err == nil) != (splitErr == nil) || codeOf(err) != codeOf(splitErr) {
			t.Fatalf("whole: %v, in pieces: %v", err, splitErr)
		}
		if !bytes.HasPrefix(content, got.Bytes()) || !bytes.HasPrefix(content, all) {
			t.Fatal("what was passed on is not what was read")
		}
		if err != nil {
			return
		}
		sum := sha256.Sum256(content)
		if whole.Kind() != split.Kind() || whole.SHA256() != hex.EncodeToString(sum[:]) || split.SHA256() != whole.SHA256() ||
			whole.Size() != int64(len(content)) || split.Size() != whole.Size() || got.Len() != len(content) ||
			len(all) != len(content) {
			t.Fatalf("whole: %s %d, in pieces: %s %d, of %d", whole.Kind(), whole.Size(), split.Kind(), split.Size(),
				len(content))
		}
		switch whole.Kind() {
		case "application/pdf", "image/jpeg", "image/png", "image/webp":
		case "text/plain":
			text := bytes.TrimLeft(bytes.TrimPrefix(content, []byte("\xEF\xBB\xBF")), "\t\n\f\r ")
			if !utf8.Valid(content) || bytes.ContainsAny(content, "\x00\x1b\x7f") || len(text) == 0 || text[0] == '<' {
				t.Fatalf("taken as text: %q", content)
			}
		default:
			t.Fatalf("taken as %q", whole.Kind())
		}
	})
}
