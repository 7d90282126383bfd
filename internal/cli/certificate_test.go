package cli

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"warranty.example/svc/warranty"
)

// TestCertificatesAreVerifiedOffline checks certificates with no service at all.
func TestCertificatesAreVerifiedOffline(t *testing.T) {
	d := newHarness(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("a request: %s %s", r.Method, r.URL) }))
	dir := t.TempDir()
	file := func(name, content string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key, err := warranty.NewSigningKey()
	if err != nil {
		t.Fatal(err)
	}
	set := func(k warranty.SigningKey, service string) string {
		encoded, err := json.Marshal(warranty.KeySet{Issuer: service, Keys: []warranty.PublicKey{k.Public()}})
		if err != nil {
			t.Fatal(err)
		}
		return string(encoded)
	}
	hash := warranty.SerialHash("HK7-0001")
	claims := warranty.CertificateClaims{
		Service:         "https://w.example",
		IssuedAt:        time.Date(2026, 11, 17, 3, 0, 0, 0, time.UTC).Unix(),
		ReferenceNumber: "WR-7K2M-9QXT-4D8P-HV3A",
		ProductName:     "Kettle \x1b[31m",
		SerialSHA256:    &hash,
		StartDate:       warranty.NewDate(2020, 1, 1),
		EndDate:         warranty.Lifetime,
		Status:          warranty.Active,
		Assurance:       warranty.IssuerVerified,
		Issuer:          &warranty.CertificateParty{Name: "Halden", Domain: "halden.example"},
	}
	sign := func(c warranty.CertificateClaims) string {
		text, err := key.Sign(c)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	good, keys := file("good.jwt", sign(claims)+"\n"), file("keys.json", set(key, "https://w.example"))
	d.want(exitOK, "verify", "--certificate", good, "--keys", keys)
	if !strings.Contains(d.stdout, `"as_of":"2026-11-17"`) || !strings.Contains(d.stdout, `"domain":"halden.example"`) ||
		!strings.Contains(d.stderr, "as of 17 Nov 2026") || strings.Contains(d.stdout, "\x1b") {
		t.Errorf("%q, %q", d.stdout, d.stderr)
	}
	d.want(exitOK, "verify", "--certificate", good, "--keys", keys, "--serial", "hk7 0001")
	d.want(exitNotInForce, "verify", "--certificate", good, "--keys", keys, "--serial", "hk7 0002")
	d.terminal = true
	d.want(exitOK, "verify", "--certificate", good, "--keys", keys, "--no-color")
	for _, part := range []string{"✓ The certificate is valid, as of 17 Nov 2026", "halden.example, calls itself “Halden”", "In force", "Issued by a verified business", "lifetime", "https://w.example"} {
		if !strings.Contains(d.stdout, part) || strings.Contains(d.stdout, "\x1b[31m") {
			t.Errorf("no %q in %q", part, d.stdout)
		}
	}
	void := claims
	void.Status = warranty.Void
	d.want(exitNotInForce, "verify", "--certificate", file("void.jwt", sign(void)), "--keys", keys)
	other, err := warranty.NewSigningKey()
	if err != nil {
		t.Fatal(err)
	}
	d.terminal = false
	flipped := []byte(sign(claims))
	flipped[len(flipped)-1] ^= 1
	for name, files := range map[string][2]string{
		"one bit":                     {file("flipped.jwt", string(flipped)), keys},
		"keys of another service":     {good, file("other.json", set(other, "https://w.example"))},
		"same key, another service":   {good, file("name.json", set(key, "https://evil.example"))},
		"not a certificate":           {keys, keys},
		"an empty file":               {file("empty", ""), keys},
		"something after the newline": {file("more.jwt", sign(claims)+"\n\n"), keys},
	} {
		d.want(exitServer, "verify", "--certificate", files[0], "--keys", files[1])
		if d.stdout != "" || !strings.Contains(d.stderr, `"code":"invalid_certificate"`) || strings.Count(d.stderr, "\n") != 1 {
			t.Errorf("%s: %q, %q", name, d.stdout, d.stderr)
		}
	}
	for _, args := range [][]string{
		{"--certificate", good}, {"--keys", keys}, {"--certificate", "", "--keys", keys}, {"--certificate", "-", "--keys", "-"},
		{"--certificate", filepath.Join(dir, "missing"), "--keys", keys}, {"--certificate", good, "--keys", filepath.Join(dir, "missing")},
		{"--certificate", good, "--keys", good}, {"--certificate", good, "--keys", dir},
		{"WR-7K2M-9QXT-4D8P-HV3A", "--certificate", good, "--keys", keys}, {},
	} {
		d.want(exitUsage, append([]string{"verify"}, args...)...)
	}
	d.stdin = sign(claims)
	d.want(exitOK, "verify", "--certificate", "-", "--keys", keys)
}
