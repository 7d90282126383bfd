//go:build unix

package server_test

import (
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"syscall"
	"testing"
	"time"

	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// BenchmarkTokenCache compares authenticated requests with a cached and an uncached token (ADR 14).
// It gets a warranty in alternating batches of 200 requests and reports the medians per request: the
// latency, and the CPU time of this process, which on PostgreSQL excludes the database. Run it with a
// fixed number of batches:
//
//	scripts/test-services go test -run '^$' -bench TokenCache -benchtime 200x ./internal/server
func BenchmarkTokenCache(b *testing.B) {
	const batch = 200
	for _, database := range []struct {
		name  string
		fresh func(testing.TB) string
	}{{"sqlite", servertest.SQLite}, {"postgres", testenv.Postgres}} {
		b.Run(database.name, func(b *testing.B) {
			w := servertest.New(b, database.fresh(b), func(s *server.Server) {
				s.Log = slog.New(slog.NewJSONHandler(io.Discard, nil))
			})
			request := authenticatedGet(b, w)
			var took, cpu [2][]time.Duration // uncached, cached
			measure := func(cached int) {
				request()
				before, start := cpuTime(b), time.Now()
				for range batch {
					if cached == 0 {
						w.Store.ForgetTokens()
					}
					request()
				}
				took[cached] = append(took[cached], time.Since(start)/batch)
				cpu[cached] = append(cpu[cached], (cpuTime(b)-before)/batch)
			}
			for i := 0; b.Loop(); i++ {
				measure(i % 2)
				measure(1 - i%2)
			}
			b.ReportMetric(0, "ns/op")
			for cached, name := range []string{"uncached", "cached"} {
				b.ReportMetric(float64(median(took[cached])), name+"-ns")
				b.ReportMetric(float64(median(cpu[cached])), name+"-cpu-ns")
			}
		})
	}
}

func median(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}

// authenticatedGet returns a function that gets a warranty with an integration token.
func authenticatedGet(b *testing.B, w *servertest.World) func() {
	b.Helper()
	secret, err := warranty.NewSecret(warranty.TokenSecret, rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	reference, err := warranty.NewReference(warranty.WarrantyPrefix, rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	now := time.Now()
	user := warranty.User{
		ID:            w.Service.NewID(),
		Name:          "Olga",
		Email:         "olga@people.example",
		EmailVerified: true,
		CreatedAt:     now,
	}
	record := warranty.Warranty{
		ID:              w.Service.NewID(),
		ReferenceNumber: reference,
		ProductName:     "Kettle",
		StartDate:       warranty.DateOf(now),
		EndDate:         warranty.DateOf(now) + 365,
		Standing:        warranty.Active,
		Version:         1,
		CreatedAt:       now,
		UpdatedAt:       now,
	}
	token := warranty.Token{
		ID:                 w.Service.NewID(),
		Name:               "ERP",
		Prefix:             secret[:10],
		Scopes:             warranty.AllScopes,
		RateLimitPerMinute: 1 << 30,
		ExpiresAt:          now.Add(24 * time.Hour),
		CreatedAt:          now,
	}
	err = w.Store.Write(b.Context(), func(tx *store.Tx) error {
		if err := tx.InsertUser(user, "x"); err != nil {
			return err
		}
		if err := tx.InsertWarranty(record, user.ID); err != nil {
			return err
		}
		return tx.InsertToken(user.ID, user.ID, token, warranty.HashSecret(secret))
	})
	if err != nil {
		b.Fatal(err)
	}
	url := fmt.Sprintf("http://svc.example/api/v1/warranties/%s", record.ID)
	return func() {
		r := httptest.NewRequest(http.MethodGet, url, nil)
		r.Header.Set("Authorization", "Bearer "+secret)
		answer := httptest.NewRecorder()
		w.HTTP.Config.Handler.ServeHTTP(answer, r)
		if answer.Code != http.StatusOK {
			b.Fatalf("status %d: %s", answer.Code, answer.Body)
		}
	}
}

// cpuTime returns the CPU time of this process.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
