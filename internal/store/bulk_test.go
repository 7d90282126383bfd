package store

import (
	"context"
	"testing"
	"time"

	"warranty.example/svc/internal/testenv"
)

// TestUndoLocksItsEmails: no worker claims an email while an undo has it, even if it is due by then.
func TestUndoLocksItsEmails(t *testing.T) {
	t.Parallel()
	ctx, s := context.Background(), open(t, testenv.Postgres(t))
	claim, job, now := newID(), newID(), s.Now()
	claims := func() (n int) {
		if err := s.Write(ctx, func(tx *Tx) error {
			mails, err := tx.ClaimMails(false, now, now.Add(time.Hour), 10)
			n = len(mails)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if err := s.Write(ctx, func(tx *Tx) error {
		return tx.InsertMail(Mail{ID: newID(), To: "kim@people.example", Claim: &claim, HeldBy: &job, HeldFor: &job})
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(ctx, func(tx *Tx) error {
		ids, err := tx.HeldMails(job, claim)
		if err != nil || len(ids) != 1 {
			t.Errorf("held: %v, %v", ids, err)
		}
		if n := claims(); n != 0 {
			t.Errorf("%d emails claimed during the undo", n)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if n := claims(); n != 1 {
		t.Errorf("%d emails claimed after it", n)
	}
}
