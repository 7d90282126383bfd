package plural_test

import (
	"testing"

	"golang.org/x/text/language"

	"warranty.example/svc/internal/plural"
)

// TestForm has languages with other rules than English.
func TestForm(t *testing.T) {
	for lang, want := range map[string]map[int64]string{
		"en": {0: "other", 1: "one", 2: "other", -1: "one", 10_000_001: "other"},
		"de": {0: "other", 1: "one", 21: "other"},
		"fr": {0: "one", 1: "one", 2: "other"},
		"pl": {1: "one", 3: "few", 5: "many", 12: "many", 22: "few", 10_000_022: "few"},
		"ar": {0: "zero", 1: "one", 2: "two", 5: "few", 11: "many", 100: "other"},
	} {
		for n, form := range want {
			if got := plural.Form(language.MustParse(lang), n); got != form {
				t.Errorf("%s: %d is %q, want %q", lang, n, got, form)
			}
		}
	}
}

// TestKey chooses the text by the first whole number.
func TestKey(t *testing.T) {
	texts := map[string]string{"left.one": "", "left.other": "", "size": ""}
	has := func(key string) bool { _, ok := texts[key]; return ok }
	for _, tt := range []struct {
		key  string
		args []any
		want string
	}{
		{"left", []any{"Ann", 1, 2}, "left.one"},
		{"left", []any{int64(3)}, "left.other"},
		{"left", []any{"1"}, "left"},
		{"size", []any{1}, "size"},
	} {
		if got := plural.Key(language.English, tt.key, tt.args, has); got != tt.want {
			t.Errorf("%s %v: got %q, want %q", tt.key, tt.args, got, tt.want)
		}
	}
	if got := plural.Key(language.Polish, "left", []any{3}, has); got != "left.other" {
		t.Errorf("a missing form is %q", got)
	}
}
