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

// MailSender is who causes an email to someone else: a person, and the account that they act for. Both are locked
// while their emails are counted.
type MailSender struct{ Account, Person warranty.ID }

// ofSender selects the emails that the account $1 or the person $2 caused.
const ofSender = `(sender_id = $1 OR person_id = $2)`

// unverified selects the emails of accounts without a verified domain.
const unverified = `NOT EXISTS (SELECT 1 FROM domains d WHERE d.account_id = sender_id AND d.verified_at IS NOT NULL)`

// MailCounts are the emails of the last MailDay about records that limit whether another one may be sent.
type MailCounts struct {
	ByAccount   int64     // to anyone
	ByPerson    int64     // to anyone, for accounts without a verified domain
	ToRecipient int64     // from this sender
	LastOnTopic time.Time // to the recipient, from anyone; zero if none
}

// CountMails counts the emails of a locked sender about records.
func (t *Tx) CountMails(
	from MailSender, recipient string, topic warranty.ID, now time.Time,
) (c MailCounts, err error) {
	const count = `SELECT count(DISTINCT mail_id) FROM mail_log WHERE at > $4 AND chosen = 0 AND `
	err = queryRow(t.ctx, t.tx, `SELECT (`+count+`sender_id = $1), (`+count+`person_id = $2 AND `+unverified+`),
			(`+count+`mailbox = $3 AND `+ofSender+`)`,
		func(r *engine.Row) { c.ByAccount, c.ByPerson, c.ToRecipient = r.Int(), r.Int(), r.Int() },
		from.Account, from.Person, warranty.Mailbox(recipient), now.Add(-MailDay))
	if err != nil {
		return c, err
	}
	err = t.tx.Query(t.ctx, `SELECT at FROM mail_log WHERE recipient = $1 AND topic = $2 ORDER BY at DESC LIMIT 1`,
		func(r *engine.Row) error { c.LastOnTopic = r.Time(); return nil }, recipient, topic)
	return c, err
}

// AddressCounts are the emails of the last MailDay to the mailbox of an address that its sender chose.
type AddressCounts struct {
	BySender   int64
	Unverified int64 // by all accounts without a verified domain
	Known      bool  // someone with the address took a warranty from the account
}

// CountToAddress counts the emails of a locked sender and of others to an address.
func (t *Tx) CountToAddress(from MailSender, address string, now time.Time) (c AddressCounts, err error) {
	const count = `SELECT count(DISTINCT mail_id) FROM mail_log WHERE mailbox = $3 AND at > $4 AND chosen = 1 AND `
	err = queryRow(t.ctx, t.tx, `SELECT (`+count+ofSender+`), (`+count+unverified+`),
			(SELECT count(*) FROM (SELECT 1 FROM offer_mails
				WHERE account_id = $1 AND email = $5 AND taken_at IS NOT NULL LIMIT 1) o)`,
		func(r *engine.Row) { c.BySender, c.Unverified, c.Known = r.Int(), r.Int(), r.Int() != 0 },
		from.Account, from.Person, warranty.Mailbox(address), now.Add(-MailDay), address)
	return c, err
}

// CountStrangers counts the mailboxes that a locked sender chose and emailed in the last MailDay, without those
// that took a warranty from the account: those of the account, and those of the person for accounts without a
// verified domain.
func (t *Tx) CountStrangers(from MailSender, now time.Time) (byAccount, byPerson int64, err error) {
	const count = `SELECT count(DISTINCT mailbox) FROM mail_log WHERE at > $3 AND chosen = 1
		AND NOT EXISTS (SELECT 1 FROM offer_mails o
			WHERE o.account_id = sender_id AND o.email = recipient AND o.taken_at IS NOT NULL) AND `
	err = queryRow(t.ctx, t.tx, `SELECT (`+count+`sender_id = $1), (`+count+`person_id = $2 AND `+unverified+`)`,
		func(r *engine.Row) { byAccount, byPerson = r.Int(), r.Int() }, from.Account, from.Person, now.Add(-MailDay))
	return byAccount, byPerson, err
}

// InsertMailTo adds an email about a record to another user to the outbox and counts it.
func (t *Tx) InsertMailTo(m Mail, from MailSender, topic warranty.ID, now time.Time) error {
	if err := t.InsertMail(m); err != nil {
		return err
	}
	return t.logMail(m, from, topic, false, now)
}

// InsertMailToChosen is InsertMailTo for an address that the sender chose.
func (t *Tx) InsertMailToChosen(m Mail, from MailSender, topic warranty.ID, now time.Time) error {
	if err := t.InsertMail(m); err != nil {
		return err
	}
	return t.logMail(m, from, topic, true, now)
}

func (t *Tx) logMail(m Mail, from MailSender, topic warranty.ID, chosen bool, now time.Time) error {
	return t.later(`INSERT INTO mail_log (sender_id, person_id, at, mail_id, topic, recipient, chosen, mailbox)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (sender_id, at, mail_id, topic) DO NOTHING`,
		from.Account, from.Person, now, m.ID, topic, m.To, bit(chosen), warranty.Mailbox(m.To))
}

// InDigest returns since when a digest of a user with a claim is pending, or nil, and waits for one that is being sent.
func (t *Tx) InDigest(user, claim warranty.ID) (since *time.Time, err error) {
	err = t.tx.Query(t.ctx, `SELECT since FROM mail_digest WHERE user_id = $1 AND claim_id = $2 /*pg: FOR UPDATE */`,
		func(r *engine.Row) error {
			if at := r.Time(); since == nil || at.Before(*since) {
				since = &at
			}
			return nil
		}, user, claim)
	return since, err
}

// AddToDigest adds a claim change of now to a user's next digest, due at the given time or earlier.
func (t *Tx) AddToDigest(user, claim warranty.ID, from MailSender, due, now time.Time) error {
	return t.later(`INSERT INTO mail_digest (user_id, claim_id, sender_id, person_id, changes, due_at, since)
		VALUES ($1, $2, $3, $4, 1, $5, $6)
		ON CONFLICT (user_id, claim_id, sender_id) DO UPDATE SET changes = mail_digest.changes + 1,
		due_at = CASE WHEN excluded.due_at < mail_digest.due_at THEN excluded.due_at ELSE mail_digest.due_at END`,
		user, claim, from.Account, from.Person, due, now)
}

// DropFromDigest removes a claim from a user's next digest.
func (t *Tx) DropFromDigest(user, claim warranty.ID) error {
	return t.later(`DELETE FROM mail_digest WHERE user_id = $1 AND claim_id = $2`, user, claim)
}

// DueDigests lists users whose digest is due.
func (s *Store) DueDigests(ctx context.Context, now time.Time, limit int) ([]warranty.ID, error) {
	var users []warranty.ID
	err := s.db.Query(ctx, `SELECT DISTINCT user_id FROM mail_digest WHERE due_at <= $1 AND held_until <= $1 LIMIT $2`,
		func(r *engine.Row) error { users = append(users, r.ID()); return nil }, now, limit)
	return users, err
}

// Digest is the claim changes that a user was not emailed about.
type Digest struct {
	Claims  []warranty.Claim // the newest, in their current state
	More    int              // number of further claims
	since   map[warranty.ID]time.Time
	senders map[warranty.ID][]MailSender
}

// For returns the claims of the digest for a person: not those that the person acted on.
func (d Digest) For(person warranty.ID) (list []warranty.Claim) {
	for _, c := range d.Claims {
		if !slices.ContainsFunc(d.senders[c.ID], func(from MailSender) bool { return from.Person == person }) {
			list = append(list, c)
		}
	}
	return list
}

// Since returns when the first change of a claim was that the digest reports.
func (d Digest) Since(claim warranty.ID) time.Time { return d.since[claim] }

// TakeDigest removes and returns the digest of a locked user, with at most limit of the claims that
// they still have access to. Claims whose change can be undone are left for later.
func (t *Tx) TakeDigest(user warranty.ID, limit int, now time.Time) (Digest, error) {
	d := Digest{senders: map[warranty.ID][]MailSender{}, since: map[warranty.ID]time.Time{}}
	err := t.tx.Query(t.ctx, `DELETE FROM mail_digest WHERE user_id = $1 AND held_until <= $2
		RETURNING claim_id, sender_id, COALESCE(person_id, sender_id), since`, func(r *engine.Row) error {
		claim, from := r.ID(), MailSender{Account: r.ID(), Person: r.ID()}
		d.senders[claim] = append(d.senders[claim], from)
		if at := r.Time(); d.since[claim].IsZero() || at.Before(d.since[claim]) {
			d.since[claim] = at
		}
		return nil
	}, user, now)
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
			if err := t.logMail(m, sender, claim, false, now); err != nil {
				return err
			}
		}
	}
	return nil
}
