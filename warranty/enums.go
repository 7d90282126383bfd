package warranty

import (
	"slices"
	"strings"
)

// Enum is a string with a list of known values. Decoding a record accepts any
// string, so that a client can show values of a newer service; ParseEnum, which the
// service uses on requests, accepts only known ones. The empty string means "not
// given".
type Enum interface {
	~string
	// Values lists the known values. A value is stored as its position in the list,
	// counted from 1, so new values must go at the end.
	Values() []string
}

// ParseEnum converts text to T. It returns an error if text is not a known value.
func ParseEnum[T Enum](text string) (T, error) { return T(text), CheckEnum(T(""), text) }

// CheckEnum is ParseEnum for a type known only at run time.
func CheckEnum(enum interface{ Values() []string }, text string) error {
	if text == "" || slices.Contains(enum.Values(), text) {
		return nil
	}
	return Text{"must be one of: %s", []any{strings.Join(enum.Values(), ", ")}}
}

// EnumNumber returns the number that v is stored as; 0 means "not given".
func EnumNumber[T Enum](v T) int64 { return int64(slices.Index(v.Values(), string(v)) + 1) }

// EnumOf returns the value that is stored as number.
func EnumOf[T Enum](number int64) T {
	var none T
	names := none.Values()
	if number < 1 || number > int64(len(names)) {
		return none
	}
	return T(names[number-1])
}

// namesOf converts the values to strings.
func namesOf[T ~string](values ...T) []string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = string(v)
	}
	return names
}
