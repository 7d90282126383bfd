package store

import (
	"context"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// Mail is an email in the outbox.
type Mail struct {
	ID                      warranty.ID
	To, Subject, Text, Code string
	Attempts                int
}

// InsertMail adds an email to the outbox. It is sent after the transaction is committed.
func (t *Tx) InsertMail(m Mail) error {
	return t.later(`INSERT INTO mails (id, address, subject, body, code, attempts, claimed_until)
		VALUES ($1, $2, $3, $4, $5, 0, 0)`,
		m.ID, m.To, m.Subject, m.Text, m.Code)
}

// QueuedMails counts the emails in the outbox, and those that failed at least once.
func (s *Store) QueuedMails(ctx context.Context) (all, failed int64, err error) {
	err = queryRow(ctx, s.db, `SELECT count(*), count(CASE WHEN attempts > 1 THEN 1 END) FROM mails`,
		func(r *engine.Row) { all, failed = r.Int(), r.Int() })
	return all, failed, err
}

// ClaimMails claims waiting emails until a time. No other worker gets them before then.
func (t *Tx) ClaimMails(now, until time.Time, limit int) ([]Mail, error) {
	var mails []Mail
	err := t.tx.Query(t.ctx, `UPDATE mails SET claimed_until = $2, attempts = attempts + 1
		WHERE id IN (SELECT id FROM mails WHERE claimed_until <= $1 ORDER BY claimed_until, id LIMIT $3
			/*pg: FOR UPDATE SKIP LOCKED */) AND claimed_until <= $1
		RETURNING id, address, subject, body, code, attempts`,
		func(r *engine.Row) error {
			mails = append(mails, Mail{
				ID:       r.ID(),
				To:       r.Text(),
				Subject:  r.Text(),
				Text:     r.Text(),
				Code:     r.Text(),
				Attempts: int(r.Int()),
			})
			return nil
		}, now, until, limit)
	return mails, err
}

// DeleteMail deletes an email that was sent or abandoned.
func (t *Tx) DeleteMail(id warranty.ID) error {
	return t.exactlyOne(`DELETE FROM mails WHERE id = $1`, id)
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
