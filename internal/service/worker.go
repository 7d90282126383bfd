package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// How often the worker does what.
const (
	usageEvery  = 3 * time.Second
	mailEvery   = 2 * time.Second
	sweepEvery  = time.Hour
	remindEvery = 10 * time.Minute
	clockEvery  = time.Minute
	folderEvery = time.Minute

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
		{"send digests", digestEvery, s.SendDigests, nil},
		{"remind", remindEvery, s.Remind, nil},
		{"compare clocks", clockEvery, s.Store.SyncClock, nil},
		{"sweep", sweepEvery, func(ctx context.Context) error { return s.Store.Sweep(ctx, s.now()) }, nil},
		{"sweep requests", sweepEvery, s.SweepRequests, nil},
		{"check the folder of files", folderEvery, s.CheckFolder, nil},
		{"sweep files", folderEvery, s.SweepFiles, nil}, // of all replicas, one an hour
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
// several replicas one sends it, and removed afterwards, so that a crash in between
// sends it again rather than never.
func (s *Service) SendMail(ctx context.Context) error {
	_, err := s.sendSome(ctx)
	return err
}

// finishedMails are mails that this process has sent or given up and could not
// remove yet. They are never sent again here, whatever becomes of the removal.
type finishedMails struct {
	mu  sync.Mutex
	ids map[warranty.ID]bool
}

func newFinishedMails() *finishedMails { return &finishedMails{ids: map[warranty.ID]bool{}} }

func (f *finishedMails) add(id warranty.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ids[id] = true
}

func (f *finishedMails) has(id warranty.ID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ids[id]
}

func (f *finishedMails) list() []warranty.ID {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Keys(f.ids))
}

func (f *finishedMails) forget(id warranty.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.ids, id)
}

func (s *Service) sendSome(ctx context.Context) (claims int, err error) {
	// First what earlier runs left: its claim runs out, and then another replica
	// would send it again.
	for _, id := range s.finished.list() {
		err = errors.Join(err, s.removeMail(ctx, id))
	}
	now := s.now()
	until := now.Add(mailClaim)
	var claimed []store.Mail
	failed := s.Store.Write(ctx, func(tx *store.Tx) (err error) {
		claimed, err = tx.ClaimMails(now, until, mailBatch)
		return err
	})
	if failed != nil {
		// Nobody knows whether the claim holds, so nothing is sent. Where it holds, it
		// ends by itself.
		return 0, errors.Join(err, failed)
	}
	for i, m := range claimed {
		if ctx.Err() != nil || s.now().Add(mailTime).After(until) {
			// The service stops, or the mail server is slow: others may send the rest.
			err = errors.Join(err, ctx.Err(), s.releaseMails(ctx, claimed[i:], until))
			break
		}
		err = errors.Join(err, s.deliver(ctx, m))
	}
	return len(claimed), err
}

// deliver sends one claimed mail. Its attempt was counted with the claim.
func (s *Service) deliver(ctx context.Context, m store.Mail) error {
	if !s.finished.has(m.ID) {
		err := s.Mail.Send(ctx, mail.Message{ID: m.ID.String(), To: m.To, Subject: m.Subject, Text: m.Text, Code: m.Code})
		if err != nil && m.Attempts < mailAttempts {
			return fmt.Errorf("mail %s, attempt %d: %w", m.ID, m.Attempts, err)
		}
		if err != nil {
			s.Log.Error("a mail was given up", "mail", m.ID.String(), "attempts", m.Attempts, "error", err.Error())
		}
		s.finished.add(m.ID)
	}
	return s.removeMail(ctx, m.ID)
}

// removeMail removes a finished mail, also when the service was told to stop. One
// that is not there was removed by a transaction that was reported as failed.
func (s *Service) removeMail(ctx context.Context, id warranty.ID) error {
	err := s.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error { return tx.DeleteMail(id) })
	if err != nil && !errors.Is(err, warranty.ErrNotFound) {
		return fmt.Errorf("remove mail %s, which is finished: %w", id, err)
	}
	s.finished.forget(id)
	return nil
}

// releaseMails gives claimed mails back that were not tried.
func (s *Service) releaseMails(ctx context.Context, mails []store.Mail, until time.Time) error {
	return s.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error { return tx.ReleaseMails(mails, until) })
}
