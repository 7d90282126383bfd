package store

import (
	"context"
	"strings"
	"testing"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// TestLikeFindsWhatIsWritten: %, _ and \ are plain characters on both databases.
func TestLikeFindsWhatIsWritten(t *testing.T) {
	texts := []string{
		"100% cotton", "100 cotton", `back\slash`, "under_score", "underXscore", "ÄPFEL", "äpfel", "日本語", "straße",
		"STRASSE", "%", "_", `\`, "",
	}
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		if err := s.Write(ctx, func(tx *Tx) error {
			return tx.later(`CREATE TABLE texts (k BIGINT NOT NULL, v TEXT NOT NULL)`)
		}); err != nil {
			t.Fatal(err)
		}
		if err := s.Write(ctx, func(tx *Tx) error {
			for i, text := range texts {
				if err := tx.later(`INSERT INTO texts (k, v) VALUES ($1, $2)`, i, warranty.Fold(text)); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for _, q := range texts {
			found := map[int64]bool{}
			err := s.db.Query(ctx, `SELECT k FROM texts WHERE v LIKE $1 ESCAPE '\'`, func(r *engine.Row) error {
				found[r.Int()] = true
				return nil
			}, like(q))
			if err != nil {
				t.Fatal(err)
			}
			for i, text := range texts {
				if want := strings.Contains(warranty.Fold(text), warranty.Fold(q)); found[int64(i)] != want {
					t.Errorf("%q finds %q: %v", q, text, !want)
				}
			}
		}
	})
}
