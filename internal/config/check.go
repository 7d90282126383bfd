package config

import (
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// maxRate prevents overflows in the limiters.
const maxRate = 1_000_000_000

// text stores a string if check accepts it.
func text(check func(string) error, field func(*Config) *string) func(*Config, string) error {
	return func(c *Config, v string) error {
		if err := check(v); err != nil {
			return err
		}
		*field(c) = v
		return nil
	}
}

// optional is like text, but accepts an empty value.
func optional(check func(string) error, field func(*Config) *string) func(*Config, string) error {
	store := text(check, field)
	return func(c *Config, v string) error {
		if v == "" {
			return nil
		}
		return store(c, v)
	}
}

// whole stores an integer of at least lowest.
func whole(lowest int, field func(*Config) *int) func(*Config, string) error {
	return func(c *Config, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < lowest || n > maxRate {
			return fmt.Errorf("%s is not a whole number from %d to %d", shown(v), lowest, maxRate)
		}
		*field(c) = n
		return nil
	}
}

// maxDuration is longer than any supervisor waits.
const maxDuration = 10 * time.Minute

// duration stores a duration from 0 to maxDuration.
func duration(field func(*Config) *time.Duration) func(*Config, string) error {
	return func(c *Config, v string) error {
		d, err := time.ParseDuration(v)
		if err != nil || d < 0 || d > maxDuration {
			return fmt.Errorf("%s is not a duration from 0s to 10m, such as 5s", shown(v))
		}
		*field(c) = d
		return nil
	}
}

// choice stores a boolean.
func choice(field func(*Config) *bool) func(*Config, string) error {
	return func(c *Config, v string) error {
		switch strings.ToLower(v) {
		case "true", "1", "yes":
			*field(c) = true
		case "false", "0", "no":
			*field(c) = false
		default:
			return fmt.Errorf("%s is neither true nor false", shown(v))
		}
		return nil
	}
}

func setSignup(c *Config, v string) error {
	if v != "open" && v != "closed" {
		return fmt.Errorf("%s is neither open nor closed", shown(v))
	}
	c.SignupClosed = v == "closed"
	return nil
}

func checkListen(v string) error {
	host, port, err := net.SplitHostPort(v)
	if err != nil || !validPort(port, 0) {
		return fmt.Errorf("%s is not host:port, such as 127.0.0.1:8080", shown(v))
	}
	if _, err := netip.ParseAddr(host); host != "" && err != nil && !validName(host) {
		return fmt.Errorf("%s does not start with an IP address or a host name", shown(v))
	}
	return nil
}

// setAdminListen accepts loopback addresses only, because metrics and profiles are
// served without authentication.
func setAdminListen(c *Config, v string) error {
	if v == "" {
		return nil
	}
	if err := checkListen(v); err != nil {
		return err
	}
	host, port, _ := net.SplitHostPort(v)
	if !isLoopback(host) {
		return fmt.Errorf("%s is not a loopback address, such as 127.0.0.1:8081", shown(v))
	}
	if v == c.Listen && port != "0" {
		return fmt.Errorf("%s is already used by --listen; use another port", shown(v))
	}
	c.AdminListen = v
	return nil
}

func checkPath(v string) error {
	if strings.ContainsFunc(v, unicode.IsControl) {
		return errors.New("contains a control character")
	}
	if strings.Contains(v, "://") {
		return errors.New("must be a path, not a URL")
	}
	return nil
}

func checkProxies(v string) error {
	for item := range strings.SplitSeq(v, ",") {
		item = strings.TrimSpace(item)
		addr, addrErr := netip.ParseAddr(item)
		_, prefixErr := netip.ParsePrefix(item)
		if (addrErr != nil || addr.Zone() != "") && prefixErr != nil {
			return fmt.Errorf("%s is neither an IP address nor a network such as 10.0.0.0/8", shown(item))
		}
	}
	return nil
}

func checkMailFrom(v string) error {
	if _, err := mail.ParseAddress(v); err != nil || strings.ContainsFunc(v, unicode.IsControl) {
		return fmt.Errorf("%s is not an email address, such as warranty@example.com", shown(v))
	}
	return nil
}

// setSecurityContact accepts an https:// URL or an email address, which it stores as
// a mailto: URL for security.txt (RFC 9116).
func setSecurityContact(c *Config, v string) error {
	wrong := errors.New("is neither an email address nor an https:// URL")
	switch u, err := url.Parse(v); {
	case v == "":
		return nil
	case strings.ContainsFunc(v, unicode.IsControl) || strings.Contains(v, " "):
		return wrong
	case err == nil && u.Scheme == "https":
		if !validName(u.Hostname()) || u.User != nil {
			return wrong
		}
		c.SecurityContact = v
		return nil
	}
	v = strings.TrimPrefix(v, "mailto:")
	if a, err := mail.ParseAddress(v); err != nil || a.Address != v || a.Name != "" {
		return wrong
	}
	c.SecurityContact = "mailto:" + v
	return nil
}

// validPort reports whether port is a number from lowest to 65535.
func validPort(port string, lowest uint64) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n >= lowest
}

// validName reports whether host is a valid DNS name. Such names never need quoting
// in a URL.
func validName(host string) bool {
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

// isIP reports whether host is an IP address without a zone; zones are meaningful on
// one machine only.
func isIP(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Zone() == ""
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.Unmap().IsLoopback()
}

// shown quotes a value for an error message. It shortens long values and hides those
// that could be a URL with a password, set in the wrong place.
func shown(v string) string {
	if strings.Contains(v, "@") || strings.Contains(v, "://") {
		return "the value"
	}
	if r := []rune(v); len(r) > 60 {
		v = string(r[:60]) + "…"
	}
	return strconv.Quote(v)
}
