package warranty

import (
	"regexp"
	"strings"
	"unicode"
)

// organizationName validates what an organization calls itself: it must not look verified, and must not pass for
// another name by mixing alphabets. Domains in the name are checked by whoever knows the organization's own: see
// DomainsIn.
func (c *Checks) organizationName(field, value string) string {
	return c.displayName(field, value, MaxOrganizationName)
}

// displayName is organizationName for names of up to most characters.
func (c *Checks) displayName(field, value string, most int) string {
	before := len(c.Fields)
	if value = c.name(field, value, most); len(c.Fields) == before {
		c.honest(field, value)
	}
	return value
}

// honest checks that a text does not look verified or pass for another one.
func (c *Checks) honest(field, value string) {
	switch {
	case strings.ContainsFunc(value, isMark):
		c.Add(field, "forbidden_character", "Symbols such as check marks, seals and emoji are not allowed here.")
	case claimsVerified(value):
		c.Add(field, "looks_verified", "A name cannot say that it is verified. Verify your domain instead.")
	case mixesAlphabets(value):
		c.Add(field, "mixed_scripts", "Use letters of one alphabet. Letters that look like those of another alphabet are not allowed.")
	}
}

// allowedSymbols are the symbols that companies have in their names.
const allowedSymbols = "®™©℠°+<>=|~^`×±$€£¥₽₹№ˈʼʻ´¨"

// isMark reports whether a character can draw a check mark, a seal or letters that are not letters: symbols, enclosed
// and mathematical letters, combining marks that enclose or strike through, and formatting characters.
func isMark(r rune) bool {
	switch {
	case strings.ContainsRune(allowedSymbols, r):
		return false
	case unicode.In(r, unicode.S, unicode.Me, unicode.Cf, unicode.Variation_Selector, unicode.Co, unicode.Nl):
		return true
	case 0x0335 <= r && r <= 0x0338, 0x20D0 <= r && r <= 0x20F0: // strike through
		return true
	case 0x2460 <= r && r <= 0x24FF, 0x2776 <= r && r <= 0x2793, 0x3220 <= r && r <= 0x32FF: // enclosed numbers
		return true
	case 0x1D00 <= r && r <= 0x1DBF, 0xA720 <= r && r <= 0xA7FF, 0xAB30 <= r && r <= 0xAB6F: // phonetic letters
		return true
	case 0x0250 <= r && r <= 0x02FF:
		return !strings.ContainsRune("ɓɔɖɗəɛɣɩʋʼʻ", r)
	case 0x2070 <= r && r <= 0x209C, 0x2100 <= r && r <= 0x214F, 0x1D400 <= r && r <= 0x1D7FF: // letters of formulas
		return true
	}
	return false
}

// verifiedWords are the words for "verified", without accents.
var verifiedWords = []string{"verified", "verifiziert", "verifie", "verificad", "verificat", "geverifieerd", "zweryfikowan"}

// claimsVerified reports whether a name says that it is verified, however it is spelled.
func claimsVerified(name string) bool {
	bare := plainLetters(name)
	for _, word := range verifiedWords {
		if strings.Contains(bare, word) {
			return true
		}
	}
	return false
}

// plainLetters returns the letters of a name as plain Latin ones, and nothing between them.
func plainLetters(name string) string {
	return strings.Map(func(r rune) rune {
		if r = plainLetter(unicode.ToLower(r)); unicode.IsLetter(r) {
			return r
		}
		return -1
	}, name)
}

// PassesFor reports whether a name contains another one, however it is spelled.
func PassesFor(name, other string) bool {
	letters := plainLetters(other)
	return letters != "" && strings.Contains(plainLetters(name), letters)
}

// plainLetter returns the Latin letter that a lower-case letter or digit stands for.
func plainLetter(r rune) rune {
	const from, to = "0134587áàâäãåāéèêëēėíìîïīıóòôöõøúùûüçñśšаеѕіјорсухԁһӏѵοινρυαҝꓮ", "oieasbtaaaaaaaeeeeeeiiiiiioooooouuuucnssaesijopcyxdhlvoivpuaka"
	if 0xFF21 <= r && r <= 0xFF5A {
		r = unicode.ToLower(r - 0xFEE0)
	}
	for i, f := range []rune(from) {
		if f == r {
			return []rune(to)[i]
		}
	}
	return r
}

// besideLatin are the scripts whose letters nobody takes for Latin ones, and that names have beside them.
var besideLatin = []string{
	"Han", "Hiragana", "Katakana", "Bopomofo", "Hangul", "Arabic", "Hebrew", "Thai", "Lao", "Khmer", "Myanmar", "Devanagari",
	"Bengali", "Gurmukhi", "Gujarati", "Tamil", "Telugu", "Kannada", "Malayalam", "Sinhala", "Georgian", "Ethiopic",
}

// twins are the Cyrillic and Greek letters that nobody can tell from Latin ones.
const twins = "АВЕЅІЈКМНОРСТУХԌԜԚаеѕіјорсухԁһԛԝӏ" + "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧοϲ"

// mixesAlphabets reports whether a name has letters of alphabets that look alike, or consists of letters that nobody can
// tell from Latin ones. Unlike LooksMixed, it is for names that are refused.
func mixesAlphabets(name string) bool {
	scripts := map[string]bool{}
	letters, alike, wide := 0, 0, 0
	for _, r := range name {
		if !unicode.IsLetter(r) {
			continue
		}
		letters++
		if strings.ContainsRune(twins, r) {
			alike++
		}
		if 0xFF21 <= r && r <= 0xFF5A {
			wide++
		}
		scripts[scriptOf(r)] = true
	}
	delete(scripts, "Common")
	if letters > 0 && alike == letters {
		return true
	}
	latin := scripts["Latin"]
	delete(scripts, "Latin")
	if wide > 0 && !scripts["Han"] && !scripts["Hiragana"] && !scripts["Katakana"] {
		return true
	}
	if latin {
		for _, s := range besideLatin {
			delete(scripts, s)
		}
		return len(scripts) > 0
	}
	return len(scripts) > 1 && LooksMixed(name)
}

// dots are characters that stand for the dot of a domain.
var dots = strings.NewReplacer("．", ".", "。", ".", "｡", ".", "․", ".", "﹒", ".", "·", ".", "•", ".", "∙", ".", "‧", ".", "・", ".",
	"[.]", ".", "(.)", ".", "{.}", ".", "(dot)", ".", "[dot]", ".", "{dot}", ".", "(punkt)", ".", "[punkt]", ".")

var (
	spacedDot  = regexp.MustCompile(`\s+\.\s*`)
	writtenDot = regexp.MustCompile(`(\S)\s+(?:dot|punkt)\s+(com|net|org|info|biz|shop|store|io|co|eu|de|at|ch|uk|fr|nl|it|es)\b`)
	dottedWord = regexp.MustCompile(`[\p{L}\p{M}\p{N}_-]+(?:\.[\p{L}\p{M}\p{N}_-]+)+`)
)

// DomainsIn lists what may be domains in a name, in lower case: words with dots between them, however the dots are
// written. Many are none, such as those of "S.p.A." and "Dr.Oetker".
func DomainsIn(name string) []string {
	text := strings.Map(func(r rune) rune {
		if 0xFF01 <= r && r <= 0xFF5E {
			return r - 0xFEE0
		}
		return r
	}, name)
	text = dots.Replace(strings.ToLower(text))
	text = writtenDot.ReplaceAllString(spacedDot.ReplaceAllString(text, "."), "$1.$2")
	return dottedWord.FindAllString(text, -1)
}
