package limit

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
)

func proxies(t testing.TB, s string) Proxies {
	t.Helper()
	p, err := ParseProxies(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestClientIP(t *testing.T) {
	const trusted = "10.0.0.0/8, 2001:db8:1::/48,192.0.2.7"
	tests := []struct {
		name, trusted, peer string
		forwarded           []string
		want                string
	}{
		{"no header", trusted, "10.0.0.1:1234", nil, "10.0.0.1"},
		{"no trusted proxies", "", "10.0.0.1:1234", []string{"203.0.113.9"}, "10.0.0.1"},
		{"untrusted peer, forged header", trusted, "198.51.100.1:1", []string{"203.0.113.9"}, "198.51.100.1"},
		{"untrusted peer claims a proxy's address", trusted, "198.51.100.1:1", []string{"10.0.0.1"}, "198.51.100.1"},
		{"one proxy", trusted, "10.0.0.1:1", []string{"203.0.113.9"}, "203.0.113.9"},
		{"one proxy by address", trusted, "192.0.2.7:1", []string{"203.0.113.9"}, "203.0.113.9"},
		{"neighbour of a proxy", trusted, "192.0.2.8:1", []string{"203.0.113.9"}, "192.0.2.8"},
		{"right-most untrusted hop", trusted, "10.0.0.1:1", []string{"1.1.1.1, 203.0.113.9, 10.0.0.2"}, "203.0.113.9"},
		{"forged hop to the left", trusted, "10.0.0.1:1", []string{"10.0.0.9, 203.0.113.9"}, "203.0.113.9"},
		{
			"header repeated", trusted, "10.0.0.1:1", []string{"1.1.1.1", "203.0.113.9", "10.0.0.3,10.0.0.2"},
			"203.0.113.9",
		},
		{"all hops trusted", trusted, "10.0.0.1:1", []string{"10.0.0.4, 10.0.0.3", "10.0.0.2"}, "10.0.0.4"},
		{"malformed hop", trusted, "10.0.0.1:1", []string{"203.0.113.9, nonsense, 10.0.0.2"}, "10.0.0.2"},
		{"malformed right-most hop", trusted, "10.0.0.1:1", []string{"203.0.113.9, unknown"}, "10.0.0.1"},
		{"empty header", trusted, "10.0.0.1:1", []string{""}, "10.0.0.1"},
		{"empty hop", trusted, "10.0.0.1:1", []string{"203.0.113.9,,10.0.0.2"}, "10.0.0.2"},
		{"empty value to the right", trusted, "10.0.0.1:1", []string{"203.0.113.9", ""}, "10.0.0.1"},
		{"port", trusted, "10.0.0.1:1", []string{"203.0.113.9:5"}, "203.0.113.9"},
		{"wrong port", trusted, "10.0.0.1:1", []string{"203.0.113.9:99999"}, "10.0.0.1"},
		{"proxy hop with a port", trusted, "10.0.0.1:1", []string{"203.0.113.9:5, 10.0.0.2:80"}, "203.0.113.9"},
		{"IPv6", trusted, "[2001:db8:1::1]:443", []string{"2001:db8:9::1"}, "2001:db8:9::1"},
		{"IPv6 in brackets", trusted, "[2001:db8:1::1]:443", []string{"[2001:db8:9::1]"}, "2001:db8:9::1"},
		{"IPv6 with a port", trusted, "[2001:db8:1::1]:443", []string{"[2001:db8:9::1]:80"}, "2001:db8:9::1"},
		{"bracket left open", trusted, "10.0.0.1:1", []string{"[2001:db8:9::1"}, "10.0.0.1"},
		{"IPv4 in brackets", trusted, "10.0.0.1:1", []string{"[203.0.113.9]"}, "10.0.0.1"},
		{"mapped peer", trusted, "[::ffff:10.0.0.1]:1", []string{"203.0.113.9"}, "203.0.113.9"},
		{"mapped hops", trusted, "10.0.0.1:1", []string{"::ffff:203.0.113.9, ::ffff:10.0.0.2"}, "203.0.113.9"},
		{"mapped network", "::ffff:10.0.0.0/104", "10.0.0.1:1", []string{"203.0.113.9"}, "203.0.113.9"},
		{"zone dropped", trusted, "[fe80::1%eth0]:1", nil, "fe80::1"},
		{"zone of a proxy", "fe80::1", "[fe80::1%eth0]:1", []string{"fe80::2%lo"}, "fe80::2"},
		{"tabs and spaces", trusted, "10.0.0.1:1", []string{" \t203.0.113.9\t , 10.0.0.2 "}, "203.0.113.9"},
		{"peer without a port", trusted, "10.0.0.1", []string{"203.0.113.9"}, "203.0.113.9"},
		{"unix socket", "", "@", []string{"203.0.113.9"}, "203.0.113.9"},
		{"forged behind a unix socket", "", "@", []string{"198.51.100.1", "198.51.100.2, 203.0.113.9"}, "203.0.113.9"},
		{"proxy behind a unix socket", trusted, "@", []string{"198.51.100.1, 203.0.113.9, 10.0.0.1"}, "203.0.113.9"},
		{"unix socket without the header", trusted, "@", nil, "invalid IP"},
		{"unix socket with a wrong header", trusted, "@", []string{"203.0.113.9, @"}, "invalid IP"},
		{"named peer", trusted, "/run/x", []string{"203.0.113.9"}, "invalid IP"},
		{"no peer, all trusted", "0.0.0.0/0,::/0", "", []string{"203.0.113.9"}, "invalid IP"},
		{"no further than 50 hops", trusted, "10.0.0.1:1",
			[]string{"203.0.113.9" + strings.Repeat(",10.0.0.3", 1000) + strings.Repeat(",10.0.0.2", 49)}, "10.0.0.3"},
		{"50 hops", trusted, "10.0.0.1:1", []string{"203.0.113.9" + strings.Repeat(",10.0.0.2", 49)}, "203.0.113.9"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := proxies(t, tt.trusted).ClientIP(tt.peer, tt.forwarded)
			if got.String() != tt.want {
				t.Errorf("got %v, want %s", got, tt.want)
			}
		})
	}
}

func TestParseProxies(t *testing.T) {
	for s, want := range map[string]string{
		"":                               "[]",
		" ":                              "[]",
		"10.1.2.3/8":                     "[10.0.0.0/8]",
		"10.0.0.1,::1":                   "[10.0.0.1/32 ::1/128]",
		"::ffff:10.0.0.1, ::ffff:0:0/96": "[10.0.0.1/32 0.0.0.0/0]",
	} {
		if got := fmt.Sprint(proxies(t, s)); got != want {
			t.Errorf("%q: got %s, want %s", s, got, want)
		}
	}
	for _, item := range []string{
		"*", "10.0.0.0/33", "10.0.0", "10.0.0.1:80", "proxy.example", "fe80::1%eth0", "fe80::%eth0/64", "/8",
	} {
		_, err := ParseProxies("10.0.0.1, " + item)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", item)) {
			t.Errorf("%q: got error %v, want one that names it", item, err)
		}
	}
	for _, s := range []string{",", "10.0.0.1,"} {
		if _, err := ParseProxies(s); err == nil {
			t.Errorf("%q: accepted", s)
		}
	}
}

func TestForgedHeadersShareOneBucket(t *testing.T) {
	m, passed := NewMemory(newClock().now), 0
	for i := range 500 {
		forged := netip.AddrFrom4([4]byte{203, 0, byte(i >> 8), byte(i)}).String()
		addr := proxies(t, "10.0.0.0/8").ClientIP("198.51.100.1:1", []string{forged})
		if take(m, "ip:"+Key(addr), 100).Allowed {
			passed++
		}
	}
	if passed != 100 {
		t.Errorf("%d of 500 forged requests passed, want 100", passed)
	}
}

func TestKey(t *testing.T) {
	for addr, want := range map[string]string{
		"192.0.2.1":            "192.0.2.1",
		"::ffff:192.0.2.1":     "192.0.2.1",
		"2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
		"fe80::1%eth0":         "fe80::/64",
	} {
		if got := Key(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: got %q, want %q", addr, got, want)
		}
	}
	if got := Key(netip.Addr{}); got != "unknown" {
		t.Errorf("no address: got %q", got)
	}
}

func TestKeyIsTheSameAcrossA64(t *testing.T) {
	addr := netip.MustParseAddr("2001:db8:0:7::").As16()
	keys := make(map[string]bool)
	for i := range 1 << 16 {
		addr[8+i%7], addr[14], addr[15] = byte(i>>3), byte(i>>8), byte(i)
		keys[Key(netip.AddrFrom16(addr))] = true
	}
	if len(keys) != 1 {
		t.Errorf("65,536 addresses of one /64 have %d keys", len(keys))
	}
	for _, neighbour := range []string{"2001:db8:0:6:ffff:ffff:ffff:ffff", "2001:db8:0:8::"} {
		if keys[Key(netip.MustParseAddr(neighbour))] {
			t.Errorf("%s shares the key of its neighbour", neighbour)
		}
	}
}

func FuzzClientIP(f *testing.F) {
	f.Add("10.0.0.1:80", "203.0.113.9, 10.0.0.2", "[::1]:80")
	f.Add("198.51.100.1:80", "::ffff:1.2.3.4", "")
	f.Add("[fe80::1%eth0]:1", ",", "nonsense")
	f.Add("@", "[", "]")
	trusted := proxies(f, "10.0.0.0/8,fe80::/10")
	f.Fuzz(func(t *testing.T, peer, one, two string) {
		headers := []string{one, two}
		alone := Proxies(nil).ClientIP(peer, nil)
		if got := Proxies(nil).ClientIP(peer, headers); got != alone {
			t.Errorf("no proxy is trusted, but %q became %v", peer, got)
		}
		got := trusted.ClientIP(peer, headers)
		if !trusted.trusts(alone) && got != alone {
			t.Errorf("an untrusted peer %q became %v", peer, got)
		}
		if got.Is4In6() || got.Zone() != "" || Key(got) == "" {
			t.Errorf("%v is not a normal address", got)
		}
		// Hops to the left of the proxy's own are ignored.
		honest := trusted.ClientIP("10.0.0.1:1", []string{"198.51.100.1"})
		if got := trusted.ClientIP("10.0.0.1:1", []string{peer, one, two + ",198.51.100.1"}); got != honest {
			t.Errorf("forged hops made %v of %v", got, honest)
		}
	})
}
