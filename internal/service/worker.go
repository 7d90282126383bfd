package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

const (
	usageEvery  = 3 * time.Second
	mailEvery   = 2 * time.Second
	sweepEvery  = time.Hour
	remindEvery = 10 * time.Minute
	clockEvery  = time.Minute
	folderEvery = time.Minute
	eraseEvery  = time.Minute

	domainsEvery = 10 * time.Minute
	indexEvery   = 2 * time.Second
	linkEvery    = time.Minute

	mailClaim    = 2 * time.Minute
	mailTime     = 30 * time.Second // longer than one delivery takes
	mailBatch    = 20
	mailAttempts = 20
)

// Run does background work until ctx is done. Each task has its own goroutine, so that a
// slow mail server delays nothing else. Every replica can run it.
func (s *Service) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, work := range []struct {
		what  string
		every time.Duration
		do    func(context.Context) error
		wake  <-chan struct{} // runs the task now; may be nil
	}{
		{"write usage", usageEvery, s.FlushUsage, nil},
		{"send mail", mailEvery, s.SendMail, s.mailNow},
		{"send codes", mailEvery, s.SendCodes, s.codesNow},
		{"send digests", digestEvery, s.SendDigests, nil},
		{"send notices", digestEvery, s.SendNotices, nil},
		{"remind", remindEvery, s.Remind, nil},
		{"send weekly emails", remindEvery, s.SendWeekly, nil},
		{"compare clocks", clockEvery, s.Store.SyncClock, nil},
		{"sweep", sweepEvery, func(ctx context.Context) error { return s.Store.Sweep(ctx, s.now()) }, nil},
		{"sweep requests", sweepEvery, s.SweepRequests, nil},
		{"index lists", indexEvery, s.Store.MaintainSegments, nil},
		{"link customers", linkEvery, s.LinkCustomers, nil},
		{"queue claims", linkEvery, s.QueueClaims, nil},
		{"check domains", domainsEvery, s.CheckDomains, nil},
		{"erase accounts", eraseEvery, s.EraseUsers, nil},
		{"empty trash", sweepEvery, s.EmptyTrash, nil},
		{"expire drafts", sweepEvery, s.ExpireDrafts, nil},
		{"expire replaced files", sweepEvery, s.ExpireVersions, nil},
		{"check files folder", folderEvery, s.CheckFolder, nil},
		{"sweep files", folderEvery, s.SweepFiles, nil}, // runs hourly, on one replica
	} {
		running.Go(func() { s.Every(ctx, work.what, work.every, work.do, work.wake) })
	}
	running.Wait()
}

// Every does a task now, at intervals and when it is woken, until ctx is done. It logs errors and panics. wake may be
// nil.
func (s *Service) Every(
	ctx context.Context, what string, every time.Duration, do func(context.Context) error, wake <-chan struct{},
) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for ctx.Err() == nil {
		s.attempt(what, func() error { return do(ctx) })
		select {
		case <-ctx.Done():
		case <-tick.C:
		case <-wake:
		}
	}
}

// attempt runs one task and logs errors and panics.
func (s *Service) attempt(what string, work func() error) {
	defer func() {
		if p := recover(); p != nil {
			s.Log.Error("worker panicked", "work", what, "panic", fmt.Sprint(p))
			s.recordTaskError(what, "panic: "+fmt.Sprint(p))
		}
	}()
	if err := work(); err != nil && !errors.Is(err, context.Canceled) {
		s.Log.Error("worker failed; will retry", "work", what, "error", err.Error())
		s.recordTaskError(what, err.Error())
	}
}

// wakeMail makes the worker check the outbox now.
func (s *Service) wakeMail() {
	for _, worker := range []chan struct{}{s.mailNow, s.codesNow} {
		select {
		case worker <- struct{}{}:
		default: // already awake
		}
	}
}

// SendAllMail sends until the outbox is empty.
func (s *Service) SendAllMail(ctx context.Context) error {
	for {
		sent, err := s.sendBoth(ctx)
		if err != nil || sent == 0 {
			return err
		}
	}
}

// SendMail sends a batch from the outbox. An email is claimed before it is sent, so that
// only one replica sends it, and removed afterwards, so that a crash in between sends it
// twice rather than never.
func (s *Service) SendMail(ctx context.Context) error {
	_, err := s.sendBoth(ctx)
	return err
}

func (s *Service) sendBoth(ctx context.Context) (claims int, err error) {
	codes, failed := s.sendSome(ctx, true)
	others, err := s.sendSome(ctx, false)
	return codes + others, errors.Join(failed, err)
}

// SendCodes sends only the codes that people wait for. It has its own worker, so that many other emails or a slow mail
// server do not hold them up.
func (s *Service) SendCodes(ctx context.Context) error {
	_, err := s.sendSome(ctx, true)
	return err
}

// finishedMails are emails that this process has sent but could not remove yet. It does not send them again.
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

func (s *Service) sendSome(ctx context.Context, urgent bool) (claims int, err error) {
	// Emails finished by earlier runs come first: when their claim expires, another
	// replica would send them again.
	for _, id := range s.finished.list() {
		err = errors.Join(err, s.removeMail(ctx, id))
	}
	now := s.now()
	until := now.Add(mailClaim)
	var claimed []store.Mail
	failed := s.Store.Write(ctx, func(tx *store.Tx) (err error) {
		claimed, err = tx.ClaimMails(urgent, now, until, mailBatch)
		return err
	})
	if failed != nil {
		// The claim may or may not have been committed, so nothing is sent. It expires.
		return 0, errors.Join(err, failed)
	}
	var failures []store.MailFailure
	for i, m := range claimed {
		if ctx.Err() != nil || s.now().Add(mailTime).After(until) {
			// The service is stopping or the mail server is slow: release the rest for others.
			err = errors.Join(err, ctx.Err(), s.releaseMails(ctx, claimed[i:], until))
			break
		}
		failure, problem := s.deliver(ctx, m)
		if failure != nil {
			failures = append(failures, *failure)
		}
		err = errors.Join(err, problem)
	}
	return len(claimed), errors.Join(err, s.recordMailFailures(ctx, failures, until))
}

// deliver sends one claimed email. Claiming it has counted the attempt. It returns the failure to
// record, if any, and the error to log.
func (s *Service) deliver(ctx context.Context, m store.Mail) (*store.MailFailure, error) {
	if !s.finished.has(m.ID) {
		err := errMailExpired
		if m.Expires == nil || s.now().Before(*m.Expires) {
			message := mail.Message{
				ID: m.ID.String(), To: m.To, Subject: m.Subject, Text: m.Text, HTML: m.HTML, Code: m.Code, Language: m.Language,
				From: m.From, ReplyTo: m.ReplyTo, Color: m.Color,
			}
			if message, err = s.finish(ctx, message, m.Unsubscribe, m.Claim); err != nil {
				return nil, err // the claim expires, and the attempt does not count as one of the mail server's
			}
			err = s.Mail.Send(ctx, message)
			s.delivery.note(err, s.now())
		}
		if err != nil {
			return s.failMail(m, err)
		}
		s.finished.add(m.ID)
	}
	return nil, s.removeMail(ctx, m.ID)
}

var errMailExpired = errors.New("the code in this email expired before the email could be sent")

// failMail returns the failure of an attempt, and the error to log. After the last attempt the email
// is kept for the operator.
func (s *Service) failMail(m store.Mail, err error) (*store.MailFailure, error) {
	text := err.Error()
	for code := range strings.FieldsSeq(m.Code) {
		text = strings.ReplaceAll(text, code, "(code)")
	}
	final := m.Attempts >= mailAttempts || errors.Is(err, errMailExpired)
	failure := &store.MailFailure{Mail: m, Error: errorText(text), Final: final}
	if !final {
		return failure, fmt.Errorf("mail %s, attempt %d: %w", m.ID, m.Attempts, err)
	}
	s.Log.Error("gave up on an email", "mail", m.ID.String(), "attempts", m.Attempts, "error", err.Error())
	return failure, nil
}

// recordMailFailures records failed attempts, even if ctx is done. If it fails, the emails are tried
// again when their claim expires.
func (s *Service) recordMailFailures(ctx context.Context, failures []store.MailFailure, until time.Time) error {
	if len(failures) == 0 {
		return nil
	}
	now := s.now()
	err := s.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		return tx.RecordMailFailures(failures, until, now)
	})
	for _, f := range failures {
		if f.Final && err == nil {
			s.mailsLost.Add(1)
		}
	}
	return err
}

// MailsGivenUp returns the number of emails that this process gave up on.
func (s *Service) MailsGivenUp() int64 { return s.mailsLost.Load() }

// removeMail removes a finished email, even if ctx is done. If it does not exist, an
// earlier transaction that was reported as failed has removed it.
func (s *Service) removeMail(ctx context.Context, id warranty.ID) error {
	err := s.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error { return tx.DeleteMail(id) })
	if err != nil && !errors.Is(err, warranty.ErrNotFound) {
		return fmt.Errorf("remove finished mail %s: %w", id, err)
	}
	s.finished.forget(id)
	return nil
}

// releaseMails releases claimed emails that were not tried.
func (s *Service) releaseMails(ctx context.Context, mails []store.Mail, until time.Time) error {
	return s.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		return tx.ReleaseMails(mails, until)
	})
}
