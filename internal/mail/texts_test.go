package mail

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/warranty"
)

var english = In(warranty.Locale{})

func minutes(d time.Duration) string { return fmt.Sprintf("%d minutes", int(d.Minutes())) }

func TestTexts(t *testing.T) {
	if code := english.HandoverCode("ann@example.com", warranty.HandoverPreview{}, "123456", "CODE-1", ""); !strings.Contains(code.Text, minutes(warranty.ShortCodeLifetime)) {
		t.Error(code.Text)
	}
	const base = "https://w.example.com"
	for _, c := range []struct {
		m    Message
		want []string
	}{
		{english.VerifyEmail("ann@example.com", "Ann", "CODE-1", base), []string{"24 hours", base + "/verify-email\n", "sign in and enter", "did not create an account"}},
		{english.ResetPassword("ann@example.com", "Ann", "CODE-1", base), []string{minutes(warranty.ResetLifetime), base + "/reset-password/confirm\n", "did not ask"}},
		{english.SignInCode("ann@example.com", "Ann", "CODE-1", base), []string{minutes(warranty.SignInCodeLifetime), base + "/sign-in/code\n", "did not ask"}},
	} {
		if err := c.m.check(); err != nil || c.m.To != "ann@example.com" || c.m.Code != "CODE-1" {
			t.Errorf("%+v %v", c.m, err)
		}
		for _, want := range append(c.want, "Hello Ann,\n", "\n    CODE-1\n", base) {
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

// TestNotices checks the emails about an account: when, from where, and what to do.
func TestNotices(t *testing.T) {
	c := Circumstances{
		At:        time.Date(2026, 11, 30, 9, 5, 0, 0, time.UTC),
		Program:   "Firefox",
		System:    "Linux",
		Network:   "203.0.113.x",
		PublicURL: "https://w.example.com",
	}
	english := english.NotMe("CODE")
	for _, m := range []Message{
		english.PasswordChanged("ann@example.com", "Ann", c), english.PasswordWasReset("ann@example.com", "Ann", c),
		english.PasswordSetByOperator("ann@example.com", "Ann", c), english.TokenCreated("ann@example.com", "Ann", "till", nil, c),
		english.NewSignIn("ann@example.com", "Ann", c),
	} {
		for _, want := range []string{
			"Hello Ann,\n", "30 Nov 2026, 09:05 UTC", "Firefox on Linux", "203.0.113.x",
			"https://w.example.com/not-me/CODE\n",
		} {
			if !strings.Contains(m.Text, want) || !m.NotMe {
				t.Errorf("%s: no %q in:\n%s", m.Subject, want, m.Text)
			}
		}
		if err := m.check(); err != nil || m.Code != "" || strings.Contains(m.Text, "%!") {
			t.Errorf("%s: %v\n%s", m.Subject, err, m.Text)
		}
		for line := range strings.SplitSeq(m.Text, "\n") {
			if len(line) > 80 {
				t.Errorf("%s: long line %q", m.Subject, line)
			}
		}
	}
	if m := english.TokenCreated("ann@example.com", "Ann", "see http://spam.example now", nil, c); strings.Contains(m.Text, "spam") {
		t.Errorf("the mail carries a stranger's link:\n%s", m.Text)
	}
	m := english.NewSignIn("ann@example.com", "Ann", Circumstances{At: c.At, PublicURL: c.PublicURL})
	if strings.Contains(m.Text, "Device") || strings.Contains(m.Text, "IP") {
		t.Errorf("unknown circumstances are mentioned:\n%s", m.Text)
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
		if got := english.greeting(name); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
}

func TestReminders(t *testing.T) {
	const base = "https://w.example.com"
	last := time.Date(2026, 11, 30, 23, 59, 0, 0, time.UTC)
	for _, c := range []struct {
		m       Message
		subject string
		want    []string
	}{
		{english.WarrantyEnds("ann@example.com", "Ann", Ending{Product: "Apple iPad Air", Reference: "W-1", Last: last}, base),
			"Apple iPad Air: warranty ends 30 Nov", []string{"for Apple iPad Air (W-1) ends on 30 Nov 2026."}},
		{english.WarrantyEnds("ann@example.com", "Ann", Ending{Product: "win at http://spam.example", Reference: "W-1", Last: last}, base),
			"Your warranty ends 30 Nov", []string{"for your product (W-1) ends on 30 Nov 2026."}},
		{english.WarrantiesEnd("ann@example.com", "Ann", []Ending{{Product: "Pan", Reference: "W-1", Last: last},
			{Product: "win at http://spam.example", Reference: "W-2", Last: last}}, 12, base),
			"12 warranties end soon", []string{"Pan: 30 Nov 2026 (W-1)\n", "Warranty: 30 Nov 2026 (W-2)\n", "and 10 more\n"}},
		{english.WeeklyDigest("ann@example.com", "Ann", Week{
			Ending: []Ending{{Product: "Pan", Reference: "W-1", Last: last}}, EndingTotal: 1,
			Waiting: []warranty.Claim{{ClaimNumber: "CL-1", Status: warranty.Submitted}}}, base),
			"Your warranties this week", []string{"CL-1: submitted (CL-1)\n", "next four weeks\n\n    Pan: 30 Nov 2026"}},
		{english.TokenExpires("ann@example.com", "Ann", "till", last, base),
			`Integration token "till" expires 30 Nov`, []string{`"till" expires on 30 Nov 2026 at 23:59 UTC.`}},
		{english.TokenExpires("ann@example.com", "Ann", "http://spam.example", last, base),
			"Your integration token expires 30 Nov", []string{"expires on 30 Nov 2026"}},
	} {
		if err := c.m.check(); err != nil || c.m.Subject != c.subject {
			t.Errorf("subject %q, want %q, %v", c.m.Subject, c.subject, err)
		}
		for _, want := range append(c.want, "Hello Ann,\n", base+"/") {
			if !strings.Contains(c.m.Text, want) {
				t.Errorf("%s: no %q in:\n%s", c.m.Subject, want, c.m.Text)
			}
		}
		if strings.Contains(c.m.Text, "spam") || strings.Contains(c.m.Text, "%!") {
			t.Errorf("%s:\n%s", c.m.Subject, c.m.Text)
		}
	}
}
