// Package config declares the settings of svcd, each with its flag, environment
// variable, default and validation, in [Table].
package config

import (
	"fmt"
	"log/slog"
	netmail "net/mail"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"warranty.example/svc/internal/limit"
	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store/engine"
)

// Config holds the parsed settings. Database can contain a password: log the Config
// itself, which hides it, never this field.
type Config struct {
	Listen         string             // host:port, the host may be empty
	PublicURL      string             // scheme://host[:port] in lower case, without a trailing slash
	Database       string             // a file path, or a postgres:// URL; see IsPostgres
	Data           string             // a folder
	AdoptFiles     bool               // take over another database's files
	Redis          *limit.RedisServer // nil: limits are counted in memory
	Demo           bool
	TrustedProxies limit.Proxies
	SMTP           *mail.Server // nil: emails are logged
	MailFrom       *netmail.Address
	SignupClosed   bool
	AdminListen    string // host:port on loopback; empty: disabled
	// SecurityContact is the URL shown in security.txt; empty: none.
	SecurityContact string

	// A limit of 0 means no limit.
	RateLimit       int // requests per minute and session, at least 1
	MaxTokenRate    int // highest rate limit of a token, at least 1
	IPRateLimit     int // requests per minute and IP address
	VerifyRateLimit int // public verifications per minute and IP address
	SignInRateLimit int // sign-ins per minute and IP address
	SignUpRateLimit int // registrations per hour and IP address

	ConnectionsPerAddress int           // open connections per IP address
	Drain                 time.Duration // how long requests are served after SIGTERM
	StorageLimit          int           // MiB of documents per user
	MailLimit             int           // emails to other people per account and day
}

// IsPostgres reports whether Database is a PostgreSQL URL.
func (c Config) IsPostgres() bool { return engine.IsPostgres(c.Database) }

// AddFlags declares every setting as a flag of fs. The flags accept any value. Load
// validates them, so that flags and environment variables give the same errors.
func AddFlags(fs *pflag.FlagSet) {
	for _, s := range Table() {
		usage := fmt.Sprintf("%s (default %s) [%s]", s.Help, s.shownDefault(), s.Env)
		f := fs.VarPF(&value{kind: s.arg}, s.Flag, "", usage)
		if s.arg == boolean {
			f.NoOptDefVal = "true"
		}
	}
}

// Load reads every setting from its flag in fs or, if the flag is not set, from the
// environment. An empty value means the default. The error is one line that names
// the flag or variable and never contains a password.
func Load(fs *pflag.FlagSet, getenv func(string) string) (Config, error) {
	var c Config
	for _, s := range Table() {
		given, source := s.lookup(fs, getenv)
		if given == "" {
			given = s.initial(c)
		}
		if err := s.set(&c, given); err != nil {
			return Config{}, fmt.Errorf("%s: %w", source, err)
		}
	}
	return c, nil
}

// UnknownVars lists the SVC_ variables that are not settings. They are not an error,
// because svc reads some and Kubernetes sets others for a Service named svc.
func UnknownVars(environ []string) []string {
	known := map[string]bool{"SVC_API_KEY": true, "SVC_API_KEY_FILE": true, "SVC_BASE_URL": true}
	for _, s := range Table() {
		known[s.Env] = true
	}
	var names []string
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "SVC_") && !known[name] {
			names = append(names, name)
		}
	}
	return names
}

// lookup returns the given value, "" if there is none, and its flag or variable.
func (s Setting) lookup(fs *pflag.FlagSet, getenv func(string) string) (given, source string) {
	if f := fs.Lookup(s.Flag); f != nil && f.Changed {
		return strings.TrimSpace(f.Value.String()), "--" + s.Flag
	}
	if v := strings.TrimSpace(getenv(s.Env)); v != "" {
		return v, s.Env
	}
	return "", "--" + s.Flag
}

// String formats the settings without passwords.
func (c Config) String() string { return c.LogValue().String() }

// GoString is String, for %#v.
func (c Config) GoString() string { return c.String() }

// LogValue implements slog.LogValuer. It hides passwords.
func (c Config) LogValue() slog.Value {
	c.Database = public(c.Database)
	v := reflect.ValueOf(c)
	attrs := make([]slog.Attr, 0, v.NumField())
	for i := range v.NumField() {
		attrs = append(attrs, slog.String(v.Type().Field(i).Name, fmt.Sprint(v.Field(i).Interface())))
	}
	return slog.GroupValue(attrs...)
}

// public removes the user and the query from a URL; a PostgreSQL query can contain
// a password. File paths are returned unchanged.
func public(raw string) string {
	if !strings.Contains(raw, "://") {
		return raw
	}
	u, err := url.Parse(raw)
	if err != nil {
		return "(hidden)"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// value is a flag that stores its argument as is.
type value struct{ raw, kind string }

func (v *value) String() string     { return v.raw }
func (v *value) Set(s string) error { v.raw = s; return nil }
func (v *value) Type() string       { return v.kind }
