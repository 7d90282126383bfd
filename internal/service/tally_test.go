package service_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
)

type noMail struct{}

func (noMail) Send(context.Context, mail.Message) error { return errors.New("no such mailbox") }

// TestGivenUpMailsStayCounted: an email that failed for good is counted until an operator deals with it, so that an
// alert does not end by itself.
func TestGivenUpMailsStayCounted(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		w.Service.Mail = noMail{}
		id := w.Service.NewID()
		w.write(func(tx *store.Tx) error {
			return tx.InsertMail(store.Mail{ID: id, To: "a@people.example", Subject: "Hello", Text: "Hello"})
		})
		for try := 1; try <= 20; try++ {
			_ = w.Service.SendMail(ctx) // it fails
			queue, err := w.Store.CountMailQueue(ctx)
			if err != nil {
				t.Fatal(err)
			}
			want := service.MailQueue{Waiting: 1, Retrying: min(1, int64(try-1))}
			if try == 20 {
				want = service.MailQueue{Failed: 1}
			}
			equal(t, "the outbox", queue, want)
			w.Clock.Advance(3 * time.Minute)
		}
		equal(t, "given up", w.Service.MailsGivenUp(), int64(1))
		w.Clock.Advance(29 * 24 * time.Hour)
		if err := w.Service.SendMail(ctx); err != nil {
			t.Error(err)
		}
		queue, err := w.Store.CountMailQueue(ctx)
		equal(t, "the outbox weeks later", []any{queue, err}, []any{service.MailQueue{Failed: 1}, error(nil)})
	})
}
