// Package config holds every setting of svcd: its flag, its environment
// variable, its default and what it may be, each declared once in [Table].
package config

import (
	"fmt"
	"log/slog"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Config is what svcd was told to do. Every value in it has been checked, so
// that what uses it need not doubt it. Database, Redis and SMTP may hold
// passwords: log the Config itself, which hides them, never these fields.
type Config struct {
	Listen         string // host:port, the host may be empty
	PublicURL      string // scheme://host[:port] in lower case, without a slash at the end
	Database       string // a file path, or a postgres:// URL: see IsPostgres
	Data           string // a folder
	AdoptFiles     bool   // take over another database's files
	Redis          string // empty: limits live in memory
	Demo           bool
	TrustedProxies string // comma-separated networks and addresses
	SMTP           string // empty: mail goes to the log
	MailFrom       string // an address, with or without a name
	SignupClosed   bool
	AdminListen    string // host:port on loopback; empty: no such listener
	// SecurityContact is the URL that security.txt names; empty: there is none.
	SecurityContact string

	RateLimit       int // requests a minute of a session
	MaxTokenRate    int // requests a minute that a token may be given at most
	IPRateLimit     int // requests a minute of an address, 0 for no limit
	VerifyRateLimit int // public verifications a minute of an address, 0 for no limit
	SignInRateLimit int // sign-ins a minute of an address, 0 for no limit
	SignUpRateLimit int // registrations an hour of an address, 0 for no limit
	// ConnectionsPerAddress is how many connections an address may have open, 0 for no limit.
	ConnectionsPerAddress int
	Drain                 time.Duration // how long requests are served after SIGTERM
	StorageLimit          int           // MiB of documents that a person may upload, 0 for no limit
	MailLimit             int           // mails a day to other people that an account may cause, 0 for no limit
}

// IsPostgres tells which of the two databases is meant, so that the rule for
// telling them apart is written once.
func (c Config) IsPostgres() bool { return isPostgres(c.Database) }

// AddFlags declares every setting as a flag of fs. What is given is only kept:
// Load checks it, so that a wrong flag and a wrong environment variable are
// refused in the same words.
func AddFlags(fs *pflag.FlagSet) {
	for _, s := range Table() {
		usage := fmt.Sprintf("%s (default %s) [%s]", s.Help, s.shownDefault(), s.Env)
		f := fs.VarPF(&value{kind: s.arg}, s.Flag, "", usage)
		if s.arg == boolean {
			f.NoOptDefVal = "true"
		}
	}
}

// Load reads every setting from the flags of fs and, where a flag was not
// given, from the environment. An empty value of either means the default. The
// error is one line that names where the wrong value came from and never holds
// a password.
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

// Strangers are the names in an environment that look like settings and are none.
// They are no reason to refuse: Kubernetes makes such names of its own for
// whatever is called svc, and svc reads some.
func Strangers(environ []string) []string {
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

// lookup is the setting's value as given and the name it was given under.
func (s Setting) lookup(fs *pflag.FlagSet, getenv func(string) string) (given, source string) {
	if f := fs.Lookup(s.Flag); f != nil && f.Changed {
		return strings.TrimSpace(f.Value.String()), "--" + s.Flag
	}
	if v := strings.TrimSpace(getenv(s.Env)); v != "" {
		return v, s.Env
	}
	return "", "--" + s.Flag
}

// String shows the settings without any password, so that printing a Config by
// mistake gives nothing away.
func (c Config) String() string { return c.LogValue().String() }

// GoString is String, for %#v.
func (c Config) GoString() string { return c.String() }

// LogValue shows the settings in a log without any password.
func (c Config) LogValue() slog.Value {
	c.Database, c.Redis, c.SMTP = public(c.Database), public(c.Redis), public(c.SMTP)
	v := reflect.ValueOf(c)
	attrs := make([]slog.Attr, 0, v.NumField())
	for i := range v.NumField() {
		attrs = append(attrs, slog.Any(v.Type().Field(i).Name, v.Field(i).Interface()))
	}
	return slog.GroupValue(attrs...)
}

// public keeps of a URL what may be shown: no user, and no query, where
// PostgreSQL takes a password too. A file path stays as it is.
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

// value is a flag that keeps what was given as it was given.
type value struct{ raw, kind string }

func (v *value) String() string     { return v.raw }
func (v *value) Set(s string) error { v.raw = s; return nil }
func (v *value) Type() string       { return v.kind }
