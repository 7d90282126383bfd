package cli

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// This file makes untrusted text safe to print on a terminal.

// isUnsafe reports whether a terminal acts on a character, or whether it changes how
// other characters appear: control characters (C0, DEL, C1) and invisible format
// characters, such as direction overrides. The joiners used in Persian and emoji, and
// soft hyphens, are safe.
func isUnsafe(r rune) bool {
	switch {
	case r >= ' ' && r <= '~':
		return false
	case r == 0x200C || r == 0x200D || r == 0xAD:
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// safeLine returns text on one line: line breaks and tabs become spaces, and unsafe
// characters are escaped.
func safeLine(s string) string {
	return escapeUnsafe(strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ").Replace(s), false)
}

// safeLines is like safeLine but keeps line breaks.
func safeLines(s string) string {
	return escapeUnsafe(strings.NewReplacer("\r\n", "\n", "\r", "\n", "\t", "    ").Replace(s), true)
}

func escapeUnsafe(s string, multiline bool) string {
	clean := func(r rune) bool { return !isUnsafe(r) || multiline && r == '\n' }
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !clean(r) }) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case clean(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// safeJSON escapes unsafe characters in JSON. They can only occur in strings, except
// line breaks, which the callers remove.
func safeJSON(b []byte) []byte {
	bad := func(r rune) bool { return r >= 0x7F && isUnsafe(r) }
	if bytes.IndexFunc(b, bad) < 0 {
		return b
	}
	var out bytes.Buffer
	for _, r := range string(b) {
		switch {
		case !bad(r):
			out.WriteRune(r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.Bytes()
}

// count returns one for 1, or else many with the number.
func count(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return fmt.Sprintf(many, n)
}

// quote returns user input in quotation marks, shortened to 60 characters.
func quote(s string) string {
	if s = safeLine(s); utf8.RuneCountInString(s) > 60 {
		s = string([]rune(s)[:60]) + "…"
	}
	return `"` + s + `"`
}

// sentence formats the error text of a library as a sentence.
func sentence(s string) string {
	if s = safeLine(s); s == "" {
		return s
	}
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:] + "."
}

var secrets = regexp.MustCompile(`\b(sv[acgqrs]_)[0-9A-Za-z]{12,}`)

// scrub removes the key, and anything that looks like a key, from text for standard
// error. A user may have pasted a key in the wrong place.
func (r *run) scrub(s string) string {
	if len(r.key.Secret) >= 8 {
		s = strings.ReplaceAll(s, r.key.Secret, "(secret)")
	}
	return secrets.ReplaceAllString(s, "${1}…")
}

// width returns the number of terminal columns of a text.
func width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// wide has the characters with two columns: East Asian scripts and emoji.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115F, 1}, {0x231A, 0x231B, 1}, {0x23E9, 0x23EC, 1}, {0x25FD, 0x25FE, 1}, {0x2614, 0x2615, 1},
		{0x2648, 0x2653, 1}, {0x26A1, 0x26A1, 1}, {0x26BD, 0x26BE, 1}, {0x2705, 0x2705, 1}, {0x270A, 0x270B, 1},
		{0x2728, 0x2728, 1}, {0x274C, 0x274C, 1}, {0x2E80, 0x303E, 1}, {0x3041, 0xA4CF, 1}, {0xA960, 0xA97F, 1},
		{0xAC00, 0xD7A3, 1}, {0xF900, 0xFAFF, 1}, {0xFE30, 0xFE6F, 1}, {0xFF00, 0xFF60, 1}, {0xFFE0, 0xFFE6, 1},
	},
	R32: []unicode.Range32{
		{0x16FE0, 0x18AFF, 1}, {0x1B000, 0x1B2FF, 1}, {0x1F004, 0x1F004, 1}, {0x1F18E, 0x1F19A, 1},
		{0x1F200, 0x1F265, 1}, {0x1F300, 0x1F64F, 1}, {0x1F680, 0x1F6FF, 1}, {0x1F7E0, 0x1F7EB, 1},
		{0x1F900, 0x1FAFF, 1}, {0x20000, 0x3FFFD, 1},
	},
}

// fit pads or truncates a text to exactly the given columns. Truncated text ends in
// an ellipsis.
func fit(s string, columns int) string {
	if w := width(s); w <= columns {
		return s + strings.Repeat(" ", columns-w)
	}
	var b strings.Builder
	used := 0
	for _, r := range s {
		w := runeWidth(r)
		if used+w > columns-1 {
			break
		}
		used += w
		b.WriteRune(r)
	}
	if columns > 0 {
		b.WriteString("…")
		used++
	}
	return b.String() + strings.Repeat(" ", max(0, columns-used))
}
