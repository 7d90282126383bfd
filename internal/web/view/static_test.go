package view

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"io/fs"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestLinesAreShort limits the lines of templates, styles and scripts to 160 columns.
func TestLinesAreShort(t *testing.T) {
	const most = 160
	check := func(files fs.FS, patterns ...string) {
		for _, pattern := range patterns {
			names, err := fs.Glob(files, pattern)
			if err != nil || len(names) == 0 {
				t.Fatalf("%s: %d files, %v", pattern, len(names), err)
			}
			for _, name := range names {
				text, err := fs.ReadFile(files, name)
				if err != nil {
					t.Fatal(err)
				}
				number := 0
				for line := range strings.Lines(string(text)) {
					number++
					if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > most {
						t.Errorf("%s:%d has %d columns, want at most %d", name, number, n, most)
					}
				}
			}
		}
	}
	check(templateFiles, "templates/*.html")
	check(staticFiles, "static/*.css", "static/[^h]*.js") // htmx.min.js is third-party
}

// TestScriptOfOursIsSmall limits the size of our own scripts.
func TestScriptOfOursIsSmall(t *testing.T) {
	s, err := newStatic(nil)
	if err != nil {
		t.Fatal(err)
	}
	n := len(s.files["app.js"].plain) + len(s.files["theme.js"].plain) + len(s.files["seen.js"].plain)
	if n == 0 || n > 6<<10+512 {
		t.Errorf("our own scripts have %d bytes, want at most 6.5 KiB", n)
	}
}

// TestFilesAreWhole decompresses the compressed files.
func TestFilesAreWhole(t *testing.T) {
	s, err := newStatic(nil)
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
		z, err := gzip.NewReader(bytes.NewReader(a.gzip()))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if body, err := io.ReadAll(z); err != nil || !bytes.Equal(body, a.plain) {
			t.Errorf("%s differs after decompression: %v", name, err)
		}
	}
}

// TestManifests reads the manifest of each language: it has the language's texts and names existing pictures.
func TestManifests(t *testing.T) {
	v, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range v.editions {
		var m struct {
			Lang, Dir, Name, Description string
			Short                        string `json:"short_name"`
			Icons                        []struct{ Src string }
			Shortcuts                    []struct{ Name, URL string }
		}
		if err := json.Unmarshal([]byte(v.Static.File(manifestName(e.Texts))), &m); err != nil {
			t.Fatalf("%s: %v", e.Lang, err)
		}
		if m.Lang != e.Lang || m.Dir != e.Dir || m.Short != e.Text("nav.warranties") || m.Name == "" || m.Description == "" || len(m.Shortcuts) != 3 {
			t.Errorf("%s: %+v", e.Lang, m)
		}
		for _, icon := range m.Icons {
			if v.Static.File(icon.Src) == "" {
				t.Errorf("%s: no picture %q", e.Lang, icon.Src)
			}
		}
	}
}
