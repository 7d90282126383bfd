package warranty_test

import (
	"path"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"warranty.example/svc/warranty"
)

// FuzzFileName checks that every accepted name is a plain file name on any system and
// has an extension that matches the content.
func FuzzFileName(f *testing.F) {
	for _, name := range []string{"receipt.pdf", "no ending", "../x.pdf", `..\x.pdf`, "/etc/passwd", `C:\x.pdf`,
		"a\x00.pdf", "a\r\nb.pdf", "\u202efdp.exe", "a.pdf.exe", " .pdf ",
		"..", ".pdf", "a.pdf.", "a\u200b.pdf", "\xff.pdf", "é" + strings.Repeat("x", 198), "a.\u200dpdf", "A.PDF",
		"x.Mr. Smith"} {
		for _, kind := range []string{"application/pdf", "image/jpeg", "image/png", "image/webp", "text/plain"} {
			f.Add(name, kind)
		}
	}
	endings := map[string]string{"application/pdf": ".pdf", "image/jpeg": ".jpg .jpeg", "image/png": ".png",
		"image/webp": ".webp", "text/plain": ".txt .text .md .log"}
	f.Fuzz(func(t *testing.T, name, kind string) {
		in := upload(name)
		if endings[kind] == "" || in.Check() != nil || in.NameFor(kind) != nil {
			return
		}
		got := in.FileName
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > warranty.MaxFileName || got != path.Base(got) ||
			strings.ContainsAny(got, `/\:*?"<>|`) || strings.Trim(got, ". ") != got ||
			strings.ContainsFunc(got, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }) {
			t.Fatalf("%q is accepted as %q", name, got)
		}
		if !strings.Contains(endings[kind]+" ", strings.ToLower(path.Ext(got))+" ") {
			t.Fatalf("%s is named %q", kind, got)
		}
		again := upload(got)
		if err := again.Check(); err != nil {
			t.Fatalf("%q is rejected the second time: %v", got, err)
		}
		if err := again.NameFor(kind); err != nil || again.FileName != got {
			t.Fatalf("%q becomes %q the second time, %v", got, again.FileName, err)
		}
	})
}
