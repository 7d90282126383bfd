package warranty

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
)

// signatureAlgorithm is the algorithm of certificates (RFC 8037), with the curve Ed25519.
const (
	signatureAlgorithm = "EdDSA"
	keyType            = "OKP"
	keyCurve           = "Ed25519"
)

// SigningKey signs certificates. It prints as its id.
type SigningKey struct {
	private ed25519.PrivateKey
	public  PublicKey
}

// NewSigningKey returns a random key.
func NewSigningKey() (SigningKey, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return SigningKey{}, err
	}
	return signingKey(private), nil
}

func signingKey(private ed25519.PrivateKey) SigningKey {
	return SigningKey{private, NewPublicKey(private.Public().(ed25519.PublicKey))}
}

const pemType = "PRIVATE KEY"

// ParseSigningKey reads what PEM returns.
func ParseSigningKey(text []byte) (SigningKey, error) {
	block, rest := pem.Decode(text)
	if block == nil || block.Type != pemType || len(rest) > 0 {
		return SigningKey{}, errors.New("it must contain one PEM block, PRIVATE KEY")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	private, ok := key.(ed25519.PrivateKey)
	if err != nil || !ok { // the error could repeat a part of the key
		return SigningKey{}, errors.New("it must contain an Ed25519 key in PKCS #8")
	}
	return signingKey(private), nil
}

// PEM returns the key as a file has it: in PKCS #8, as openssl genpkey -algorithm ed25519 makes it.
func (k SigningKey) PEM() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(k.private)
	return pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der}), err
}

// Public returns the public half.
func (k SigningKey) Public() PublicKey { return k.public }

// Format implements fmt.Formatter. It never prints the private half.
func (k SigningKey) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "signing key "+k.public.ID) }

// PublicKey verifies certificates.
type PublicKey struct {
	ID  string // the thumbprint of the key (RFC 7638)
	Key ed25519.PublicKey
}

// NewPublicKey returns a key with its id.
func NewPublicKey(key ed25519.PublicKey) PublicKey {
	sum := sha256.Sum256([]byte(`{"crv":"` + keyCurve + `","kty":"` + keyType + `","x":"` + encode64(key) + `"}`))
	return PublicKey{encode64(sum[:]), key}
}

// KeySet is a set of public keys and the public URL of the service that has them. In JSON it is a JWK Set
// (RFC 7517) with the additional member issuer.
type KeySet struct {
	Issuer string
	Keys   []PublicKey
}

type jwk struct {
	Type      string `json:"kty"`
	Curve     string `json:"crv"`
	X         string `json:"x"`
	ID        string `json:"kid"`
	Use       string `json:"use"`
	Algorithm string `json:"alg"`
}

type jwkSet struct {
	Issuer string `json:"issuer,omitzero"`
	Keys   []jwk  `json:"keys"`
}

// MarshalJSON encodes the set as a JWK Set.
func (s KeySet) MarshalJSON() ([]byte, error) {
	set := jwkSet{Issuer: s.Issuer, Keys: make([]jwk, 0, len(s.Keys))}
	for _, k := range s.Keys {
		set.Keys = append(set.Keys, jwk{keyType, keyCurve, encode64(k.Key), k.ID, "sig", signatureAlgorithm})
	}
	return plainJSON(set)
}

// MaxKeySet is the size limit of a set of keys, in bytes.
const MaxKeySet = 1 << 20

// ParseKeySet decodes a JWK Set. Keys of other kinds are left out.
func ParseKeySet(data []byte) (KeySet, error) {
	var set jwkSet
	if len(data) > MaxKeySet {
		return KeySet{}, errors.New("it is too long")
	}
	if err := strictJSON(data, &set); err != nil {
		return KeySet{}, err
	}
	if set.Keys == nil {
		return KeySet{}, errors.New(`it has no "keys"`)
	}
	s := KeySet{Issuer: set.Issuer}
	seen := map[string]bool{}
	for _, k := range set.Keys {
		signs := (k.Use == "" || k.Use == "sig") && (k.Algorithm == "" || k.Algorithm == signatureAlgorithm)
		if k.Type != keyType || k.Curve != keyCurve || !signs {
			continue
		}
		x, err := decode64(k.X)
		switch {
		case err != nil || len(x) != ed25519.PublicKeySize:
			return KeySet{}, errors.New("a key is damaged")
		case k.ID == "" || seen[k.ID]:
			return KeySet{}, errors.New("each key must have its own kid")
		}
		seen[k.ID] = true
		s.Keys = append(s.Keys, PublicKey{k.ID, x})
	}
	return s, nil
}
