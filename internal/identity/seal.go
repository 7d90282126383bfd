package identity

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Purpose is what a sealed secret is for. A secret of one purpose cannot be opened as one of another.
type Purpose string

// The purposes. They are part of what is stored and never change.
const (
	TOTPSecret     Purpose = "totp"     // the owner is the account
	ProviderSecret Purpose = "provider" // the client secret; the owner is the provider
	FlowState      Purpose = "flow"     // of a sign-in that is not complete; the owner is the flow
	WebhookSecret  Purpose = "webhook"  // the owner is the webhook
)

// ErrSealed is returned for what cannot be opened: it was changed, belongs to another owner or purpose, or was sealed
// with another key.
var ErrSealed = errors.New("identity: a sealed secret cannot be opened")

// SecretsKey seals the secrets that the service has to read again. The zero value seals and opens nothing. It prints as
// its id.
type SecretsKey struct {
	id   string
	seal cipher.AEAD
	root []byte
}

const (
	secretsKeySize = 32
	secretsKeyType = "svc-secrets-key-1:"
	sealVersion    = 1
	nonceSize      = 12
)

// NewSecretsKey returns a random key.
func NewSecretsKey() (SecretsKey, error) {
	root := make([]byte, secretsKeySize)
	_, _ = rand.Read(root) // never fails
	return secretsKey(root)
}

// ParseSecretsKey reads what Text returns.
func ParseSecretsKey(text []byte) (SecretsKey, error) {
	encoded, ok := strings.CutPrefix(strings.TrimSpace(string(text)), secretsKeyType)
	root, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if !ok || err != nil || len(root) != secretsKeySize { // the error could repeat a part of the key
		return SecretsKey{}, fmt.Errorf("it must contain one line, %s and 43 characters", secretsKeyType)
	}
	return secretsKey(root)
}

// secretsKey derives a key for each use from the root, so that none says anything about another.
func secretsKey(root []byte) (SecretsKey, error) {
	k := SecretsKey{root: root}
	sealing, err := hkdf.Key(sha256.New, root, nil, "seal", secretsKeySize)
	if err != nil {
		return SecretsKey{}, err
	}
	block, err := aes.NewCipher(sealing)
	if err != nil {
		return SecretsKey{}, err
	}
	if k.seal, err = cipher.NewGCM(block); err != nil {
		return SecretsKey{}, err
	}
	id, err := hkdf.Key(sha256.New, root, nil, "id", 16)
	k.id = base64.RawURLEncoding.EncodeToString(id)
	return k, err
}

// Text returns the key as its file has it.
func (k SecretsKey) Text() []byte {
	return []byte(secretsKeyType + base64.RawURLEncoding.EncodeToString(k.root) + "\n")
}

// ID identifies the key and says nothing about it. The database has it, so that a replica with another key does not start.
func (k SecretsKey) ID() string { return k.id }

// IsZero reports whether there is no key.
func (k SecretsKey) IsZero() bool { return k.seal == nil }

// Format implements fmt.Formatter. It never prints the key.
func (k SecretsKey) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "secrets key "+k.id) }

// Derive returns 32 bytes for another use, such as the key of challenges.
func (k SecretsKey) Derive(use string) ([]byte, error) {
	if k.IsZero() {
		return nil, ErrSealed
	}
	return hkdf.Key(sha256.New, k.root, nil, "derive "+use, sha256.Size)
}

// Seal encrypts a secret for a purpose and the id of its owner, with AES-256-GCM and a random nonce.
func (k SecretsKey) Seal(p Purpose, owner string, plain []byte) ([]byte, error) {
	if k.IsZero() || p == "" || owner == "" {
		return nil, ErrSealed
	}
	sealed := make([]byte, 1+nonceSize, 1+nonceSize+len(plain)+k.seal.Overhead())
	sealed[0] = sealVersion
	_, _ = rand.Read(sealed[1:]) // never fails
	return k.seal.Seal(sealed, sealed[1:1+nonceSize], plain, boundTo(p, owner)), nil
}

// Open decrypts what Seal returned for the same purpose and owner. The error is ErrSealed.
func (k SecretsKey) Open(p Purpose, owner string, sealed []byte) ([]byte, error) {
	if k.IsZero() || p == "" || owner == "" || len(sealed) < 1+nonceSize || sealed[0] != sealVersion {
		return nil, ErrSealed
	}
	plain, err := k.seal.Open(nil, sealed[1:1+nonceSize], sealed[1+nonceSize:], boundTo(p, owner))
	if err != nil {
		return nil, ErrSealed
	}
	return plain, nil
}

// boundTo returns what a sealed secret is bound to. The length keeps "a" and "bc" apart from "ab" and "c".
func boundTo(p Purpose, owner string) []byte {
	out := binary.BigEndian.AppendUint32([]byte{sealVersion}, uint32(len(p)))
	return append(append(out, p...), owner...)
}
