package warranty

import (
	"strings"
	"testing"

	"warranty.example/svc/internal/locales"
)

// TestStandingIsTranslated compares the words of the languages: each has all of them, with the same arguments.
func TestStandingIsTranslated(t *testing.T) {
	folders, err := locales.Standing.ReadDir(".")
	if err != nil || len(folders) != len(Languages()) {
		t.Errorf("there are %d folders for %v (%v)", len(folders), Languages(), err)
	}
	english := wordsIn("en")
	for _, s := range []Status{Active, Upcoming, Expired, Void, Cancelled} {
		if english["status."+string(s)] == "" {
			t.Errorf("status %s has no words", s)
		}
	}
	for _, language := range Languages() {
		words := wordsIn(language)
		if len(words) != len(english) {
			t.Errorf("%s has %d words, want %d", language, len(words), len(english))
		}
		for key, text := range english {
			for _, argument := range []string{"%s", "%[1]s", "%[2]s"} {
				if words[key] == "" || strings.Contains(words[key], argument) != strings.Contains(text, argument) {
					t.Errorf("%s: %q is %q, want a translation of %q", language, key, words[key], text)
				}
			}
		}
	}
}
