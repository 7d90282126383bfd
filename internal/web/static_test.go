package web

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"
)

// TestScriptOfOursIsSmall keeps the pages what they are: documents that a little
// script makes more pleasant.
func TestScriptOfOursIsSmall(t *testing.T) {
	s, err := newStatic()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.files["app.js"].plain) + len(s.files["theme.js"].plain); n == 0 || n > 6<<10 {
		t.Errorf("our own script has %d bytes, want 6 KiB at most", n)
	}
}

// TestFilesAreWhole unpacks what is served packed.
func TestFilesAreWhole(t *testing.T) {
	s, err := newStatic()
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range s.files {
		if a.mediaType == "" {
			t.Errorf("%s has no type", name)
		}
		if a.gzip == nil {
			continue
		}
		z, err := gzip.NewReader(bytes.NewReader(a.gzip))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if body, err := io.ReadAll(z); err != nil || !bytes.Equal(body, a.plain) {
			t.Errorf("%s is another one when packed: %v", name, err)
		}
	}
}
