package store

import (
	"context"
	"math/rand/v2"
	"testing"

	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// benchEach runs a benchmark on a database of each kind that contains one user with records.
func benchEach(b *testing.B, records int, bench func(b *testing.B, s *script)) {
	b.Helper()
	for name, fresh := range map[string]func(testing.TB) string{"sqlite": newFile, "postgres": testenv.Postgres} {
		b.Run(name, func(b *testing.B) {
			s := &script{Store: open(b, fresh(b)), random: rand.New(rand.NewPCG(1, 1)), sure: true}
			s.must(b, s.addUser)
			for range records {
				s.must(b, s.addWarranty)
			}
			b.ReportAllocs()
			bench(b, s)
		})
	}
}

// BenchmarkPage reads a page of 50 warranties.
func BenchmarkPage(b *testing.B) {
	benchEach(b, 200, func(b *testing.B, s *script) {
		in := warranty.ListWarranties{Paging: warranty.Paging{Page: 1, Limit: 50}}
		for b.Loop() {
			list, _, err := s.Warranties(context.Background(), s.users[0].ID, in, s.today())
			if err != nil || len(list) != 50 {
				b.Fatalf("%d records: %v", len(list), err)
			}
		}
	})
}

// BenchmarkGet reads one warranty.
func BenchmarkGet(b *testing.B) {
	benchEach(b, 200, func(b *testing.B, s *script) {
		for b.Loop() {
			if _, err := s.Warranty(context.Background(), s.users[0].ID, warranty.WarrantyKey{ID: s.warranties[0]}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
