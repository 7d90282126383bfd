package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/servertest"
)

// refusedSecrets expects that svcd does not start, and says why in a line that names the setting.
func refusedSecrets(t *testing.T, text, dir string, args ...string) {
	t.Helper()
	if line := refusedStart(t, dir, args...); !strings.HasPrefix(line, "svcd: --secrets-key") || !strings.Contains(line, text) {
		t.Errorf("want %q: %s", text, line)
	}
}

// TestSecretsKeyIsAFile follows a key from the first start over a lost and a wrong file to its replacement.
func TestSecretsKeyIsAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "data", "secrets.key")
	lab.StartIn(t, dir, "--data=data").MustStop(t)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the key: %v, %v", info, err)
	}
	first, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lab.StartIn(t, dir, "--data=data").MustStop(t)
	_, secret, _ := strings.Cut(strings.TrimSpace(string(first)), ":")
	doctor := mustSvcd(t, dir, "doctor")
	if !strings.Contains(doctor, "ok      secrets ") || !strings.Contains(doctor, "not in backups") {
		t.Error(doctor)
	}
	mustSvcd(t, dir, "backup", "b.tar")
	for _, name := range []string{"server.log", "server.out", "data/svc.db", "b.tar"} {
		if content, err := os.ReadFile(filepath.Join(dir, name)); err != nil || strings.Contains(string(content), secret[:12]) {
			t.Errorf("%s has the key, or %v", name, err)
		}
	}
	if out := mustSvcd(t, dir, "config") + doctor; strings.Contains(out, secret[:12]) || !strings.Contains(out, `secrets-key = "data/secrets.key" # default`) {
		t.Error(out)
	}
	write := func(content string, mode os.FileMode) {
		t.Helper()
		_ = os.Remove(path) // it may have another mode
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
	write(string(first), 0o640)
	refusedSecrets(t, "chmod 600", dir, "--data=data")
	for _, content := range []string{"", "secret", string(first) + string(first), string(first[:len(first)-5])} {
		write(content, 0o600)
		refusedSecrets(t, "is not a secrets key", dir, "--data=data")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	refusedSecrets(t, "no key at data/secrets.key", dir, "--data=data")
	other := t.TempDir()
	lab.StartIn(t, other, "--data=data").MustStop(t)
	foreign, err := os.ReadFile(filepath.Join(other, "data", "secrets.key"))
	if err != nil {
		t.Fatal(err)
	}
	write(string(foreign), 0o600)
	refusedSecrets(t, "but secrets in this database are sealed with ", dir, "--data=data")
	if out, code := runSvcd(t, dir, "doctor"); code != 1 || !strings.Contains(out, "failed  secrets ") {
		t.Errorf("exit %d: %s", code, out)
	}
	if out := mustSvcd(t, dir, "secrets-key", "replace"); !strings.Contains(out, "restart them") {
		t.Error(out)
	}
	newer, err := os.ReadFile(path)
	if info, _ := os.Stat(path); err != nil || string(newer) == string(foreign) || info.Mode().Perm() != 0o600 {
		t.Fatalf("the new key: %v", err)
	}
	write(string(first), 0o600)
	refusedSecrets(t, "are sealed with ", dir, "--data=data")
	write(string(newer), 0o600)
	lab.StartIn(t, dir, "--data=data").MustStop(t)
	refuseSvcd(t, 2, "missing command", dir, "secrets-key")
}

// TestReplicasHaveOneSecretsKey starts three replicas with places of their own at once: one makes the key.
func TestReplicasHaveOneSecretsKey(t *testing.T) {
	t.Parallel()
	database, shared := servertest.Postgres(t), t.TempDir()
	const count = 3
	var wait sync.WaitGroup
	var dirs, lines [count]string
	var running [count]*lab.Process
	for i := range count {
		dirs[i] = t.TempDir()
		if err := os.Mkdir(filepath.Join(dirs[i], "own"), 0o700); err != nil {
			t.Fatal(err)
		}
		args := []string{lab.Svcd(), "--listen=" + lab.FreeAddress(t), "--database=" + database, "--data=" + shared, "--secrets-key=own/secrets.key"}
		wait.Go(func() {
			p, err := lab.Launch(dirs[i], nil, args...)
			if err == nil {
				running[i] = p
				return
			}
			log, _ := os.ReadFile(filepath.Join(dirs[i], "server.log"))
			lines[i] = string(log)
		})
	}
	wait.Wait()
	started := 0
	for i, p := range running {
		if p != nil {
			t.Cleanup(p.Kill)
			started++
			continue
		}
		if !strings.HasPrefix(lines[i], "svcd: --secrets-key: no key at own/secrets.key") {
			t.Errorf("a replica without the key: %s", lines[i])
		}
		if exists(filepath.Join(dirs[i], "own", "secrets.key")) {
			t.Error("it leaves a key")
		}
	}
	if started != 1 {
		t.Errorf("%d replicas with different keys run", started)
	}
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
			refusedSecrets(t, "svcd secrets-key replace", dir, "--data=kept")
		}
		if err := os.WriteFile(filepath.Join(dir, "kept", name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lab.StartIn(t, dir, "--data=kept").MustStop(t)
}
