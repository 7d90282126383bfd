package warranty_test

import (
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

// TestClientNames: a name that an app chose cannot end its quotation, cover other text or show nothing.
func TestClientNames(t *testing.T) {
	for name, want := range map[string]string{
		"Claude":               "Claude",
		" Claude\n Desktop ":   "Claude Desktop",
		"Claude‟? Verified":    "Claude'? Verified",
		"Claude＂ (verified)":   "Claude' (verified)",
		"Claude” «ok» ‹x› „y“": "Claude' 'ok' 'x' 'y'",
		`Claude"ʺ˝ˮ״″‶❝❞⹂〝〞〟🙶🙷🙸`:                         "Claude" + strings.Repeat("'", 16),
		"Cl\u2800a\u034fu\u17b4d\ufe0fe\U000e0101\u00ad": "Claude",
		"a\nb\u00a0c\u2003d\u3000e":                      "a b c d e",
		strings.Repeat("x", 61):                          strings.Repeat("x", 60),
		"\u3164":                                         "",
		"\u2800 \u115f\u1160\uffa0":                      "",
		"!?":                                             "",
		"Z" + strings.Repeat("̈", 59):                    "Z" + strings.Repeat("̈", 2),
		"Ägypten, Việt":                                  "Ägypten, Việt",
		"\u202eedualC":                                   "edualC",
		"a\x00b\xff":                                     "ab",
		"日本語 アプリ":                                        "日本語 アプリ",
	} {
		if got := warranty.ClientName(name); got != want {
			t.Errorf("%q is shown as %q, want %q", name, got, want)
		}
	}
}
