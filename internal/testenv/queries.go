package testenv

import "strings"

// OddQueries returns searches of at most 200 characters that people paste or attackers send:
// punctuation, quotes, operators of full-text engines, emoji, right-to-left text, combining marks,
// escapes and repetitions.
func OddQueries() []string {
	repeat := func(text string) string {
		runes := []rune(strings.Repeat(text, 200))
		return string(runes[:200])
	}
	return []string{
		repeat("!"), repeat(`"`), repeat("'"), repeat("%"), repeat("_"), repeat("*"), repeat("("), repeat(`\`), repeat("^"),
		repeat(`!"#$%&'()*+,-./:;<=>?@[\]^_{|}~` + "`"), repeat("?? "), repeat("a"), repeat("a "), repeat("a b c d e f g h "),
		repeat("0"), repeat("WR-"), "WR-" + strings.Repeat("0", 197), repeat("0O1I"), repeat("aA"),
		`"unclosed`, `kettle" OR "1"="1`, `'; DROP TABLE warranties; --`, "kettle AND NOT lamp", "NEAR(kettle lamp, 5)",
		"product_name:kettle", "ke*", "+kettle -lamp", "kettle | lamp & (x)", "kettle <-> lamp", "{kettle}", "$1", "{{7*7}}",
		"%s%n%x", `\x00`, `\u0000`, "%00", "&#0;", "\\0 \\' \\\"", "../../etc/passwd", "<script>alert(1)</script>",
		repeat("🙂"), repeat("👩‍👩‍👧‍👦"), "🇩🇪 kettle ❤️", repeat("🏳️‍🌈 "),
		repeat("שלום "), repeat("مرحبا"), "\u05D0\u05D1kettle", repeat("\u0660\u0661"),
		repeat("e\u0301"), "k" + strings.Repeat("\u0301", 199), strings.Repeat("\u0301", 200), repeat("\u1100\u1161"),
		repeat("東芝洗濯機"), repeat("洗"), repeat("ー"), repeat("한국어"), repeat("ภาษาไทย"), repeat("ﷺ"), repeat("İı"), repeat("ß"),
		repeat("ﬃ"), repeat("\uFFFD"), repeat("𝔎"), repeat("\U0010FFFD"), repeat("\u00A0\u3000"),
	}
}
