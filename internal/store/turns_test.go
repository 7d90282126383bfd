package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// TestOneTurnAPerson holds one person's turn: what goes through all that they may
// see waits, their lists and the searches of others do not, and no turn is left over.
func TestOneTurnAPerson(t *testing.T) {
	each(t, func(t *testing.T, st *Store) {
		first := ids.Add(1_000_000)
		s := &script{Store: st, random: rand.New(rand.NewPCG(1, 1)), base: first, last: first, sure: true}
		s.must(t, s.addUser)
		s.must(t, s.addUser)
		me, other, paging := s.users[0].ID, s.users[1].ID, warranty.Paging{Page: 1, Limit: 5}
		warranties := func(ctx context.Context, user warranty.ID, q string) error {
			_, _, err := st.Warranties(ctx, user, warranty.ListWarranties{Paging: paging, Q: q}, s.today())
			return err
		}
		documents := func(ctx context.Context, user warranty.ID, q string) error {
			_, _, err := st.Documents(ctx, user, warranty.ListDocuments{Paging: paging, Q: q})
			return err
		}
		giveBack, err := st.searches.take(t.Context(), me)
		if err != nil {
			t.Fatal(err)
		}
		giveBackEnds, err := st.ends.take(t.Context(), me)
		if err != nil {
			t.Fatal(err)
		}
		for what, ask := range map[string]func(ctx context.Context, user warranty.ID) error{
			"a search of warranties": func(ctx context.Context, user warranty.ID) error { return warranties(ctx, user, "kettle") },
			"a search of documents":  func(ctx context.Context, user warranty.ID) error { return documents(ctx, user, "kettle") },
			"what ends first": func(ctx context.Context, user warranty.ID) error {
				_, err := st.Ending(ctx, user, s.today(), s.today()+60, 5)
				return err
			},
			"the days of ends": func(ctx context.Context, user warranty.ID) error {
				_, err := st.EndDates(ctx, user, s.today(), s.today()+60)
				return err
			},
		} {
			soon, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			if err := ask(soon, me); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s does not wait: %v", what, err)
			}
			cancel()
			if err := ask(t.Context(), other); err != nil {
				t.Errorf("%s, of somebody else: %v", what, err)
			}
		}
		if err := errors.Join(warranties(t.Context(), me, ""), documents(t.Context(), me, "")); err != nil {
			t.Errorf("lists: %v", err)
		}
		waited := make(chan error, 1)
		go func() { waited <- warranties(t.Context(), me, "kettle") }()
		giveBackEnds()
		if _, err := st.EndDates(t.Context(), me, s.today(), s.today()+60); err != nil {
			t.Errorf("the days of ends wait for a search: %v", err)
		}
		giveBack()
		if err := testenv.Receive(t, "the search that waited for its turn", waited); err != nil {
			t.Errorf("the one that waited: %v", err)
		}
		if left := len(st.searches.of) + len(st.ends.of); left != 0 {
			t.Errorf("%d turns are left over", left)
		}
	})
}
