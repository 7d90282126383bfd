package store

import (
	"context"
	"fmt"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/store/lists"
	"warranty.example/svc/warranty"
)

// encode converts arguments to types that package engine supports. Enums are stored as numbers.
func encode(v any) any {
	switch v := v.(type) {
	case warranty.Reference:
		return string(v)
	case warranty.Status:
		return enumNumber(v)
	case warranty.Roles:
		return v.Mask()
	case warranty.ClaimStatus:
		return enumNumber(v)
	case warranty.ClaimType:
		return enumNumber(v)
	case *warranty.Resolution:
		if v == nil {
			return nil
		}
		return enumNumber(*v)
	case warranty.DocumentType:
		return enumNumber(v)
	case warranty.Door:
		return enumNumber(v)
	case warranty.SignInMethod:
		return enumNumber(v)
	case warranty.SecondFactor:
		return enumNumber(v)
	case warranty.Action:
		return enumNumber(v)
	case warranty.ClaimSide:
		return enumNumber(v)
	case warranty.JobState:
		return enumNumber(v)
	case warranty.MemberRole:
		return enumNumber(v)
	case lists.Kind:
		return int64(v)
	case Purpose:
		return int64(v)
	}
	return v
}

// enumNumber returns the number that is stored for an enum value. Decoders reject unknown values,
// so an unknown value here is a bug.
func enumNumber[T warranty.Enum](v T) int64 {
	n := warranty.EnumNumber(v)
	if n == 0 && v != "" {
		panic(fmt.Sprintf("store: unknown %T", v))
	}
	return n
}

// byItem selects a record by its id, for keyed.
const byItem = ` AND a.item_id = $2`

// keyed returns the statement that finds a record by its key, and the key as the argument $2. Both
// statements must go through access, so that a record that the user cannot see is never found.
func keyed[K warranty.WarrantyKey | warranty.ClaimKey](k K, byID, byReference string) (sql string, key any) {
	w := warranty.WarrantyKey(k) // the same fields
	if w.Reference != "" {
		return byReference, w.Reference
	}
	return byID, w.ID
}

// queryRow reads the only row of a result. It returns ErrNotFound if there is none.
func queryRow(ctx context.Context, q engine.Querier, sql string, read func(*engine.Row), args ...any) error {
	found := false
	err := q.Query(ctx, sql, func(r *engine.Row) error {
		found = true
		read(r)
		return nil
	}, args...)
	if err == nil && !found {
		err = warranty.ErrNotFound
	}
	return err
}

func enum[T warranty.Enum](r *engine.Row) T { return warranty.EnumOf[T](r.Int()) }

func optionalEnum[T warranty.Enum](r *engine.Row) *T {
	n := r.Int()
	if n == 0 {
		return nil
	}
	v := warranty.EnumOf[T](n)
	return &v
}
