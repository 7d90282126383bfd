package warranty

import (
	"encoding/hex"
	"errors"
)

// ID identifies a record. It is a UUIDv7, so IDs sort by creation time.
type ID [16]byte

// IsZero reports whether the ID is not set.
func (id ID) IsZero() bool { return id == ID{} }

// String formats the ID as 36 characters.
func (id ID) String() string {
	b, _ := id.AppendText(make([]byte, 0, 36)) // never fails
	return string(b)
}

// MarshalText formats the ID as 36 characters.
func (id ID) MarshalText() ([]byte, error) { return id.AppendText(make([]byte, 0, 36)) }

// AppendText appends the ID as 36 characters.
func (id ID) AppendText(b []byte) ([]byte, error) {
	b = hex.AppendEncode(b, id[:4])
	b = hex.AppendEncode(append(b, '-'), id[4:6])
	b = hex.AppendEncode(append(b, '-'), id[6:8])
	b = hex.AppendEncode(append(b, '-'), id[8:10])
	b = hex.AppendEncode(append(b, '-'), id[10:])
	return b, nil
}

var errID = errors.New("must be an ID such as 01935b2e-7c4a-7def-8123-456789abcdef")

// ParseID parses an ID of 36 characters in either case.
func ParseID(s string) (ID, error) {
	var id ID
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return ID{}, errID
	}
	digits := s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	if _, err := hex.Decode(id[:], []byte(digits)); err != nil {
		return ID{}, errID
	}
	return id, nil
}

// UnmarshalText parses an ID. Empty text means "not set".
func (id *ID) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*id = ID{}
		return nil
	}
	parsed, err := ParseID(string(b))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}
