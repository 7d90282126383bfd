package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"warranty.example/svc/e2e/lab"
)

// TestSecretsKeyIsReplaced replaces a lost key.
func TestSecretsKeyIsReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lab.StartIn(t, dir, "--data=data").MustStop(t)
	if out := mustSvcd(t, dir, "doctor"); !strings.Contains(out, "not in backups") {
		t.Error(out)
	}
	first := secretsKey.read(t, dir)
	if err := os.Remove(secretsKey.path(dir)); err != nil {
		t.Fatal(err)
	}
	if out := mustSvcd(t, dir, "secrets-key", "replace"); !strings.Contains(out, "restart them") {
		t.Error(out)
	}
	newer := secretsKey.read(t, dir)
	secretsKey.write(t, dir, first, 0o600)
	secretsKey.refused(t, "are sealed with ", dir, "--data=data")
	secretsKey.write(t, dir, newer, 0o600)
	lab.StartIn(t, dir, "--data=data").MustStop(t)
	refuseSvcd(t, 2, "missing command", dir, "secrets-key")
}

// TestSecretsKeyAndBackups: a restored service makes a new key, or uses the old one if it is there.
func TestSecretsKeyAndBackups(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lab.StartIn(t, dir, "--data=data").MustStop(t)
	if out := mustSvcd(t, dir, "backup", "b.tar"); !strings.Contains(out, "--secrets-key are not in backups") {
		t.Error(out)
	}
	if out := mustSvcd(t, dir, "restore", "b.tar", "--data=new"); !strings.Contains(out, "the secrets key is not in backups: the next start") {
		t.Error(out)
	}
	lab.StartIn(t, dir, "--data=new").MustStop(t)
	if out := mustSvcd(t, dir, "restore", "b.tar", "--data=kept", "--keep-credentials"); !strings.Contains(out, "copy the secrets key") {
		t.Error(out)
	}
	for _, name := range []string{"signing-key.pem", "secrets.key"} {
		content, err := os.ReadFile(filepath.Join(dir, "data", name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "secrets.key" {
			secretsKey.refused(t, "svcd secrets-key replace", dir, "--data=kept")
		}
		if err := os.WriteFile(filepath.Join(dir, "kept", name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lab.StartIn(t, dir, "--data=kept").MustStop(t)
}
