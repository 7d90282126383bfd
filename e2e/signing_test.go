package e2e

import (
	"crypto"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// refusedKey expects that svcd does not start, and says why in a line that names the setting.
func refusedKey(t *testing.T, text, dir string, args ...string) {
	t.Helper()
	if line := refusedStart(t, dir, args...); !strings.HasPrefix(line, "svcd: --signing-key") || !strings.Contains(line, text) {
		t.Errorf("want %q: %s", text, line)
	}
}

// TestSigningKeyIsAFile follows a key from the first start over a lost and a wrong file to a rotation.
func TestSigningKeyIsAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "data", "signing-key.pem")
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
	secret := strings.Split(string(first), "\n")[1]
	for _, name := range []string{"server.log", "server.out", "data/svc.db"} {
		if content, err := os.ReadFile(filepath.Join(dir, name)); err != nil || strings.Contains(string(content), secret[20:]) {
			t.Errorf("%s has the key, or %v", name, err)
		}
	}
	if out := mustSvcd(t, dir, "config"); strings.Contains(out, secret[20:]) || !strings.Contains(out, `signing-key = "data/signing-key.pem" # default`) {
		t.Error(out)
	}
	if out := mustSvcd(t, dir, "doctor"); !strings.Contains(out, "ok      signing ") {
		t.Error(out)
	}
	write := func(content string, mode os.FileMode) {
		t.Helper()
		_ = os.Remove(path) // it may have another mode
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, mode := range []os.FileMode{0o644, 0o640, 0o604} {
		write(string(first), mode)
		refusedKey(t, "chmod 600", dir, "--data=data")
	}
	for _, content := range []string{"", "secret", string(first) + string(first), string(first[:len(first)-30])} {
		write(content, 0o600)
		refusedKey(t, "is not a signing key", dir, "--data=data")
		if out, code := runSvcd(t, dir, "doctor"); code != 1 || !strings.Contains(out, "failed  signing ") {
			t.Errorf("exit %d: %s", code, out)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	refusedKey(t, "no key at data/signing-key.pem", dir, "--data=data")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	refusedKey(t, "is not a regular file", dir, "--data=data")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	lab.StartIn(t, other, "--data=data").MustStop(t)
	foreign, err := os.ReadFile(filepath.Join(other, "data", "signing-key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	write(string(foreign), 0o600)
	refusedKey(t, "but the certificates of this database are signed with ", dir, "--data=data")
	write(string(first), 0o600)
	p := lab.StartIn(t, dir, "--data=data")
	if out := mustSvcd(t, dir, "signing-key", "rotate"); !strings.Contains(out, "restart them") { // while it runs
		t.Error(out)
	}
	if set := published(t, p); len(set.Keys) != 2 {
		t.Errorf("%d keys", len(set.Keys))
	}
	p.MustStop(t)
	newer, err := os.ReadFile(path)
	if info, _ := os.Stat(path); err != nil || string(newer) == string(first) || info.Mode().Perm() != 0o600 {
		t.Fatalf("the new key: %v", err)
	}
	write(string(first), 0o600)
	refusedKey(t, "which was replaced by ", dir, "--data=data")
	write(string(newer), 0o600)
	list := mustSvcd(t, dir, "signing-key", "list")
	lines := strings.Split(strings.TrimSpace(list), "\n")
	if len(lines) != 3 || !strings.Contains(lines[1], " active ") || !strings.Contains(lines[2], " replaced ") {
		t.Fatal(list)
	}
	newID, oldID := strings.Fields(lines[1])[0], strings.Fields(lines[2])[0]
	refuseSvcd(t, 2, "is in use", dir, "signing-key", "revoke", newID)
	refuseSvcd(t, 2, "no such key", dir, "signing-key", "revoke", "x")
	refuseSvcd(t, 2, "give the ID of a key", dir, "signing-key", "revoke")
	refuseSvcd(t, 2, "missing command", dir, "signing-key")
	mustSvcd(t, dir, "signing-key", "revoke", oldID)
	p = lab.StartIn(t, dir, "--data=data")
	if set := published(t, p); len(set.Keys) != 1 || set.Keys[0].ID != newID {
		t.Errorf("%+v", set.Keys)
	}
}

func published(t *testing.T, p *lab.Process) warranty.KeySet {
	t.Helper()
	set, err := warranty.ParseKeySet([]byte(p.Want(t, 200, lab.Call{Method: "GET", Path: "/.well-known/jwks.json"}).Body))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestReplicasNeedOneKey starts replicas with different folders at once: one of them makes the key, and the
// others leave no file and say to copy it.
func TestReplicasNeedOneKey(t *testing.T) {
	t.Parallel()
	database := servertest.Postgres(t)
	shared := t.TempDir()
	const count = 3
	var wait sync.WaitGroup
	var dirs, lines [count]string
	var running [count]*lab.Process
	for i := range count {
		dirs[i] = t.TempDir()
		if err := os.Mkdir(filepath.Join(dirs[i], "own"), 0o700); err != nil {
			t.Fatal(err)
		}
		args := []string{lab.Svcd(), "--listen=" + lab.FreeAddress(t), "--database=" + database, "--data=" + shared, "--signing-key=own/key.pem"}
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
	winner := -1
	for i, p := range running {
		if p == nil {
			continue
		}
		t.Cleanup(p.Kill)
		if winner >= 0 {
			t.Fatal("two replicas with different keys run")
		}
		winner = i
	}
	if winner < 0 {
		t.Fatal(lines)
	}
	key, err := os.ReadFile(filepath.Join(dirs[winner], "own", "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range count {
		if i == winner {
			continue
		}
		if !strings.HasPrefix(lines[i], "svcd: --signing-key: no key at own/key.pem") || !strings.Contains(lines[i], "copy its file there") ||
			strings.Count(lines[i], "\n") != 1 {
			t.Errorf("a replica without the key: %s", lines[i])
		}
		path := filepath.Join(dirs[i], "own", "key.pem")
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("it leaves a key: %v", err)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, key, 0o600); err != nil {
			t.Fatal(err)
		}
		p := lab.StartIn(t, dirs[i], "--database="+database, "--data="+shared, "--signing-key=own/key.pem")
		if set := published(t, p); len(set.Keys) != 1 {
			t.Errorf("%+v", set)
		}
	}
	// A shared folder needs nothing: the default is in it.
	another := []string{"--database=" + testenv.Postgres(t), "--data=" + t.TempDir()}
	lab.Start(t, another...)
	lab.Start(t, another...)
}

// TestKeysAndBackups: a backup has no private key. A restored service makes a new one, or uses the old one if it is
// there; what was signed stays valid.
func TestKeysAndBackups(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := lab.StartIn(t, dir, "--data=data")
	old := published(t, p).Keys[0].ID
	mustSvcd(t, dir, "backup", "b.tar")
	key, err := os.ReadFile(filepath.Join(dir, "data", "signing-key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	if out := mustSvcd(t, dir, "restore", "b.tar", "--data=new"); !strings.Contains(out, "makes a new one") {
		t.Error(out)
	}
	set := published(t, lab.StartIn(t, dir, "--data=new"))
	if len(set.Keys) != 2 || set.Keys[0].ID == old || set.Keys[1].ID != old {
		t.Errorf("%+v", set)
	}
	secrets, err := os.ReadFile(filepath.Join(dir, "data", "secrets.key"))
	if err != nil {
		t.Fatal(err)
	}
	place := func(folder string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string][]byte{"signing-key.pem": key, "secrets.key": secrets} {
			if err := os.WriteFile(filepath.Join(dir, folder, name), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	place("same")
	if out := mustSvcd(t, dir, "restore", "b.tar", "--data=same"); !strings.Contains(out, "signed with the key at same/signing-key.pem") {
		t.Error(out)
	}
	if set := published(t, lab.StartIn(t, dir, "--data=same")); len(set.Keys) != 1 || set.Keys[0].ID != old {
		t.Errorf("%+v", set)
	}
	if out := mustSvcd(t, dir, "restore", "b.tar", "--data=kept", "--keep-credentials"); !strings.Contains(out, "copy the signing key") {
		t.Error(out)
	}
	refusedKey(t, "svcd signing-key rotate", dir, "--data=kept")
	place("kept")
	lab.StartIn(t, dir, "--data=kept").MustStop(t)
	if err := os.WriteFile(filepath.Join(dir, "kept", "signing-key.pem"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	refuseSvcd(t, 2, "is not a signing key", dir, "restore", "b.tar", "--data=kept")
}

// certified issues a warranty of an organization with a verified domain and returns its reference.
func certified(t *testing.T, p *lab.Process) string {
	t.Helper()
	session := p.Register(t, "ann")
	shop := p.Want(t, 201, lab.Call{Method: "POST", Path: "/api/organizations", Secret: session,
		Body: map[string]string{"name": "Halden Elektro Großmann"}}).Must(t, "data.id")
	mustSvcd(t, p.Dir, "organization", "verify", shop, "halden.example", "--data=data")
	acting := map[string]string{"X-Account": shop}
	made := p.Want(t, 201, lab.Call{Method: "POST", Path: "/api/v1/warranties", Secret: session, Header: acting, Body: map[string]string{
		"product_name": "Kettle 7 \u2013 ∅ 12", "serial_number": "HK7-0001 234", "brand": "Halden", "model": "K 7",
		"gtin": "4006381333931", "start_date": "2026-01-01", "end_date": "2099-12-31"}})
	p.Want(t, 201, lab.Call{Method: "POST", Path: "/api/v1/warranties/" + made.Must(t, "data.id") + "/handover", Secret: session, Header: acting})
	return made.Must(t, "data.reference_number")
}

// TestCertificateIsCheckedByAnotherLibrary verifies a certificate with go-jose, as others do.
func TestCertificateIsCheckedByAnotherLibrary(t *testing.T) {
	t.Parallel()
	p := lab.Start(t, append([]string{"--data=data"}, lab.Unthrottled...)...)
	reference := certified(t, p)
	text := p.Want(t, 200, lab.Call{Method: "GET", Path: "/verify/" + reference + "/certificate"}).Body
	var keys jose.JSONWebKeySet
	if err := json.Unmarshal([]byte(p.Want(t, 200, lab.Call{Method: "GET", Path: "/.well-known/jwks.json"}).Body), &keys); err != nil {
		t.Fatal(err)
	}
	signed, err := jose.ParseSignedCompact(text, []jose.SignatureAlgorithm{jose.EdDSA})
	if err != nil {
		t.Fatal(err)
	}
	header := signed.Signatures[0].Protected
	found := keys.Key(header.KeyID)
	if len(found) != 1 || header.ExtraHeaders["typ"] != "warranty+jwt" || found[0].Use != "sig" || found[0].Algorithm != "EdDSA" {
		t.Fatalf("%+v, %+v", header, found)
	}
	payload, err := signed.Verify(found[0])
	if err != nil {
		t.Fatal(err)
	}
	var claims warranty.CertificateClaims
	if err := json.Unmarshal(payload, &claims); err != nil || string(claims.ReferenceNumber) != reference || claims.Service != p.URL {
		t.Errorf("%+v, %v", claims, err)
	}
	if ours, err := published(t, p).Verify(text); err != nil || ours.IssuedAt != claims.IssuedAt {
		t.Errorf("%+v, %v", ours, err)
	}
	thumbprint, err := found[0].Thumbprint(crypto.SHA256)
	if err != nil || base64.RawURLEncoding.EncodeToString(thumbprint) != header.KeyID {
		t.Errorf("the kid is not the thumbprint: %x, %v", thumbprint, err)
	}
}
