// Package find decides which records a search finds, and in which order. It knows nothing about
// databases: package store gives it records, or segments of a long list that it made before.
package find

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"warranty.example/svc/warranty"
)

// MinInside is the length from which a word of a query is also found inside a code. Shorter ones
// would be found in nearly every code.
const MinInside = 3

// Fold returns a text without case and accents, for comparing.
func Fold(text string) string {
	plain := true
	for i := range len(text) {
		if c := text[i]; c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			plain = false
			break
		}
	}
	if plain {
		return text
	}
	return string(appendFolded(make([]byte, 0, len(text)), text))
}

// appendFolded appends the folded text.
func appendFolded(b []byte, text string) []byte {
	for i := range len(text) {
		c := text[i]
		if c >= utf8.RuneSelf {
			return appendFoldedRunes(b, text[i:])
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		b = append(b, c)
	}
	return b
}

// appendFoldedRunes is appendFolded for any text: it is decomposed, and the marks are left out.
func appendFoldedRunes(b []byte, text string) []byte {
	var it norm.Iter
	for it.InitString(norm.NFKD, text); !it.Done(); {
		for part := it.Next(); len(part) > 0; {
			r, size := utf8.DecodeRune(part)
			part = part[size:]
			if r < utf8.RuneSelf || !unicode.Is(unicode.Mn, r) {
				b = appendLower(b, r)
			}
		}
	}
	return b
}

// appendLower appends a letter in lower case, and letters that have no decomposition as people type
// them without a special keyboard.
func appendLower(b []byte, r rune) []byte {
	switch r = unicode.ToLower(r); r {
	case 'ß':
		return append(b, "ss"...)
	case 'æ':
		return append(b, "ae"...)
	case 'œ':
		return append(b, "oe"...)
	case 'ø':
		r = 'o'
	case 'ł':
		r = 'l'
	case 'đ', 'ð':
		r = 'd'
	case 'ı':
		r = 'i'
	case 'ς':
		r = 'σ'
	}
	return utf8.AppendRune(b, r)
}

// isWordRune reports whether a rune is part of a word. All others separate words.
func isWordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.Mc, r)
}

// isUnspaced reports whether a rune belongs to a script that has no spaces between words.
func isUnspaced(r rune) bool {
	return r >= 0x2E80 && (r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana))
}

// Words returns the different words of a text, folded, in the order of their first occurrence. In
// scripts without spaces between words, every two characters are a word.
func Words(text string) []string { return words(text, false) }

// words is Words. With ends, the last character before another script is also a word, so that every
// character begins one.
func words(text string, ends bool) []string {
	var list []string
	seen := map[string]bool{}
	add := func(word string) {
		if !seen[word] {
			seen[word] = true
			list = append(list, word)
		}
	}
	for word := range strings.FieldsFuncSeq(Fold(text), func(r rune) bool { return !isWordRune(r) }) {
		for word != "" {
			unspaced := strings.IndexFunc(word, isUnspaced)
			if unspaced < 0 {
				unspaced = len(word)
			}
			if unspaced > 0 {
				add(word[:unspaced])
				word = word[unspaced:]
				continue
			}
			end := strings.IndexFunc(word, func(r rune) bool { return !isUnspaced(r) })
			if end < 0 {
				end = len(word)
			}
			eachPair(word[:end], ends, add)
			word = word[end:]
		}
	}
	return list
}

// eachPair calls fn for every two characters that follow each other, and for the last one if it is the
// only one or ends is set.
func eachPair(text string, ends bool, fn func(string)) {
	_, first := utf8.DecodeRuneInString(text)
	ends = ends || first == len(text)
	for first < len(text) {
		_, second := utf8.DecodeRuneInString(text[first:])
		fn(text[:first+second])
		text, first = text[first:], second
	}
	if ends {
		fn(text)
	}
}

// Code returns a serial number, reference or external id as it is searched: folded, without
// separators.
func Code(text string) string {
	return strings.Map(func(r rune) rune {
		if isWordRune(r) {
			return r
		}
		return -1
	}, Fold(text))
}

// Query is a parsed query.
type Query struct {
	// readings are the ways to read the query, each a list of words that must all be found.
	readings [][]string
}

// NewQuery parses a query. One that may be a reference is also read as one, as carelessly as people
// type them. A query without letters and digits finds nothing.
func NewQuery(q string) Query {
	var readings [][]string
	if words := Words(q); len(words) > 0 {
		readings = append(readings, words)
	}
	if reference, err := warranty.ParseReference(q); err == nil {
		readings = append(readings, []string{Code(string(reference))})
	}
	return Query{readings}
}

// Matches reports whether the query finds a text, or codes in the form of Code, separated by lines.
func (q Query) Matches(text, codes string) bool {
	text = Fold(text)
	for _, words := range q.readings {
		if matchesAll(words, text, codes) {
			return true
		}
	}
	return false
}

func matchesAll(words []string, folded, codes string) bool {
	for _, word := range words {
		if !hasWord(folded, word) && (utf8.RuneCountInString(word) < MinInside || !strings.Contains(codes, word)) {
			return false
		}
	}
	return true
}

// hasWord reports whether a word begins somewhere in a folded text.
func hasWord(folded, word string) bool {
	first, _ := utf8.DecodeRuneInString(word)
	unspaced := isUnspaced(first)
	for from := 0; ; {
		i := strings.Index(folded[from:], word)
		if i < 0 {
			return false
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(folded[:i])
		if i == 0 || !isWordRune(before) || isUnspaced(before) || unspaced {
			return true
		}
		from = i + len(word)
	}
}
