package paper

import (
	_ "embed" // the fonts
	"fmt"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/text/unicode/norm"
)

// The fonts of papers, with the letters of Latin, Greek and Cyrillic. fonts/subset.py makes them.
var (
	//go:embed fonts/sans.ttf
	sansFont []byte
	//go:embed fonts/bold.ttf
	boldFont []byte
	//go:embed fonts/mono.ttf
	monoFont []byte
)

// face is a font.
type face int

const (
	sans face = iota
	bold
	mono // for numbers and codes; other texts are printed in sans
)

// Fonts returns the fonts by the names of their files, for previews.
func Fonts() map[string][]byte {
	return map[string][]byte{"paper-sans.ttf": sansFont, "paper-bold.ttf": boldFont, "paper-mono.ttf": monoFont}
}

// beyond is the first character after those that the fonts have.
const beyond = 0x2600

// widths are the widths of a font's characters in em, and negative for those that it lacks.
type widths [beyond]float32

var tables = sync.OnceValue(func() *[3]widths {
	const em = 1000
	var list [3]widths
	var buffer sfnt.Buffer
	for i, raw := range [][]byte{sansFont, boldFont, monoFont} {
		parsed, err := sfnt.Parse(raw)
		if err != nil {
			panic(fmt.Sprintf("paper: font %d: %v", i, err)) // it is embedded
		}
		for r := range rune(beyond) {
			list[i][r] = -1
			index, err := parsed.GlyphIndex(&buffer, r)
			if err != nil || index == 0 {
				continue
			}
			if a, err := parsed.GlyphAdvance(&buffer, index, fixed.I(em), font.HintingNone); err == nil {
				list[i][r] = float32(a) / 64 / em
			}
		}
	}
	return &list
})

// table returns the widths of a font.
func (f face) table() *widths { return &tables()[f] }

// has reports whether a font has a character.
func (f face) has(r rune) bool { return r < beyond && f.table()[r] >= 0 }

// pointSize is a point in millimeters.
const pointSize = 25.4 / 72

// width returns the width of a text in millimeters. The font has all of its characters.
func (f face) width(text string, points float64) (mm float64) {
	table := f.table()
	for _, r := range text {
		mm += float64(table[r])
	}
	return mm * points * pointSize
}

// of returns the face in which a text is printed: a text that mono lacks a character of is not in mono.
func (f face) of(text string) face {
	if f == mono {
		for _, r := range text {
			if !mono.has(r) {
				return sans
			}
		}
	}
	return f
}

// Lost stands for characters that the fonts lack.
const Lost = "[…]"

// printable returns a text in one line, with Lost instead of characters that the fonts lack, and whether there are any.
// Characters that are invisible by themselves are left out.
func printable(text string) (_ string, lost bool) {
	var b strings.Builder
	gap := false // the last character is one that the fonts lack
	for _, r := range norm.NFC.String(text) {
		switch {
		case unicode.IsSpace(r):
			b.WriteByte(' ')
			gap = false
		case sans.has(r):
			b.WriteRune(r)
			gap = false
		case invisible(r) || gap:
		default:
			b.WriteString(Lost)
			gap, lost = true, true
		}
	}
	return strings.Join(strings.Fields(b.String()), " "), lost
}

// invisible reports whether a character only changes how others look: joiners, directions, variants, soft hyphens.
func invisible(r rune) bool {
	return r < ' ' || r == 0x7F || r == '\u00ad' || '\u200b' <= r && r <= '\u200f' || '\u202a' <= r && r <= '\u202e' ||
		'\u2060' <= r && r <= '\u2069' || '\ufe00' <= r && r <= '\ufe0f' || r == '\ufeff'
}
