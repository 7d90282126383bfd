package warranty

import "errors"

// WarrantyKey identifies a warranty in an input: by its reference number if that is set,
// and otherwise by its ID.
type WarrantyKey struct {
	ID        ID
	Reference Reference
}

// ParseWarrantyKey parses an ID, or a reference number as people type it.
func ParseWarrantyKey(s string) (WarrantyKey, error) {
	k, ok := parseKey(WarrantyPrefix, s)
	if !ok {
		return WarrantyKey{}, errWarrantyKey
	}
	return WarrantyKey(k), nil
}

// UnmarshalText parses a key. Empty text means "not set".
func (k *WarrantyKey) UnmarshalText(b []byte) (err error) {
	*k = WarrantyKey{}
	if len(b) > 0 {
		*k, err = ParseWarrantyKey(string(b))
	}
	return err
}

// MarshalText formats the ID or the reference number.
func (k WarrantyKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// String formats the ID or the reference number.
func (k WarrantyKey) String() string { return key(k).String() }

// IsZero reports whether the key is not set.
func (k WarrantyKey) IsZero() bool { return k == WarrantyKey{} }

// ClaimKey identifies a claim in an input: by its claim number if that is set, and
// otherwise by its ID.
type ClaimKey struct {
	ID        ID
	Reference Reference
}

// ParseClaimKey parses an ID, or a claim number as people type it.
func ParseClaimKey(s string) (ClaimKey, error) {
	k, ok := parseKey(ClaimPrefix, s)
	if !ok {
		return ClaimKey{}, errClaimKey
	}
	return ClaimKey(k), nil
}

// UnmarshalText parses a key. Empty text means "not set".
func (k *ClaimKey) UnmarshalText(b []byte) (err error) {
	*k = ClaimKey{}
	if len(b) > 0 {
		*k, err = ParseClaimKey(string(b))
	}
	return err
}

// MarshalText formats the ID or the claim number.
func (k ClaimKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// String formats the ID or the claim number.
func (k ClaimKey) String() string { return key(k).String() }

// IsZero reports whether the key is not set.
func (k ClaimKey) IsZero() bool { return k == ClaimKey{} }

var (
	errWarrantyKey = errors.New(
		"must be an ID such as 01935b2e-7c4a-7def-8123-456789abcdef or a reference number such as WR-7K2M-9QXT-4D8P-HV3A")
	errClaimKey = errors.New(
		"must be an ID such as 01935b2e-7c4a-7def-8123-456789abcdef or a claim number such as CL-3F9B-T6WZ-0QKN-58R5")
)

// key is what both kinds of keys have in common.
type key struct {
	ID        ID
	Reference Reference
}

// parseKey parses an ID or a reference with the prefix. No text is both: an ID has twice
// as many characters. The zero ID is invalid, because it would mean "not set".
func parseKey(prefix, s string) (k key, ok bool) {
	if id, err := ParseID(s); err == nil {
		return key{ID: id}, !id.IsZero()
	}
	reference, err := parseReference(prefix, s)
	return key{Reference: reference}, err == nil
}

func (k key) String() string {
	if k.Reference != "" {
		return string(k.Reference)
	}
	return k.ID.String()
}
