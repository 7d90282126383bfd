package config_test

import (
	"strings"
	"testing"

	"warranty.example/svc/internal/config"
)

// wrong lists invalid values of each setting.
var wrong = map[string][]string{
	"config": {"missing.toml", "testdata", "a\x00b", "http://u:hunter2@x"},
	"listen": {
		"8080", "127.0.0.1", "127.0.0.1:http", "127.0.0.1:65536", "127.0.0.1:-1", "::1:80", "a b:80",
		"https://u:hunter2@h:80", "x\ny:80", "unix:", "unix:relative", "unix:/a/../b", "unix:@abstract", "unix:/a\nb",
		"unix:/" + strings.Repeat("x", 103), "systemd:", "systemd:a\nb",
	},
	"tls-cert":       {"a\x00b", "http://u:hunter2@x"},
	"tls-key":        {"key.pem", "a\x00b"},
	"acme":           {"maybe", "2"},
	"acme-email":     {"someone", "a@b, c@d", "Ada <a@b.example>", "a@b.example\nx"},
	"acme-directory": {"ca.internal", "http://ca.internal/dir", "https://", "https://u:hunter2@ca.internal", "https://ca.internal/a\nb"},
	"http-listen":    {":80", "80", "0.0.0.0:x"},
	"socket-mode":    {"0060", "0888", "10660", "rw", "-1", "0000", "1000"},
	"public-url": {
		"example.com", "ftp://a", "https://", "/x", "https://a/x", "https://a?x", "https://a?", "https://a#x",
		"https://u@a", "https://u:hunter2@a", "https://a:99999", "https://a:x", "https://a:", "https://a\"b",
		"https://bücher.example", "https://[fe80::1%25eth0]", "https://:80", "https://a b", "https://-a",
		"https://u:hunter2@a:x", "https://a\nb",
	},
	"data": {"a\x00b", "http://u:hunter2@x"},
	"database": {
		"mysql://u:hunter2@h/db", "sqlite://x", "POSTGRES://u:hunter2@h/db", ":memory:", "host=h password=hunter2",
		"file:x.db", "dir/", "postgres://", "postgres://u:hunter2@/db", "postgres://u:hunter2#@h:x/db",
		"postgres://u:hunter2%zz@h/db", "a\x00b",
	},
	"redis": {
		"localhost:6379", "http://u:hunter2@h", "redis://", "redis://:hunter2@", "redis://:hunter2@h:0",
		"redis://:hunter2@h:99999", "redis://:hunter2@h/x", "redis://:hunter2#@h:6379", "redis://:hunter2%zz@h",
	},
	"files": {
		"/srv/files", "http://u:hunter2@h", "s3://", "s3://u:hunter2@", "s3://u:hunter2@Bucket", "s3://u:hunter2@b",
		"s3://u@bucket", "s3://:hunter2@bucket", "s3://u:@bucket", "s3://u:hunter2%zz@bucket", "s3://u:hunter2#@bucket",
		"s3://u:hunter2@bucket/a//b", "s3://u:hunter2@bucket/../b", "s3://u:hunter2@bucket/a b",
		"s3://u:hunter2@bucket?x=y", "s3://u:hunter2@bucket?region=a&region=b", "s3://u:hunter2@bucket?region=",
		"s3://u:hunter2@bucket?region=A%20b", "s3://u:hunter2@bucket?endpoint=", "s3://u:hunter2@bucket?endpoint=h:9000",
		"s3://u:hunter2@bucket?endpoint=http://10.0.0.1", "s3://bucket?endpoint=https://u:hunter2@h",
		"s3://u:hunter2@bucket?endpoint=https://h/x", "s3://u:hunter2@bucket?endpoint=https://h:0",
		"s3://u:hunter2@bucket?tls=off", "s3://u:hunter2@bucket?tls=on", "s3://u:hunter2@bucket?tls=off&endpoint=https://h",
		"s3://u:hunter2@bucket?path-style=yes", "s3://u:hunter2@bucket?credentials=iam", "s3://bucket?credentials=file",
	},
	"demo":            {"maybe", "2"},
	"adopt-files":     {"maybe", "2"},
	"signing-key":     {"a\x00b", "https://x/key.pem"},
	"secrets-key":     {"a\x00b", "https://x/secrets.key"},
	"trusted-proxies": {"10.0.0.0/33", "proxy.example", "10.0.0.1,", ",", "fe80::1%eth0", "http://u:hunter2@h"},
	"smtp": {
		"mail.example:25", "http://u:hunter2@h", "smtp://", "smtp://u:hunter2@", "smtp://u@h", "smtp://:hunter2@h",
		"smtp://u:@h", "smtp://u:hunter2@h/x", "smtp://u:hunter2@h?x=y", "smtp://u:hunter2@h?tls=on",
		"smtps://u:hunter2@h?tls=off", "smtp://u:hunter2@h?tls=off&x=y", "smtp://u:hunter2@h:x", "smtp://u:hunter2@h:",
		"smtp://u:hunter2/@h:25", "smtp://u:hunter2%zz@h",
	},
	"mail-from":               {"warranty", "a@b, c@d", "<hunter2@", "a@b\r\nBcc: c@d", "smtp://u:hunter2@h"},
	"signup":                  {"maybe", "Open", "true"},
	"require-two-step":        {"some", "All", "true"},
	"rate-limit":              {"0", "-1", "x", "1.5", "99999999999999999999", "2000000000"},
	"max-token-rate":          {"0", "-1", "x"},
	"storage-limit":           {"-1", "1.5", "1G"},
	"ip-rate-limit":           {"-1", "x"},
	"verify-rate-limit":       {"-1", "x"},
	"sign-in-rate-limit":      {"-1", "x"},
	"sign-up-rate-limit":      {"-1", "x"},
	"connections-per-address": {"-1", "x", "1.5"},
	"drain":                   {"-1s", "x", "5", "11m", "1h"},
	"admin-listen": {
		"0.0.0.0:9", ":9", "192.0.2.1:9", "[::]:9", "example.com:9", "9", "127.0.0.1:8080", "localhost.example:9",
	},
	"log-level":                {"trace", "INFO", "0", "info,debug"},
	"oauth-metadata-documents": {"yes", "OFF", "false"},

	"log-format": {"xml", "JSON", "true"},
	"mail-limit": {"-1", "x", "1.5"}, "organization-limit": {"-1", "x", "1.5"},
	"security-contact": {
		"someone", "http://w.example", "https://", "https://u:hunter2@w.example", "a@b, c@d", "Ada <a@b.example>",
		"a@b.example\nExpires: x", "ftp://w.example",
	},
}

func TestWrongValues(t *testing.T) {
	for _, s := range config.Table() {
		if len(wrong[s.Flag]) == 0 {
			t.Errorf("no wrong value of --%s is tried", s.Flag)
		}
		for _, v := range wrong[s.Flag] {
			_, err := load(t, nil, "--"+s.Flag+"="+v)
			checkLine(t, err, "--"+s.Flag, v)
			_, err = load(t, map[string]string{s.Env: v})
			checkLine(t, err, s.Env, v)
		}
	}
}

// checkLine fails unless err is one line that starts with source.
func checkLine(t *testing.T, err error, source, v string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s takes %q", source, v)
		return
	}
	line := err.Error()
	if !strings.HasPrefix(line, source+": ") || strings.ContainsAny(line, "\r\n\x00") || len(line) > 250 {
		t.Errorf("%s = %q: not one line that starts with its name: %q", source, v, line)
	}
	if strings.Contains(line, "hunter2") {
		t.Errorf("%s = %q: the password is shown: %q", source, v, line)
	}
}

func TestLongValueIsCut(t *testing.T) {
	v := strings.Repeat("ä", 10_000)
	_, err := load(t, nil, "--listen="+v)
	checkLine(t, err, "--listen", "a long value")
}

func TestSettingsThatContradict(t *testing.T) {
	const cert, key = "--tls-cert=c", "--tls-key=k"
	for _, c := range []struct {
		source string
		args   []string
	}{
		{"--tls-key", []string{cert}},
		{"--tls-key", []string{key}},
		{"--tls-cert", []string{cert, key, "--listen=unix:/s", "--public-url=https://w.example"}},
		{"--public-url", []string{cert, key, "--public-url=http://w.example"}},
		{"--http-listen", []string{"--http-listen=:80"}},
		{"--acme", []string{cert, key, "--acme", "--public-url=https://w.example"}},
		{"--acme", []string{"--acme", "--listen=unix:/s", "--public-url=https://w.example"}},
		{"--public-url", []string{"--acme"}},
		{"--public-url", []string{"--acme", "--public-url=http://w.example"}},
		{"--public-url", []string{"--acme", "--public-url=https://192.0.2.1"}},
		{"--public-url", []string{"--acme", "--public-url=https://localhost"}},
		{"--http-listen", []string{cert, key, "--listen=:443", "--http-listen=:443"}},
	} {
		_, err := load(t, nil, c.args...)
		checkLine(t, err, c.source, strings.Join(c.args, " "))
	}
}
