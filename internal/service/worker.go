package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
)

// How often the worker does what.
const (
	usageEvery  = 3 * time.Second
	mailEvery   = 2 * time.Second
	sweepEvery  = time.Hour
	remindEvery = 10 * time.Minute

	mailClaim    = 2 * time.Minute
	mailBatch    = 20
	mailAttempts = 20
)

// Run does what no request should wait for, until the context ends: it writes
// usage, sends mail and removes what is too old. Every replica may run it.
func (s *Service) Run(ctx context.Context) {
	usage, mails, sweep, remind := time.NewTicker(usageEvery), time.NewTicker(mailEvery), time.NewTicker(sweepEvery), time.NewTicker(remindEvery)
	defer usage.Stop()
	defer mails.Stop()
	defer sweep.Stop()
	defer remind.Stop()
	s.attempt("remind", func() error { return s.Remind(ctx) })
	for {
		select {
		case <-ctx.Done():
			return
		case <-usage.C:
			s.attempt("write usage", func() error { return s.FlushUsage(ctx) })
		case <-mails.C:
			s.attempt("send mail", func() error { return s.SendMail(ctx) })
		case <-s.mailNow:
			s.attempt("send mail", func() error { return s.SendMail(ctx) })
		case <-remind.C:
			s.attempt("remind", func() error { return s.Remind(ctx) })
		case <-sweep.C:
			s.attempt("sweep", func() error { return s.Store.Sweep(ctx, s.now()) })
		}
	}
}

// attempt does one piece of the worker's work. Neither an error nor a panic ends the worker.
func (s *Service) attempt(what string, work func() error) {
	defer func() {
		if p := recover(); p != nil {
			s.Log.Error("worker panicked", "work", what, "panic", fmt.Sprint(p))
		}
	}()
	if err := work(); err != nil && !errors.Is(err, context.Canceled) {
		s.Log.Error("worker failed; it will try again", "work", what, "error", err.Error())
	}
}

// wakeMail makes the worker look for mail now.
func (s *Service) wakeMail() {
	select {
	case s.mailNow <- struct{}{}:
	default: // it is awake
	}
}

// SendAllMail sends until nothing waits.
func (s *Service) SendAllMail(ctx context.Context) error {
	for {
		sent, err := s.sendSome(ctx)
		if err != nil || sent == 0 {
			return err
		}
	}
}

// SendMail sends what waits. A mail is claimed before it is sent, so that of
// several replicas one sends it; it is removed after, so that a crash in between
// sends it again rather than never.
func (s *Service) SendMail(ctx context.Context) error {
	_, err := s.sendSome(ctx)
	return err
}

func (s *Service) sendSome(ctx context.Context) (claims int, err error) {
	now := s.now()
	var claimed []store.Mail
	err = s.Store.Write(ctx, func(tx *store.Tx) (err error) {
		claimed, err = tx.ClaimMails(now, now.Add(mailClaim), mailBatch)
		return err
	})
	for _, m := range claimed {
		sent := s.Mail.Send(ctx, mail.Message{To: m.To, Subject: m.Subject, Text: m.Text, Code: m.Code})
		if sent != nil && m.Attempts < mailAttempts {
			err = errors.Join(err, fmt.Errorf("mail %s, attempt %d: %w", m.ID, m.Attempts, sent))
			continue
		}
		if sent != nil {
			s.Log.Error("a mail was given up", "mail", m.ID.String(), "attempts", m.Attempts, "error", sent.Error())
		}
		err = errors.Join(err, s.Store.Write(ctx, func(tx *store.Tx) error { return tx.DeleteMail(m.ID) }))
	}
	return len(claimed), err
}
