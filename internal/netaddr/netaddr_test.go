package netaddr_test

import (
	"net/netip"
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

func TestIsPublic(t *testing.T) {
	public := strings.Fields("1.1.1.1 8.8.8.8 100.63.255.255 100.128.0.0 172.15.255.255 172.32.0.0 192.0.3.1 198.17.0.1 " +
		"223.255.255.255 2606:4700::1111 2a00:1450::1 2001:200::1 ::ffff:8.8.8.8")
	private := strings.Fields("0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 127.0.0.1 127.255.255.254 169.254.169.254 172.16.0.1 " +
		"172.31.255.255 192.0.0.8 192.0.2.1 192.168.1.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 " +
		"240.0.0.1 255.255.255.255 :: ::1 ::ffff:127.0.0.1 ::ffff:169.254.169.254 ::ffff:10.0.0.1 ::127.0.0.1 fe80::1 " +
		"fe80::1%lo fc00::1 fd00:ec2::254 fec0::1 ff02::1 64:ff9b::7f00:1 64:ff9b:1::1 100::1 2001::1 2001:db8::1 " +
		"2002:7f00:1::1 3fff::1 5f00::1 2606:4700::1111%1")
	for _, host := range public {
		if !netaddr.IsPublic(netip.MustParseAddr(host)) {
			t.Errorf("%s is public", host)
		}
	}
	for _, host := range private {
		if netaddr.IsPublic(netip.MustParseAddr(host)) {
			t.Errorf("%s is not public", host)
		}
	}
	if netaddr.IsPublic(netip.Addr{}) {
		t.Error("no address is public")
	}
}
