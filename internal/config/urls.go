package config

import (
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Errors in this file never include the value, nor url.Parse's error, which does:
// the value can contain a password.

// setPublicURL stores the URL in the form of a browser's Origin header: lower case,
// without default port and trailing slash.
func setPublicURL(c *Config, v string) error {
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
	if !isIP(host) && !validName(host) {
		return errors.New("has an invalid host; write international names in their xn-- form")
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	port := u.Port()
	if strings.HasSuffix(u.Host, ":") || port != "" && !validPort(port, 0) {
		return errors.New("has an invalid port")
	}
	if port != "" && port != map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		host += ":" + port
	}
	c.PublicURL = u.Scheme + "://" + host
	return nil
}

// isPostgres reports whether v is a PostgreSQL URL.
func isPostgres(v string) bool {
	return strings.HasPrefix(v, "postgres://") || strings.HasPrefix(v, "postgresql://")
}

func checkDatabase(v string) error {
	if !isPostgres(v) {
		if strings.Contains(v, "://") {
			return errors.New("must be a file path or start with postgres://")
		}
		if strings.Contains(v, "host=") || strings.Contains(v, "password=") {
			return errors.New("must be a URL such as postgres://user:password@host/name")
		}
		if strings.HasPrefix(v, "file:") || strings.HasPrefix(v, ":") || strings.HasSuffix(v, "/") {
			return errors.New("is not a file path")
		}
		return checkPath(v)
	}
	u, err := url.Parse(v)
	if err != nil {
		return errPassword
	}
	if u.Host == "" && u.Query().Get("host") == "" {
		return errors.New("has no host")
	}
	if _, err := pgxpool.ParseConfig(v); err != nil {
		return errors.New("is not a valid PostgreSQL URL; check the parameters after the ?")
	}
	return nil
}

func checkRedis(v string) error {
	u, err := server(v, "redis", "rediss")
	if err != nil {
		return err
	}
	if number := strings.Trim(u.Path, "/"); number != "" {
		if _, err := strconv.ParseUint(number, 10, 16); err != nil {
			return errors.New("must end with the number of a database, such as /0, or with nothing")
		}
	}
	return nil
}

func checkSMTP(v string) error {
	u, err := server(v, "smtp", "smtps")
	if err != nil {
		return err
	}
	if strings.Trim(u.Path, "/") != "" || strings.Contains(v, "#") || strings.Contains(v, "?") && u.RawQuery != "tls=off" {
		return errors.New("must end after host and port, or with ?tls=off")
	}
	if u.RawQuery != "" && u.Scheme != "smtp" {
		return errors.New("has ?tls=off, which smtps:// contradicts")
	}
	if u.User == nil {
		return nil
	}
	if password, _ := u.User.Password(); u.User.Username() == "" || password == "" {
		return errors.New("needs both user and password, or neither")
	}
	return nil
}

// errPassword is for a URL that cannot be read at all, which mostly is a
// password with a character that means something in URLs.
var errPassword = errors.New("is not a valid URL; write special characters of the password as %xx")

// server reads the URL of a server under one of two schemes.
func server(v, scheme, other string) (*url.URL, error) {
	if !strings.HasPrefix(v, scheme+"://") && !strings.HasPrefix(v, other+"://") {
		return nil, errors.New("must start with " + scheme + ":// or " + other + "://")
	}
	u, err := url.Parse(v)
	if err != nil {
		return nil, errPassword
	}
	if host := u.Hostname(); !isIP(host) && !validName(host) {
		return nil, errors.New("names no valid host")
	}
	if strings.HasSuffix(u.Host, ":") || u.Port() != "" && !validPort(u.Port(), 1) {
		return nil, errors.New("has no valid port")
	}
	return u, nil
}
