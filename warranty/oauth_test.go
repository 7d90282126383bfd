package warranty_test

import (
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

// TestClientNames: a name that an app chose cannot end its quotation, cover other text or show nothing.
func TestClientNames(t *testing.T) {
	for name, want := range map[string]string{
		"Claude":                      "Claude",
		" Claude\n Desktop ":          "Claude Desktop",
		"Claude‟? Verified":           "Claude'? Verified",
		"Claude＂ (verified)":          "Claude' (verified)",
		"Claude” «ok» ‹x› „y“":        "Claude' 'ok' 'x' 'y'",
		"\u3164":                      "",
		"\u2800 \u115f\u1160\uffa0":   "",
		"!?":                          "",
		"Z" + strings.Repeat("̈", 59): "Z" + strings.Repeat("̈", 2),
		"Ägypten, Việt":               "Ägypten, Việt",
		"\u202eedualC":                "edualC",
		"a\x00b\xff":                  "ab",
		"日本語 アプリ":                     "日本語 アプリ",
	} {
		if got := warranty.ClientName(name); got != want {
			t.Errorf("%q is shown as %q, want %q", name, got, want)
		}
	}
}
