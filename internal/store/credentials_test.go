package store

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"warranty.example/svc/warranty"
)

// TestRememberedTokensAreWatched makes every kind of change to a token or its user in one process,
// after another has cached it. The other process must immediately return the same as one with an
// empty cache.
func TestRememberedTokensAreWatched(t *testing.T) {
	now := time.UnixMicro(1_800_000_000_000_000).UTC()
	changes := map[string]func(tx *Tx, user, token warranty.ID, n int) error{
		"nothing":     func(*Tx, warranty.ID, warranty.ID, int) error { return nil },
		"revoked":     func(tx *Tx, _, token warranty.ID, _ int) error { return tx.RevokeToken(token, now) },
		"all revoked": func(tx *Tx, user, _ warranty.ID, _ int) error { return tx.RevokeTokens(user, now) },
		"rotated": func(tx *Tx, _, token warranty.ID, n int) error {
			return tx.RotateToken(warranty.Token{ID: token, Prefix: "svc_y"}, secretOf(n+500), now, now.Add(time.Hour))
		},
		"rotated twice": func(tx *Tx, _, token warranty.ID, n int) error {
			if err := tx.RotateToken(warranty.Token{ID: token, Prefix: "svc_y"}, secretOf(n+500), now, now); err != nil {
				return err
			}
			return tx.RotateToken(warranty.Token{ID: token, Prefix: "svc_z"}, secretOf(n+501),
				now.Add(time.Second), now.Add(time.Hour))
		},
		"renamed": func(tx *Tx, user, _ warranty.ID, _ int) error {
			return tx.UpdateAccount(warranty.Account{User: warranty.User{ID: user, Name: "New"}})
		},
		"verified": func(tx *Tx, user, _ warranty.ID, _ int) error { return tx.VerifyUser(user, now) },
		"disabled": func(tx *Tx, user, _ warranty.ID, _ int) error { return tx.DisableUser(user, now) },
	}
	eachDatabase(t, func(t *testing.T, database string) {
		ctx, ours, theirs := context.Background(), open(t, database), open(t, database)
		n := 0
		for name, change := range changes {
			t.Run(name, func(t *testing.T) {
				n += 1000
				user, token := newID(), newID()
				write := func(fn func(*Tx) error) {
					t.Helper()
					if err := ours.Write(ctx, fn); err != nil {
						t.Fatal(err)
					}
				}
				write(func(tx *Tx) error {
					u := warranty.User{ID: user, Name: "Old", Email: fmt.Sprint(user, "@people.example"), CreatedAt: now}
					if err := tx.InsertUser(u, "x"); err != nil {
						return err
					}
					erp := warranty.Token{ID: token, Name: "ERP", Prefix: "svc_x", ExpiresAt: now.Add(time.Hour), CreatedAt: now}
					return tx.InsertToken(user, user, erp, secretOf(n))
				})
				for range 2 {
					if _, err := theirs.TokenBySecret(ctx, secretOf(n)); err != nil {
						t.Fatal(err)
					}
				}
				write(func(tx *Tx) error { return change(tx, user, token, n) })
				got, err := theirs.TokenBySecret(ctx, secretOf(n))
				want, wanted := open(t, database).TokenBySecret(ctx, secretOf(n))
				if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, wanted) {
					t.Errorf("uncached (-) and cached (+), %v and %v:\n%s", wanted, err, diff)
				}
			})
		}
	})
}

func secretOf(n int) (h warranty.Hash) {
	copy(h[:], fmt.Sprintf("%032d", n))
	return h
}

// TestRememberedTokensAreBounded adds more tokens than the cache holds.
func TestRememberedTokensAreBounded(t *testing.T) {
	t.Parallel()
	c := credentials{tokens: map[warranty.Hash]rememberedToken{}}
	for i := range maxCredentials + 100 {
		c.put(secretOf(i), rememberedToken{epoch: int64(i)})
	}
	last, ok := c.get(secretOf(maxCredentials + 99))
	if len(c.tokens) != maxCredentials || !ok || last.epoch != maxCredentials+99 {
		t.Errorf("%d tokens are cached, including the last one: %v", len(c.tokens), ok)
	}
}
