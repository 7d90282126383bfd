package fill

import (
	"fmt"
	"time"

	"warranty.example/svc/bench/internal/data"
	"warranty.example/svc/warranty"
)

// PocketBase returns the data of PocketBase, which has its own formats of ids and dates.
func PocketBase(set data.Set) []Table {
	created := pocketBaseTime(set.Record(0).Created)
	return []Table{
		{"users", []string{"id", "email", "name", "password", "tokenKey", "verified", "created", "updated"},
			rowsOf(set.Users, func(u int) []any {
				id, key := data.PocketBaseID('u', u), fmt.Sprintf("%050d", u)
				return []any{id, data.Email(u), data.Name(u), "-", key, true, created, created}
			})},
		{"warranties", []string{"id", "reference_number", "owner", "issuer", "seller", "product_name", "description",
			"serial_number", "category", "supplier", "seller_name", "seller_email", "start_date", "end_date", "status",
			"created", "updated"},
			rowsOf(set.Records, func(i int) []any {
				r := set.Record(i)
				t := r.Texts()
				owner := data.PocketBaseID('u', r.Owner)
				seller := ""
				if r.Seller != data.NoSeller {
					seller = data.PocketBaseID('u', r.Seller)
				}
				return []any{data.PocketBaseID('w', i), t.Reference, owner, owner, seller, t.Product, t.Description, t.Serial,
					r.Category, t.Supplier, t.SellerName, t.SellerEmail, pocketBaseDay(r.Start), pocketBaseDay(r.End),
					r.Standing.String(), pocketBaseTime(r.Created), pocketBaseTime(r.Updated)}
			})},
	}
}

func pocketBaseDay(d warranty.Date) string { return d.String() + " 00:00:00.000Z" }

func pocketBaseTime(at time.Time) string { return at.Format("2006-01-02 15:04:05.000Z") }
