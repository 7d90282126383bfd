package view

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"warranty.example/svc/warranty"
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
	s, err := newStatic()
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

// TestManifests compares the manifests of the languages: they differ in their texts only, which are those of the pages.
func TestManifests(t *testing.T) {
	var first map[string]any
	for _, lang := range warranty.Languages() {
		raw, err := staticFiles.ReadFile("static/manifest." + lang + ".webmanifest")
		if err != nil {
			t.Fatal(err)
		}
		words, err := newTexts(lang)
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatalf("%s: %v", lang, err)
		}
		if m["lang"] != lang || m["name"] != words.Text("layout.name") || m["short_name"] != words.Text("nav.warranties") {
			t.Errorf("%s: %v", lang, m)
		}
		for _, name := range []string{"lang", "name", "short_name", "description"} {
			delete(m, name)
		}
		for _, shortcut := range m["shortcuts"].([]any) {
			delete(shortcut.(map[string]any), "name")
		}
		if first == nil {
			first = m
		}
		if !reflect.DeepEqual(m, first) {
			t.Errorf("%s differs: %v, want %v", lang, m, first)
		}
	}
}
