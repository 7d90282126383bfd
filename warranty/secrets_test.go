package warranty_test

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"regexp"
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

var secretPattern = regexp.MustCompile(`^sv[cs]_[0-9A-Za-z]{49}$`)

func TestSecretsAreUniqueAndUniform(t *testing.T) {
	source, seen := random(), make(map[string]bool)
	var counts [256]int
	const n = 100_000
	for range n {
		s := must(warranty.NewSecret(warranty.TokenSecret, source))
		if seen[s] {
			t.Fatal("a secret was generated twice")
		}
		seen[s] = true
		if !secretPattern.MatchString(s) {
			t.Fatalf("%s has an invalid form", s)
		}
		if kind, ok := warranty.ParseSecret(s); !ok || kind != warranty.TokenSecret {
			t.Fatalf("%s is parsed as %q, %t", s, kind, ok)
		}
		// The first character is not quite uniform, because 62^43 is slightly more than 2^256.
		for _, c := range []byte(s[5:47]) {
			counts[c]++
		}
	}
	if x := chiSquare(counts[:], base62); x > 61+6*11 { // 61 degrees of freedom: mean 61, deviation 11
		t.Errorf("characters are not uniform: chi-square is %.0f", x)
	}
}

// TestSecretChecksum computes the documented checksum independently, as a secret scanner
// would.
func TestSecretChecksum(t *testing.T) {
	for _, kind := range []warranty.SecretKind{"svc_", "svs_"} {
		s := must(warranty.NewSecret(kind, random()))
		body, sum := s[:47], 0
		for _, c := range []byte(s[47:]) {
			sum = sum*62 + strings.IndexByte(base62, c)
		}
		if want := crc32.ChecksumIEEE([]byte(body)); uint32(sum) != want {
			t.Errorf("%s ends with %d, want %d", s, sum, want)
		}
		if got, ok := warranty.ParseSecret(s); !ok || got != kind {
			t.Errorf("ParseSecret(%s) = %q, %t", s, got, ok)
		}
	}
}

// TestSecretHoldsAllItsRandomness checks that every one of the 256 bits changes the
// secret.
func TestSecretHoldsAllItsRandomness(t *testing.T) {
	seen := make(map[string]int)
	raw := make([]byte, 32)
	for bit := range 256 {
		clear(raw)
		raw[bit/8] = 1 << (bit % 8)
		s := must(warranty.NewSecret(warranty.TokenSecret, strings.NewReader(string(raw))))
		if other, ok := seen[s]; ok {
			t.Fatalf("bits %d and %d give the same secret", other, bit)
		}
		seen[s] = bit
	}
	if s, err := warranty.NewSecret(warranty.TokenSecret,
		strings.NewReader("31 bytes are not enough for it.")); err == nil {
		t.Errorf("%s was generated from 31 bytes", s)
	}
}

func TestSecretTypingErrors(t *testing.T) {
	source := random()
	for range 20 {
		s := must(warranty.NewSecret(warranty.TokenSecret, source))
		for i := range s {
			for c := range 256 {
				typo := s[:i] + string([]byte{byte(c)}) + s[i+1:]
				if _, ok := warranty.ParseSecret(typo); ok && typo != s {
					t.Fatalf("%q passes for %q", typo, s)
				}
			}
			if _, ok := warranty.ParseSecret(s[:i] + s[i+1:]); ok {
				t.Fatalf("%q passes without character %d", s, i+1)
			}
		}
	}
}

func TestParseSecretRefuses(t *testing.T) {
	token := must(warranty.NewSecret(warranty.TokenSecret, random()))
	signed := func(body string) string { // with a right checksum
		sum, digits := crc32.ChecksumIEEE([]byte(body)), make([]byte, 6)
		for i := range digits {
			digits[5-i] = base62[sum%62]
			sum /= 62
		}
		return body + string(digits)
	}
	if signed(token[:47]) != token {
		t.Fatal("the test cannot compute the checksum")
	}
	for name, s := range map[string]string{
		"nothing":            "",
		"prefix alone":       "svc_",
		"space before":       " " + token,
		"newline behind":     token + "\n",
		"cut off":            token[:52],
		"with Bearer":        "Bearer " + token,
		"upper case":         strings.ToUpper(token),
		"other kind":         "svs_" + token[4:],
		"unknown kind":       signed("svx_" + token[4:47]),
		"no kind":            signed("abcd" + token[4:47]),
		"no base62":          signed("svc_" + strings.Repeat("!", 43)),
		"control characters": signed("svc_" + strings.Repeat("\x1b", 43)),
		"invalid UTF-8":      signed("svc_" + strings.Repeat("\xff", 43)),
	} {
		t.Run(name, func(t *testing.T) {
			if kind, ok := warranty.ParseSecret(s); ok {
				t.Errorf("ParseSecret(%q) = %s", s, kind)
			}
		})
	}
}

func TestHashSecretTellsSecretsApart(t *testing.T) {
	a := must(warranty.NewSecret(warranty.TokenSecret, random()))
	if warranty.HashSecret(a) != warranty.HashSecret(strings.Clone(a)) ||
		warranty.HashSecret(a) == warranty.HashSecret(strings.ToLower(a)) {
		t.Error("hashes must be case-sensitive and deterministic")
	}
	if strings.Contains(fmt.Sprintf("%x", warranty.HashSecret(a)), a[4:12]) {
		t.Error("a hash contains part of its secret")
	}
}

func TestNewCode(t *testing.T) {
	source, seen := random(), make(map[string]bool)
	pattern := regexp.MustCompile(`^[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){4}$`)
	for range 10_000 {
		code := must(warranty.NewCode(source))
		if seen[code] || !pattern.MatchString(code) {
			t.Fatalf("%s: generated twice, or invalid", code)
		}
		seen[code] = true
	}
	if code, err := warranty.NewCode(strings.NewReader("short")); err == nil {
		t.Errorf("%s was generated from five bytes", code)
	}
}

func TestHashCodeForgives(t *testing.T) {
	const code = "0123-4567-89AB-CDEF-GHJK"
	want := warranty.HashCode(code)
	for name, tc := range map[string]struct {
		text string
		same bool
	}{
		"lower case":            {"0123-4567-89ab-cdef-ghjk", true},
		"no hyphens":            {"0123456789ABCDEFGHJK", true},
		"spaces":                {" 0123 4567 89AB CDEF GHJK\n", true},
		"unicode dashes":        {"0123–4567—89AB‐CDEF−GHJK", true},
		"O for 0, I for 1":      {"OI23-4567-89AB-CDEF-GHJK", true},
		"o for 0, l for 1":      {"ol23-4567-89ab-cdef-ghjk", true},
		"one character other":   {"0123-4567-89AB-CDEF-GHJM", false},
		"one character missing": {"0123-4567-89AB-CDEF-GHJ", false},
		"one character more":    {"0123-4567-89AB-CDEF-GHJK-0", false},
		"many more":             {code + strings.Repeat("0", 1<<16), false},
		"two swapped":           {"1023-4567-89AB-CDEF-GHJK", false},
		"nothing":               {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := warranty.HashCode(tc.text) == want; got != tc.same {
				t.Errorf("%.40q is the same code: %t", tc.text, got)
			}
		})
	}
}

func FuzzParseSecret(f *testing.F) {
	token := must(warranty.NewSecret(warranty.TokenSecret, random()))
	f.Add(token)
	f.Add(must(warranty.NewSecret(warranty.SessionSecret, random())))
	f.Add(token[:52])
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		kind, ok := warranty.ParseSecret(text)
		if ok && (!secretPattern.MatchString(text) || !strings.HasPrefix(text, string(kind))) {
			t.Errorf("%q passes as %q", text, kind)
		}
		// Changing one byte of a valid secret is detected.
		raw := [32]byte{}
		copy(raw[:], text)
		s := []byte(must(warranty.NewSecret(warranty.SessionSecret, strings.NewReader(string(raw[:])))))
		at, flip := binary.LittleEndian.Uint16(raw[:])%uint16(len(s)), raw[2]|1
		s[at] ^= flip
		if _, ok := warranty.ParseSecret(string(s)); ok {
			t.Errorf("%q passes after byte %d was changed by %#x", s, at, flip)
		}
	})
}
