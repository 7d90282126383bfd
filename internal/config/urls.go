package config

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"

	"warranty.example/svc/internal/netaddr"
	"warranty.example/svc/internal/store/engine"
)

// Errors in this file never include the value, nor url.Parse's error, which does:
// the value can contain a password.

// setPublicURL stores the URL in the form of a browser's Origin header: lower case,
// without default port and trailing slash.
func setPublicURL(c *Config, v string) error {
	if v == "" {
		return errors.New("is required with --acme, and if --listen has no host and port")
	}
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("is not an absolute http or https URL, such as https://warranty.example.com")
	}
	if u.User != nil {
		return errors.New("must not contain a user or password")
	}
	if strings.Trim(u.Path, "/") != "" || strings.ContainsAny(v, "?#") {
		return errors.New("must be scheme and host only, without path, query or fragment")
	}
	host := strings.ToLower(u.Hostname())
	if !netaddr.IsIP(host) && !netaddr.IsName(host) {
		return errors.New("has an invalid host; write international names in their xn-- form")
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	port := u.Port()
	if strings.HasSuffix(u.Host, ":") || port != "" && !netaddr.IsPort(port, 0) {
		return errors.New("has an invalid port")
	}
	if port != "" && port != map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		host += ":" + port
	}
	if port == "0" && v != defaultPublicURL(*c) { // a test may listen on any port
		return errors.New("has the port 0, which no browser can open")
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil && addr.Unmap().IsUnspecified() {
		return errors.New("has the address of no machine; write the name or address that people open")
	}
	if c.HasTLS() && u.Scheme != "https" {
		return errors.New("must start with https://, because --tls-cert or --acme is set")
	}
	if c.ACME && (netaddr.IsIP(host) || !strings.Contains(strings.Trim(host, "."), ".")) {
		return errors.New("must have a public host name, because of --acme")
	}
	c.PublicURL = u.Scheme + "://" + host
	return nil
}

// WithDatabase returns the settings with another database.
func (c Config) WithDatabase(database string) (Config, error) {
	c.Database = database
	return c, checkDatabase(database)
}

// isPlainPath reports whether a database is a path and not a URL without its scheme, which would have a password.
func isPlainPath(v string) bool {
	if !strings.ContainsAny(v, "@:") {
		return true
	}
	isDrive := len(v) > 2 && v[1] == ':' && (v[2] == '\\' || v[2] == '/') // of Windows
	return isDrive || strings.HasPrefix(v, "./") || strings.HasPrefix(v, "../") ||
		strings.HasPrefix(v, "/") && !strings.HasPrefix(v, "//")
}

func checkDatabase(v string) error {
	if !engine.IsPostgres(v) {
		if strings.Contains(v, "://") {
			return errors.New("must be a file path or start with postgres://")
		}
		if strings.Contains(v, "host=") || strings.Contains(v, "password=") {
			return errors.New("must be a URL such as postgres://user:password@host/name")
		}
		if !isPlainPath(v) {
			return errors.New("must be a file path or start with postgres://; write a path with @ or : as ./path")
		}
		if strings.HasPrefix(v, "file:") || strings.HasPrefix(v, ":") || strings.HasSuffix(v, "/") {
			return errors.New("is not a file path")
		}
		return checkPath(v)
	}
	_, err := engine.ParsePostgres(v)
	return err
}
