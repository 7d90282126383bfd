package certs

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/testenv"
)

// eachStore runs a test on both databases.
func eachStore(t *testing.T, test func(t *testing.T, st *store.Store)) {
	open := func(t *testing.T, database string) {
		st, err := store.Open(context.Background(), database)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { st.Close() })
		test(t, st)
	}
	t.Run("sqlite", func(t *testing.T) { open(t, filepath.Join(t.TempDir(), "svc.db")) })
	t.Run("postgres", func(t *testing.T) { open(t, testenv.Postgres(t)) })
}

// TestOneReplicaOrders lets many replicas claim an order at once.
func TestOneReplicaOrders(t *testing.T) {
	eachStore(t, func(t *testing.T, st *store.Store) {
		now := time.Now()
		for range 3 {
			var claimed atomic.Int32
			var all sync.WaitGroup
			for range 16 {
				all.Go(func() {
					got := false
					err := st.Write(context.Background(), func(tx *store.Tx) (err error) {
						got, err = tx.ClaimACME("order", now, now.Add(time.Minute))
						return err
					})
					if err != nil {
						t.Error(err)
					}
					if got {
						claimed.Add(1)
					}
				})
			}
			all.Wait()
			if n := claimed.Load(); n != 1 {
				t.Errorf("%d replicas order", n)
			}
			now = now.Add(2 * time.Minute) // the claim has expired
		}
	})
}

// TestFailedOrdersAreDelayed has an authority that refuses connections: attempts get rarer, and
// a restart does not reset them.
func TestFailedOrdersAreDelayed(t *testing.T) {
	eachStore(t, func(t *testing.T, st *store.Store) {
		now := st.Now()
		st.SetClock(func() time.Time { return now })
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listener.Close()
		for i, minutes := range []int{2, 4, 8, 16, 32, 60, 60} {
			wait := time.Duration(minutes) * time.Minute
			a := &ACME{Host: "w.test", Directory: fmt.Sprintf("https://%s/dir", listener.Addr()), Store: st, Log: slog.New(slog.DiscardHandler)}
			if err := a.refresh(context.Background()); err == nil || !strings.Contains(err.Error(), "next attempt in "+wait.String()) {
				t.Fatalf("attempt %d: %v", i, err)
			}
			now = now.Add(wait - time.Second)
			if err := a.refresh(context.Background()); err != nil {
				t.Fatalf("attempt %d is repeated too early: %v", i, err)
			}
			now = now.Add(2 * time.Second)
			if _, err := a.Certificate(&tls.ClientHelloInfo{ServerName: "w.test"}); err == nil {
				t.Error("there is a certificate")
			}
		}
	})
}

// TestAnswersAreThoseOfTheChallenge asks for other paths and at other times.
func TestAnswersAreThoseOfTheChallenge(t *testing.T) {
	st, err := store.Open(context.Background(), filepath.Join(t.TempDir(), "svc.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	a := &ACME{Host: "w.test", Store: st, Log: slog.New(slog.DiscardHandler)}
	const path = "/.well-known/acme-challenge/token"
	put := func(until time.Time) {
		t.Helper()
		a.lookedAt = time.Time{}
		if err := st.Write(context.Background(), func(tx *store.Tx) error {
			return tx.PutACME(a.challengeName(), `{"Path":"`+path+`","Answer":"answer"}`, until)
		}); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := a.Answer(path); ok {
		t.Error("an answer without a challenge")
	}
	put(st.Now().Add(time.Hour))
	if answer, ok := a.Answer(path); !ok || answer != "answer" {
		t.Errorf("%q, %v", answer, ok)
	}
	for _, other := range []string{path + "x", path + "/", "/.well-known/acme-challenge/", "/", ""} {
		if _, ok := a.Answer(other); ok {
			t.Errorf("%q is answered", other)
		}
	}
	put(st.Now().Add(-time.Second))
	if _, ok := a.Answer(path); ok {
		t.Error("an expired challenge is answered")
	}
}
