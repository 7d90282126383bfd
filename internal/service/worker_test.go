package service_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// moody is a mail server that fails in every way before it works.
type moody struct {
	mu    sync.Mutex
	tries int
	sent  chan string
}

func (m *moody) Send(_ context.Context, message mail.Message) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tries++
	switch m.tries {
	case 1:
		panic("the mail server bites")
	case 2:
		return errors.New("the mail server sulks")
	}
	m.sent <- message.Code
	return nil
}

// TestTheWorkerSurvives: neither a panic nor an error stops the worker, and failed work
// is done later.
func TestTheWorkerSurvives(t *testing.T) {
	w := newWorld(t, servertest.SQLite(t), busy)
	server := &moody{sent: make(chan string, 10)}
	w.Service.Mail = server
	ctx, cancel := context.WithCancel(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		w.Service.Run(ctx)
	}()
	w.write(func(tx *store.Tx) error {
		return tx.InsertMail(store.Mail{ID: w.Service.NewID(), To: "a@people.example", Code: "the code"})
	})
	code := ""
	testenv.Wait(t, "the mail is sent", func() bool {
		w.Clock.Advance(3 * time.Minute) // past the claim of the failed attempt
		if _, err := w.Service.RequestPasswordReset(ctx, warranty.Principal{},
			warranty.RequestPasswordReset{Email: "nobody@people.example"}); err != nil {
			t.Fatal(err) // wakes the worker
		}
		select {
		case code = <-server.sent:
			return true
		case <-time.After(100 * time.Millisecond): // gives the worker a chance before the clock advances
			return false
		}
	})
	if code != "the code" {
		t.Errorf("sent %q", code)
	}
	cancel()
	testenv.Receive(t, "the worker stops", stopped)
	if n := w.number(`SELECT count(*) FROM mails`); n != 0 {
		t.Errorf("%d mails are left", n)
	}
}
