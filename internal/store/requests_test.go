package store

import (
	"context"
	"testing"
	"time"

	"warranty.example/svc/warranty"
)

// TestRequestsAreWrittenOnce retries a write with an unknown outcome.
func TestRequestsAreWrittenOnce(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		list := []Request{{User: newID(), RequestRecord: warranty.RequestRecord{
			ID:     newID(),
			Token:  warranty.TokenName{ID: newID()},
			At:     time.Now(),
			Status: 200,
		}}}
		for range 2 {
			if err := s.Write(ctx, func(tx *Tx) error { return tx.InsertRequests(list) }); err != nil {
				t.Fatal(err)
			}
		}
		if n := number(t, s, `SELECT count(*) FROM requests`); n != 1 {
			t.Errorf("%d requests were written", n)
		}
	})
}
