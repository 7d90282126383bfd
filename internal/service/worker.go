package service

import (
	"context"
	"errors"
	"fmt"
	"sync"
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
	clockEvery  = time.Minute

	mailClaim    = 2 * time.Minute
	mailTime     = 30 * time.Second // more than a mail server gets for one
	mailBatch    = 20
	mailAttempts = 20
)

// Run does what no request should wait for, until the context ends. Each piece of
// work has a goroutine of its own, so that a slow mail server holds nothing else
// up. Every replica may run it.
func (s *Service) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, work := range []struct {
		what  string
		every time.Duration
		do    func(context.Context) error
		wake  chan struct{} // does it now; nil for work that can wait
	}{
		{"write usage", usageEvery, s.FlushUsage, nil},
		{"send mail", mailEvery, s.SendMail, s.mailNow},
		{"remind", remindEvery, s.Remind, nil},
		{"compare clocks", clockEvery, s.Store.SyncClock, nil},
		{"sweep", sweepEvery, func(ctx context.Context) error { return s.Store.Sweep(ctx, s.now()) }, nil},
		{"sweep requests", sweepEvery, s.SweepRequests, nil},
	} {
		running.Go(func() {
			tick := time.NewTicker(work.every)
			defer tick.Stop()
			for ctx.Err() == nil {
				s.attempt(work.what, func() error { return work.do(ctx) })
				select {
				case <-ctx.Done():
				case <-tick.C:
				case <-work.wake:
				}
			}
		})
	}
	running.Wait()
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
	until := now.Add(mailClaim)
	var claimed []store.Mail
	err = s.Store.Write(ctx, func(tx *store.Tx) (err error) {
		claimed, err = tx.ClaimMails(now, until, mailBatch)
		return err
	})
	for _, m := range claimed {
		if s.now().Add(mailTime).After(until) {
			break // the mail server is slow; soon the rest is anybody's
		}
		sent := s.Mail.Send(ctx, mail.Message{To: m.To, Subject: m.Subject, Text: m.Text, Code: m.Code})
		if sent != nil && m.Attempts < mailAttempts {
			err = errors.Join(err, fmt.Errorf("mail %s, attempt %d: %w", m.ID, m.Attempts, sent))
			continue
		}
		if sent != nil {
			s.Log.Error("a mail was given up", "mail", m.ID.String(), "attempts", m.Attempts, "error", sent.Error())
		}
		// It was sent, also when the service was told to stop meanwhile.
		err = errors.Join(err, s.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error { return tx.DeleteMail(m.ID) }))
	}
	return len(claimed), err
}
