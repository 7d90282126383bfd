package e2e

import (
	"crypto"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"warranty.example/svc/e2e/lab"
	"warranty.example/svc/warranty"
)

// TestSigningKeyIsRotated replaces a key while svcd runs, and revokes it.
func TestSigningKeyIsRotated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := lab.StartIn(t, dir, "--data=data")
	first := signingKey.read(t, dir)
	if out := mustSvcd(t, dir, "signing-key", "rotate"); !strings.Contains(out, "restart them") {
		t.Error(out)
	}
	if set := published(t, p); len(set.Keys) != 2 {
		t.Errorf("%d keys", len(set.Keys))
	}
	p.MustStop(t)
	newer := signingKey.read(t, dir)
	signingKey.write(t, dir, first, 0o600)
	signingKey.refused(t, "which was replaced by ", dir, "--data=data")
	signingKey.write(t, dir, newer, 0o600)
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
	signingKey.refused(t, "svcd signing-key rotate", dir, "--data=kept")
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
