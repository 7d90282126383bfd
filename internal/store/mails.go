package store

import (
	"bytes"
	"slices"
	"strconv"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// Mail is an email in the outbox.
type Mail struct {
	ID                      warranty.ID
	To, Subject, Text, Code string
	HTML, Language          string         // see mail.Message
	From, ReplyTo           string         // see mail.Message
	Color                   warranty.Color // see mail.Message
	Claim                   *warranty.ID   // what the recipient can mute
	Author                  *warranty.ID   // whose text about a claim it has; the zero ID for several people
	Expires                 *time.Time     // when the code expires; nil without a code
	Unsubscribe             *Unsubscribe   // nil for emails that are always sent
	Urgent                  bool           // someone waits for the code in it
	NotBefore               time.Time      // when it is sent; zero for now
	HeldBy, HeldFor         *warranty.ID   // the job whose undo deletes it until then, and the account that gets it
	Attempts                int
}

// never is the claimed_until of emails that failed for good.
var never = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// due returns from when on the email is sent.
func (m Mail) due() time.Time {
	if m.NotBefore.IsZero() {
		return time.UnixMicro(0)
	}
	return m.NotBefore
}

// InsertMail adds an email to the outbox. It is sent after the transaction is committed.
func (t *Tx) InsertMail(m Mail) error {
	return t.later(`INSERT INTO mails (id, address, subject, body, code, attempts, claimed_until, expires_at,
			unsubscribe, urgent, html, language, sender, reply_to, claim_id, author_id, held_by, held_for, color)
		VALUES ($1, $2, $3, $4, $5, 0, $15, $6, $7, $8, $9, $10, $11, $12, $13, $14, $16, $17, $18)`,
		m.ID, m.To, m.Subject, m.Text, m.Code, m.Expires, m.Unsubscribe.stored(), bit(m.Urgent),
		m.HTML, m.Language, m.From, m.ReplyTo, m.Claim, m.Author, m.due(), m.HeldBy, m.HeldFor,
		string(m.Color))
}

// ClaimMails claims waiting emails, urgent or other ones, until a time. No other worker gets them before then.
func (t *Tx) ClaimMails(urgent bool, now, until time.Time, limit int) ([]Mail, error) {
	var mails []Mail
	err := t.tx.Query(t.ctx, `UPDATE mails SET claimed_until = $2, attempts = attempts + 1
		WHERE id IN (SELECT id FROM mails WHERE urgent = `+strconv.Itoa(bit(urgent))+` AND claimed_until <= $1
			ORDER BY claimed_until, id LIMIT $3
			/*pg: FOR UPDATE SKIP LOCKED */) AND claimed_until <= $1
		RETURNING id, address, subject, body, code, expires_at, attempts, unsubscribe, html, language, sender, reply_to,
			claim_id, color`,
		func(r *engine.Row) error {
			mails = append(mails, Mail{
				ID:          r.ID(),
				To:          r.Text(),
				Subject:     r.Text(),
				Text:        r.Text(),
				Code:        r.Text(),
				Expires:     r.OptionalTime(),
				Attempts:    int(r.Int()),
				Unsubscribe: readUnsubscribe(r.Bytes()),
				HTML:        r.Text(),
				Language:    r.Text(),
				From:        r.Text(),
				ReplyTo:     r.Text(),
				Claim:       r.OptionalID(),
				Color:       warranty.Color(r.Text()),
			})
			return nil
		}, now, until, limit)
	slices.SortFunc(mails, func(a, b Mail) int { return bytes.Compare(a.ID[:], b.ID[:]) }) // PostgreSQL returns any order
	return mails, err
}

// DeleteMail deletes an email that was sent.
func (t *Tx) DeleteMail(id warranty.ID) error {
	return t.exactlyOne(`DELETE FROM mails WHERE id = $1`, id)
}

// MailFailure is a failed attempt to send a claimed email.
type MailFailure struct {
	Mail
	Error string
	Final bool // there are no more attempts
}

// RecordMailFailures records failed attempts of emails that were claimed until a time. Emails whose
// last attempt failed stay in the outbox, but are not sent.
func (t *Tx) RecordMailFailures(list []MailFailure, until, now time.Time) error {
	for _, f := range list {
		next, failed := until, (*time.Time)(nil)
		if f.Final {
			next, failed = never, &now
		}
		err := t.later(`UPDATE mails SET failed_attempts = attempts, last_error = $3, claimed_until = $4, failed_at = $5
			WHERE id = $1 AND claimed_until = $2`, f.ID, until, f.Error, next, failed)
		if err != nil {
			return err
		}
	}
	return nil
}

// ReleaseMails ends the claims on emails that were not tried. The attempts do not count.
func (t *Tx) ReleaseMails(mails []Mail, until time.Time) error {
	for _, m := range mails {
		err := t.later(`UPDATE mails SET claimed_until = 0, attempts = attempts - 1 WHERE id = $1 AND claimed_until = $2`,
			m.ID, until)
		if err != nil {
			return err
		}
	}
	return nil
}

// SweepMails deletes emails that failed before a time, and the text of failed emails whose code has
// expired.
func (t *Tx) SweepMails(before, now time.Time) error {
	err := t.later(`DELETE FROM mails WHERE claimed_until >= $1 AND failed_at < $2`, never, before)
	if err != nil {
		return err
	}
	return t.later(`UPDATE mails SET body = '', html = '', code = ''
		WHERE claimed_until >= $1 AND code <> '' AND (expires_at IS NULL OR expires_at <= $2)`, never, now)
}
