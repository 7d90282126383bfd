package store

import (
	"time"

	"warranty.example/svc/warranty"
)

// Mail is one that waits to be sent.
type Mail struct {
	ID                      warranty.ID
	To, Subject, Text, Code string
	Attempts                int
}

// InsertMail puts a mail into the out-tray, to be sent once the transaction is durable.
func (t *Tx) InsertMail(m Mail) error {
	return t.later(`INSERT INTO mails (id, address, subject, body, code, attempts, claimed_until) VALUES ($1, $2, $3, $4, $5, 0, 0)`,
		m.ID, m.To, m.Subject, m.Text, m.Code)
}

// ClaimMails takes some mails that wait, for as long as the claim lasts: no other
// worker gets them in that time.
func (t *Tx) ClaimMails(now, until time.Time, most int) ([]Mail, error) {
	var mails []Mail
	err := t.tx.query(t.ctx, `UPDATE mails SET claimed_until = $2, attempts = attempts + 1
		WHERE id IN (SELECT id FROM mails WHERE claimed_until <= $1 ORDER BY claimed_until, id LIMIT $3 /*pg: FOR UPDATE SKIP LOCKED */) AND claimed_until <= $1
		RETURNING id, address, subject, body, code, attempts`,
		func(r Row) error {
			mails = append(mails, Mail{ID: r.ID(0), To: r.Text(1), Subject: r.Text(2), Text: r.Text(3), Code: r.Text(4), Attempts: int(r.Int(5))})
			return nil
		}, now, until, most)
	return mails, err
}

// DeleteMail removes a mail that was sent or given up.
func (t *Tx) DeleteMail(id warranty.ID) error {
	return t.exactlyOne(`DELETE FROM mails WHERE id = $1`, id)
}

// ReleaseMails gives mails back that were claimed until a time and not tried: the
// claim ends, and the attempt does not count.
func (t *Tx) ReleaseMails(mails []Mail, until time.Time) error {
	for _, m := range mails {
		err := t.later(`UPDATE mails SET claimed_until = 0, attempts = attempts - 1 WHERE id = $1 AND claimed_until = $2`, m.ID, until)
		if err != nil {
			return err
		}
	}
	return nil
}
