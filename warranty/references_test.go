package warranty_test

import (
	"regexp"
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

// alphabet is Crockford's base 32, without I, L, O and U.
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

var wellFormed = regexp.MustCompile(`^WR(-[0-9A-HJKMNP-TV-Z]{4}){4}$`)

func TestReferencesAreUniqueAndWellFormed(t *testing.T) {
	source, seen := random(), make(map[warranty.Reference]bool)
	var counts [16][256]int
	const n = 100_000
	for range n {
		r := must(warranty.NewReference(warranty.WarrantyPrefix, source))
		if seen[r] {
			t.Fatalf("%s was generated twice", r)
		}
		seen[r] = true
		if !wellFormed.MatchString(string(r)) {
			t.Fatalf("%s has an invalid form", r)
		}
		if got, err := warranty.ParseReference(string(r)); err != nil || got != r {
			t.Fatalf("%s is parsed as %s, %v", r, got, err)
		}
		for i, c := range []byte(bare(r)) {
			counts[i][c]++
		}
	}
	for i := range counts {
		if x := chiSquare(counts[i][:], alphabet); x > 31+6*8 { // 31 degrees of freedom: mean 31, deviation 8
			t.Errorf("place %d is not uniform: chi-square is %.0f", i+1, x)
		}
	}
}

// bare returns the 16 characters of a reference.
func bare(r warranty.Reference) string { return strings.ReplaceAll(string(r)[3:], "-", "") }

// chiSquare measures how far the counts are from a uniform distribution.
func chiSquare(counts []int, letters string) float64 {
	total := 0
	for _, c := range []byte(letters) {
		total += counts[c]
	}
	expected, sum := float64(total)/float64(len(letters)), 0.0
	for _, c := range []byte(letters) {
		d := float64(counts[c]) - expected
		sum += d * d / expected
	}
	return sum
}

// TestReferenceTypingErrors tries every wrong character and every swap of two adjacent
// characters. In an even base, the Luhn algorithm detects every single wrong character,
// and every swap except that of the first and last character of the alphabet, 0 and Z
// (in decimal, 0 and 9).
func TestReferenceTypingErrors(t *testing.T) {
	source := random()
	missed := 0
	for range 2000 {
		chars := bare(must(warranty.NewReference(warranty.WarrantyPrefix, source)))
		for i := range chars {
			for _, wrong := range alphabet {
				typo := chars[:i] + string(wrong) + chars[i+1:]
				if _, err := warranty.ParseReference(typo); (err == nil) != (typo == chars) {
					t.Fatalf("%s for %s: %v", typo, chars, err)
				}
			}
			if i == 0 || chars[i-1] == chars[i] {
				continue
			}
			swap := chars[:i-1] + string(chars[i]) + string(chars[i-1]) + chars[i+1:]
			pair := chars[i-1 : i+1]
			known := pair == "0Z" || pair == "Z0"
			if _, err := warranty.ParseReference(swap); (err == nil) != known {
				t.Fatalf("%s for %s: %v", swap, chars, err)
			}
			if known {
				missed++
			}
		}
	}
	if missed == 0 {
		t.Error("the swap that is not detected never occurred; generate more references")
	}
}

// The check characters below were computed by hand with the Luhn algorithm.
const (
	sampleReference = "WR-7K2M-9QXT-4D8P-HV3A"
	onesAndZeros    = "WR-0101-0101-0101-010S"
)

func TestParseReference(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"as printed":             {"WR-7K2M-9QXT-4D8P-HV3A", sampleReference},
		"lower case":             {"wr-7k2m-9qxt-4d8p-hv3a", sampleReference},
		"mixed case":             {"Wr-7k2M-9qXt-4D8p-hV3A", sampleReference},
		"without prefix":         {"7K2M-9QXT-4D8P-HV3A", sampleReference},
		"without anything":       {"7K2M9QXT4D8PHV3A", sampleReference},
		"prefix alone is joined": {"WR7K2M9QXT4D8PHV3A", sampleReference},
		"spaces":                 {"WR 7K2M 9QXT 4D8P HV3A", sampleReference},
		"spaces around":          {" \tWR-7K2M-9QXT-4D8P-HV3A\r\n", sampleReference},
		"hyphens elsewhere":      {"W-R7K2-M9QX-T4D8-PHV3A", sampleReference},
		"no-break spaces":        {"WR\u00a07K2M\u00a09QXT\u202f4D8P\u00a0HV3A", sampleReference},
		"unicode hyphens":        {"WR\u20107K2M\u20119QXT\u20124D8P\u2010HV3A", sampleReference},
		"dashes and minus":       {"WR\u20137K2M\u20149QXT\u22124D8P\uff0dHV3A", sampleReference},
		"O for 0, I and L for 1": {"WR-OIol-oIOL-0i0L-O1oS", onesAndZeros},
		"ones and zeros":         {onesAndZeros, onesAndZeros},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := warranty.ParseReference(tc.text); err != nil || string(got) != tc.want {
				t.Errorf("ParseReference(%q) = %s, %v; want %s", tc.text, got, err, tc.want)
			}
		})
	}
}

func TestParseReferenceRefuses(t *testing.T) {
	claim := must(warranty.NewReference(warranty.ClaimPrefix, random()))
	for name, text := range map[string]string{
		"nothing":             "",
		"prefix alone":        "WR-",
		"too short":           "WR-7K2M-9QXT-4D8P-HV3",
		"too long":            "WR-7K2M-9QXT-4D8P-HV3AA",
		"prefix twice":        "WR-WR-7K2M-9QXT-4D8P-HV3A",
		"other prefix":        "CL-7K2M-9QXT-4D8P-HV3A",
		"a claim's number":    string(claim),
		"mistyped prefix":     "WT-7K2M-9QXT-4D8P-HV3A",
		"mistyped hyphen":     "WR-7K2M09QXT-4D8P-HV3A",
		"wrong check":         "WR-7K2M-9QXT-4D8P-HV3B",
		"U is no character":   "WR-7K2M-9QXT-4D8P-HV3U",
		"underscores":         "WR_7K2M_9QXT_4D8P_HV3A",
		"slash":               "WR/7K2M/9QXT/4D8P/HV3A",
		"NUL":                 "WR-7K2M-9QXT-4D8P-HV3A\x00",
		"zero-width space":    "WR-7K2M-9QXT-4D8P-HV3A\u200b",
		"full-width digit":    "WR-７K2M-9QXT-4D8P-HV3A",
		"greek letter like K": "WR-7Κ2M-9QXT-4D8P-HV3A",
		"kelvin sign":         "WR-7\u212a2M-9QXT-4D8P-HV3A",
		"invalid UTF-8":       "WR-7K2M-9QXT-4D8P-HV3\xff",
		"a flood of spaces":   strings.Repeat(" ", 1<<20) + sampleReference,
		"a flood of letters":  strings.Repeat("7", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			if r, err := warranty.ParseReference(text); err == nil {
				t.Errorf("ParseReference(%.40q) = %s", text, r)
			}
		})
	}
}

func TestClaimNumber(t *testing.T) {
	n := must(warranty.NewReference(warranty.ClaimPrefix, random()))
	if !strings.HasPrefix(string(n), "CL-") || !wellFormed.MatchString("WR"+string(n)[2:]) {
		t.Errorf("a claim has the number %s", n)
	}
}

func TestNewReferenceNeedsRandomness(t *testing.T) {
	if r, err := warranty.NewReference(warranty.WarrantyPrefix, strings.NewReader("short")); err == nil {
		t.Errorf("%s was generated from five bytes", r)
	}
}

func FuzzParseReference(f *testing.F) {
	for _, seed := range []string{sampleReference, onesAndZeros, "wr oioloiol0i0lo1os", "", "WR", "\xff",
		"WR-7K2M–9QXT−4D8P HV3A"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := warranty.ParseReference(text)
		if err != nil {
			return
		}
		if !wellFormed.MatchString(string(r)) {
			t.Errorf("%q is parsed as %q", text, r)
		}
		if again, err := warranty.ParseReference(string(r)); err != nil || again != r {
			t.Errorf("%q is parsed as %s, and that as %s, %v", text, r, again, err)
		}
	})
}
