package warranty

import (
	"strings"
	"unicode"
)

// isBlank reports whether a character that records may contain renders as nothing on its own: spaces,
// joiners, soft hyphens, variation selectors, fillers and combining marks without a base.
func isBlank(r rune) bool {
	switch r {
	case 0xAD, 0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x200C, 0x200D, 0x2800, 0x3164, 0xFFA0, 0xFFFC:
		return true
	}
	return unicode.IsSpace(r) || unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point,
		unicode.Mn, unicode.Me, unicode.Cf, unicode.Co, unicode.Noncharacter_Code_Point)
}

// isInvisible reports whether a text that is not empty renders as nothing.
func isInvisible(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return !isBlank(r) })
}

// fillers are letters and symbols that render as a space. They would make two names look the same.
const fillers = "\u034F\u115F\u1160\u17B4\u17B5\u2800\u3164\uFFA0"

// name validates the name of an account: visible text without characters that look like a space.
func (c *Checks) name(field, value string, most int) string {
	before := len(c.Fields)
	value = c.text(field, value, 1, most)
	if len(c.Fields) == before && strings.ContainsAny(value, fillers) {
		c.Add(field, "forbidden_character", "Blank characters other than spaces are not allowed.")
	}
	return value
}

// together lists the scripts that are used together in one language. Latin goes with each of them.
var together = [][]string{
	{"Han", "Hiragana", "Katakana"},
	{"Han", "Bopomofo"},
	{"Han", "Hangul"},
}

// LooksMixed reports whether a name may pass for another one: it mixes scripts that no language mixes, or it
// consists of Greek or Cyrillic letters that all look like Latin ones.
func LooksMixed(name string) bool {
	scripts := map[string]bool{}
	letters, lookalike := 0, 0
	for _, r := range name {
		if !unicode.IsLetter(r) {
			continue
		}
		letters++
		if strings.ContainsRune(lookalikes, r) {
			lookalike++
		}
		scripts[scriptOf(r)] = true
	}
	if letters > 0 && lookalike == letters {
		return true
	}
	delete(scripts, "Common")
	if len(scripts) < 2 {
		return false
	}
	delete(scripts, "Latin")
	for _, set := range together {
		rest := len(scripts)
		for _, s := range set {
			if scripts[s] {
				rest--
			}
		}
		if rest == 0 {
			return false
		}
	}
	return true
}

// lookalikes are the Cyrillic, Greek, Armenian and Cherokee letters that look like Latin ones.
const lookalikes = "АВЕЅІЈКМНОРСТУХҮЗԌԜԚаеѕіјорсухԁһԛԝѡѵӏбгкмнтвьпшгҝ" +
	"ΑΒΕΖΗΙΚΜΝΟΡΤΥΧοικνρυαγωϲ" + "ՕՍԼօսհոռցզԱ" + "ᎪᏴᏟᎠᎬᏀᎻᎥᎫᏦᏞᎷᎾᏢᏒᏚᎢᏙᏔᎩᏃ"

// scriptOf returns the script of a letter. Letters that are shared by scripts have "Common".
func scriptOf(r rune) string {
	if unicode.In(r, unicode.Common, unicode.Inherited) {
		return "Common"
	}
	if unicode.Is(unicode.Latin, r) {
		return "Latin"
	}
	for name, table := range unicode.Scripts {
		if unicode.Is(table, r) {
			return name
		}
	}
	return "Common"
}
