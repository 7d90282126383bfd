package store

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"warranty.example/svc/warranty"
)

// TestSweepRemovesOnlyWhatIsTooOld inserts rows a microsecond before and after each expiry.
func TestSweepRemovesOnlyWhatIsTooOld(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		day, bit := 24*time.Hour, time.Microsecond
		hash := func(n int) (h warranty.Hash) { h[0] = byte(n); return h }
		user := newID()
		err := s.Write(ctx, func(tx *Tx) error {
			for i, age := range []time.Duration{-bit, 0, bit} { // younger, exact, older
				saved := SavedResponse{User: user, Operation: "x", Key: fmt.Sprint(i), At: now.Add(-KeyLifetime - age)}
				if _, err := tx.SaveResponse(saved); err != nil {
					return err
				}
				if err := tx.InsertCode(hash(i), ForReset, newID(), now.Add(-age)); err != nil {
					return err
				}
				if err := tx.InsertFlow(Flow{Hash: hash(i), Kind: FlowSecondStep, User: &user, State: []byte("{}"), Created: now, Expires: now.Add(-age)}); err != nil {
					return err
				}
				if _, err := tx.UseOnce(hash(i), now.Add(-age)); err != nil {
					return err
				}
				if _, _, err := tx.CountFactorTry(newID(), TOTPOfDay, now.Add(-day-age), day); err != nil {
					return err
				}
				if err := tx.InsertSession(Session{ID: newID(), User: user, Secret: hash(i), Created: now, Expires: now.Add(-7*day - age)}); err != nil {
					return err
				}
			}
			return tx.InsertSession(Session{ID: newID(), User: user, Secret: hash(9), Created: now, Expires: now.Add(-bit)}) // ended, but not old
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Sweep(ctx, now); err != nil {
			t.Fatal(err)
		}
		for question, want := range map[string]int64{
			`SELECT count(*) FROM idempotency`:                 1,
			`SELECT count(*) FROM idempotency WHERE key = '0'`: 1,
			`SELECT count(*) FROM one_time_codes`:              1,
			`SELECT count(*) FROM sessions`:                    2,
			`SELECT count(*) FROM sign_in_flows`:               1,
			`SELECT count(*) FROM used_challenges`:             1,
			`SELECT count(*) FROM factor_tries`:                1,
		} {
			if got := number(t, s, question); got != want {
				t.Errorf("%s: %d, want %d", question, got, want)
			}
		}
		if number(t, s, `SELECT count(*) FROM sessions WHERE secret_hash = $1`, hash(9)) != 1 {
			t.Error("a recently ended session was deleted")
		}
	})
}

// TestWorkersNeverClaimTheSameMail has four workers empty the outbox concurrently.
func TestWorkersNeverClaimTheSameMail(t *testing.T) {
	const mails, workers = 120, 4
	each(t, func(t *testing.T, s *Store) {
		ctx := context.Background()
		now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		if err := s.Write(ctx, func(tx *Tx) error {
			for range mails {
				if err := tx.InsertMail(Mail{ID: newID(), To: "a@a.example"}); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		empty := func(now time.Time, attempt int) {
			var mu sync.Mutex
			claimed := map[warranty.ID]int{}
			together(workers, func(int) {
				for {
					var mine []Mail
					if err := s.Write(ctx, func(tx *Tx) (err error) {
						mine, err = tx.ClaimMails(false, now, now.Add(time.Minute), 7)
						return err
					}); err != nil {
						t.Error(err)
						return
					}
					if len(mine) == 0 {
						return
					}
					mu.Lock()
					for _, m := range mine {
						claimed[m.ID]++
						if m.Attempts != attempt {
							t.Errorf("attempt %d has Attempts %d", attempt, m.Attempts)
						}
					}
					mu.Unlock()
				}
			})
			if len(claimed) != mails {
				t.Errorf("%d of %d emails were claimed", len(claimed), mails)
			}
			for id, n := range claimed {
				if n != 1 {
					t.Errorf("email %s was claimed %d times", id, n)
				}
			}
		}
		empty(now, 1)
		// The workers that claimed them died: the emails can be claimed again when the claims
		// expire, and not before.
		early := now.Add(time.Minute - time.Microsecond)
		if err := s.Write(ctx, func(tx *Tx) error {
			mine, err := tx.ClaimMails(false, early, early.Add(time.Minute), mails)
			if len(mine) != 0 {
				t.Errorf("%d emails were claimed before the claims expired", len(mine))
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		empty(now.Add(time.Minute), 2)
	})
}
