package find_test

import (
	"slices"
	"strings"
	"testing"

	"warranty.example/svc/internal/find"
)

func TestFold(t *testing.T) {
	for text, want := range map[string]string{
		"Bosch":           "bosch",
		"bosch":           "bosch",
		"Café CRÈME":      "cafe creme",
		"Cafe\u0301":      "cafe",
		"GRÖSSE größe":    "grosse grosse",
		"Łódź, Ærø, Øre":  "lodz, aero, ore",
		"ＦＵＬＬ　１２":         "full 12",
		"ﬁlter":           "filter",
		"İstanbul ıspank": "istanbul ispank",
		"Ελλάδα ΕΛΛΆΣ":    "ελλαδα ελλασ",
		"ελλάς":           "ελλασ",
		"日本語":             "日本語",
		"":                "",
		"\xff\xfe":        "\uFFFD\uFFFD",
	} {
		if got := find.Fold(text); got != want {
			t.Errorf("Fold(%q) = %q, want %q", text, got, want)
		}
		if again := find.Fold(find.Fold(text)); again != find.Fold(text) {
			t.Errorf("folding %q twice gives %q", text, again)
		}
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string][]string{
		"Bosch Serie 6 washing-machine, Bosch": {"bosch", "serie", "6", "washing", "machine"},
		"claim_evidence":                       {"claim", "evidence"},
		" \t\n!?«»":                            nil,
		"🙂":                                    nil,
		"東芝 ドラム式洗濯機":                           {"東芝", "トラ", "ラム", "ム式", "式洗", "洗濯", "濯機"},
		"iPhoneケースX 2枚":                        {"iphone", "ケー", "ース", "x", "2", "枚"},
		"냉장고":                                  {find.Fold("냉장고")},
	} {
		if got := find.Words(text); !slices.Equal(got, want) {
			t.Errorf("Words(%q) = %q, want %q", text, got, want)
		}
	}
	if got, want := find.Code("WGG-244 A20/0017"), "wgg244a200017"; got != want {
		t.Errorf("Code = %q, want %q", got, want)
	}
}

func TestQuery(t *testing.T) {
	const text = "Bosch Serie 6 Waschmaschine\nGroße Haushaltsgeräte\nFoto Berg GmbH\nWGG244A20-0017\nWR-7K2M-9QXT-H04V-B3CA"
	codes := strings.Join([]string{find.Code("WGG244A20-0017"), find.Code("WR-7K2M-9QXT-H04V-B3CA")}, "\n")
	const unspaced = "東芝ドラム式洗濯機 ZABOON\n家電\niPhoneケース"
	for q, want := range map[string]bool{
		"洗濯機":       true,
		"洗濯":        true,
		"機":         true,
		"洗":         true,
		"ドラム式洗濯機":   true,
		"トラム":       true, // without the marks
		"洗機":        false,
		"zaboon 洗濯": true,
		"iphoneケース": true,
		"phoneケース":  false,
		"ケース":       true,
		"冷蔵庫":       false,
	} {
		if got := find.NewQuery(q).Matches(unspaced, ""); got != want {
			t.Errorf("%q matches: %v, want %v", q, got, want)
		}
	}
	for q, want := range map[string]bool{
		"bosch waschmaschine":    true,
		"WASCHMASCHINE Bosch":    true,
		"wasch":                  true,
		"maschine":               false, // inside a word
		"grosse haushaltsgerate": true,
		"Haushaltsgeräte":        true,
		"foto berg":              true,
		"foto burg":              false,
		"244":                    true, // inside a code
		"24":                     false,
		"A20-0017":               true,
		"0017":                   true,
		"00":                     true, // starts a word
		"7K2M9QXT":               true,
		"WR-7K2M-9QXT":           true,
		"'; DROP TABLE":          false,
		"bosch AND 6":            false,
		`"bosch"* (serie)`:       true,
		"!!!":                    false,
		"🙂":                      false,
		"":                       false,
		"6 6 6":                  true,
	} {
		if got := find.NewQuery(q).Matches(text, codes); got != want {
			t.Errorf("%q matches: %v, want %v", q, got, want)
		}
	}
}

// TestQueryReadsReferences finds a reference however it is typed, and a serial number that happens
// to look like one.
func TestQueryReadsReferences(t *testing.T) {
	const reference = "WR-0000-0000-0000-0000" // a valid check character
	for _, typed := range []string{reference, "wr 0000 0000 0000 0000", "WROOOO-0OO0 00000000", "0000000000000000"} {
		if !find.NewQuery(typed).Matches("Kettle\n"+reference, find.Code(reference)) {
			t.Errorf("%q does not find %s", typed, reference)
		}
	}
	const serial = "OOOO000000000000"
	if !find.NewQuery(serial).Matches("Kettle\n"+serial, find.Code(serial)) {
		t.Errorf("%q does not find the serial number", serial)
	}
}

// FuzzQuery checks that a query never fails and always finds a text that consists of it, if that has
// words.
func FuzzQuery(f *testing.F) {
	f.Add("Bosch Serie 6")
	f.Add(`" OR 1=1 --`)
	f.Add("\u202Eאבג ١٢٣")
	f.Fuzz(func(t *testing.T, q string) {
		if got, want := find.NewQuery(q).Matches(q, find.Code(q)), len(find.Words(q)) > 0; got != want {
			t.Errorf("%q finds itself: %v, want %v", q, got, want)
		}
	})
}
