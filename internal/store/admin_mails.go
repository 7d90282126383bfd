package store

import (
	"context"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// QueuedMail is an email in the outbox without its text, which may contain a code.
type QueuedMail struct {
	ID       warranty.ID
	To       string
	Subject  string
	Attempts int
	Error    string     // of the last attempt
	NextTry  time.Time  // zero if the email has failed for good
	FailedAt *time.Time // when the service gave up; nil while the email is waiting
	Sending  bool       // an attempt is in progress
	Expired  bool       // the code in the email no longer works, so it cannot be sent
}

// MailQueue counts the emails in the outbox. Retrying are those of Waiting that failed at least once, and Failed
// those that failed for good and are kept for the operator.
type MailQueue struct{ Waiting, Retrying, Failed int64 }

// CountMailQueue counts the emails in the outbox.
func (s *Store) CountMailQueue(ctx context.Context) (q MailQueue, err error) {
	err = queryRow(ctx, s.db, `SELECT count(*), count(CASE WHEN attempts > 1 THEN 1 END),
			(SELECT count(*) FROM mails WHERE claimed_until >= $1) FROM mails WHERE claimed_until < $1`,
		func(r *engine.Row) { q = MailQueue{Waiting: r.Int(), Retrying: r.Int(), Failed: r.Int()} }, never)
	return q, err
}

// sendable means that the email has no code, or one that still works; $2 is the current time.
const sendable = `(body <> '' AND (code = '' OR expires_at > $2))`

// idle excludes emails that are being sent; $2 is the current time.
const idle = `(failed_attempts = attempts OR claimed_until <= $2)`

// ListMailQueue lists the waiting emails in the order in which they are tried, or the failed ones,
// newest first. It never returns their text.
func (s *Store) ListMailQueue(
	ctx context.Context, failed bool, now time.Time, p warranty.Paging,
) (list []QueuedMail, err error) {
	which := `claimed_until < $1 ORDER BY claimed_until, id`
	if failed {
		which = `claimed_until >= $1 ORDER BY id DESC`
	}
	err = s.db.Query(ctx, `SELECT id, address, subject, attempts, last_error, claimed_until, failed_at,
			CASE WHEN `+idle+` THEN 0 ELSE 1 END, CASE WHEN `+sendable+` THEN 0 ELSE 1 END
		FROM mails WHERE `+which+` LIMIT $3 OFFSET $4`,
		func(r *engine.Row) error {
			list = append(list, readQueuedMail(r))
			return nil
		}, never, now, p.Limit, p.Offset())
	return list, err
}

// maxSubject is the number of characters of a subject that are shown.
const maxSubject = 200

func readQueuedMail(r *engine.Row) QueuedMail {
	m := QueuedMail{
		ID:       r.ID(),
		To:       r.Text(),
		Subject:  r.Text(),
		Attempts: int(r.Int()),
		Error:    r.Text(),
		NextTry:  r.Time(),
		FailedAt: r.OptionalTime(),
		Sending:  r.Int() == 1,
		Expired:  r.Int() == 1,
	}
	if subject := []rune(m.Subject); len(subject) > maxSubject {
		m.Subject = string(subject[:maxSubject]) + "…"
	}
	if m.FailedAt != nil {
		m.NextTry, m.Sending = time.Time{}, false
	}
	return m
}

// LockQueuedMail returns an email in the outbox and locks it until the transaction ends.
func (t *Tx) LockQueuedMail(id warranty.ID, now time.Time) (m QueuedMail, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT id, address, subject, attempts, last_error, claimed_until, failed_at,
			CASE WHEN `+idle+` THEN 0 ELSE 1 END, CASE WHEN `+sendable+` THEN 0 ELSE 1 END
		FROM mails WHERE id = $1 /*pg: FOR UPDATE */`,
		func(r *engine.Row) { m = readQueuedMail(r) }, id, now)
	return m, err
}

// retry makes emails due now. A failed email gets all its attempts again.
const retry = `UPDATE mails SET claimed_until = 0, failed_at = NULL,
	attempts = CASE WHEN failed_at IS NULL THEN attempts ELSE 0 END,
	failed_attempts = CASE WHEN failed_at IS NULL THEN attempts ELSE 0 END`

// RetryMail makes a locked email due now.
func (t *Tx) RetryMail(id warranty.ID) error {
	return t.exactlyOne(retry+` WHERE id = $1`, id)
}

// RetryMails makes due now all emails that are not being sent and can be sent, and returns their
// number. Those whose change can be undone wait on.
func (t *Tx) RetryMails(now time.Time) (int64, error) {
	return t.exec(retry+` WHERE claimed_until > $1 AND (held_by IS NULL OR attempts > 0) AND `+idle+` AND `+sendable, now, now)
}
