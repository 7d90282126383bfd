package warranty

import (
	_ "embed" // passwords.txt and weakwords.txt
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

//go:embed passwords.txt
var passwordList string

//go:embed weakwords.txt
var weakWordList string

// knownPasswords is the set of passwords in passwords.txt.
var knownPasswords = sync.OnceValue(func() map[string]bool {
	known := make(map[string]bool)
	for line := range strings.Lines(passwordList) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			known[line] = true
		}
	}
	return known
})

// weakWords is the set of words in weakwords.txt, plus the passwords in
// passwords.txt of at least four characters that contain only letters.
var weakWords = sync.OnceValue(func() map[string]bool {
	words := make(map[string]bool)
	for line := range strings.Lines(weakWordList) {
		if !strings.HasPrefix(line, "#") {
			for word := range strings.FieldsSeq(line) {
				words[word] = true
			}
		}
	}
	for password := range knownPasswords() {
		if len(password) >= 4 && onlyLetters(password) == password {
			words[password] = true
		}
	}
	return words
})

// Thresholds of guessable.
const (
	maxWeakWords  = 2  // weak words removed from a password
	longestWord   = 24 // length of the longest weak word
	freeLetters   = 3  // letters that may remain besides the words
	freeOthers    = 8  // digits and symbols that may remain: a year, a day, "123!"
	shortestOwn   = 3  // shortest part of a name or address to remove
	longestRepeat = 10 // longest repeated unit
)

// guessable reports whether a password is easy to guess: it is on the list, repeats
// a short unit, follows the alphabet or the keyboard, or has little left after
// removing weak words, the user's own name and address, digits and symbols.
// Substitutions such as @ for a and 0 for o are undone first.
func guessable(password string, own ...string) bool {
	p := strings.ToLower(password)
	if knownPasswords()[p] || repeats(p) || runs(p) {
		return true
	}
	other := func(r rune) bool { return !unicode.IsLetter(r) }
	for _, part := range []string{p, strings.TrimRightFunc(p, other), strings.TrimFunc(p, other)} {
		for _, reading := range []string{part, likeI.Replace(part), likeL.Replace(part)} {
			letters := onlyLetters(reading)
			others := utf8.RuneCountInString(p) - utf8.RuneCountInString(letters)
			if others <= freeOthers && unexplained(without(letters, own)) <= freeLetters {
				return true
			}
		}
	}
	return false
}

// likeI and likeL undo substitutions, reading 1, ! and | as i or as l.
var likeI, likeL = unsubstitute("i"), unsubstitute("l")

func unsubstitute(one string) *strings.Replacer {
	return strings.NewReplacer(
		"@", "a", "4", "a", "8", "b", "3", "e", "€", "e", "6", "g", "9", "g", "1", one, "!", one, "|", one,
		"0", "o", "$", "s", "5", "s", "7", "t", "+", "t", "2", "z",
	)
}

func onlyLetters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return r
		}
		return -1
	}, s)
}

// without removes the parts of the user's name and address from a password's letters.
func without(letters string, own []string) string {
	for _, text := range own {
		parts := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) })
		for _, part := range append([]string{strings.Join(parts, "")}, parts...) {
			if len(part) >= shortestOwn {
				letters = strings.ReplaceAll(letters, part, "")
			}
		}
	}
	return letters
}

// unexplained returns the fewest bytes that remain of letters after removing at most
// maxWeakWords weak words.
func unexplained(letters string) int {
	words := weakWords()
	left := make([]int, len(letters)+1) // bytes remaining of letters[:i] with no word removed
	for i := range left {
		left[i] = i
	}
	for range maxWeakWords {
		more := make([]int, len(left)) // with one more word removed
		for i := 1; i < len(left); i++ {
			more[i] = more[i-1] + 1
			for n := 3; n <= min(i, longestWord); n++ {
				if words[letters[i-n:i]] {
					more[i] = min(more[i], left[i-n])
				}
			}
		}
		left = more
	}
	return left[len(letters)]
}

// repeats reports whether s repeats one short unit.
func repeats(s string) bool {
	for n := 1; n <= longestRepeat && n <= len(s)/2; n++ {
		if strings.HasPrefix(strings.Repeat(s[:n], len(s)/n+1), s) {
			return true
		}
	}
	return false
}

// runs reports whether s is part of the alphabet, the digits or a keyboard row, in
// either direction.
func runs(s string) bool {
	for _, row := range []string{
		"abcdefghijklmnopqrstuvwxyz",
		"01234567890123456789",
		"qwertyuiopasdfghjklzxcvbnm",
		"1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik",
	} {
		if strings.Contains(row, s) || strings.Contains(reverse(row), s) {
			return true
		}
	}
	return false
}

func reverse(s string) string {
	b := []byte(s)
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return string(b)
}
