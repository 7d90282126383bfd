package identity_test

import (
	"regexp"
	"strings"
	"testing"

	"warranty.example/svc/internal/identity"
	"warranty.example/svc/warranty"
)

func TestRecoveryCodes(t *testing.T) {
	form, seen := regexp.MustCompile(`^([0-9A-HJKMNP-TV-Z]{4}-){5}[0-9A-HJKMNP-TV-Z]{4}$`), map[string]bool{}
	for range 10 {
		codes, hashes, err := identity.NewRecoveryCodes()
		if err != nil || len(codes) != 10 || len(hashes) != 10 {
			t.Fatal(codes, err)
		}
		for i, code := range codes {
			if !form.MatchString(code) || seen[code] || warranty.HashRecoveryCode(code) != hashes[i] {
				t.Errorf("%q", code)
			}
			seen[code] = true
		}
	}
}

func TestHashRecoveryCodeForgives(t *testing.T) {
	const code = "0123-4567-89AB-CDEF-GHJK-MNPQ"
	want := warranty.HashRecoveryCode(code)
	for _, same := range []string{
		strings.ToLower(code), strings.ReplaceAll(code, "-", ""), strings.ReplaceAll(code, "-", " "), " " + code + "\r\n",
		"O" + code[1:], "o" + code[1:], "0I" + code[2:], "0l" + code[2:],
	} {
		if warranty.HashRecoveryCode(same) != want {
			t.Errorf("%q is another code", same)
		}
	}
	for _, other := range []string{"", code[:len(code)-1], code[1:], code + "0", code[:20], strings.Repeat(code, 1000)} {
		if warranty.HashRecoveryCode(other) == want {
			t.Errorf("%q is accepted", other)
		}
	}
}
