package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"warranty.example/svc/warranty"
)

// TestSearchesTakeTurns holds one person's turn: their search waits, their lists
// and the searches of others do not, and no turn is left over.
func TestSearchesTakeTurns(t *testing.T) {
	each(t, func(t *testing.T, st *Store) {
		first := ids.Add(1_000_000)
		s := &script{Store: st, random: rand.New(rand.NewPCG(1, 1)), base: first, last: first, sure: true}
		s.must(t, s.addUser)
		s.must(t, s.addUser)
		one, other := s.users[0].ID, s.users[1].ID
		warranties := func(ctx context.Context, user warranty.ID, q string) error {
			_, _, err := st.Warranties(ctx, user, warranty.ListWarranties{Paging: warranty.Paging{Page: 1, Limit: 5}, Q: q}, s.today())
			return err
		}
		documents := func(ctx context.Context, user warranty.ID, q string) error {
			_, _, err := st.Documents(ctx, user, warranty.ListDocuments{Paging: warranty.Paging{Page: 1, Limit: 5}, Q: q})
			return err
		}
		giveBack, err := st.searches.take(context.Background(), one)
		if err != nil {
			t.Fatal(err)
		}
		for name, list := range map[string]func(context.Context, warranty.ID, string) error{"warranties": warranties, "documents": documents} {
			soon, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			if err := list(soon, one, "kettle"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: a second search: %v", name, err)
			}
			cancel()
			for what, err := range map[string]error{"a list": list(context.Background(), one, ""), "somebody else's search": list(context.Background(), other, "kettle")} {
				if err != nil {
					t.Errorf("%s: %s: %v", name, what, err)
				}
			}
		}
		waited := make(chan error)
		go func() { waited <- warranties(context.Background(), one, "kettle") }()
		giveBack()
		if err := <-waited; err != nil {
			t.Errorf("the one that waited: %v", err)
		}
		if len(st.searches.of) != 0 {
			t.Errorf("%d turns are left over", len(st.searches.of))
		}
	})
}
