package store

import (
	"context"
	"testing"

	"warranty.example/svc/internal/store/lists"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// BenchmarkQueue reads the queue of an organization that decides 50,000 claims, and finds one of them in it: with a
// twentieth of them open, and with all of them.
func BenchmarkQueue(b *testing.B) {
	const n = 50_000
	for name, fresh := range map[string]func(testing.TB) string{"sqlite": newFile, "postgres": testenv.Postgres} {
		b.Run(name, func(b *testing.B) {
			ctx, s := context.Background(), open(b, fresh(b))
			shop := fillBench(b, s, n)[0]
			write := func(sql string, args ...any) {
				b.Helper()
				if err := s.Write(ctx, func(t *Tx) error { return t.later(sql, args...) }); err != nil {
					b.Fatal(err)
				}
			}
			write(`UPDATE access SET roles = 4 WHERE user_id = $1`, shop)
			for _, part := range []struct {
				what string
				open int
			}{{"twentieth open", n / 20}, {"all open", n}} {
				write(`UPDATE claims SET status = 7, waiting_since = updated_at`)
				write(`UPDATE claims SET status = 1 WHERE id IN (SELECT id FROM claims ORDER BY id LIMIT $1)`, part.open)
				write(`UPDATE access SET status = (SELECT c.status FROM claims c WHERE c.id = access.item_id),
					start_date = (SELECT c.status * 10 FROM claims c WHERE c.id = access.item_id) WHERE kind = $1`, lists.Claims)
				write(`/*pg: ANALYZE *//*sqlite: ANALYZE */`)
				in := warranty.ListClaims{Paging: warranty.Paging{Page: 1, Limit: 50},
					Queue: warranty.WaitingForUs, Sort: warranty.ClaimsByWaiting}
				var page []warranty.Claim
				b.Run(part.what+"/page", func(b *testing.B) {
					before := cpuTime(s)
					for b.Loop() {
						list, total, err := s.Claims(ctx, shop, shop, in)
						if page = list; err != nil || total != int64(part.open) {
							b.Fatal(total, err)
						}
					}
					b.ReportMetric(float64((cpuTime(s)-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
				})
				b.Run(part.what+"/place", func(b *testing.B) {
					before := cpuTime(s)
					for b.Loop() {
						p, err := s.ClaimPlace(ctx, shop, shop, in, page[10].ID)
						if err != nil || p.At != 11 || p.Of != int64(part.open) {
							b.Fatal(p, err)
						}
					}
					b.ReportMetric(float64((cpuTime(s)-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
				})
			}
		})
	}
}
