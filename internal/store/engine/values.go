package engine

import (
	"fmt"
	"time"

	"warranty.example/svc/warranty"
)

// encoder is Config.Encode.
type encoder func(any) any

// value converts an argument to a type that both backends bind: nil, int64, string, []byte or ID.
func (encode encoder) value(v any) any {
	if s, ok := scalar(v); ok {
		return s
	}
	if encode != nil {
		if s, ok := scalar(encode(v)); ok {
			return s
		}
	}
	panic(fmt.Sprintf("engine: unsupported argument type %T", v))
}

// scalar converts an argument of a supported type. Dates are stored as days since 1970-01-01, and
// instants as microseconds.
func scalar(v any) (any, bool) {
	switch v := v.(type) {
	case nil, int64, string, []byte, warranty.ID:
		return v, true
	case int:
		return int64(v), true
	case *string:
		if v == nil {
			return nil, true
		}
		return *v, true
	case *warranty.ID:
		if v == nil {
			return nil, true
		}
		return *v, true
	case warranty.Hash:
		return v[:], true
	case *warranty.Hash:
		if v == nil {
			return nil, true
		}
		return v[:], true
	case warranty.Date:
		return v.EpochDay(), true
	case *warranty.Date:
		if v == nil {
			return nil, true
		}
		return v.EpochDay(), true
	case time.Time:
		return v.UnixMicro(), true
	case *time.Time:
		if v == nil {
			return nil, true
		}
		return v.UnixMicro(), true
	}
	return nil, false
}
