// Package netaddr checks network addresses, and the server URLs in settings. Its errors never
// contain a URL, which can include a password.
package netaddr

import (
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// ErrURL rejects a malformed URL. The usual cause is a password with special characters.
var ErrURL = errors.New("is not a valid URL; write special characters of the password as %xx")

// ParseURL parses the URL of a server. The scheme must be one of two.
func ParseURL(raw, scheme, other string) (*url.URL, error) {
	if !strings.HasPrefix(raw, scheme+"://") && !strings.HasPrefix(raw, other+"://") {
		return nil, errors.New("must start with " + scheme + ":// or " + other + "://")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, ErrURL
	}
	if host := u.Hostname(); !IsIP(host) && !IsName(host) {
		return nil, errors.New("has an invalid host")
	}
	if strings.HasSuffix(u.Host, ":") || u.Port() != "" && !IsPort(u.Port(), 1) {
		return nil, errors.New("has an invalid port")
	}
	return u, nil
}

// IsPort reports whether port is a number from lowest to 65535.
func IsPort(port string, lowest uint64) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n >= lowest
}

// IsName reports whether host is a valid DNS name. Such names never need quoting in a
// URL.
func IsName(host string) bool {
	if host == "" || len(host) > 253 {
		return false
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(host, "."), ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, r := range label {
			if r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_' {
				return false
			}
		}
	}
	return true
}

// IsIP reports whether host is an IP address without a zone; zones are meaningful on one
// machine only.
func IsIP(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Zone() == ""
}

// IsLoopback reports whether host is localhost or a loopback address.
func IsLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.Unmap().IsLoopback()
}

// notPublic are the networks in the registries of special-purpose addresses that the methods of netip.Addr do not know,
// or that lead to addresses inside them (6to4, Teredo).
var notPublic = func() (list []netip.Prefix) {
	for _, p := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "240.0.0.0/4", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
	} {
		list = append(list, netip.MustParsePrefix(p))
	}
	return list
}()

// globalIPv6 has all IPv6 addresses of the public internet.
var globalIPv6 = netip.MustParsePrefix("2000::/3")

// IsPublic reports whether addr belongs to the public internet: not to this machine, a private network, a group, or
// the metadata service of a cloud. IPv4 addresses written as IPv6 count as what they are.
func IsPublic(addr netip.Addr) bool {
	addr = addr.Unmap()
	if !addr.IsValid() || addr.Zone() != "" || !addr.IsGlobalUnicast() || addr.IsPrivate() {
		return false
	}
	if addr.Is6() && !globalIPv6.Contains(addr) {
		return false
	}
	return !slices.ContainsFunc(notPublic, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// Quote quotes a value for an error message. It shortens long values and hides those
// that could be a URL with a password, set in the wrong place.
func Quote(v string) string {
	if strings.Contains(v, "@") || strings.Contains(v, "://") {
		return "the value"
	}
	if r := []rune(v); len(r) > 60 {
		v = string(r[:60]) + "…"
	}
	return strconv.Quote(v)
}
