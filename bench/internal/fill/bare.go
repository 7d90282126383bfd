package fill

import (
	"time"

	"warranty.example/svc/bench/internal/data"
)

// Bare returns the data of the bare program.
func Bare(set data.Set) []Table {
	return []Table{
		{"users", []string{"id", "email", "name"}, rowsOf(set.Users, func(u int) []any {
			return []any{data.UserID(u).String(), data.Email(u), data.Name(u)}
		})},
		{"tokens", []string{"hash", "user_id"}, rowsOf(set.Users, func(u int) []any {
			return []any{hash(data.Secret(u)), data.UserID(u).String()}
		})},
		{"warranties", []string{"id", "reference_number", "owner_id", "issuer_id", "seller_id", "product_name", "description",
			"serial_number", "category", "supplier", "seller_name", "seller_email", "start_date", "end_date", "status",
			"created_at", "updated_at"},
			rowsOf(set.Records, func(i int) []any {
				r := set.Record(i)
				t := r.Texts()
				owner := data.UserID(r.Owner).String()
				return []any{r.ID().String(), t.Reference, owner, owner, account(r.Seller), t.Product, optional(t.Description),
					t.Serial, r.Category, t.Supplier, optional(t.SellerName), optional(t.SellerEmail), r.Start.String(),
					r.End.String(), r.Standing.String(), r.Created.Format(time.RFC3339Nano),
					r.Updated.Format(time.RFC3339Nano)}
			})},
		{"members", []string{"user_id", "warranty_id"}, func(yield func([]any) bool) {
			for _, s := range accessRows(set) {
				if !yield([]any{data.UserID(s.user).String(), set.Record(s.record).ID().String()}) {
					return
				}
			}
		}},
	}
}

func account(user int) any {
	if user == data.NoSeller {
		return nil
	}
	return data.UserID(user).String()
}
