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
	each(t, func(t *testing.T, w *world) {
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

// TestJobsAreCounted by their state, with how long the oldest has waited, and why they ended.
func TestJobsAreCounted(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shop := w.issuer("Ann")
		count := func(what string, want service.JobQueue) service.JobQueue {
			t.Helper()
			got, err := w.Store.CountJobs(ctx, w.Clock.Now())
			if err != nil {
				t.Fatal(err)
			}
			stalled := got.Stalled
			got.Stalled = time.Time{}
			equal(t, what, got, want)
			got.Stalled = stalled
			return got
		}
		count("none", service.JobQueue{})
		broken := errors.New("broken")
		w.Jobs.Kinds["rows"] = createRows(w, func(int64) error { return broken })
		j := shop.startJob(t, w)
		waiting := count("waiting", service.JobQueue{Waiting: 1})
		if !waiting.Stalled.Equal(shop.job(t, j.ID).CreatedAt) || waiting.Stuck(w.Clock.Now()) || !waiting.Stuck(w.Clock.Now().Add(11*time.Minute)) {
			t.Errorf("waits since %v", waiting.Stalled)
		}
		for try := 1; try <= 20; try++ {
			err := w.Jobs.RunOpen(ctx)
			if try == 20 {
				equal(t, "the last attempt", err, error(nil))
				break
			}
			if !errors.Is(err, broken) {
				t.Fatal(err)
			}
			count("leased", service.JobQueue{Running: 1})
			w.Clock.Advance(time.Minute)
		}
		if failed := count("failed", service.JobQueue{Failed: 1}); !failed.Stalled.IsZero() || failed.Stuck(w.Clock.Now()) {
			t.Errorf("a failed job waits since %v", failed.Stalled)
		}
		equal(t, "ended by an error", []int64{w.Jobs.Failed(), w.Jobs.Refused()}, []int64{1, 0})

		w.Jobs.Kinds["rows"] = createRows(w, goOn)
		shop.startJob(t, w)
		w.Must(204, request{Method: "DELETE", Path: "/api/auth/sessions/current", Secret: shop.admin.session})
		equal(t, "without its session", w.Jobs.RunOpen(ctx), error(nil))
		equal(t, "ended by a refusal", []int64{w.Jobs.Failed(), w.Jobs.Refused()}, []int64{1, 1})
	})
}
