package warranty

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// CertificateType is the typ of a certificate's header.
const CertificateType = "warranty+jwt"

// MaxCertificate is the size limit of a certificate, in bytes.
const MaxCertificate = 16 << 10

// CertificateClaims is what the service signs about a warranty at a time: the claims of a JWT (RFC 7519). It names
// only organizations with a verified domain.
type CertificateClaims struct {
	Service         string            `json:"iss"` // public URL of the service that signed it
	IssuedAt        int64             `json:"iat"` // seconds since 1970
	ReferenceNumber Reference         `json:"reference_number"`
	ProductName     string            `json:"product_name"`
	Brand           *string           `json:"brand"`
	Model           *string           `json:"model"`
	GTIN            *string           `json:"gtin"`
	SerialSHA256    *string           `json:"serial_sha256"` // see SerialHash
	StartDate       Date              `json:"start_date"`
	EndDate         Date              `json:"end_date"`
	Status          Status            `json:"status"`
	Assurance       Assurance         `json:"assurance"`
	Issuer          *CertificateParty `json:"issuer"`
	Seller          *CertificateParty `json:"seller"`
}

// CertificateParty is an organization in a certificate.
type CertificateParty struct {
	Name   string `json:"name"`
	Domain string `json:"domain"`
}

// Backing returns who stands behind the warranty.
func (c CertificateClaims) Backing() Backing {
	party := func(p *CertificateParty) *Party {
		if p == nil {
			return nil
		}
		return NewParty(p.Name, &p.Domain)
	}
	return Standing{Issuer: party(c.Issuer), Seller: party(c.Seller)}.Backing()
}

// Time returns when the certificate was signed.
func (c CertificateClaims) Time() time.Time { return time.Unix(c.IssuedAt, 0).UTC() }

// VerifyURL returns the address of the public page of the warranty.
func (c CertificateClaims) VerifyURL() string {
	return c.Service + "/verify/" + string(c.ReferenceNumber)
}

// Certified returns what a certificate of the warranty says. It returns false if nobody with a verified domain
// stands behind the warranty. Call Show first.
func (w Warranty) Certified(by Standing, service string, now time.Time) (CertificateClaims, bool) {
	c := CertificateClaims{
		Service:         service,
		IssuedAt:        now.Unix(),
		ReferenceNumber: w.ReferenceNumber,
		ProductName:     w.ProductName,
		Brand:           w.Brand,
		Model:           w.Model,
		GTIN:            w.GTIN,
		StartDate:       w.StartDate,
		EndDate:         w.EndDate,
		Status:          w.Status,
		Assurance:       by.Assurance(),
		Issuer:          certified(by.Issuer),
		Seller:          certified(by.Seller),
	}
	if w.SerialNumber != nil {
		c.SerialSHA256 = Optional(SerialHash(*w.SerialNumber))
	}
	return c, c.Assurance != Unverified
}

func certified(p *Party) *CertificateParty {
	if p == nil || p.Domain == nil {
		return nil
	}
	return &CertificateParty{Name: p.Name, Domain: *p.Domain}
}

// SerialHash returns the SHA-256 in hexadecimal of a serial number in lower case, without white space and
// dashes, in UTF-8. It is empty if nothing is left of it.
func SerialHash(serial string) string {
	bare := bareSerial(serial)
	if bare == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(bare))
	return hex.EncodeToString(sum[:])
}

// certificateHeader is the protected header of a certificate (RFC 7515).
type certificateHeader struct {
	Algorithm string `json:"alg"`
	Type      string `json:"typ"`
	KeyID     string `json:"kid"`
}

// Sign returns a certificate as a compact JWS.
func (k SigningKey) Sign(c CertificateClaims) (string, error) {
	header, err := plainJSON(certificateHeader{Algorithm: signatureAlgorithm, Type: CertificateType, KeyID: k.public.ID})
	if err != nil {
		return "", err
	}
	claims, err := plainJSON(c)
	if err != nil {
		return "", err
	}
	signed := encode64(header) + "." + encode64(claims)
	return signed + "." + encode64(ed25519.Sign(k.private, []byte(signed))), nil
}

// plainJSON encodes a value without escaping <, > and &.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Verify checks a certificate, which may end with a line break, and returns what it says. It says nothing about
// today: the warranty may have changed since the certificate was signed.
func (s KeySet) Verify(text string) (CertificateClaims, error) {
	var c CertificateClaims
	if len(text) > MaxCertificate {
		return c, errors.New("it is too long for a certificate")
	}
	if line, ended := strings.CutSuffix(text, "\n"); ended {
		text = strings.TrimSuffix(line, "\r")
	}
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return c, errors.New("it is not a certificate: a certificate has three parts with dots between them")
	}
	var decoded [3][]byte
	for i, part := range parts {
		var err error
		if decoded[i], err = decode64(part); err != nil {
			return c, err
		}
	}
	key, err := s.keyFor(decoded[0])
	if err != nil {
		return c, err
	}
	if !ed25519.Verify(key, []byte(parts[0]+"."+parts[1]), decoded[2]) {
		return c, errors.New("the signature is wrong: the certificate was changed, or is not by this service")
	}
	if err := strictJSON(decoded[1], &c); err != nil {
		return c, fmt.Errorf("the content is invalid: %w", err)
	}
	if _, err := ParseReference(string(c.ReferenceNumber)); err != nil || c.IssuedAt <= 0 || c.Service == "" {
		return c, errors.New("the content is invalid: it has no reference number, date or service")
	}
	if s.Issuer != "" && c.Service != s.Issuer {
		return c, errors.New("it is by another service than the keys")
	}
	return c, nil
}

// keyFor checks the header of a certificate and returns the key that it names. Other members than the expected
// ones are refused, so that a certificate cannot bring its own key.
func (s KeySet) keyFor(header []byte) (ed25519.PublicKey, error) {
	var members map[string]any
	if err := strictJSON(header, &members); err != nil {
		return nil, fmt.Errorf("the header is invalid: %w", err)
	}
	switch kid, _ := members["kid"].(string); {
	case members["alg"] != signatureAlgorithm:
		return nil, errors.New("the header is invalid: the algorithm must be " + signatureAlgorithm)
	case members["typ"] != CertificateType:
		return nil, errors.New("it is not a certificate of a warranty: the type must be " + CertificateType)
	case kid == "" || len(members) != 3:
		return nil, errors.New("the header is invalid: it must have exactly alg, typ and kid")
	default:
		for _, k := range s.Keys {
			if k.ID == kid {
				return k.Key, nil
			}
		}
		return nil, errors.New("it is signed with a key that is not among the given ones")
	}
}

// encode64 and decode64 use base64url without padding, as JWS does.
func encode64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// decode64 accepts only what encode64 returns: no line breaks, and no other spelling of the last character.
func decode64(text string) ([]byte, error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || encode64(b) != text {
		return nil, errors.New("it is not a certificate: a part is not base64url")
	}
	return b, nil
}

// strictJSON decodes one JSON object that has no duplicate names.
func strictJSON(data []byte, into any) error {
	if !utf8.Valid(data) {
		return errors.New("it is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return errors.New("it is not a JSON object")
	}
	if err := uniqueNames(d, '}'); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON object")
	}
	if err := json.Unmarshal(data, into); err != nil {
		return errors.New("a value has the wrong type")
	}
	return nil
}

// uniqueNames reads the rest of an object or array and refuses names that differ only in case, too, because
// encoding/json takes them for the same.
func uniqueNames(d *json.Decoder, end json.Delim) error {
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return errors.New("it is not valid JSON")
		}
		if name, ok := token.(string); ok && end == '}' {
			if seen[Fold(name)] {
				return errors.New("it has a name twice")
			}
			seen[Fold(name)] = true
			if token, err = d.Token(); err != nil {
				return errors.New("it is not valid JSON")
			}
		}
		switch token {
		case json.Delim('{'):
			err = uniqueNames(d, '}')
		case json.Delim('['):
			err = uniqueNames(d, ']')
		}
		if err != nil {
			return err
		}
	}
	if token, err := d.Token(); err != nil || token != end {
		return errors.New("it is not valid JSON")
	}
	return nil
}
