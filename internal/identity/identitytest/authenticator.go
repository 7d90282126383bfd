// Package identitytest has a software authenticator and a forging provider, for tests. Nothing here uses the libraries
// that it tests.
package identitytest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math/big"
	"strings"
)

// The flags of authenticator data.
const (
	Present  byte = 1 << 0
	Verified byte = 1 << 2
	Eligible byte = 1 << 3
	BackedUp byte = 1 << 4
	attested byte = 1 << 6
	extended byte = 1 << 7
)

// The algorithms that an authenticator can use.
const (
	ES256 = -7
	EdDSA = -8
	RS256 = -257
	ES384 = -35
)

// Authenticator keeps passkeys, like a phone with its browser.
type Authenticator struct {
	Origin    string // of the page, as the browser writes it
	Algorithm int    // ES256 if it is 0
	Flags     byte   // Present and Verified if it is 0
	Passkeys  []*Passkey
}

// Passkey is a passkey with its private half.
type Passkey struct {
	ID      []byte
	Handle  []byte
	RPID    string
	Counter uint32 // grows with each use, unless it is 0

	key       crypto.Signer
	algorithm int
}

// Answer is an answer before it is signed. Tests change one field.
type Answer struct {
	Type, Challenge, Origin string
	More                    map[string]any // members of the client data, such as crossOrigin
	RPID                    string
	Flags                   byte
	Counter                 uint32
	ID, RawID, Handle       []byte
	AttestedID              []byte // of a registration
	Key                     []byte // of a registration, in COSE
	Format                  string // of a registration; "packed x5c" has a certificate
	Outputs                 []byte // of extensions of the authenticator, in CBOR
	Extensions              map[string]any
	Transports              []string
	Sign                    func(signed []byte) []byte
}

type options struct {
	Challenge string `json:"challenge"`
	RPID      string `json:"rpId"`
	RP        struct {
		ID string `json:"id"`
	} `json:"rp"`
	User struct {
		ID string `json:"id"`
	} `json:"user"`
	Allow []struct {
		ID string `json:"id"`
	} `json:"allowCredentials"`
}

// Create makes a passkey and returns the JSON of navigator.credentials.create.
func (a *Authenticator) Create(given []byte, change ...func(*Answer)) ([]byte, error) {
	var o options
	if err := json.Unmarshal(given, &o); err != nil {
		return nil, err
	}
	p := &Passkey{ID: random(32), Handle: decode(o.User.ID), RPID: o.RP.ID, algorithm: a.algorithm()}
	if err := p.makeKey(); err != nil {
		return nil, err
	}
	answer := a.answer("webauthn.create", o.Challenge, p)
	answer.AttestedID, answer.Key, answer.Format = p.ID, p.cose(), "none"
	answer.Transports = []string{"internal"}
	for _, c := range change {
		c(&answer)
	}
	client := answer.client()
	data := answer.data(attested)
	statement := pairs()
	if answer.Format != "none" { // a self attestation
		sum := sha256.Sum256(client)
		items := [][]byte{text("alg"), integer(p.algorithm), text("sig"), octets(answer.Sign(append(data, sum[:]...)))}
		format, certificate, _ := strings.Cut(answer.Format, " ")
		if answer.Format = format; certificate != "" {
			items = append(items, text(certificate), append(head(4, 1), octets([]byte("certificate"))...))
		}
		statement = pairs(items...)
	}
	if answer.Format == "compound" {
		statement = append(head(4, 1), pairs(text("fmt"), text("packed"), text("attStmt"), statement)...)
	}
	object := pairs(text("fmt"), text(answer.Format), text("attStmt"), statement, text("authData"), octets(data))
	a.Passkeys = append(a.Passkeys, p)
	return answer.json(map[string]any{
		"clientDataJSON":    encode(client),
		"attestationObject": encode(object),
		"transports":        answer.Transports,
	})
}

// Get returns the JSON of navigator.credentials.get, with the newest passkey that fits.
func (a *Authenticator) Get(given []byte, change ...func(*Answer)) ([]byte, error) {
	var o options
	if err := json.Unmarshal(given, &o); err != nil {
		return nil, err
	}
	p := a.find(o)
	if p == nil {
		return nil, errors.New("the authenticator has no passkey for this page")
	}
	if p.Counter > 0 {
		p.Counter++
	}
	answer := a.answer("webauthn.get", o.Challenge, p)
	for _, c := range change {
		c(&answer)
	}
	client, data := answer.client(), answer.data(0)
	sum := sha256.Sum256(client)
	response := map[string]any{
		"clientDataJSON":    encode(client),
		"authenticatorData": encode(data),
		"signature":         encode(answer.Sign(append(data, sum[:]...))),
	}
	if answer.Handle != nil {
		response["userHandle"] = encode(answer.Handle)
	}
	return answer.json(response)
}

func (a *Authenticator) algorithm() int {
	if a.Algorithm == 0 {
		return ES256
	}
	return a.Algorithm
}

func (a *Authenticator) find(o options) *Passkey {
	for i := len(a.Passkeys) - 1; i >= 0; i-- {
		p := a.Passkeys[i]
		fits := p.RPID == o.RPID && len(o.Allow) == 0
		for _, allowed := range o.Allow {
			fits = fits || p.RPID == o.RPID && allowed.ID == encode(p.ID)
		}
		if fits {
			return p
		}
	}
	return nil
}

func (a *Authenticator) answer(kind, challenge string, p *Passkey) Answer {
	flags := a.Flags
	if flags == 0 {
		flags = Present | Verified
	}
	return Answer{
		Type: kind, Challenge: challenge, Origin: a.Origin, RPID: p.RPID, Flags: flags, Counter: p.Counter,
		ID: p.ID, RawID: p.ID, Handle: p.Handle, Extensions: map[string]any{}, Sign: p.sign,
	}
}

func (a Answer) client() []byte {
	members := map[string]any{"type": a.Type, "challenge": a.Challenge, "origin": a.Origin, "crossOrigin": false}
	for name, value := range a.More {
		members[name] = value
	}
	out, err := json.Marshal(members)
	if err != nil {
		panic(err)
	}
	return out
}

// data returns the authenticator data.
func (a Answer) data(flags byte) []byte {
	sum := sha256.Sum256([]byte(a.RPID))
	flags |= a.Flags
	if a.Outputs != nil {
		flags |= extended
	}
	out := append(sum[:], flags)
	out = binary.BigEndian.AppendUint32(out, a.Counter)
	if flags&attested != 0 {
		out = append(out, make([]byte, 16)...) // the AAGUID
		out = binary.BigEndian.AppendUint16(out, uint16(len(a.AttestedID)))
		out = append(append(out, a.AttestedID...), a.Key...)
	}
	return append(out, a.Outputs...)
}

func (a Answer) json(response map[string]any) ([]byte, error) {
	return json.Marshal(map[string]any{
		"id": encode(a.ID), "rawId": encode(a.RawID), "type": "public-key", "authenticatorAttachment": "platform",
		"clientExtensionResults": a.Extensions, "response": response,
	})
}

func (p *Passkey) makeKey() (err error) {
	switch p.algorithm {
	case EdDSA:
		_, p.key, err = ed25519.GenerateKey(rand.Reader)
	case RS256:
		p.key, err = rsa.GenerateKey(rand.Reader, 2048)
	case ES384:
		p.key, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	default:
		p.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	return err
}

// cose returns the public half.
func (p *Passkey) cose() []byte {
	switch key := p.key.Public().(type) {
	case ed25519.PublicKey:
		return pairs(integer(1), integer(1), integer(3), integer(EdDSA), integer(-1), integer(6), integer(-2), octets(key))
	case *rsa.PublicKey:
		return pairs(integer(1), integer(3), integer(3), integer(RS256), integer(-1), octets(key.N.Bytes()),
			integer(-2), octets(big.NewInt(int64(key.E)).Bytes()))
	case *ecdsa.PublicKey:
		point, err := key.Bytes() // 4, x, y
		if err != nil {
			panic(err)
		}
		half, curve := (len(point)-1)/2, 1
		if p.algorithm == ES384 {
			curve = 2
		}
		return pairs(integer(1), integer(2), integer(3), integer(p.algorithm), integer(-1), integer(curve),
			integer(-2), octets(point[1:1+half]), integer(-3), octets(point[1+half:]))
	}
	panic("not a key")
}

func (p *Passkey) sign(signed []byte) []byte {
	hash, digest := crypto.SHA256, signed
	switch p.algorithm {
	case EdDSA:
		hash = 0
	case ES384:
		hash = crypto.SHA384
	}
	if hash != 0 {
		h := hash.New()
		h.Write(signed)
		digest = h.Sum(nil)
	}
	out, err := p.key.Sign(rand.Reader, digest, hash)
	if err != nil {
		panic(err)
	}
	return out
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func decode(s string) []byte {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return nil
	}
	return b
}
