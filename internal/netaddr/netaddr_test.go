package netaddr_test

import (
	"strings"
	"testing"

	"warranty.example/svc/internal/netaddr"
)

func TestParseURL(t *testing.T) {
	for raw, want := range map[string]string{
		"redis://cache":              "",
		"rediss://:hunter2@[::1]:1/": "",
		"redis://10.0.0.1:65535":     "",
		"http://cache":               "must start with redis:// or rediss://",
		"cache:6379":                 "must start with redis:// or rediss://",
		"redis://:hunter2%zz@cache":  "is not a valid URL",
		"redis://:hunter2#@cache":    "is not a valid URL",
		"redis://:hunter2@":          "has an invalid host",
		"redis://bücher":             "has an invalid host",
		"redis://[fe80::1%25eth0]":   "has an invalid host",
		"redis://cache:":             "has an invalid port",
		"redis://cache:0":            "has an invalid port",
		"redis://cache:65536":        "has an invalid port",
	} {
		_, err := netaddr.ParseURL(raw, "redis", "rediss")
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the password is shown: %v", raw, err)
		}
	}
}

func TestIsName(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost":                       true,
		"w.example.com.":                  true,
		"_srv.xn--bcher-kva.de":           true,
		"":                                false,
		"a..b":                            false,
		"-a.example":                      false,
		"a-.example":                      false,
		"a b":                             false,
		"a\"b":                            false,
		strings.Repeat("a", 64):           false,
		strings.Repeat("a.", 127) + "abc": false,
	} {
		if got := netaddr.IsName(host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}

func TestIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"LocalHost": true, "127.0.0.9": true, "::1": true, "::ffff:127.0.0.1": true,
		"": false, "localhost.example": false, "0.0.0.0": false, "10.0.0.1": false,
	} {
		if got := netaddr.IsLoopback(host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}

func TestQuote(t *testing.T) {
	for v, want := range map[string]string{
		"fast":                  `"fast"`,
		"a\nb":                  `"a\nb"`,
		"redis://:hunter2@h":    "the value",
		"u:hunter2@h":           "the value",
		strings.Repeat("ä", 99): `"` + strings.Repeat("ä", 60) + `…"`,
	} {
		if got := netaddr.Quote(v); got != want {
			t.Errorf("%q: %s, want %s", v, got, want)
		}
	}
}
