package store

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// MailDay is the period over which emails to other users are counted.
const MailDay = 24 * time.Hour

// MailCounts are the emails of the last MailDay that limit whether another one may be sent.
type MailCounts struct {
	BySender    int64     // to anyone
	ToRecipient int64     // from this sender
	LastOnTopic time.Time // to the recipient, from anyone; zero if none
}

// CountMails counts the emails of a locked sender.
func (t *Tx) CountMails(sender warranty.ID, recipient string, topic warranty.ID, now time.Time) (MailCounts, error) {
	var c MailCounts
	err := queryRow(t.ctx, t.tx, `SELECT count(DISTINCT mail_id), count(DISTINCT CASE WHEN recipient = $2 THEN mail_id END)
		FROM mail_log WHERE sender_id = $1 AND at > $3`,
		func(r *engine.Row) { c.BySender, c.ToRecipient = r.Int(), r.Int() }, sender, recipient, now.Add(-MailDay))
	if err != nil {
		return c, err
	}
	err = t.tx.Query(t.ctx, `SELECT at FROM mail_log WHERE recipient = $1 AND topic = $2 ORDER BY at DESC LIMIT 1`,
		func(r *engine.Row) error { c.LastOnTopic = r.Time(); return nil }, recipient, topic)
	return c, err
}

// InsertMailTo adds an email to another user to the outbox and counts it.
func (t *Tx) InsertMailTo(m Mail, sender, topic warranty.ID, now time.Time) error {
	if err := t.InsertMail(m); err != nil {
		return err
	}
	return t.logMail(m, sender, topic, now)
}

func (t *Tx) logMail(m Mail, sender, topic warranty.ID, now time.Time) error {
	return t.later(`INSERT INTO mail_log (sender_id, at, mail_id, topic, recipient) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (sender_id, at, mail_id, topic) DO NOTHING`, sender, now, m.ID, topic, m.To)
}

// InDigest reports whether a digest of a user with a claim is pending, and waits for one that is being sent.
func (t *Tx) InDigest(user, claim warranty.ID) (found bool, err error) {
	err = t.tx.Query(t.ctx, `SELECT 1 FROM mail_digest WHERE user_id = $1 AND claim_id = $2 /*pg: FOR UPDATE */`,
		func(*engine.Row) error { found = true; return nil }, user, claim)
	return found, err
}

// AddToDigest adds a claim change to a user's next digest, due at the given time or earlier.
func (t *Tx) AddToDigest(user, claim, sender warranty.ID, due time.Time) error {
	return t.later(`INSERT INTO mail_digest (user_id, claim_id, sender_id, changes, due_at) VALUES ($1, $2, $3, 1, $4)
		ON CONFLICT (user_id, claim_id, sender_id) DO UPDATE SET changes = mail_digest.changes + 1,
		due_at = CASE WHEN excluded.due_at < mail_digest.due_at THEN excluded.due_at ELSE mail_digest.due_at END`,
		user, claim, sender, due)
}

// DueDigests lists users whose digest is due.
func (s *Store) DueDigests(ctx context.Context, now time.Time, limit int) ([]warranty.ID, error) {
	var users []warranty.ID
	err := s.db.Query(ctx, `SELECT DISTINCT user_id FROM mail_digest WHERE due_at <= $1 LIMIT $2`,
		func(r *engine.Row) error { users = append(users, r.ID()); return nil }, now, limit)
	return users, err
}

// Digest is the claim changes that a user was not emailed about.
type Digest struct {
	Claims  []warranty.Claim // the newest, in their current state
	More    int              // number of further claims
	senders map[warranty.ID][]warranty.ID
}

// TakeDigest removes and returns the digest of a locked user, with at most limit of the claims that
// they still have access to.
func (t *Tx) TakeDigest(user warranty.ID, limit int) (Digest, error) {
	d := Digest{senders: map[warranty.ID][]warranty.ID{}}
	err := t.tx.Query(t.ctx, `DELETE FROM mail_digest WHERE user_id = $1
		RETURNING claim_id, sender_id`, func(r *engine.Row) error {
		claim, sender := r.ID(), r.ID()
		d.senders[claim] = append(d.senders[claim], sender)
		return nil
	}, user)
	if err != nil {
		return d, err
	}
	newest := slices.SortedFunc(maps.Keys(d.senders), func(a, b warranty.ID) int { return bytes.Compare(b[:], a[:]) })
	for _, id := range newest {
		if len(d.Claims) == limit {
			d.More++
			continue
		}
		c, err := claim(t.ctx, t.tx, user, warranty.ClaimKey{ID: id})
		if err == nil {
			d.Claims = append(d.Claims, c)
		} else if !errors.Is(err, warranty.ErrNotFound) { // not found: they lost access
			return d, err
		}
	}
	return d, nil
}

// InsertDigest adds the email of a digest to the outbox and counts it for every sender in it.
func (t *Tx) InsertDigest(m Mail, d Digest, now time.Time) error {
	if err := t.InsertMail(m); err != nil {
		return err
	}
	for claim, senders := range d.senders {
		for _, sender := range senders {
			if err := t.logMail(m, sender, claim, now); err != nil {
				return err
			}
		}
	}
	return nil
}
