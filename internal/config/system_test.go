package config_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"warranty.example/svc/internal/config"
)

// TestTheSystemFileIsReadIfNoOtherIsGiven reads the file of packages unless a flag or a variable names another one.
func TestTheSystemFileIsReadIfNoOtherIsGiven(t *testing.T) {
	system, other := write(t, "data = '/srv/system'"), write(t, "data = '/srv/other'")
	broken, missing := write(t, "nonsense = 1"), filepath.Join(t.TempDir(), "none", "svcd.toml")
	for _, row := range []struct {
		name, file, flag, env, want, wrong string
	}{
		{name: "the system file", file: system, want: "/srv/system"},
		{name: "a flag", file: system, flag: other, want: "/srv/other"},
		{name: "a variable", file: system, env: other, want: "/srv/other"},
		{name: "no file", file: missing, want: "./data"},
		{name: "none", file: broken, flag: "/dev/null", want: "./data"},
		{name: "a broken file", file: broken, wrong: "not a setting"},
	} {
		fs := pflag.NewFlagSet("svcd", pflag.ContinueOnError)
		config.AddFlags(fs)
		var args []string
		if row.flag != "" {
			args = append(args, "--config="+row.flag)
		}
		if err := fs.Parse(args); err != nil {
			t.Fatal(err)
		}
		getenv := func(name string) string { return map[string]string{"SVC_CONFIG": row.env}[name] }
		c, err := config.Load(fs, getenv, row.file)
		switch {
		case row.wrong != "":
			if err == nil || !strings.Contains(err.Error(), row.wrong) || !strings.Contains(err.Error(), "--config") {
				t.Errorf("%s: %v", row.name, err)
			}
		case err != nil || c.Data != row.want:
			t.Errorf("%s: %q, %v", row.name, c.Data, err)
		}
	}
}

// TestADatabaseWithoutItsSchemeIsRefused rejects URLs without a scheme, which would be folders named after a password.
func TestADatabaseWithoutItsSchemeIsRefused(t *testing.T) {
	for _, value := range []string{
		"svc:hunter2@127.0.0.1:5432/svc", "svc@db.example/svc", "127.0.0.1:5432/svc", "//svc:hunter2@db/svc",
		"postgres:svc:hunter2@db/svc", "postgres:/svc:hunter2@db/svc", "mysql://svc:hunter2@db/svc", "db:5432",
	} {
		_, err := config.Config{}.WithDatabase(value)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", value, err)
		}
	}
	for _, value := range []string{"svc.db", "/srv/a@b/svc.db", "./a:b@c/svc.db", "../a@b.db", `C:\svc\svc.db`, "postgres://svc:x@db/svc"} {
		if _, err := (config.Config{}).WithDatabase(value); err != nil {
			t.Errorf("%s: %v", value, err)
		}
	}
}
