package config_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"warranty.example/svc/internal/config"
)

// write writes a file into a temporary folder and returns its path.
func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "svcd.toml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// fileLine formats a setting as a line of a configuration file.
func fileLine(s config.Setting, v string) string {
	if s.Literal() {
		return s.Flag + " = " + strings.ReplaceAll(v, "yes", "true") + "\n"
	}
	return s.Flag + " = '" + v + "'\n"
}

func TestEverySettingInAFile(t *testing.T) {
	for _, s := range config.Table() {
		if s.Flag == config.FileFlag {
			continue
		}
		i := 0
		for samples[i].flag != s.Flag {
			i++
		}
		sample := samples[i]
		field := func(c config.Config) any { return reflect.ValueOf(c).FieldByName(sample.field).Interface() }
		path := write(t, fileLine(s, sample.one))
		want := field(mustLoad(t, map[string]string{s.Env: sample.one}, sample.with...))
		if got := field(mustLoad(t, nil, append(sample.with, "--config="+path)...)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s in the file: %v, want %v", s.Flag, got, want)
		}
		if got := field(mustLoad(t, map[string]string{"SVC_CONFIG": path}, sample.with...)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s in the file of SVC_CONFIG: %v, want %v", s.Flag, got, want)
		}
		want = field(mustLoad(t, nil, append(sample.with, "--"+s.Flag+"="+sample.two)...))
		for what, got := range map[string]config.Config{
			"flag":     mustLoad(t, nil, append(sample.with, "--config="+path, "--"+s.Flag+"="+sample.two)...),
			"variable": mustLoad(t, map[string]string{"SVC_CONFIG": path, s.Env: sample.two}, sample.with...),
		} {
			if !reflect.DeepEqual(field(got), want) {
				t.Errorf("%s: the file takes precedence over the %s: %v, want %v", s.Flag, what, field(got), want)
			}
		}
	}
}

func TestListsInAFile(t *testing.T) {
	c := mustLoad(t, nil, "--config="+write(t, "trusted-proxies = ['10.0.0.0/8', '::1']"))
	if got := c.TrustedProxies; len(got) != 2 {
		t.Error(got)
	}
}

func TestWrongFiles(t *testing.T) {
	for content, want := range map[string]string{
		"\nrate_limit = 5":                         `:2: "rate_limit" is not a setting`,
		"\n\nrate-limit = '5'":                     ":3: rate-limit: must be a whole number",
		"rate-limit = 1.5":                         ":1: rate-limit: must be a whole number",
		"rate-limit = 99999999999999999999":        ":1: not valid TOML",
		"rate-limit = 0":                           ":1: rate-limit: ",
		"demo = 'true'":                            ":1: demo: must be true or false",
		"demo = 1":                                 ":1: demo: must be true or false",
		"drain = 5":                                ":1: drain: must be a string",
		"listen = ['a:1']":                         ":1: listen: must be a string",
		"\n[listen]\nx = 1":                        ":2: listen: must be a string",
		"listen.x = 1":                             ":1: listen: must be a string",
		"\na.b.c = 1":                              `:2: "a" is not a setting`,
		"trusted-proxies = [1]":                    ":1: trusted-proxies: must be a string or a list",
		"config = 'x'":                             `:1: "config" is not a setting`,
		"demo = true\ndemo = true":                 ":2: not valid TOML",
		"database = postgres://u:hunter2@h/db":     `:1: not valid TOML at or after the key "database"`,
		"database = 'postgres://u:hunter2@h/db":    `:1: not valid TOML at or after the key "database"`,
		"database = 'mysql://u:hunter2@h/db'":      ":1: database: ",
		"\"hunter2://u@h\" = 1":                    ":1: the value is not a setting",
		"smtp = 'smtp://h'\nsmtp-file = 'hunter2'": ":2: smtp-file: ",
		"smtp-file = 'missing'":                    ":1: smtp-file: cannot open missing: ",
		"\xff = 1":                                 ":1: not valid TOML",
		"data = " + strings.Repeat("[", 1000):      ":1: not valid TOML",
		strings.Repeat("#", 2<<20):                 " is larger than 1 MiB",
		strings.Repeat("x", 1<<20) + " = 1":        " is larger than 1 MiB",
		strings.Repeat("x", 1<<19) + " = 1":        " is not a setting",
		"data = '" + strings.Repeat("x", 1<<19):    ":1: not valid TOML",
	} {
		path := write(t, content)
		_, err := load(t, nil, "--config="+path)
		if err == nil {
			t.Errorf("%.80q is accepted", content)
			continue
		}
		line := err.Error()
		if !strings.Contains(line, path) || !strings.Contains(line, want) || strings.Contains(line, "hunter2") ||
			strings.ContainsAny(line, "\n\r") || len(line) > 300+len(path) {
			t.Errorf("%.80q: %.300q, want %q", content, line, want)
		}
	}
	_, err := load(t, map[string]string{"SVC_CONFIG": "missing.toml"})
	checkLine(t, err, "SVC_CONFIG", "missing.toml")
	_, err = load(t, nil, "--config="+t.TempDir())
	checkLine(t, err, "--config", "a folder")
}

func TestSecretsFromFiles(t *testing.T) {
	const url = "postgres://u:hunter2@h/db"
	secret := write(t, url+"\r\n")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(secret, link); err != nil {
		t.Fatal(err)
	}
	file := write(t, "database-file = '"+secret+"'")
	for what, c := range map[string]config.Config{
		"flag":                    mustLoad(t, nil, "--database-file="+secret),
		"link":                    mustLoad(t, nil, "--database-file="+link),
		"variable":                mustLoad(t, map[string]string{"SVC_DATABASE_FILE": secret}),
		"file":                    mustLoad(t, nil, "--config="+file),
		"flag over variable":      mustLoad(t, map[string]string{"SVC_DATABASE": "x.db"}, "--database-file="+secret),
		"variable over file":      mustLoad(t, map[string]string{"SVC_DATABASE": url}, "--config="+file),
		"flag over variable file": mustLoad(t, map[string]string{"SVC_DATABASE_FILE": "missing"}, "--database="+url),
	} {
		if c.Database != url {
			t.Errorf("%s: %q", what, c.Database)
		}
	}
	if c := mustLoad(t, map[string]string{"SVC_DATABASE_FILE": secret}, "--database-file="); c.Database != "data/svc.db" {
		t.Errorf("an empty flag is not the default: %q", c.Database)
	}
	if c := mustLoad(t, nil, "--smtp-file="+write(t, "smtp://u:hunter2@h"), "--redis-file="+write(t, "redis://:hunter2@h")); c.SMTP == nil || c.Redis == nil {
		t.Error("--smtp-file or --redis-file is not read")
	}
}

func TestWrongSecretFiles(t *testing.T) {
	good := write(t, "postgres://u:hunter2@h/db")
	_, err := load(t, nil, "--database=x.db", "--database-file="+good)
	checkLine(t, err, "--database-file", "both forms")
	_, err = load(t, map[string]string{"SVC_DATABASE": "x.db", "SVC_DATABASE_FILE": good})
	checkLine(t, err, "SVC_DATABASE_FILE", "both forms")
	for _, path := range []string{
		"missing", t.TempDir(), "/dev/null", "/dev/zero", "a\nb", "postgres://u:hunter2@h/db",
		write(t, ""), write(t, "\n"), write(t, " \n"), write(t, "hunter2\nx"), write(t, "hunter2\x00"),
		write(t, "hunter2://x"), write(t, "mysql://u:hunter2@h/db"), write(t, strings.Repeat("hunter2", 1<<18)),
	} {
		_, err := load(t, nil, "--database-file="+path)
		checkLine(t, err, "--database-file", path)
		_, err = load(t, map[string]string{"SVC_DATABASE_FILE": path})
		checkLine(t, err, "SVC_DATABASE_FILE", path)
	}
}

func TestResolveNamesSourcesWithoutSecrets(t *testing.T) {
	fs := pflag.NewFlagSet("svcd", pflag.ContinueOnError)
	config.AddFlags(fs)
	path := write(t, "signup = 'closed'\nsmtp = 'smtp://u:hunter2@h'")
	if err := fs.Parse([]string{"--config=" + path, "--redis-file=" + write(t, "redis://:hunter2@h")}); err != nil {
		t.Fatal(err)
	}
	_, values, err := config.Resolve(fs, func(name string) string {
		return map[string]string{"SVC_DATABASE": "postgres://h/db?password=hunter2"}[name]
	}, "")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]config.Value{}
	for _, v := range values {
		if strings.Contains(v.Text+v.Source, "hunter2") {
			t.Errorf("%s: a secret is shown: %+v", v.Setting.Flag, v)
		}
		got[v.Setting.Flag] = v
	}
	for flag, want := range map[string]config.Value{
		"signup":   {Text: "closed", Source: path + ":1: signup"},
		"smtp":     {Text: "smtp://h", Source: path + ":2: smtp", Hidden: true},
		"redis":    {Text: "redis://h", Source: "--redis-file", Hidden: true},
		"database": {Text: "postgres://h/db", Source: "SVC_DATABASE", Hidden: true},
		"data":     {Text: "./data"},
	} {
		if v := got[flag]; v.Text != want.Text || v.Source != want.Source || v.Hidden != want.Hidden {
			t.Errorf("%s: %q %q %v", flag, v.Text, v.Source, v.Hidden)
		}
	}
}
