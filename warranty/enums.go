package warranty

import (
	"errors"
	"slices"
	"strings"
)

// Enumerations are small numbers with names: the number is what is stored, the
// name is what everybody sees. Zero is "not given". This file reads and writes
// them once for all.

func enumName[T ~uint8](names []string, v T) string {
	if v == 0 || int(v) > len(names) {
		return ""
	}
	return names[v-1]
}

func enumValue[T ~uint8](names []string, text []byte, v *T) error {
	if len(text) == 0 {
		*v = 0
		return nil
	}
	i := slices.Index(names, string(text))
	if i < 0 {
		return errors.New("write one of: " + strings.Join(names, ", "))
	}
	*v = T(i + 1)
	return nil
}
