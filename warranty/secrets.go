package warranty

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"io"
	"math/big"
	"slices"
	"strings"
)

// SecretKind is the prefix of a secret, which lets people and secret scanners
// recognize it.
type SecretKind string

// The kinds of secret.
const (
	TokenSecret   SecretKind = "svc_"
	SessionSecret SecretKind = "svs_"
	AccessSecret  SecretKind = "sva_" // of a connected app
	RefreshSecret SecretKind = "svr_"
	// AuthCode is an authorization code, and AuthRequest the id of a request that waits for a decision.
	AuthCode    SecretKind = "svg_"
	AuthRequest SecretKind = "svq_"
	// FlowSecret is of a page that asked for six digits by email, or of a sign-in that is not complete.
	FlowSecret SecretKind = "svf_"
)

var secretKinds = []SecretKind{TokenSecret, SessionSecret, AccessSecret, RefreshSecret, AuthCode, AuthRequest, FlowSecret}

const (
	base62       = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	randomChars  = 43 // 62^43 > 2^256
	crcChars     = 6  // 62^6 > 2^32
	secretLength = 4 + randomChars + crcChars
	// PrefixLength is how many characters of a token's secret are stored in plain
	// text, to tell tokens apart.
	PrefixLength = 10
)

// Hash is the stored form of a secret. A secret has 256 random bits, so an unsalted
// SHA-256 is enough.
type Hash [sha256.Size]byte

// HashSecret returns the stored form of a secret.
func HashSecret(secret string) Hash { return sha256.Sum256([]byte(secret)) }

// NewSecret generates a secret of 256 random bits followed by a checksum.
func NewSecret(kind SecretKind, random io.Reader) (string, error) {
	raw := make([]byte, 32)
	if _, err := io.ReadFull(random, raw); err != nil {
		return "", err
	}
	body := string(kind) + base62Digits(new(big.Int).SetBytes(raw), randomChars)
	return body + checksum(body), nil
}

// ParseSecret returns the kind of a secret and whether its form and checksum are
// valid, so that typos never reach the database.
func ParseSecret(s string) (SecretKind, bool) {
	if len(s) != secretLength {
		return "", false
	}
	kind := SecretKind(s[:4])
	if !slices.Contains(secretKinds, kind) {
		return "", false
	}
	body := s[:secretLength-crcChars]
	if strings.TrimLeft(body[len(kind):], base62) != "" {
		return "", false
	}
	return kind, checksum(body) == s[secretLength-crcChars:]
}

func checksum(body string) string {
	return base62Digits(new(big.Int).SetUint64(uint64(crc32.ChecksumIEEE([]byte(body)))), crcChars)
}

func base62Digits(n *big.Int, width int) string {
	digits := make([]byte, width)
	base, rest := big.NewInt(int64(len(base62))), new(big.Int)
	for i := width - 1; i >= 0; i-- {
		n.DivMod(n, base, rest)
		digits[i] = base62[rest.Int64()]
	}
	return string(digits)
}

const codeChars = 20

// recoveryChars is the length of a recovery code: 120 bits.
const recoveryChars = 24

// NewCode generates a one-time code of 100 random bits for people to copy from an
// email.
func NewCode(random io.Reader) (string, error) { return newCode(random, codeChars) }

// NewRecoveryCode generates a recovery code of 120 random bits for people to keep.
func NewRecoveryCode(random io.Reader) (string, error) { return newCode(random, recoveryChars) }

// IsRecoveryCode reports whether a text looks like what NewRecoveryCode returns.
func IsRecoveryCode(text string) bool {
	groups := strings.Split(text, "-")
	for _, group := range groups {
		if len(group) != 4 || strings.Trim(group, crockford) != "" {
			return false
		}
	}
	return len(groups)*4 == recoveryChars
}

func newCode(random io.Reader, length int) (string, error) {
	raw := make([]byte, length)
	if _, err := io.ReadFull(random, raw); err != nil {
		return "", err
	}
	for i, b := range raw {
		raw[i] = crockford[b&31]
	}
	var groups []string
	for i := 0; i < length; i += 4 {
		groups = append(groups, string(raw[i:i+4]))
	}
	return strings.Join(groups, "-"), nil
}

// NewShortCode generates six digits. They are safe only together with a secret and few tries.
func NewShortCode(random io.Reader) (string, error) {
	n, err := rand.Int(random, big.NewInt(1_000_000))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%0*d", ShortCodeDigits, n), nil
}

// digits returns the digits of a code that people type with spaces or hyphens.
func digits(code string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '-' {
			return -1
		}
		if r < '0' || r > '9' {
			return 'x'
		}
		return r
	}, code)
}

// HashShortCode returns the stored form of six digits, which only work with the secret of the page that asked for them.
func HashShortCode(flow, digits string) Hash { return sha256.Sum256([]byte(flow + " " + digits)) }

// HashCode returns the stored form of a one-time code. Case, hyphens and spaces are
// ignored, and O, I and L are read as 0, 1 and 1.
func HashCode(code string) Hash { return hashCode(code, codeChars) }

// HashRecoveryCode returns the stored form of a recovery code, which is read like a one-time code.
func HashRecoveryCode(code string) Hash { return hashCode(code, recoveryChars) }

func hashCode(code string, length int) Hash {
	clean := make([]byte, 0, length)
	for i := 0; i < len(code) && len(clean) <= length; i++ {
		if v := crockfordValue[code[i]]; v != 0xFF {
			clean = append(clean, crockford[v])
		}
	}
	return sha256.Sum256(clean)
}
