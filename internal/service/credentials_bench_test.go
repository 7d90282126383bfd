package service_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// BenchmarkEnd measures how long it takes to end a credential that 64 writers use
// continuously, on three replicas with PostgreSQL (D11). It counts the records
// committed after the acknowledgement; there must be none. Run it with a fixed number
// of rounds:
//
//	go test -run '^$' -bench End -benchtime 200x ./internal/service
func BenchmarkEnd(b *testing.B) {
	const writers = 64
	for name, replicas := range benchReplicas(b) {
		for _, e := range endings {
			b.Run(fmt.Sprintf("%s/%s", name, strings.ReplaceAll(e.name, " ", "-")), func(b *testing.B) {
				worlds := replicas(b)
				took := make([]time.Duration, 0, b.N)
				meanwhile, late := int64(0), int64(0)
				for range b.N {
					storm := newStorm(b, worlds, e, writers)
					storm.wait(b)
					before := storm.written.Load()
					start := time.Now()
					if err := e.end(worlds[0], storm); err != nil {
						b.Fatal(err)
					}
					took = append(took, time.Since(start))
					meanwhile += storm.written.Load() - before
					late += storm.late(b)
				}
				slices.Sort(took)
				ms := func(q float64) float64 {
					return float64(took[min(len(took)-1, int(q*float64(len(took))))].Microseconds()) / 1000
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(ms(0.5), "p50-ms")
				b.ReportMetric(ms(0.99), "p99-ms")
				b.ReportMetric(ms(1), "max-ms")
				b.ReportMetric(float64(meanwhile)/float64(b.N), "meanwhile/op")
				b.ReportMetric(float64(late), "late")
			})
		}
	}
}

// BenchmarkWrite measures concurrent creates and updates by one token: the cost of
// holding the credential.
func BenchmarkWrite(b *testing.B) {
	for name, replicas := range benchReplicas(b) {
		for _, update := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/update=%t", name, update), func(b *testing.B) {
				worlds := replicas(b)
				w := worlds[0]
				p := w.tokenOf(w.person("Olga", true))
				var next atomic.Int64
				b.SetParallelism(8)
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					s := worlds[int(next.Add(1))%len(worlds)].Service
					r, err := s.CreateWarranty(ctx, p, pan)
					for n := 0; err == nil && pb.Next(); n++ {
						if text := fmt.Sprint(n); update {
							_, err = s.UpdateWarranty(ctx, p, warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: r.ID}, Supplier: &text})
						} else {
							_, err = s.CreateWarranty(ctx, p, pan)
						}
					}
					if err != nil {
						b.Error(err)
					}
				})
			})
		}
	}
}

func benchReplicas(b *testing.B) map[string]func(testing.TB) []*world {
	b.Helper()
	return map[string]func(testing.TB) []*world{
		"sqlite":   func(t testing.TB) []*world { return []*world{newWorld(t, servertest.SQLite(t), busy)} },
		"postgres": func(t testing.TB) []*world { return newReplicas(t, 3) },
	}
}
