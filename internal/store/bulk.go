package store

import (
	"context"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/store/lists"
	"warranty.example/svc/warranty"
)

// An action that can be undone is a job that is done. job_changes has what it changed, in the transaction of each
// change. Its emails wait in the outbox, and its digests are held, until it can no longer be undone. The row of an
// email decides whether it was sent or undone: the worker takes only rows that are not locked, and undoing locks them
// first.

// InsertDoneJob adds a job that was done at once.
func (t *Tx) InsertDoneJob(j warranty.Job) error {
	return t.exactlyOne(`INSERT INTO jobs (id, account_id, user_id, session_id, kind, state, input, result, done, total,
			error, attempts, leased_until, created_at, updated_at, ended_at)
		VALUES ($1, $2, $3, $4, $5, $6, '', $7, $8, $8, '', 0, 0, $9, $9, $9)`,
		j.ID, j.Account, j.User, j.Session, j.Kind, warranty.JobDone, j.Result, j.Total, j.CreatedAt)
}

// MarkUndone stores the result of undoing a locked job that was done.
func (t *Tx) MarkUndone(id warranty.ID, result string, now time.Time) error {
	return t.exactlyOne(`UPDATE jobs SET state = $2, result = $3, updated_at = $4 WHERE id = $1 AND state = $5`,
		id, warranty.JobUndone, result, now, warranty.JobDone)
}

// JobChange is a record that a job changed.
type JobChange struct {
	Job     warranty.ID
	Row     int64
	Record  warranty.ID
	Version int64        // of the record after the change
	Before  string       // what undoing it restores
	Mail    *warranty.ID // the email of an offer, which waits
	Undone  *time.Time   // when it was taken back
}

// InsertJobChange notes a change of a job, except of a record that the job created. It fails with a duplicate if the
// row made one before.
func (t *Tx) InsertJobChange(c JobChange) error {
	return t.later(`INSERT INTO job_changes (job_id, row_number, record_id, version, before, mail_id)
		SELECT $1, $2, $3, $4, $5, $6
		WHERE NOT EXISTS (SELECT 1 FROM job_records r WHERE r.job_id = $1 AND r.warranty_id = $3)`,
		c.Job, c.Row, c.Record, c.Version, c.Before, c.Mail)
}

// MarkChangeUndone notes that a change of a job was taken back. It reports false if it was before.
func (t *Tx) MarkChangeUndone(job warranty.ID, row int64, now time.Time) (bool, error) {
	n, err := t.exec(`UPDATE job_changes SET undone_at = $3 WHERE job_id = $1 AND row_number = $2 AND undone_at IS NULL`, job, row, now)
	return n == 1, err
}

// CountJobChanges counts the changes of a job, and those that were taken back.
func (s *Store) CountJobChanges(ctx context.Context, job warranty.ID) (all, undone int64, err error) {
	err = queryRow(ctx, s.db, `SELECT count(*), count(undone_at) FROM job_changes WHERE job_id = $1`,
		func(r *engine.Row) { all, undone = r.Int(), r.Int() }, job)
	return all, undone, err
}

const jobChangeColumns = `row_number, record_id, version, before, mail_id, undone_at`

func readJobChange(job warranty.ID, r *engine.Row) JobChange {
	return JobChange{job, r.Int(), r.ID(), r.Int(), r.Text(), r.OptionalID(), r.OptionalTime()}
}

func jobChanges(ctx context.Context, q engine.Querier, job warranty.ID) (list []JobChange, err error) {
	err = q.Query(ctx, `SELECT `+jobChangeColumns+` FROM job_changes WHERE job_id = $1 ORDER BY row_number`,
		func(r *engine.Row) error { list = append(list, readJobChange(job, r)); return nil }, job)
	return list, err
}

// JobChanges lists the changes of a job in order.
func (s *Store) JobChanges(ctx context.Context, job warranty.ID) ([]JobChange, error) {
	return jobChanges(ctx, s.db, job)
}

// JobChange returns the change of a row of a job, or ErrNotFound.
func (s *Store) JobChange(ctx context.Context, job warranty.ID, row int64) (c JobChange, err error) {
	err = queryRow(ctx, s.db, `SELECT `+jobChangeColumns+` FROM job_changes WHERE job_id = $1 AND row_number = $2`,
		func(r *engine.Row) { c = readJobChange(job, r) }, job, row)
	return c, err
}

// JobChanges lists the changes of a locked job in order.
func (t *Tx) JobChanges(job warranty.ID) ([]JobChange, error) { return jobChanges(t.ctx, t.tx, job) }

// ReleaseHeld sends now what is held about a locked claim, because another change makes it final. The account that
// makes the change has seen it and gets no email.
func (t *Tx) ReleaseHeld(claim, account warranty.ID, now time.Time) error {
	const waits = ` WHERE claim_id = $1 AND held_by IS NOT NULL AND attempts = 0 AND claimed_until > $2`
	if err := t.later(`DELETE FROM mails`+waits+` AND held_for = $3`, claim, now, account); err != nil {
		return err
	}
	if err := t.later(`UPDATE mails SET claimed_until = 0`+waits, claim, now); err != nil {
		return err
	}
	return t.later(`UPDATE mail_digest SET held_until = 0 WHERE claim_id = $1 AND held_until > $2`, claim, now)
}

// HeldOffer locks the email of an offer that waits, and reports whether it still does.
func (t *Tx) HeldOffer(job, id warranty.ID) (waits bool, err error) {
	err = t.tx.Query(t.ctx, `SELECT 1 FROM mails WHERE id = $1 AND held_by = $2 AND attempts = 0 /*pg: FOR UPDATE */`,
		func(*engine.Row) error { waits = true; return nil }, id, job)
	return waits, err
}

// DropOfferMail deletes a locked email with an offer that waits, as if its sender had not caused it.
func (t *Tx) DropOfferMail(sender, id, mail warranty.ID) error {
	if err := t.later(`DELETE FROM mail_log WHERE mail_id = $1 AND sender_id = $2 AND topic = $3`, mail, sender, id); err != nil {
		return err
	}
	if err := t.later(`DELETE FROM offer_mails WHERE warranty_id = $1
		AND email IN (SELECT address FROM mails WHERE id = $2)`, id, mail); err != nil {
		return err
	}
	return t.exactlyOne(`DELETE FROM mails WHERE id = $1 AND attempts = 0`, mail)
}

// dropHeldOffer deletes the emails with offers of a locked warranty that wait, because the offers end. Their
// addresses can be emailed again.
func (t *Tx) dropHeldOffer(id warranty.ID) error {
	const held = ` FROM mails WHERE held_by IS NOT NULL AND attempts = 0
		AND id IN (SELECT mail_id FROM job_changes WHERE record_id = $1 AND mail_id IS NOT NULL)`
	if err := t.later(`DELETE FROM offer_mails WHERE warranty_id = $1 AND email IN (SELECT address`+held+`)`, id); err != nil {
		return err
	}
	return t.later(`DELETE`+held, id)
}

// HoldDigest keeps a claim out of a user's digests until a time.
func (t *Tx) HoldDigest(user, claim warranty.ID, until time.Time) error {
	return t.later(`UPDATE mail_digest SET held_until = $3 WHERE user_id = $1 AND claim_id = $2`, user, claim, until)
}

// HeldMails locks the emails of a job about a claim that wait, and returns them.
func (t *Tx) HeldMails(job, claim warranty.ID) (ids []warranty.ID, err error) {
	err = t.tx.Query(t.ctx, `SELECT id FROM mails WHERE claim_id = $1 AND held_by = $2 AND attempts = 0
		ORDER BY id /*pg: FOR UPDATE */`, func(r *engine.Row) error { ids = append(ids, r.ID()); return nil }, claim, job)
	return ids, err
}

// HeldDigest locks a user's digest with a claim, and reports whether it is held.
func (t *Tx) HeldDigest(user, claim warranty.ID, now time.Time) (held bool, err error) {
	err = t.tx.Query(t.ctx, `SELECT held_until FROM mail_digest WHERE user_id = $1 AND claim_id = $2 /*pg: FOR UPDATE */`,
		func(r *engine.Row) error { held = held || r.Time().After(now); return nil }, user, claim)
	return held, err
}

// DropHeldMail deletes a locked email that waits, as if its sender had not caused it.
func (t *Tx) DropHeldMail(id warranty.ID, from MailSender, at time.Time) error {
	if err := t.later(`DELETE FROM mail_log WHERE sender_id = $1 AND at = $2 AND mail_id = $3`, from.Account, at, id); err != nil {
		return err
	}
	return t.exactlyOne(`DELETE FROM mails WHERE id = $1 AND attempts = 0`, id)
}

// DropHeldDigest takes a change of a claim back from a user's locked digest. pending means that there was one before.
func (t *Tx) DropHeldDigest(user, claim warranty.ID, from MailSender, pending bool) error {
	if !pending {
		return t.DropFromDigest(user, claim)
	}
	if err := t.later(`UPDATE mail_digest SET held_until = 0 WHERE user_id = $1 AND claim_id = $2`, user, claim); err != nil {
		return err
	}
	if err := t.later(`UPDATE mail_digest SET changes = changes - 1
		WHERE user_id = $1 AND claim_id = $2 AND sender_id = $3`, user, claim, from.Account); err != nil {
		return err
	}
	return t.later(`DELETE FROM mail_digest WHERE user_id = $1 AND claim_id = $2 AND changes <= 0`, user, claim)
}

// DeleteMessage deletes a message about a locked claim that has no documents.
func (t *Tx) DeleteMessage(claim, id warranty.ID) error {
	return t.exactlyOne(`DELETE FROM claim_messages WHERE id = $1 AND claim_id = $2`, id, claim)
}

// LatestClaimEvent returns the id of the latest event of a locked claim, or nil.
func (t *Tx) LatestClaimEvent(c warranty.Claim) (id *warranty.ID, err error) {
	err = t.tx.Query(t.ctx, `SELECT id FROM history WHERE thread_id = $1 AND subject_id = $2 ORDER BY id DESC LIMIT 1`,
		func(r *engine.Row) error { latest := r.ID(); id = &latest; return nil }, c.WarrantyID, c.ID)
	return id, err
}

// AssigneeOf returns the member of a locked organization who works on a claim, or nil.
func (t *Tx) AssigneeOf(organization, claim warranty.ID) (id *warranty.ID, err error) {
	err = t.tx.Query(t.ctx, `SELECT user_id FROM claim_assignees WHERE claim_id = $1 AND account_id = $2`,
		func(r *engine.Row) error { member := r.ID(); id = &member; return nil }, claim, organization)
	return id, err
}

// ClaimOwner returns the account that owns the warranty of a locked claim, or nil.
func (t *Tx) ClaimOwner(claim warranty.ID) (owner *warranty.ID, err error) {
	err = t.tx.Query(t.ctx, `SELECT a.user_id FROM claims c JOIN access a ON a.parent_id = c.warranty_id
		AND a.kind = `+kindWarranty+` AND a.roles & `+roleOwner+` <> 0 WHERE c.id = $1`,
		func(r *engine.Row) error { id := r.ID(); owner = &id; return nil }, claim)
	return owner, err
}

// CustomerOf returns the owner who shared name and address with the businesses of a locked claim, or nil.
func (t *Tx) CustomerOf(claim warranty.ID) (customer *warranty.Customer, err error) {
	err = t.tx.Query(t.ctx, customerOfClaim, func(r *engine.Row) error {
		customer = readCustomer(r.Text(), r)
		return nil
	}, claim)
	return customer, err
}

// customerOfClaim selects what readCustomer reads of the claim $1.
const customerOfClaim = `SELECT u.name, u.kind, u.email, (SELECT o.contact_email FROM organizations o WHERE o.id = u.id)
	FROM claims c JOIN users u ON u.id = c.customer_id WHERE c.id = $1`

// ClaimsByID returns the claims with some ids that the account has access to, in their order, with customers and
// assignees for those who decide them.
func (s *Store) ClaimsByID(ctx context.Context, account warranty.ID, ids []warranty.ID) (list []warranty.Claim, err error) {
	list, err = lists.Rows(ctx, s.db, lists.Key{User: account, Kind: lists.Claims}, ids, claimShape)
	if err == nil {
		err = s.Handlings(ctx, account, list)
	}
	return list, err
}
