package config_test

import (
	"fmt"
	"io/fs"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"warranty.example/svc/internal/config"
)

// load runs Load with the given arguments and environment.
func load(t *testing.T, env map[string]string, args ...string) (config.Config, error) {
	t.Helper()
	fs := pflag.NewFlagSet("svcd", pflag.ContinueOnError)
	config.AddFlags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatalf("parse %q: %v", args, err)
	}
	return config.Load(fs, func(name string) string { return env[name] }, "")
}

// mustLoad is load that must not fail.
func mustLoad(t *testing.T, env map[string]string, args ...string) config.Config {
	t.Helper()
	c, err := load(t, env, args...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// samples lists for each setting its field, its default, and two other values with
// their results.
var samples = []struct {
	flag, field  string
	def          any
	one, two     string
	gotOne, got2 any      // nil: the value as given
	with         []string // flags that the values need
}{
	{flag: "config", field: "ConfigFile", def: "", one: "testdata/one.toml", two: "testdata/two.toml"},
	{flag: "listen", field: "Listen", def: "127.0.0.1:8080", one: ":80", two: "[::1]:9000"},
	{flag: "tls-cert", field: "TLSCert", def: "", one: "one.pem", two: "two.pem", with: []string{"--tls-key=key.pem"}},
	{flag: "tls-key", field: "TLSKey", def: "", one: "one.pem", two: "two.pem", with: []string{"--tls-cert=cert.pem"}},
	{
		flag:   "acme",
		field:  "ACME",
		def:    false,
		one:    "yes",
		gotOne: true,
		two:    "0",
		got2:   false,
		with:   []string{"--public-url=https://w.example"},
	},
	{flag: "acme-email", field: "ACMEEmail", def: "", one: "a@w.example", two: "b@w.example"},
	{
		flag:  "acme-directory",
		field: "ACMEDirectory",
		def:   "https://acme-v02.api.letsencrypt.org/directory",
		one:   "https://ca.internal/acme/directory",
		two:   "https://ca.internal:9000/dir",
	},
	{
		flag:  "http-listen",
		field: "HTTPListen",
		def:   "",
		one:   ":80",
		two:   "unix:/run/http",
		with:  []string{"--tls-cert=cert.pem", "--tls-key=key.pem"},
	},
	{
		flag:   "socket-mode",
		field:  "SocketMode",
		def:    fs.FileMode(0o660),
		one:    "600",
		gotOne: fs.FileMode(0o600),
		two:    "0777",
		got2:   fs.FileMode(0o777),
	},
	{
		flag:   "public-url",
		field:  "PublicURL",
		def:    "http://127.0.0.1:8080",
		one:    "https://W.example.com:443/",
		gotOne: "https://w.example.com",
		two:    "http://[::1]:90",
	},
	{flag: "data", field: "Data", def: "./data", one: "/srv/a", two: "b"},
	{flag: "database", field: "Database", def: "data/svc.db", one: "/srv/x.db", two: "postgres://u:p@h1:1,h2:2/db"},
	{
		flag:   "redis",
		field:  "Redis",
		def:    "<nil>",
		one:    "redis://:pw@localhost:6379/1",
		gotOne: "redis://localhost:6379/1",
		two:    "rediss://cache",
		got2:   "rediss://cache:6379/0",
	},
	{flag: "demo", field: "Demo", def: false, one: "yes", gotOne: true, two: "0", got2: false},
	{flag: "signing-key", field: "SigningKey", def: "data/signing-key.pem", one: "/k/a.pem", gotOne: "/k/a.pem", two: "b.pem", got2: "b.pem"},
	{flag: "secrets-key", field: "SecretsKey", def: "data/secrets.key", one: "/k/a.key", gotOne: "/k/a.key", two: "b.key", got2: "b.key"},
	{flag: "adopt-files", field: "AdoptFiles", def: false, one: "yes", gotOne: true, two: "0", got2: false},
	{
		flag:   "trusted-proxies",
		field:  "TrustedProxies",
		def:    "[]",
		one:    "10.0.0.0/8, ::1",
		gotOne: "[10.0.0.0/8 ::1/128]",
		two:    "192.0.2.7",
		got2:   "[192.0.2.7/32]",
	},
	{
		flag:   "smtp",
		field:  "SMTP",
		def:    "<nil>",
		one:    "smtp://me@x.example:pw@mail.example:587",
		gotOne: "smtp://mail.example:587",
		two:    "smtps://mail.example",
		got2:   "smtps://mail.example:465",
	},
	{
		flag:   "mail-from",
		field:  "MailFrom",
		def:    "<warranty@localhost>",
		one:    "a@b.example",
		gotOne: "<a@b.example>",
		two:    "Warranty <a@b.example>",
		got2:   `"Warranty" <a@b.example>`,
	},
	{flag: "require-two-step", field: "RequireTwoStep", def: "", one: "operators", gotOne: "operators", two: "all", got2: "all"},
	{flag: "signup", field: "Signup", def: "", one: "closed", gotOne: "closed", two: "open", got2: "open"},
	{flag: "rate-limit", field: "RateLimit", def: 100, one: "1", gotOne: 1, two: "2", got2: 2},
	{
		flag:   "files",
		field:  "S3",
		def:    "<nil>",
		one:    "s3://u:hunter2@bucket/a/b/?endpoint=http://10.0.0.1:9000&tls=off",
		gotOne: "s3://bucket/a/b",
		two:    "s3://bucket.example?region=eu-central-1&path-style=on&credentials=iam",
		got2:   "s3://bucket.example",
	},
	{flag: "storage-limit", field: "StorageLimit", def: 1024, one: "1", gotOne: 1, two: "0", got2: 0},
	{flag: "max-token-rate", field: "MaxTokenRate", def: 1000, one: "1", gotOne: 1, two: "2", got2: 2},
	{flag: "ip-rate-limit", field: "IPRateLimit", def: 600, one: "0", gotOne: 0, two: "2", got2: 2},
	{flag: "verify-rate-limit", field: "VerifyRateLimit", def: 30, one: "0", gotOne: 0, two: "2", got2: 2},
	{flag: "sign-in-rate-limit", field: "SignInRateLimit", def: 10, one: "0", gotOne: 0, two: "2", got2: 2},
	{flag: "sign-up-rate-limit", field: "SignUpRateLimit", def: 10, one: "0", gotOne: 0, two: "2", got2: 2},
	{flag: "connections-per-address", field: "ConnectionsPerAddress", def: 200, one: "0", gotOne: 0, two: "2", got2: 2},
	{
		flag:   "drain",
		field:  "Drain",
		def:    5 * time.Second,
		one:    "0",
		gotOne: time.Duration(0),
		two:    "1m30s",
		got2:   90 * time.Second,
	},
	{flag: "mail-limit", field: "MailLimit", def: 200, one: "1", gotOne: 1, two: "0", got2: 0},
	{flag: "organization-limit", field: "OrganizationLimit", def: 20, one: "1", gotOne: 1, two: "0", got2: 0},
	{flag: "oauth-metadata-documents", field: "NoMetadataDocuments", def: false, one: "off", gotOne: true, two: "on", got2: false},
	{
		flag:   "security-contact",
		field:  "SecurityContact",
		def:    "",
		one:    "security@w.example",
		gotOne: "mailto:security@w.example",
		two:    "https://w.example/security",
	},
	{flag: "log-level", field: "LogLevel", def: slog.LevelInfo, one: "error", gotOne: slog.LevelError, two: "debug", got2: slog.LevelDebug},
	{flag: "log-format", field: "LogText", def: false, one: "text", gotOne: true, two: "json", got2: false},
	{flag: "admin-listen", field: "AdminListen", def: "", one: "127.0.0.1:9", two: "localhost:9"},
}

func TestEverySetting(t *testing.T) {
	for _, s := range samples {
		t.Run(s.flag, func(t *testing.T) {
			field := func(c config.Config) any { return reflect.ValueOf(c).FieldByName(s.field).Interface() }
			one, two := s.gotOne, s.got2
			if one == nil {
				one = s.one
			}
			if two == nil {
				two = s.two
			}
			env := "SVC_" + strings.ToUpper(strings.ReplaceAll(s.flag, "-", "_"))
			for _, c := range []struct {
				what string
				env  map[string]string
				args []string
				want any
			}{
				{"default", nil, nil, s.def},
				{"empty variable", map[string]string{env: " "}, nil, s.def},
				{"variable", map[string]string{env: s.one}, nil, one},
				{"flag", nil, []string{"--" + s.flag + "=" + s.two}, two},
				{"flag over variable", map[string]string{env: s.one}, []string{"--" + s.flag + "=" + s.two}, two},
				{"flag over wrong variable", map[string]string{env: "\x00"}, []string{"--" + s.flag + "=" + s.two}, two},
				{"empty flag over variable", map[string]string{env: s.one}, []string{"--" + s.flag + "="}, s.def},
			} {
				if c.want != s.def {
					c.args = append(c.args, s.with...)
				}
				if got := field(mustLoad(t, c.env, c.args...)); fmt.Sprint(got) != fmt.Sprint(c.want) {
					t.Errorf("%s: %v, want %v", c.what, got, c.want)
				}
			}
		})
	}
}

// TestTableIsComplete fails if a field of Config has no setting, a setting changes no
// field, or a setting is missing from the samples above.
func TestTableIsComplete(t *testing.T) {
	fields := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[config.Config]()) {
		fields[f.Name] = true
	}
	table := config.Table()
	if len(table) != len(samples) || len(table) != len(fields) {
		t.Fatalf("%d settings, %d samples, %d fields", len(table), len(samples), len(fields))
	}
	base := reflect.ValueOf(mustLoad(t, nil))
	for _, set := range table {
		for _, s := range samples {
			if s.flag != set.Flag {
				continue
			}
			changed := reflect.ValueOf(mustLoad(t, map[string]string{set.Env: s.one}, s.with...))
			if reflect.DeepEqual(changed.FieldByName(s.field).Interface(), base.FieldByName(s.field).Interface()) {
				t.Errorf("--%s changes nothing", s.flag)
			}
			delete(fields, s.field)
		}
		if set.Help == "" || !strings.HasPrefix(set.Env, "SVC_") {
			t.Errorf("--%s is not described: %+v", set.Flag, set)
		}
	}
	if len(fields) != 0 {
		t.Errorf("no setting for %v", fields)
	}
}

func TestHelpShowsDefaultAndVariable(t *testing.T) {
	fs := pflag.NewFlagSet("svcd", pflag.ContinueOnError)
	config.AddFlags(fs)
	lines := strings.Split(fs.FlagUsages(), "\n")
	for _, s := range config.Table() {
		def := s.Default
		if def == "" {
			def = "none"
		}
		want := fmt.Sprintf("(default %s) [%s]", def, s.Env)
		found := false
		for _, line := range lines {
			found = found ||
				strings.HasPrefix(strings.TrimSpace(line), "--"+s.Flag+" ") && strings.HasSuffix(line, want)
		}
		if !found {
			t.Errorf("no line for --%s ending in %q in:\n%s", s.Flag, want, fs.FlagUsages())
		}
	}
}

func TestDerivedDefaults(t *testing.T) {
	for _, c := range []struct{ arg, field, want string }{
		{"--listen=:8080", "PublicURL", "http://localhost:8080"},
		{"--listen=0.0.0.0:80", "PublicURL", "http://localhost"},
		{"--listen=[::]:8080", "PublicURL", "http://localhost:8080"},
		{"--listen=[::ffff:0.0.0.0]:8080", "PublicURL", "http://localhost:8080"},
		{"--listen=[::1]:8080", "PublicURL", "http://[::1]:8080"},
		{"--listen=:8443 --tls-cert=c --tls-key=k", "PublicURL", "https://localhost:8443"},
		{"--listen=:443 --tls-cert=c --tls-key=k", "PublicURL", "https://localhost"},
		{"--listen=Box.lan:0", "PublicURL", "http://box.lan:0"},
		{"--data=/srv/svc", "Database", "/srv/svc/svc.db"},
		{"--public-url=https://w.example.com:8443", "MailFrom", "<warranty@w.example.com>"},
		{"--public-url=http://[::1]:80", "MailFrom", "<warranty@localhost>"},
		{"--demo", "Demo", "true"},
	} {
		got := reflect.ValueOf(mustLoad(t, nil, strings.Fields(c.arg)...)).FieldByName(c.field)
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: %s is %v, want %s", c.arg, c.field, got, c.want)
		}
	}
}

func TestIsPostgres(t *testing.T) {
	for arg, want := range map[string]bool{
		"--data=x":                          false,
		"--database=postgres":               false,
		"--database=postgres://h/db":        true,
		"--database=postgresql:///?host=/s": true,
	} {
		if got := mustLoad(t, nil, arg).IsPostgres(); got != want {
			t.Errorf("%s: %v", arg, got)
		}
	}
}

func TestPrintingHidesPasswords(t *testing.T) {
	c := mustLoad(t, nil, "--database=postgres://u:hunter2@h/db?password=hunter2", "--redis=redis://:hunter2@h",
		"--smtp=smtp://u:hunter2@h", "--files=s3://u:hunter2@bucket/x")
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("start", "config", c)
	out := fmt.Sprintf("%v %+v %#v %s %v", c, c, c, c, &c) + log.String()
	if strings.Contains(out, "hunter2") {
		t.Errorf("a password is printed: %s", out)
	}
	for _, want := range []string{"postgres://h/db", "redis://h", "smtp://h", "s3://bucket/x", "127.0.0.1:8080"} {
		if !strings.Contains(out, want) {
			t.Errorf("%s is not in %s", want, out)
		}
	}
}

func TestPublicURLIsRequiredWithoutHostAndPort(t *testing.T) {
	for _, listen := range []string{"unix:/run/svcd.sock", "systemd", "systemd:web"} {
		_, err := load(t, nil, "--listen="+listen)
		checkLine(t, err, "--public-url", "nothing")
		if c := mustLoad(t, nil, "--listen="+listen, "--public-url=https://w.example"); c.Listen != listen {
			t.Error(c.Listen)
		}
	}
}
