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

// TestFullScansAreSerializedPerUser holds one user's slots: their full scans wait, their lists and
// the scans of others do not.
func TestFullScansAreSerializedPerUser(t *testing.T) {
	each(t, func(t *testing.T, st *Store) {
		first := ids.Add(1_000_000)
		s := &script{Store: st, random: rand.New(rand.NewPCG(1, 1)), base: first, last: first, sure: true}
		s.must(t, s.addUser)
		s.must(t, s.addUser)
		me, other, paging := s.users[0].ID, s.users[1].ID, warranty.Paging{Page: 1, Limit: 5}
		warranties := func(ctx context.Context, user warranty.ID, q string) error {
			_, _, err := st.Warranties(ctx, user, warranty.ListWarranties{Paging: paging, WarrantyFilter: warranty.WarrantyFilter{Q: q}}, s.today())
			return err
		}
		documents := func(ctx context.Context, user warranty.ID, q string) error {
			_, _, err := st.Documents(ctx, user, warranty.ListDocuments{Paging: paging, Q: q})
			return err
		}
		release, err := st.lists.Scans.Acquire(t.Context(), me)
		if err != nil {
			t.Fatal(err)
		}
		releaseEnds, err := st.endGate.Acquire(t.Context(), me)
		if err != nil {
			t.Fatal(err)
		}
		for what, ask := range map[string]func(ctx context.Context, user warranty.ID) error{
			"search of warranties": func(ctx context.Context, user warranty.ID) error { return warranties(ctx, user, "kettle") },
			"search of documents":  func(ctx context.Context, user warranty.ID) error { return documents(ctx, user, "kettle") },
			"ending warranties": func(ctx context.Context, user warranty.ID) error {
				_, err := st.Ending(ctx, user, s.today(), s.today()+60, 5)
				return err
			},
			"end dates": func(ctx context.Context, user warranty.ID) error {
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
				t.Errorf("%s of another user: %v", what, err)
			}
		}
		if err := errors.Join(warranties(t.Context(), me, ""), documents(t.Context(), me, "")); err != nil {
			t.Errorf("lists: %v", err)
		}
		waited := make(chan error, 1)
		go func() { waited <- warranties(t.Context(), me, "kettle") }()
		releaseEnds()
		if _, err := st.EndDates(t.Context(), me, s.today(), s.today()+60); err != nil {
			t.Errorf("end dates wait for a search: %v", err)
		}
		release()
		if err := testenv.Receive(t, "the waiting search", waited); err != nil {
			t.Errorf("waiting search: %v", err)
		}
	})
}
