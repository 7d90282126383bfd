package warranty

import (
	"errors"
	"slices"
	"strings"
)

// Enum is a text of which this version knows some values. Decoding a record
// keeps any text, so that a client of a newer service shows what it does not
// know; the service takes only Values from its callers, by ParseEnum. The empty
// text is "not given".
type Enum interface {
	~string
	// Values lists the known names. A value is stored as its position in the
	// list, counted from 1: new names go to the end.
	Values() []string
}

// ParseEnum reads a value that a caller sent and refuses what is unknown.
func ParseEnum[T Enum](text string) (T, error) { return T(text), CheckEnum(T(""), text) }

// CheckEnum is ParseEnum for a type that is only known at run time.
func CheckEnum(enum interface{ Values() []string }, text string) error {
	if text == "" || slices.Contains(enum.Values(), text) {
		return nil
	}
	return errors.New("write one of: " + strings.Join(enum.Values(), ", "))
}

// EnumNumber is the number that a value is stored as; 0 is not given.
func EnumNumber[T Enum](v T) int64 { return int64(slices.Index(v.Values(), string(v)) + 1) }

// EnumOf is the value that is stored as the number.
func EnumOf[T Enum](number int64) T {
	var none T
	names := none.Values()
	if number < 1 || number > int64(len(names)) {
		return none
	}
	return T(names[number-1])
}

// namesOf lists the known values of an enumeration by name.
func namesOf[T ~string](values ...T) []string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = string(v)
	}
	return names
}
