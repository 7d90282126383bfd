package config

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	netmail "net/mail"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/limit"
	"warranty.example/svc/internal/listen"
	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/netaddr"
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

// whole stores an integer of at least lowest.
func whole(lowest int, field func(*Config) *int) func(*Config, string) error {
	return func(c *Config, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < lowest || n > maxRate {
			return fmt.Errorf("%s is not a whole number from %d to %d", netaddr.Quote(v), lowest, maxRate)
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
			return fmt.Errorf("%s is not a duration from 0s to 10m, such as 5s", netaddr.Quote(v))
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
			return fmt.Errorf("%s is neither true nor false", netaddr.Quote(v))
		}
		return nil
	}
}

// oneOf stores whether the value is the second of two words.
func oneOf(first, second string, field func(*Config) *bool) func(*Config, string) error {
	return func(c *Config, v string) error {
		if v != first && v != second {
			return fmt.Errorf("%s is neither %s nor %s", netaddr.Quote(v), first, second)
		}
		*field(c) = v == second
		return nil
	}
}

func setSignup(c *Config, v string) error {
	var closed bool
	if v != "" {
		if err := oneOf("open", "closed", func(*Config) *bool { return &closed })(c, v); err != nil {
			return err
		}
	}
	c.Signup = v
	return nil
}

func setRequireTwoStep(c *Config, v string) error {
	if v != "" && v != "operators" && v != "all" {
		return fmt.Errorf("%s is not operators or all", netaddr.Quote(v))
	}
	c.RequireTwoStep = v
	return nil
}

func setLogLevel(c *Config, v string) error {
	level, ok := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}[v]
	if !ok {
		return fmt.Errorf("%s is not debug, info, warn or error", netaddr.Quote(v))
	}
	c.LogLevel = level
	return nil
}

// checkListen accepts host:port, a Unix socket and sockets passed by systemd.
func checkListen(v string) error {
	if listen.IsTCP(v) {
		return checkTCP(v)
	}
	if strings.ContainsFunc(v, unicode.IsControl) {
		return errors.New("contains a control character")
	}
	return listen.Check(v)
}

// setMode stores the mode of a Unix socket, in octal digits.
func setMode(c *Config, v string) error {
	mode, err := strconv.ParseUint(v, 8, 32)
	if err != nil || mode&^0o777 != 0 || mode&0o600 != 0o600 {
		return fmt.Errorf("%s is not a mode from 0600 to 0777", netaddr.Quote(v))
	}
	c.SocketMode = fs.FileMode(mode)
	return nil
}

func checkTCP(v string) error {
	host, port, err := net.SplitHostPort(v)
	if err != nil || !netaddr.IsPort(port, 0) {
		return fmt.Errorf("%s is not host:port, such as 127.0.0.1:8080", netaddr.Quote(v))
	}
	if _, err := netip.ParseAddr(host); host != "" && err != nil && !netaddr.IsName(host) {
		return fmt.Errorf("%s does not start with an IP address or a host name", netaddr.Quote(v))
	}
	return nil
}

// setAdminListen accepts loopback addresses only, because metrics and profiles are
// served without authentication.
func setAdminListen(c *Config, v string) error {
	if v == "" {
		return nil
	}
	if err := checkTCP(v); err != nil {
		return err
	}
	host, port, _ := net.SplitHostPort(v)
	if !netaddr.IsLoopback(host) {
		return fmt.Errorf("%s is not a loopback address, such as 127.0.0.1:8081", netaddr.Quote(v))
	}
	if v == c.Listen && port != "0" {
		return fmt.Errorf("%s is already used by --listen; use another port", netaddr.Quote(v))
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

func setTLSCert(c *Config, v string) error {
	if v != "" && strings.HasPrefix(c.Listen, "unix:") {
		return errors.New("cannot be used with a Unix socket; the proxy in front of it has the certificate")
	}
	c.TLSCert = v
	return checkPath(v)
}

func setTLSKey(c *Config, v string) error {
	if (v == "") != (c.TLSCert == "") {
		return errors.New("must be set together with --tls-cert")
	}
	c.TLSKey = v
	return checkPath(v)
}

func setACME(c *Config, v string) error {
	if err := choice(func(c *Config) *bool { return &c.ACME })(c, v); err != nil || !c.ACME {
		return err
	}
	if c.TLSCert != "" {
		return errors.New("cannot be used with --tls-cert")
	}
	if strings.HasPrefix(c.Listen, "unix:") {
		return errors.New("cannot be used with a Unix socket; the proxy in front of it has the certificate")
	}
	return nil
}

func setACMEEmail(c *Config, v string) error {
	if a, err := netmail.ParseAddress(v); v != "" && (err != nil || a.Address != v) {
		return errors.New("is not an email address")
	}
	c.ACMEEmail = v
	return nil
}

func setACMEDirectory(c *Config, v string) error {
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" ||
		strings.ContainsFunc(v, unicode.IsControl) || strings.Contains(v, " ") {
		return errors.New("is not an https:// URL")
	}
	c.ACMEDirectory = v
	return nil
}

func setHTTPListen(c *Config, v string) error {
	switch {
	case v == "":
		return nil
	case !c.HasTLS():
		return errors.New("requires TLS: set --tls-cert and --tls-key, or --acme")
	case v == c.Listen && !strings.HasSuffix(v, ":0"):
		return fmt.Errorf("%s is already used by --listen; use another address", netaddr.Quote(v))
	}
	c.HTTPListen = v
	return checkListen(v)
}

func setProxies(c *Config, v string) (err error) {
	if c.TrustedProxies, err = limit.ParseProxies(v); err != nil {
		return err
	}
	for _, network := range c.TrustedProxies {
		if network.Bits() == 0 {
			return fmt.Errorf("%s is every address, so that any client could claim another one; name the networks of your proxies",
				network)
		}
	}
	return nil
}

func setRedis(c *Config, v string) (err error) {
	if v != "" {
		c.Redis, err = limit.ParseRedis(v)
	}
	return err
}

func setFiles(c *Config, v string) (err error) {
	if v != "" {
		c.S3, err = files.ParseS3(v)
	}
	return err
}

func setSMTP(c *Config, v string) (err error) {
	if v != "" {
		c.SMTP, err = mail.ParseServer(v)
	}
	return err
}

func setMailFrom(c *Config, v string) (err error) {
	c.MailFrom, err = mail.ParseFrom(v)
	return err
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
		if !netaddr.IsName(u.Hostname()) || u.User != nil {
			return wrong
		}
		c.SecurityContact = v
		return nil
	}
	v = strings.TrimPrefix(v, "mailto:")
	if a, err := netmail.ParseAddress(v); err != nil || a.Address != v || a.Name != "" {
		return wrong
	}
	c.SecurityContact = "mailto:" + v
	return nil
}
