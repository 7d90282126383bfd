package e2e

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/config"
	"warranty.example/svc/internal/testenv"
)

// wrongSetting is a plausible mistake. The line of svcd must start with source and contain advice.
type wrongSetting struct {
	args   string // separated by |
	env    string // a variable
	file   string // content of a configuration file; %FILE% in source is its path
	source string
	advice string
	code   int // default 2
}

// wrongSettings lists mistakes. %KEY%, %CERT% and %OTHER% are a key, its certificate and another key; %TAKEN% is an
// address in use.
var wrongSettings = []wrongSetting{
	{args: "--public-url=warranty.example", source: "--public-url:", advice: "such as https://"},
	{args: "--public-url=localhost:8080", source: "--public-url:", advice: "such as https://"},
	{args: "--public-url=https://warranty.example/app", source: "--public-url:", advice: "without path"},
	{args: "--public-url=https://warranty.example?x=1", source: "--public-url:", advice: "without path, query"},
	{args: "--public-url=https://warranty.example#top", source: "--public-url:", advice: "fragment"},
	{args: "--public-url=ftp://warranty.example", source: "--public-url:", advice: "http or https"},
	{args: "--public-url=https://", source: "--public-url:", advice: "absolute"},
	{args: "--public-url=https:/warranty.example", source: "--public-url:", advice: "absolute"},
	{args: "--public-url=https://warranty example.com", source: "--public-url:", advice: "absolute"},
	{args: "--public-url=https://ada:canary@warranty.example", source: "--public-url:", advice: "user or password"},
	{args: "--public-url=https://warranty.example:99999", source: "--public-url:", advice: "port"},
	{args: "--public-url=https://warranty.example:0", source: "--public-url:", advice: "port 0"},
	{args: "--public-url=https://0.0.0.0:8080", source: "--public-url:", advice: "that people open"},
	{args: "--public-url=https://[::]", source: "--public-url:", advice: "that people open"},
	{args: "--public-url=https://*.example.com", source: "--public-url:", advice: "invalid host"},
	{args: "--public-url=https://grün.example", source: "--public-url:", advice: "xn--"},
	{args: "--public-url", source: "flag needs an argument: --public-url", advice: "svcd --help"},
	{env: "SVC_PUBLICURL=https://warranty.example", source: "SVC_PUBLICURL:", advice: "SVC_PUBLIC_URL"},
	{env: "SVC_PUBLIC__URL=https://warranty.example", source: "SVC_PUBLIC__URL:", advice: "SVC_PUBLIC_URL"},
	{env: "SVC_TRUSTEDPROXIES=10.0.0.1", source: "SVC_TRUSTEDPROXIES:", advice: "SVC_TRUSTED_PROXIES"},
	{env: "SVC_DATABASEFILE=/run/secrets/db", source: "SVC_DATABASEFILE:", advice: "SVC_DATABASE_FILE"},
	{env: "SVC_PUBLIC_URL=warranty.example", source: "SVC_PUBLIC_URL:", advice: "such as https://"},

	{args: "--listen=8080", source: "--listen:", advice: "host:port"},
	{args: "--listen=127.0.0.1", source: "--listen:", advice: "host:port"},
	{args: "--listen=127.0.0.1:99999", source: "--listen:", advice: "host:port"},
	{args: "--listen=127.0.0.1:-1", source: "--listen:", advice: "host:port"},
	{args: "--listen=http://127.0.0.1:8080", source: "--listen:", advice: "host:port"},
	{args: "--listen=192.0.2.1:8080", source: "--listen:", advice: "cannot listen on 192.0.2.1:8080"},
	{args: "--listen=%TAKEN%", source: "cannot listen on", advice: "choose another address with --listen", code: 1},
	{args: "--listen=unix:", source: "--listen:", advice: "absolute path"},
	{args: "--listen=unix:svcd.sock", source: "--listen:", advice: "absolute path"},
	{args: "--listen=unix:/nonexistent/s|--public-url=http://w.example", source: "--listen:", advice: "no such file"},
	{args: "--listen=unix:/tmp|--public-url=http://w.example", source: "--listen:", advice: "not a socket"},
	{args: "--listen=unix:/tmp/svcd.sock", source: "--public-url:", advice: "is required"},
	{args: "--listen=systemd|--public-url=http://w.example", source: "--listen:", advice: ".socket unit"},
	{args: "--socket-mode=rw", source: "--socket-mode:", advice: "from 0600 to 0777"},
	{args: "--socket-mode=0999", source: "--socket-mode:", advice: "from 0600 to 0777"},
	{args: "--socket-mode=0060", source: "--socket-mode:", advice: "from 0600 to 0777"},

	{args: "--tls-cert=%CERT%", source: "--tls-key:", advice: "together with --tls-cert"},
	{args: "--tls-key=%KEY%", source: "--tls-key:", advice: "together with --tls-cert"},
	{args: "--tls-cert=missing.pem|--tls-key=missing.key", source: "--tls-cert:", advice: "no such file"},
	{args: "--tls-cert=%CERT%|--tls-key=%OTHER%", source: "--tls-cert:", advice: "are not a certificate and its key"},
	{args: "--tls-cert=%KEY%|--tls-key=%CERT%", source: "--tls-cert:", advice: "are not a certificate and its key"},
	{args: "--tls-cert=/etc|--tls-key=/etc", source: "--tls-cert:", advice: "is a directory"},
	{args: "--tls-cert=%CERT%|--tls-key=%KEY%|--public-url=http://w.example", source: "--public-url:", advice: "https://"},
	{args: "--tls-cert=%CERT%|--tls-key=%KEY%|--acme", source: "--acme:", advice: "cannot be used with --tls-cert"},
	{args: "--acme", source: "--public-url:", advice: "is required with --acme"},
	{args: "--acme|--public-url=https://192.0.2.1", source: "--public-url:", advice: "public host name"},
	{args: "--acme|--public-url=https://localhost", source: "--public-url:", advice: "public host name"},
	{args: "--acme|--public-url=http://w.example", source: "--public-url:", advice: "https://"},
	{args: "--acme|true", source: "unknown command", advice: "svcd --help"},
	{args: "--acme=maybe", source: "--acme:", advice: "neither true nor false"},
	{args: "--acme-email=ops", source: "--acme-email:", advice: "email address"},
	{args: "--acme-directory=http://ca.example", source: "--acme-directory:", advice: "https://"},
	{args: "--http-listen=:80", source: "--http-listen:", advice: "requires TLS"},
	{args: "--http-listen=127.0.0.1:8443|--listen=127.0.0.1:8443|--tls-cert=%CERT%|--tls-key=%KEY%", source: "--http-listen:",
		advice: "already used by --listen"},

	{args: "--data=/etc/passwd", source: "--data:", advice: "is not a folder"},
	{args: "--data=https://w.example/data", source: "--data:", advice: "not a URL"},
	{args: "--data=/proc/nowhere", source: "cannot create the folder /proc/nowhere", advice: "with --data"},
	{args: "--database=/etc/passwd", source: "--database:", advice: "is not a SQLite database"},
	{args: "--database=/etc", source: "--database:", advice: "give the path of a file"},
	{args: "--database=redis://localhost", source: "--database:", advice: "postgres://"},
	{args: "--database=mysql://ada:canary@localhost/svc", source: "--database:", advice: "postgres://"},
	{args: "--database=postgres://", source: "--database:", advice: "has no host"},
	{args: "--database=postgres://ada:canary@localhost:99999/svc", source: "--database:", advice: "check the port"},
	{args: "--database=postgres://ada:canary@localhost/svc?sslmode=maybe", source: "--database:", advice: "after the ?"},
	{args: "--database=host=localhost password=canary", source: "--database:", advice: "postgres://user:password@host/name"},
	{args: "--database=ada:canary@localhost/svc", source: "--database:", advice: "postgres://"},
	{args: "--database=:memory:", source: "--database:", advice: "file path"},
	{args: "--database=data/", source: "--database:", advice: "file path"},
	{args: "--files=/srv/files", source: "--files:", advice: "s3://"},
	{args: "--files=s3://", source: "--files:", advice: "invalid bucket"},
	{args: "--files=s3://documents", source: "--files:", advice: "AWS_ACCESS_KEY_ID"},
	{args: "--files=s3://key@documents", source: "--files:", advice: "key"},
	{args: "--files=s3://a:canary@documents?endpoint=minio:9000", source: "--files:", advice: "https://host:port"},
	{args: "--files=s3://a:canary@documents?endpoint=http://minio.internal", source: "--files:", advice: "tls=off"},
	{args: "--files=s3://a:canary@documents?regio=x", source: "--files:", advice: "unknown parameter"},
	{args: "--files=https://documents.s3.amazonaws.com", source: "--files:", advice: "s3://"},
	{args: "--adopt-files=perhaps", source: "--adopt-files:", advice: "neither true nor false"},
	{args: "--signing-key=/etc", source: "--signing-key:", advice: "not a regular file"},
	{args: "--signing-key=/etc/passwd", source: "--signing-key:", advice: "chmod 600"},
	{args: "--signing-key=%KEY%", source: "--signing-key:", advice: "is not a signing key"},
	{args: "--signing-key=missing/key.pem", source: "--signing-key:", advice: "does not exist; create it"},
	{args: "--secrets-key=/etc", source: "--secrets-key:", advice: "not a regular file"},
	{args: "--secrets-key=/etc/passwd", source: "--secrets-key:", advice: "chmod 600"},
	{args: "--secrets-key=%KEY%", source: "--secrets-key:", advice: "is not a secrets key"},
	{args: "--secrets-key=missing/secrets.key", source: "--secrets-key:", advice: "does not exist; create it"},
	{args: "--redis=localhost:6379", source: "--redis:", advice: "redis://"},
	{args: "--redis=http://ada:canary@localhost", source: "--redis:", advice: "redis://"},
	{args: "--redis=redis://localhost/cache", source: "--redis:", advice: "database number"},
	{args: "--redis=redis://localhost:99999", source: "--redis:", advice: "port"},
	{args: "--redis=redis://localhost?colour=red", source: "--redis:", advice: "after the ?"},
	{args: "--redis-file=missing", source: "--redis-file:", advice: "no such file"},
	{args: "--redis-file=/dev/null", source: "--redis-file:", advice: "is empty"},
	{args: "--smtp=smtp://localhost|--smtp-file=/etc/passwd", source: "--smtp-file:", advice: "remove one of them"},
	{args: "--demo=perhaps", source: "--demo:", advice: "neither true nor false"},

	{args: "--trusted-proxies=nonsense", source: "--trusted-proxies:", advice: "such as 10.0.0.0/8"},
	{args: "--trusted-proxies=proxy.internal", source: "--trusted-proxies:", advice: "such as 10.0.0.0/8"},
	{args: "--trusted-proxies=0.0.0.0/0", source: "--trusted-proxies:", advice: "name the networks"},
	{args: "--trusted-proxies=10.0.0.1,::/0", source: "--trusted-proxies:", advice: "name the networks"},
	{args: "--trusted-proxies=10.0.0.0/40", source: "--trusted-proxies:", advice: "such as 10.0.0.0/8"},
	{args: "--trusted-proxies=10.0.0.1:80", source: "--trusted-proxies:", advice: "such as 10.0.0.0/8"},
	{args: "--trusted-proxies=10.0.0.1;10.0.0.2", source: "--trusted-proxies:", advice: "such as 10.0.0.0/8"},
	{args: "--smtp=mail.example:25", source: "--smtp:", advice: "smtp://"},
	{args: "--smtp=https://ada:canary@mail.example", source: "--smtp:", advice: "smtp://"},
	{args: "--smtp=smtp://mail.example:99999", source: "--smtp:", advice: "port"},
	{args: "--smtp=smtp://mail.example?tls=maybe", source: "--smtp:", advice: "?tls=off"},
	{args: "--mail-from=desk", source: "--mail-from:", advice: "such as warranty@example.com"},
	{args: "--mail-from=a@b.example, c@d.example", source: "--mail-from:", advice: "such as warranty@example.com"},
	{args: "--require-two-step=some", source: "--require-two-step:", advice: "operators"},
	{args: "--signup=true", source: "--signup:", advice: "neither open nor closed"},

	{args: "--rate-limit=0", source: "--rate-limit:", advice: "from 1"},
	{args: "--rate-limit=-1", source: "--rate-limit:", advice: "from 1"},
	{args: "--rate-limit=1e3", source: "--rate-limit:", advice: "whole number"},
	{args: "--rate-limit=99999999999999999999", source: "--rate-limit:", advice: "to 1000000000"},
	{args: "--max-token-rate=100/min", source: "--max-token-rate:", advice: "whole number"},
	{args: "--ip-rate-limit=-1", source: "--ip-rate-limit:", advice: "from 0"},
	{args: "--verify-rate-limit=none", source: "--verify-rate-limit:", advice: "whole number"},
	{args: "--sign-in-rate-limit=1.5", source: "--sign-in-rate-limit:", advice: "whole number"},
	{args: "--sign-up-rate-limit=1,000", source: "--sign-up-rate-limit:", advice: "whole number"},
	{args: "--storage-limit=1GB", source: "--storage-limit:", advice: "whole number"},
	{args: "--connections-per-address=unlimited", source: "--connections-per-address:", advice: "from 0"},
	{args: "--mail-limit=-5", source: "--mail-limit:", advice: "from 0"},
	{args: "--organization-limit=2000000000", source: "--organization-limit:", advice: "to 1000000000"},
	{args: "--drain=5", source: "--drain:", advice: "such as 5s"},
	{args: "--drain=-5s", source: "--drain:", advice: "from 0s"},
	{args: "--drain=1h", source: "--drain:", advice: "to 10m"},
	{args: "--drain=5 seconds", source: "--drain:", advice: "such as 5s"},
	{args: "--oauth-metadata-documents=true", source: "--oauth-metadata-documents:", advice: "neither on nor off"},
	{args: "--security-contact=http://w.example", source: "--security-contact:", advice: "https:// URL"},
	{args: "--log-level=verbose", source: "--log-level:", advice: "debug, info, warn or error"},
	{args: "--log-format=xml", source: "--log-format:", advice: "neither json nor text"},
	{args: "--admin-listen=0.0.0.0:8081", source: "--admin-listen:", advice: "loopback"},
	{args: "--admin-listen=8081", source: "--admin-listen:", advice: "host:port"},
	{args: "--admin-listen=%TAKEN%", source: "--admin-listen:", advice: "choose another port", code: 1},
	{args: "--admin-listen=127.0.0.1:8080|--listen=127.0.0.1:8080", source: "--admin-listen:", advice: "used by --listen"},

	{args: "--colour=red", source: "unknown flag: --colour", advice: "svcd --help"},
	{args: "serve", source: "unknown command \"serve\"", advice: "svcd --help"},
	{args: "--config=missing.toml", source: "--config:", advice: "no such file"},
	{args: "--config=/etc", source: "--config:", advice: "is a directory"},
	{file: "colour = \"red\"", source: "--config: %FILE%:1: \"colour\"", advice: "is not a setting; svcd --help"},
	{file: "public_url = \"https://w.example\"", source: "--config: %FILE%:1:", advice: "is not a setting"},
	{file: "signup = \"open\"\nsignup = \"closed\"", source: "--config: %FILE%:2:", advice: "each once"},
	{file: "public-url = https://w.example", source: "--config: %FILE%:1:", advice: "not valid TOML"},
	{file: "rate-limit = \"100\"", source: "--config: %FILE%:1: rate-limit", advice: "without quotes"},
	{file: "acme = \"true\"", source: "--config: %FILE%:1: acme", advice: "without quotes"},
	{file: "drain = 5", source: "--config: %FILE%:1: drain", advice: "in quotes"},
	{file: "\n\ndrain = \"5\"", source: "%FILE%:3: drain", advice: "such as 5s"},
	{file: "trusted-proxies = [1, 2]", source: "--config: %FILE%:1: trusted-proxies", advice: "list of strings"},
	{file: "[server]\nlisten = \"127.0.0.1:8080\"", source: "--config: %FILE%", advice: "is not a setting"},
	{file: "smtp = \"smtp://h\"\nsmtp-file = \"/etc/passwd\"", source: "%FILE%:2: smtp-file", advice: "remove one of them"},
	{file: "config = \"other.toml\"", source: "--config: %FILE%:1:", advice: "is not a setting"},
}

// TestWrongSettingsAreRefusedAndLeaveNothing starts svcd with each mistake. It must exit with one line that names the
// setting and says what is right, contain no secret and create nothing.
func TestWrongSettingsAreRefusedAndLeaveNothing(t *testing.T) {
	t.Parallel()
	key, certs := certificates(t, 1)
	other, _ := certificates(t, 0)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	fill := strings.NewReplacer("%KEY%", key, "%CERT%", certs[0], "%OTHER%", other, "%TAKEN%", taken.Addr().String())
	named := map[string]bool{}
	for _, row := range wrongSettings {
		dir, file := t.TempDir(), "/dev/null"
		args := []string{}
		if row.args != "" {
			args = strings.Split(fill.Replace(row.args), "|")
		}
		if row.file != "" {
			file = filepath.Join(t.TempDir(), "svcd.toml")
			writeFile(t, file, row.file+"\n")
		}
		if !strings.Contains(row.args, "--config=") {
			args = append(args, "--config="+file)
		}
		if !strings.Contains(row.args, "--listen=") || strings.Contains(row.args, "--admin-listen=%") {
			args = append(args, "--listen="+lab.FreeAddress(t))
		}
		if row.args == "--public-url" {
			args = args[:1]
		}
		stderr, code := runBriefly(t, dir, row.env, args...)
		what := strings.Join([]string{row.env, row.args, row.file}, " ")
		want := "svcd: " + strings.ReplaceAll(row.source, "%FILE%", file)
		if row.code == 0 {
			row.code = 2
		}
		if code != row.code || !strings.HasPrefix(stderr, want) || !strings.Contains(stderr, row.advice) ||
			strings.Count(stderr, "\n") != 1 || strings.Contains(stderr, "canary") || strings.Contains(stderr, "goroutine") {
			t.Errorf("%s: exit %d, want %d, %q and %q: %s", what, code, row.code, want, row.advice, stderr)
		}
		if left := listFolder(t, dir); len(left) != 1 {
			t.Errorf("%s: created %v", what, left[1:])
		}
		named[strings.Trim(strings.TrimLeft(strings.Split(row.source, ":")[0], "-"), " ")] = true
	}
	for _, s := range config.Table() {
		if !named[s.Flag] {
			t.Errorf("no mistake for --%s", s.Flag)
		}
	}
	if len(wrongSettings) < 80 {
		t.Errorf("%d mistakes", len(wrongSettings))
	}
	t.Logf("%d mistakes", len(wrongSettings))
}

// runBriefly runs svcd and kills it if it starts.
func runBriefly(t *testing.T, dir, env string, args ...string) (stderr string, code int) {
	t.Helper()
	cmd := exec.Command(lab.Svcd(), args...)
	var text bytes.Buffer
	cmd.Dir, cmd.Stderr, cmd.WaitDelay = dir, &text, testenv.Patience
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	if env != "" {
		cmd.Env = append(cmd.Env, env)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return text.String(), cmd.ProcessState.ExitCode()
}
