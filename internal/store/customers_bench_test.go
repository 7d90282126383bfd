package store

import (
	"context"
	"fmt"
	"testing"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// BenchmarkCustomers reads pages of 50,000 customers of an organization, each with a warranty and some with a claim.
func BenchmarkCustomers(b *testing.B) {
	const n, batch = 50_000, 500
	for name, fresh := range map[string]func(testing.TB) string{"sqlite": newFile, "postgres": testenv.Postgres} {
		b.Run(name, func(b *testing.B) {
			ctx, s, shop := context.Background(), open(b, fresh(b)), newID()
			now := s.Now().UTC().Truncate(time.Microsecond)
			for from := 0; from < n; from += batch {
				if err := s.Write(ctx, func(tx *Tx) error { return addCustomers(tx, shop, from, batch, now) }); err != nil {
					b.Fatal(err)
				}
			}
			if err := s.db.Write(ctx, func(tx engine.Tx) error { return tx.Later(ctx, `ANALYZE`) }); err != nil {
				b.Fatal(err)
			}
			for what, in := range map[string]warranty.ListCustomers{
				"first page": {Paging: warranty.Paging{Page: 1, Limit: 20}},
				"last page":  {Paging: warranty.Paging{Page: n / 20, Limit: 20}},
				"by name":    {Paging: warranty.Paging{Page: 1, Limit: 20}, Sort: warranty.CustomersByName},
				"inside":     {Paging: warranty.Paging{Page: 1, Limit: 20}, Q: "ndrea"},
				"email":      {Paging: warranty.Paging{Page: 1, Limit: 20}, Q: "de.49@post"},
				"few":        {Paging: warranty.Paging{Page: 1, Limit: 20}, Q: "mueller 499"},
				"many":       {Paging: warranty.Paging{Page: 1, Limit: 20}, Q: "mueller"},
				"serial":     {Paging: warranty.Paging{Page: 1, Limit: 20}, Q: "BF-86-20077"},
			} {
				b.Run(what, func(b *testing.B) {
					before := cpuTime(s)
					for b.Loop() {
						if list, total, err := s.Customers(ctx, shop, in, true, now); err != nil || len(list) == 0 || total == 0 {
							b.Fatal(len(list), total, err)
						}
					}
					b.ReportMetric(float64((cpuTime(s)-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
				})
			}
		})
	}
}

func addCustomers(tx *Tx, shop warranty.ID, from, count int, now time.Time) error {
	contacts, list := make([]Contact, count), make([]warranty.Warranty, count)
	for i := range list {
		k := from + i
		name, email := fmt.Sprintf("%s Müller %d", []string{"Andrea", "Bernd", "Cem", "Doris"}[k%4], k), fmt.Sprintf("kunde.%d@post.example", k)
		list[i] = warranty.Warranty{ID: newID(), ReferenceNumber: warranty.Reference(fmt.Sprintf("WR-%d", k)), ProductName: "Bosch kettle",
			SerialNumber: warranty.Optional(fmt.Sprintf("BF-86-%d", k)), CustomerName: &name, Offer: warranty.Offer{Email: &email},
			Standing: warranty.Active, Version: 1, CreatedAt: now, UpdatedAt: now}
		contacts[i] = ContactOf(list[i], now.Add(-time.Duration(k)*time.Minute))
	}
	if err := tx.NoteContacts(shop, contacts, newID); err != nil {
		return err
	}
	for _, w := range list {
		if err := tx.InsertWarranty(w, shop); err != nil {
			return err
		}
	}
	return nil
}
