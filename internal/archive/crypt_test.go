package archive_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"io"
	"strings"
	"testing"

	"filippo.io/age"
	"golang.org/x/crypto/ssh"

	"warranty.example/svc/internal/archive"
)

// newKey returns a recipient and its identities.
func newKey(t testing.TB) (recipient string, ids archive.Identities) {
	t.Helper()
	key := must[*age.X25519Identity](t)(age.GenerateX25519Identity())
	ids, err := archive.ParseIdentities([]byte("# created: today\n" + key.String() + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return key.Recipient().String(), ids
}

// newSSHKey returns the public key of an SSH key and its identities. The private key has a passphrase unless
// it is empty.
func newSSHKey(t testing.TB) (public string, private []byte) {
	t.Helper()
	pub, priv, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	key := must[ssh.PublicKey](t)(ssh.NewPublicKey(pub))
	block := must[*pem.Block](t)(ssh.MarshalPrivateKey(priv, "test"))
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))) + " olga@example", pem.EncodeToMemory(block)
}

// encrypt encrypts a text for recipients, one per line.
func encrypt(t testing.TB, plain []byte, recipients string) []byte {
	t.Helper()
	list := must[archive.Recipients](t)(archive.ParseRecipients(recipients))
	var out bytes.Buffer
	w := must[io.WriteCloser](t)(archive.Encrypt(&out, list))
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestEncryptedBackupsNeedAnIdentity encrypts for several recipients: each identity opens it, another does not.
func TestEncryptedBackupsNeedAnIdentity(t *testing.T) {
	t.Parallel()
	first, firstIDs := newKey(t)
	second, secondIDs := newKey(t)
	_, otherIDs := newKey(t)
	public, private := newSSHKey(t)
	sshIDs := must[archive.Identities](t)(archive.ParseIdentities(private))
	text := bytes.Repeat([]byte("content "), 50_000)
	b := encrypt(t, text, "# two people and a machine\n\n"+first+"\n"+second+"\n"+public+"\n")
	if bytes.Contains(b, []byte("content")) {
		t.Error("the content is readable")
	}
	for name, ids := range map[string]archive.Identities{"first": firstIDs, "second": secondIDs, "ssh": sshIDs,
		"several": append(append(archive.Identities{}, otherIDs...), firstIDs...)} {
		content, encrypted, err := archive.Decrypt(bytes.NewReader(b), ids)
		if err != nil || !encrypted {
			t.Errorf("%s: %v, %v", name, encrypted, err)
			continue
		}
		if got, err := io.ReadAll(content); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	if _, _, err := archive.Decrypt(bytes.NewReader(b), otherIDs); !errors.Is(err, archive.ErrIdentity) {
		t.Errorf("the wrong identity: %v", err)
	}
	if _, _, err := archive.Decrypt(bytes.NewReader(b), nil); !errors.Is(err, archive.ErrEncrypted) {
		t.Errorf("without an identity: %v", err)
	}
	content, encrypted, err := archive.Decrypt(bytes.NewReader(text), firstIDs)
	if err != nil || encrypted {
		t.Fatal(encrypted, err)
	}
	if got, err := io.ReadAll(content); err != nil || !bytes.Equal(got, text) {
		t.Errorf("a plain file: %d bytes, %v", len(got), err)
	}
}

// TestKeysThatAreNot returns clear errors, which do not repeat a secret.
func TestKeysThatAreNot(t *testing.T) {
	t.Parallel()
	secret := must[*age.X25519Identity](t)(age.GenerateX25519Identity()).String()
	_, private := newSSHKey(t)
	for _, text := range []string{"", "# nothing\n", "age1", "age1qqq", "ssh-ed25519 AAAA", "ssh-dss AAAA", "olga", secret, string(private)} {
		_, err := archive.ParseRecipients(text)
		if err == nil || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "PRIVATE") {
			t.Errorf("the recipient %.10q: %v", text, err)
		}
	}
	if _, err := archive.ParseRecipients(secret); err == nil || !strings.Contains(err.Error(), "this is a secret key") {
		t.Errorf("a secret key as a recipient: %v", err)
	}
	recipient, _ := newKey(t)
	for _, text := range []string{"", "hello", recipient, secret + "x", "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n"} {
		_, err := archive.ParseIdentities([]byte(text))
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("the identity %.10q: %v", text, err)
		}
	}
	for _, text := range []string{recipient, secret, "ssh-ed25519 AAAA", string(private)} {
		if !archive.IsRecipient(text) {
			t.Errorf("%.12q is taken for a path", text)
		}
	}
	if archive.IsRecipient("/etc/svcd/recipients") {
		t.Error("a path is taken for a recipient")
	}
}
