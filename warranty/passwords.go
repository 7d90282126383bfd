package warranty

import (
	_ "embed" // the list of well-known passwords
	"strings"
	"sync"
	"unicode"
)

//go:embed passwords.txt
var passwordList string

var knownPasswords = sync.OnceValue(func() map[string]bool {
	known := make(map[string]bool)
	for line := range strings.Lines(passwordList) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			known[line] = true
		}
	}
	return known
})

// wellKnown tells passwords that are guessed first: those on the list, those on
// the list with digits or signs behind, repetitions of something short, and runs
// along the alphabet, the digits or the keyboard.
func wellKnown(password string) bool {
	p := strings.ToLower(password)
	stem := strings.TrimRightFunc(p, func(r rune) bool { return !unicode.IsLetter(r) })
	return knownPasswords()[p] || knownPasswords()[stem] || repeats(p) || runs(p)
}

// repeats tells whether s is one unit of at most 10 bytes said over and over.
func repeats(s string) bool {
	for n := 1; n <= 10 && n <= len(s)/2; n++ {
		if strings.HasPrefix(strings.Repeat(s[:n], len(s)/n+1), s) {
			return true
		}
	}
	return false
}

// runs tells whether s walks along a row that everybody knows, forwards or backwards.
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
