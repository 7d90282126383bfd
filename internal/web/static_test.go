package web

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"
)

// TestScriptOfOursIsSmall limits the size of our own scripts.
func TestScriptOfOursIsSmall(t *testing.T) {
	s, err := newStatic()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.files["app.js"].plain) + len(s.files["theme.js"].plain); n == 0 || n > 6<<10 {
		t.Errorf("our own scripts have %d bytes, want at most 6 KiB", n)
	}
}

// TestFilesAreWhole decompresses the compressed files.
func TestFilesAreWhole(t *testing.T) {
	s, err := newStatic()
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range s.files {
		if a.mediaType == "" {
			t.Errorf("%s has no media type", name)
		}
		if a.gzip == nil {
			continue
		}
		z, err := gzip.NewReader(bytes.NewReader(a.gzip))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if body, err := io.ReadAll(z); err != nil || !bytes.Equal(body, a.plain) {
			t.Errorf("%s differs after decompression: %v", name, err)
		}
	}
}
