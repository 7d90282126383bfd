package mail

import (
	"strings"
	"testing"
)

func TestTexts(t *testing.T) {
	const base = "https://w.example.com"
	for _, c := range []struct {
		m    Message
		want []string
	}{
		{VerifyEmail("ann@example.com", "Ann", "CODE-1", base), []string{"24 hours", base + "/verify-email\n", "did not register"}},
		{ResetPassword("ann@example.com", "Ann", "CODE-1", base), []string{"30 minutes", base + "/reset-password\n", "did not ask"}},
	} {
		if err := c.m.check(); err != nil || c.m.To != "ann@example.com" || c.m.Code != "CODE-1" {
			t.Errorf("%+v %v", c.m, err)
		}
		for _, want := range append(c.want, "Hello Ann,\n", "\n    CODE-1\n", base+"\n") {
			if !strings.Contains(c.m.Text, want) {
				t.Errorf("%s: no %q in:\n%s", c.m.Subject, want, c.m.Text)
			}
		}
		if strings.Count(c.m.Text, "CODE-1") != 1 || strings.Contains(c.m.Text, "%!") {
			t.Errorf("%s:\n%s", c.m.Subject, c.m.Text)
		}
		for line := range strings.SplitSeq(c.m.Text, "\n") {
			if len(line) > 72 {
				t.Errorf("%s: long line %q", c.m.Subject, line)
			}
		}
	}
}

func TestGreeting(t *testing.T) {
	for name, want := range map[string]string{
		"Ann":                   "Hello Ann,",
		" Dr. Jürgen Müller ":   "Hello Dr. Jürgen Müller,",
		"O'Neil Jr.":            "Hello O'Neil Jr.,",
		"":                      "Hello,",
		"You won! evil.example": "Hello,",
		"https://evil":          "Hello,",
		"a@b":                   "Hello,",
		"Ann\nPay here":         "Hello,",
		"Ann\u202ebob":          "Hello,",
		strings.Repeat("x", 61): "Hello,",
		"<b>Ann</b>":            "Hello,",
	} {
		if got := greeting(name); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
}
