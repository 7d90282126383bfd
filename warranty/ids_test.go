package warranty_test

import (
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

const sampleID = "01935b2e-7c4a-7def-8123-456789abcdef"

func TestParseID(t *testing.T) {
	want := warranty.ID{0x01, 0x93, 0x5b, 0x2e, 0x7c, 0x4a, 0x7d, 0xef, 0x81, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef}
	for name, tc := range map[string]struct {
		text string
		want warranty.ID
	}{
		"lower case": {sampleID, want},
		"upper case": {strings.ToUpper(sampleID), want},
		"zero":       {"00000000-0000-0000-0000-000000000000", warranty.ID{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := warranty.ParseID(tc.text)
			if err != nil || got != tc.want {
				t.Fatalf("ParseID = %s, %v", got, err)
			}
			if got.String() != strings.ToLower(tc.text) || string(must(got.MarshalText())) != got.String() {
				t.Errorf("formatted again it is %s", got)
			}
			if got.IsZero() != (name == "zero") {
				t.Errorf("IsZero = %t", got.IsZero())
			}
		})
	}
}

func TestParseIDRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":               "",
		"too short":             sampleID[:35],
		"too long":              sampleID + "0",
		"no hyphens":            strings.ReplaceAll(sampleID, "-", ""),
		"hyphens elsewhere":     "0193-5b2e7c4a-7def-8123-456789abcdef",
		"first hyphen missing":  sampleID[:8] + "0" + sampleID[9:],
		"second hyphen missing": sampleID[:13] + "0" + sampleID[14:],
		"third hyphen missing":  sampleID[:18] + "0" + sampleID[19:],
		"fourth hyphen missing": sampleID[:23] + "0" + sampleID[24:],
		"other hyphens":         strings.ReplaceAll(sampleID, "-", "_"),
		"five hyphens":          sampleID[:35] + "-",
		"braces":                "{" + sampleID + "}",
		"urn":                   "urn:uuid:" + sampleID,
		"no digit":              sampleID[:35] + "g",
		"space before":          " " + sampleID,
		"newline behind":        sampleID + "\n",
		"NUL":                   sampleID[:35] + "\x00",
		"full-width digit":      sampleID[:33] + "０",
		"number":                "42",
		"a way out of the path": "../../../../../../../../etc/passwd..",
	} {
		t.Run(name, func(t *testing.T) {
			if id, err := warranty.ParseID(text); err == nil {
				t.Errorf("ParseID(%q) = %s", text, id)
			}
		})
	}
}

func TestIDUnmarshalEmpty(t *testing.T) {
	id := must(warranty.ParseID(sampleID))
	if err := id.UnmarshalText(nil); err != nil || !id.IsZero() {
		t.Errorf("an empty string is parsed as %s, %v", id, err)
	}
}

func FuzzParseID(f *testing.F) {
	f.Add(sampleID, []byte(sampleID)[:16])
	f.Add(strings.ToUpper(sampleID), make([]byte, 16))
	f.Add("", []byte("short"))
	f.Fuzz(func(t *testing.T, text string, raw []byte) {
		if id, err := warranty.ParseID(text); err == nil && id.String() != strings.ToLower(text) {
			t.Errorf("%q is parsed as %s", text, id)
		}
		var id warranty.ID
		copy(id[:], raw)
		if got, err := warranty.ParseID(id.String()); err != nil || got != id {
			t.Errorf("%s is parsed as %s, %v", id, got, err)
		}
	})
}
