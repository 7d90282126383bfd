package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"warranty.example/svc/internal/testenv"
)

// TestCommandsCreateNoDatabase: commands on accounts leave a database that is not svcd's as it is.
func TestCommandsCreateNoDatabase(t *testing.T) {
	t.Parallel()
	dir, database := t.TempDir(), "--database="+testenv.Postgres(t)
	for _, args := range [][]string{{"list"}, {"disable", "a@people.example"}, {"tokens", "a@people.example"}, {"list"}} {
		refuseSvcd(t, 2, "svcd has not been started with this database yet", dir, append([]string{"user", database}, args...)...)
	}
}

// TestDoctorChecksTheCertificate expects what a start or a browser would complain about, and the names of
// files with secrets that others can read.
func TestDoctorChecksTheCertificate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key, certs := certificates(t, 1)
	other, _ := certificates(t, 0)
	doctor := func(want, host, cert, key string, args ...string) {
		t.Helper()
		out, _ := runSvcd(t, dir, append([]string{"doctor", "--public-url=https://" + host, "--tls-cert=" + cert, "--tls-key=" + key}, args...)...)
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	doctor("ok      tls       valid for w.example until ", "w.example", certs[0], key)
	doctor("failed  tls       x509: certificate is valid for w.example, not v.example", "v.example", certs[0], key)
	doctor("failed  tls       cannot open", "w.example", filepath.Join(dir, "missing"), key)
	doctor("are not a certificate and its key", "w.example", certs[0], other)

	secret := filepath.Join(dir, "redis")
	writeFile(t, secret, "redis://user:password@127.0.0.1:1\n")
	private := []string{"--redis-file=" + secret}
	doctor("ok      settings  valid\n", "w.example", certs[0], key, private...)
	for _, path := range []string{secret, key} {
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	doctor("every user of this machine can read the secrets in "+key+", "+secret+"\n", "w.example", certs[0], key, private...)
}
