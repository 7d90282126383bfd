package warranty

import (
	"errors"
	"io"
	"strings"
	"unicode"
)

// Reference is the number of a warranty (WR-…) or a claim (CL-…): 75 random bits and
// a check character.
type Reference string

// The prefixes of reference numbers.
const (
	WarrantyPrefix = "WR"
	ClaimPrefix    = "CL"
)

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// crockfordValue maps a character to its value, reading O as 0 and I and L as 1. It
// maps other bytes to 0xFF.
var crockfordValue = func() (t [256]byte) {
	for i := range t {
		t[i] = 0xFF
	}
	for i := range len(crockford) {
		t[crockford[i]] = byte(i)
		t[strings.ToLower(crockford)[i]] = byte(i)
	}
	for pair := range strings.SplitSeq("O0 o0 I1 i1 L1 l1", " ") {
		t[pair[0]] = pair[1] - '0'
	}
	return t
}()

const referenceLength = 16

// NewReference generates a random reference with the prefix.
func NewReference(prefix string, random io.Reader) (Reference, error) {
	raw := make([]byte, referenceLength-1)
	if _, err := io.ReadFull(random, raw); err != nil {
		return "", err
	}
	chars := make([]byte, referenceLength)
	for i, b := range raw {
		chars[i] = crockford[b&31]
	}
	chars[referenceLength-1] = crockford[luhn32(chars[:referenceLength-1])]
	return formatReference(prefix, chars), nil
}

func formatReference(prefix string, chars []byte) Reference {
	var b strings.Builder
	b.WriteString(prefix)
	for i := 0; i < len(chars); i += 4 {
		b.WriteByte('-')
		b.Write(chars[i : i+4])
	}
	return Reference(b.String())
}

// luhn32 returns the check value of the characters by the Luhn algorithm in base 32.
func luhn32(chars []byte) byte {
	sum, factor := 0, 2
	for i := len(chars) - 1; i >= 0; i-- {
		v := int(crockfordValue[chars[i]]) * factor
		sum += v/32 + v%32
		factor = 3 - factor
	}
	return byte((32 - sum%32) % 32)
}

var errReference = errors.New("invalid reference number: check for typos; the format is WR-XXXX-XXXX-XXXX-XXXX")

// ParseReference parses a warranty's reference as people type it: in either case,
// with or without prefix, hyphens and spaces, with O for 0 and I or L for 1. It
// verifies the check character, so most typos never reach the database.
func ParseReference(s string) (Reference, error) { return parseReference(WarrantyPrefix, s) }

func parseReference(prefix, s string) (Reference, error) {
	if len(s) > 200 {
		return "", errReference
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.Is(unicode.Pd, r) || r == 0x2212 {
			return -1
		}
		return r
	}, s)
	if len(s) == referenceLength+len(prefix) && strings.EqualFold(s[:len(prefix)], prefix) {
		s = s[len(prefix):]
	}
	if len(s) != referenceLength {
		return "", errReference
	}
	chars := make([]byte, referenceLength)
	for i := range chars {
		v := crockfordValue[s[i]]
		if v == 0xFF {
			return "", errReference
		}
		chars[i] = crockford[v]
	}
	if chars[referenceLength-1] != crockford[luhn32(chars[:referenceLength-1])] {
		return "", errReference
	}
	return formatReference(prefix, chars), nil
}
