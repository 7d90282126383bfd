package warranty

import (
	_ "embed" // the lists of well-known passwords and of the words they are made of
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

//go:embed passwords.txt
var passwordList string

//go:embed weakwords.txt
var weakWordList string

// knownPasswords are the passwords of the list.
var knownPasswords = sync.OnceValue(func() map[string]bool {
	known := make(map[string]bool)
	for line := range strings.Lines(passwordList) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			known[line] = true
		}
	}
	return known
})

// weakWords are the words that guessable passwords are made of: our own list, and
// every password of the other one that is a word.
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

// Bounds of what is still guessable.
const (
	maxWeakWords  = 2  // a password of this many weak words is
	longestWord   = 24 // no weak word is longer
	freeLetters   = 3  // letters beside the words that do not help
	freeOthers    = 8  // digits and signs that do not help: a year, a day, "123!"
	shortestOwn   = 3  // parts of a name or an address that are looked for
	longestRepeat = 10 // a unit said over and over
)

// guessable tells passwords that are guessed first: those on the list, repetitions
// of something short, runs along the alphabet or the keyboard, and those of which
// little is left without weak words, the person's own name and address, digits and
// signs. Substitutions such as @ for a and 0 for o are undone.
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

// likeI and likeL undo substitutions; 1 and ! stand for either letter.
var (
	likeI = strings.NewReplacer("@", "a", "4", "a", "8", "b", "3", "e", "€", "e", "6", "g", "9", "g", "1", "i", "!", "i", "|", "i", "0", "o", "$", "s", "5", "s", "7", "t", "+", "t", "2", "z")
	likeL = strings.NewReplacer("@", "a", "4", "a", "8", "b", "3", "e", "€", "e", "6", "g", "9", "g", "1", "l", "!", "l", "|", "l", "0", "o", "$", "s", "5", "s", "7", "t", "+", "t", "2", "z")
)

func onlyLetters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return r
		}
		return -1
	}, s)
}

// without takes the parts of a person's name and address out of a password's letters.
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

// unexplained counts the bytes that are left of letters when at most maxWeakWords
// weak words are taken out in the best way.
func unexplained(letters string) int {
	words := weakWords()
	left := make([]int, len(letters)+1) // of the first i bytes, without a word
	for i := range left {
		left[i] = i
	}
	for range maxWeakWords {
		more := make([]int, len(left)) // with one word more
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

// repeats tells whether s is one short unit said over and over.
func repeats(s string) bool {
	for n := 1; n <= longestRepeat && n <= len(s)/2; n++ {
		if strings.HasPrefix(strings.Repeat(s[:n], len(s)/n+1), s) {
			return true
		}
	}
	return false
}

// runs tells whether s walks along a row that everyone knows, forwards or backwards.
func runs(s string) bool {
	for _, row := range []string{"abcdefghijklmnopqrstuvwxyz", "01234567890123456789", "qwertyuiopasdfghjklzxcvbnm", "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik"} {
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
