// Package config declares the settings of svcd, each with its flag, environment
// variable, default and validation, in [Table].
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	netmail "net/mail"
	"net/url"
	"os"
	"reflect"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/limit"
	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store/engine"
)

// Config holds the parsed settings. Database can contain a password: log the Config
// itself, which hides it, never this field.
type Config struct {
	ConfigFile     string             // empty: none
	Listen         string             // host:port with an optional host, or see package listen
	SocketMode     fs.FileMode        // of a Unix socket
	TLSCert        string             // path of a PEM file; empty: no TLS
	TLSKey         string             // path of a PEM file
	ACME           bool               // obtain the certificate by ACME
	ACMEEmail      string             // empty: none
	ACMEDirectory  string             // URL of the certificate authority
	HTTPListen     string             // like Listen; empty: disabled
	PublicURL      string             // scheme://host[:port] in lower case, without a trailing slash
	Database       string             // a file path, or a postgres:// URL; see IsPostgres
	Data           string             // a folder
	S3             *files.S3          // nil: the document files are in Data
	AdoptFiles     bool               // take over another database's files
	SigningKey     string             // path of a PEM file; empty: no certificates
	SecretsKey     string             // path of a file; empty: nothing can be sealed
	Redis          *limit.RedisServer // nil: limits are counted in memory
	Demo           bool
	TrustedProxies limit.Proxies
	SMTP           *mail.Server // nil: emails are logged
	MailFrom       *netmail.Address
	Signup         string // open, closed, or empty for what was chosen at the set-up
	RequireTwoStep string // operators, all, or empty for nobody
	AdminListen    string // host:port on loopback; empty: disabled
	// SecurityContact is the URL shown in security.txt; empty: none.
	SecurityContact string

	LogLevel slog.Level
	LogText  bool // write the log as text instead of JSON

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
	MailLimit             int           // new people whom a person may email per day
	OrganizationLimit     int           // organizations per person
	NoMetadataDocuments   bool          // OAuth clients are not described by documents
}

// HasTLS reports whether the service speaks HTTPS.
func (c Config) HasTLS() bool { return c.TLSCert != "" || c.ACME }

// IsPostgres reports whether Database is a PostgreSQL URL.
func (c Config) IsPostgres() bool { return engine.IsPostgres(c.Database) }

// AddFlags declares every setting as a flag of fs. The flags accept any value. Load
// validates them, so that all sources give the same errors.
func AddFlags(fs *pflag.FlagSet) {
	for _, s := range Table() {
		usage := fmt.Sprintf("%s (default %s) [%s]", s.Help, s.shownDefault(), s.Env)
		f := fs.VarPF(&value{kind: s.arg}, s.Flag, "", usage)
		if s.arg == boolean {
			f.NoOptDefVal = "true"
		}
		if s.shown != nil {
			usage := fmt.Sprintf("file that contains the value of --%s [%s]", s.Flag, envOf(s.Flag+fileSuffix))
			fs.Var(&value{kind: "path"}, s.Flag+fileSuffix, usage)
		}
	}
}

// Value is the value of a setting and where it was set.
type Value struct {
	Setting Setting
	Text    string // never contains a secret
	Source  string // a flag, a variable, a line of the configuration file, or empty for the default
	Hidden  bool   // Text is not the whole value
	File    string // the file that contains it; empty if it was not read from one
}

// SystemFile is the configuration file that packages install. It is used if it exists and no other is given.
const SystemFile = "/etc/svcd/svcd.toml"

// Load reads every setting from its flag in fs, from the environment or from the
// configuration file, in this order of precedence. An empty value means the default.
// systemFile is the configuration file if it exists and no other is given; it may be empty.
// The error is one line that names the source and never contains a secret.
func Load(fs *pflag.FlagSet, getenv func(string) string, systemFile string) (Config, error) {
	c, _, err := Resolve(fs, getenv, systemFile)
	return c, err
}

// Resolve is Load that also returns the value and the source of each setting.
func Resolve(fs *pflag.FlagSet, getenv func(string) string, systemFile string) (Config, []Value, error) {
	var c Config
	var values []Value
	sources := []source{flagSource(fs), envSource(getenv)}
	for _, s := range Table() {
		given, name, file, err := s.find(sources)
		if err != nil {
			return Config{}, nil, err
		}
		v := Value{Setting: s, Text: given, Source: name, File: file}
		if given == "" {
			v.Text, v.Source = s.initial(c), ""
			if s.Flag == FileFlag && isThere(systemFile) {
				v.Text = systemFile
			}
		}
		if err := s.set(&c, v.Text); err != nil {
			return Config{}, nil, fmt.Errorf("%s: %w", name, err)
		}
		if s.shown != nil {
			hidden := s.shown(v.Text)
			v.Text, v.Hidden = hidden, hidden != v.Text
		}
		values = append(values, v)
		if s.Flag == FileFlag && c.ConfigFile != "" { // first in the table
			file, err := fileSource(c.ConfigFile)
			if err != nil && v.Source == "" {
				return Config{}, nil, fmt.Errorf("%w; give another file with --config (/dev/null for none)", err)
			}
			if err != nil {
				return Config{}, nil, fmt.Errorf("%s: %w", name, err)
			}
			sources = append(sources, file)
		}
	}
	return c, values, nil
}

// isThere reports whether there may be a file at a path. If it is not accessible, reading it reports the reason.
func isThere(path string) bool {
	_, err := os.Stat(path)
	return path != "" && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}

// source is a place where settings are given by the names of their flags.
type source struct {
	get  func(name string) (value string, given bool)
	name func(name string) string // for errors
	file string                   // the configuration file; empty for flags and variables
}

func flagSource(fs *pflag.FlagSet) source {
	return source{
		get: func(name string) (string, bool) {
			f := fs.Lookup(name)
			if f == nil || !f.Changed {
				return "", false
			}
			return strings.TrimSpace(f.Value.String()), true
		},
		name: func(name string) string { return "--" + name },
	}
}

func envSource(getenv func(string) string) source {
	return source{
		get: func(name string) (string, bool) {
			v := strings.TrimSpace(getenv(envOf(name)))
			return v, v != ""
		},
		name: envOf,
	}
}

func fileSource(path string) (source, error) {
	entries, err := readFile(path)
	return source{
		get: func(name string) (string, bool) {
			return entries[name].value, entries[name].value != ""
		},
		name: func(name string) string { return fmt.Sprintf("%s:%d: %s", path, entries[name].line, name) },
		file: path,
	}, err
}

// find returns the value in the first source that has one, "" if none does, its name for
// errors, and the file that it was read from. A secret can also be in a file that the
// source names.
func (s Setting) find(sources []source) (given, name, file string, err error) {
	for _, from := range sources {
		given, plain := from.get(s.Flag)
		name := from.name(s.Flag)
		if s.shown == nil {
			if plain {
				return given, name, from.file, nil
			}
			continue
		}
		path, inFile := from.get(s.Flag + fileSuffix)
		switch fileName := from.name(s.Flag + fileSuffix); {
		case plain && inFile:
			return "", "", "", fmt.Errorf("%s: %s is also set; remove one of them", fileName, name)
		case plain || inFile && path == "":
			return given, name, from.file, nil
		case inFile:
			if given, err = ReadSecret(path); err != nil {
				return "", "", "", fmt.Errorf("%s: %w", fileName, err)
			}
			return given, fileName, path, nil
		}
	}
	return "", "--" + s.Flag, "", nil
}

// envOf returns the environment variable of a flag.
func envOf(flag string) string {
	return "SVC_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// UnknownVars lists the SVC_ variables that are not settings. They are not an error,
// because svc reads some and Kubernetes sets others for a Service named svc.
func UnknownVars(environ []string) []string {
	known := map[string]bool{"SVC_API_KEY": true, "SVC_API_KEY_FILE": true, "SVC_BASE_URL": true, "SVC_ACCOUNT": true}
	for _, s := range Table() {
		known[s.Env] = true
		known[envOf(s.Flag+fileSuffix)] = s.shown != nil
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

// Misspelled returns an error for the first of these unknown variables that is a setting but for underscores or
// hyphens, such as SVC_PUBLICURL. Kubernetes sets none of those.
func Misspelled(unknown []string) error {
	bare := func(name string) string { return strings.ToUpper(strings.NewReplacer("_", "", "-", "").Replace(name)) }
	known := map[string]string{}
	for _, s := range Table() {
		known[bare(s.Env)] = s.Env
		if s.shown != nil {
			known[bare(envOf(s.Flag+fileSuffix))] = envOf(s.Flag + fileSuffix)
		}
	}
	for _, name := range unknown {
		if right, ok := known[bare(name)]; ok {
			return fmt.Errorf("%s: is not a setting; write %s", name, right)
		}
	}
	return nil
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
