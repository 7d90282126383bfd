//go:build browser

package browser

import (
	"os"
	"testing"
)

// TestPagesInLanguages chooses each language on the sign-in page and looks at the main pages: nothing is wider than a phone,
// and axe finds nothing in German, whose words are longest. Then it reads them in a pseudo-language from right to left:
// every letter is Hebrew, so that no text is left out, and the layout is mirrored. If SVC_SCREENSHOTS names a folder, it
// takes screenshots.
func TestPagesInLanguages(t *testing.T) {
	t.Parallel()
	s := openUndrawn(t)
	for _, l := range []struct{ code, says string }{
		{"de", "Passwort vergessen?"}, {"es", "¿Ha olvidado la contraseña?"}, {"fr", "Mot de passe oublié\u202f?"},
	} {
		t.Run(l.code, func(t *testing.T) { s.readIn(t, l.code, l.says) })
	}
}

func (s *site) readIn(t *testing.T, lang, says string) {
	b := s.visitor(t)
	b.mustOpen(t, "/sign-in")
	b.click(t, ".languages [value="+lang+"]")
	b.mustShow(t, says)
	b.mustReadIn(t, lang, "sign-in")
	b.fill(t, "#email", nora, "#password", s.passwords[nora])
	b.click(t, "form .primary")
	b.mustOpen(t, "/warranties")
	record := eval[string](t, b, `document.querySelector("tbody a[href^='/warranties/']").getAttribute("href")`)
	for _, page := range []struct{ name, path string }{
		{"overview", "/"}, {"list", "/warranties"}, {"record", record}, {"new", "/warranties/new"}, {"claims", "/claims"},
		{"claim-new", "/claims/new"}, {"profile", "/settings/profile"}, {"api", "/settings/api"}, {"verify", "/verify"},
		{"consent", consent("http://127.0.0.1")}, {"apps", "/settings/apps"},
	} {
		b.mustOpen(t, page.path)
		b.mustReadIn(t, lang, page.name)
	}
	b.mustBeQuiet(t)
}

func (b *tab) mustReadIn(t *testing.T, lang, name string) {
	t.Helper()
	if got := eval[string](t, b, "document.documentElement.lang"); got != lang {
		t.Errorf("%s is in %s", name, got)
	}
	if lang != "de" {
		b.look(t, "light", 390)
		b.mustNotScrollSideways(t, 390)
		if os.Getenv("SVC_SCREENSHOTS") != "" {
			b.picture(t, lang+"-"+name)
		}
		return
	}
	b.snap(t, lang+"-"+name, 1440, 390)
	b.mustPassAxe(t, name, otherRules, "document") // colors and sizes are those of other languages
	b.mustReadFromRightToLeft(t, name)
}

// mirrored makes the page one of a language that is written from right to left, and returns whether the beginning of
// the page is at the right.
const mirrored = `(() => {
	document.documentElement.dir = "rtl"
	const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
	while (texts.nextNode()) {
		const text = texts.currentNode
		if (text.parentElement.closest("script, style, code, pre, .mono, [dir=ltr]")) continue
		text.data = text.data.replace(/\p{L}/gu, letter => String.fromCodePoint(0x5d0 + letter.codePointAt(0) % 27))
	}
	const first = document.querySelector("h1, h2, label").getBoundingClientRect()
	return first.left + first.right >= innerWidth
})()`

func (b *tab) mustReadFromRightToLeft(t *testing.T, name string) {
	t.Helper()
	if !eval[bool](t, b, mirrored) {
		t.Errorf("%s does not begin at the right", name)
	}
	b.mustNotScrollSideways(t, 390)
	if os.Getenv("SVC_SCREENSHOTS") != "" {
		b.picture(t, "rtl-"+name)
	}
}
