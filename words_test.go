package svc_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// gap separates two words of a phrase, also across a line break inside a comment.
const gap = `\s+(?:(?://|#|--|\*|>)\s*)?`

// oddWords are not used anywhere in the project. They are written in two parts
// here, so that this file does not contain them.
var oddWords = map[string]*regexp.Regexp{
	`"fix"`:               regexp.MustCompile(`(?i)\bmen` + `d(?:s|ed|ing)?\b`),
	`"someone", "a user"`: regexp.MustCompile(`(?i)\bsome` + `body\b`),
	`"cannot"`:            regexp.MustCompile(`(?i)\bcan` + gap + `not\b`),
	`"again"`:             regexp.MustCompile(`(?i)\ban` + `ew\b`),
	`"so far", "old"`:     regexp.MustCompile(`(?i)\buntil` + gap + `now\b`),
	`"is not a"`:          regexp.MustCompile(`(?i)\b(?:what|which|that|this|it)` + gap + `is` + gap + `no\b` + gap + `[a-z]\w*`),
}

// allowed are phrases that match a pattern of oddWords and are good English.
var allowed = regexp.MustCompile(`(?i)\bno` + gap + `(?:longer|more|less|different|better|worse)\b`)

// TestPlainWords fails when a file of the project uses one of oddWords.
func TestPlainWords(t *testing.T) {
	for _, file := range ownFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.IndexByte(text, 0) >= 0 || !utf8.Valid(text) {
			continue // not text
		}
		for better, odd := range oddWords {
			for _, at := range odd.FindAllIndex(text, -1) {
				end := min(at[1]+20, len(text))
				if allowed.Match(text[at[0]:end]) {
					continue
				}
				line := 1 + bytes.Count(text[:at[0]], []byte("\n"))
				t.Errorf("%s:%d: %q: write %s", file, line, text[at[0]:at[1]], better)
			}
		}
	}
}

// ownFiles returns the files of the project, without those that others wrote.
func ownFiles(t *testing.T) []string {
	t.Helper()
	// bin, coverage and data are in .gitignore; the others have third-party contents.
	skippedDirs := []string{"bin", "coverage", "data", "node_modules", "e2e/browser/testdata/axe", "internal/web/view/static/licences"}
	skippedFiles := []string{"LICENSE", "go.sum", "passwords.txt", "htmx.min.js"}
	var list []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && path != ".ci" &&
			(strings.HasPrefix(d.Name(), ".") || slices.Contains(skippedDirs, filepath.ToSlash(path))):
			return fs.SkipDir
		case d.Type().IsRegular() && !slices.Contains(skippedFiles, d.Name()):
			list = append(list, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestREADMEIsShort keeps the README to what a newcomer reads.
func TestREADMEIsShort(t *testing.T) {
	if n := len(strings.Fields(read(t, "README.md"))); n >= 900 {
		t.Errorf("README.md has %d words; keep it under 900 and link to docs", n)
	}
}
