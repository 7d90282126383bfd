//go:build unix

package server_test

import (
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"warranty.example/svc/internal/server"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// BenchmarkAuthenticatedGet gets a warranty with an integration token. "handler" calls the server
// directly, one request at a time. "http" sends requests over loopback from many goroutines, so that
// ns/op is the cost of all processes involved. cpu-ns/op is the CPU time of this process. Run it on an
// idle machine:
//
//	scripts/test-services go test -run '^$' -bench AuthenticatedGet -count 10 ./internal/server
func BenchmarkAuthenticatedGet(b *testing.B) {
	for _, database := range []struct {
		name  string
		fresh func(testing.TB) string
	}{{"sqlite", servertest.SQLite}, {"postgres", testenv.Postgres}} {
		b.Run(database.name, func(b *testing.B) {
			w := servertest.New(b, database.fresh(b), func(s *server.Server) {
				s.Log = slog.New(slog.NewJSONHandler(io.Discard, nil))
			})
			path, secret := tokenAndWarranty(b, w)
			request := func(base string) *http.Request {
				r, err := http.NewRequest(http.MethodGet, base+path, nil)
				if err != nil {
					b.Fatal(err)
				}
				r.Header.Set("Authorization", "Bearer "+secret)
				return r
			}
			b.Run("handler", func(b *testing.B) {
				defer reportCPU(b)()
				for b.Loop() {
					r := request("http://svc.example")
					r.RemoteAddr = "127.0.0.1:1"
					answer := httptest.NewRecorder()
					w.HTTP.Config.Handler.ServeHTTP(answer, r)
					if answer.Code != http.StatusOK {
						b.Fatalf("%d: %s", answer.Code, answer.Body)
					}
				}
			})
			b.Run("http", func(b *testing.B) {
				transport := &http.Transport{MaxIdleConnsPerHost: 64}
				defer transport.CloseIdleConnections()
				b.SetParallelism(4)
				defer reportCPU(b)()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						answer, err := transport.RoundTrip(request(w.HTTP.URL))
						if err != nil {
							b.Error(err)
							return
						}
						_, _ = io.Copy(io.Discard, answer.Body)
						_ = answer.Body.Close()
						if answer.StatusCode != http.StatusOK {
							b.Errorf("status %d", answer.StatusCode)
							return
						}
					}
				})
			})
		})
	}
}

// tokenAndWarranty creates a warranty and a token without a practical rate limit. It returns the path
// of the warranty and the secret of the token.
func tokenAndWarranty(b *testing.B, w *servertest.World) (path, secret string) {
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
		return tx.InsertToken(user.ID, token, warranty.HashSecret(secret))
	})
	if err != nil {
		b.Fatal(err)
	}
	return fmt.Sprintf("/api/v1/warranties/%s", record.ID), secret
}

// reportCPU returns a function that reports the CPU time of this process per operation.
func reportCPU(b *testing.B) func() {
	before := cpuTime(b)
	return func() { b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op") }
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
