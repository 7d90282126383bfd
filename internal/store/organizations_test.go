package store

import (
	"strings"
	"testing"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// TestAccountsAreCheap: the accounts are listed on every page, so the claims that wait for them are read from
// an index that has no others.
func TestAccountsAreCheap(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ada := newOwner(t, s)
		ada.must(func(tx *Tx) error {
			for range 3000 {
				if err := tx.InsertWarranty(newRecord(), ada.user); err != nil {
					return err
				}
			}
			if err := tx.later(`UPDATE access SET kind = 2, status = 7, queue = 4 WHERE user_id = $1`, ada.user); err != nil {
				return err
			}
			return tx.later(`ANALYZE`)
		})
		text := planOf(t, s, accountsOf, ada.user, warranty.MaxWaiting)
		if strings.Count(text, "access_queue") != 2 || strings.Contains(text, "access_pkey") ||
			strings.Contains(text, "Scan on access") {
			t.Error(text)
		}
	})
}

// planOf returns how the database answers a query.
func planOf(t *testing.T, s *Store, query string, args ...any) string {
	t.Helper()
	explain := `EXPLAIN `
	if !s.db.Concurrent() {
		explain = `EXPLAIN QUERY PLAN `
	}
	var plan []string
	if err := s.db.Query(t.Context(), explain+query, func(r *engine.Row) error {
		if !s.db.Concurrent() {
			r.Int()
			r.Int()
			r.Int()
		}
		plan = append(plan, r.Text())
		return nil
	}, args...); err != nil {
		t.Fatal(err)
	}
	return strings.Join(plan, "\n")
}
