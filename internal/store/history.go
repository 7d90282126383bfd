package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// InsertEvent adds an event to the history of a warranty or a token. Events are never changed or
// deleted.
func (t *Tx) InsertEvent(thread warranty.ID, e warranty.Event) error {
	changes, err := json.Marshal(e.Changes)
	if err != nil {
		return err
	}
	return t.later(insertEvent, thread, e.ID, e.At, e.ActorID, e.Actor, e.AccountID, e.Account, e.Door, e.TokenName,
		e.Action, e.SubjectID, string(changes))
}

const insertEvent = `INSERT INTO history
	(thread_id, id, at, actor_id, actor, account_id, account, door, token_name, action, subject_id, changes)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`

// OperatorName is the actor of the operator's events, and OwnerName that of an owner whose name the reader does not know.
const (
	OperatorName = "Operator"
	OwnerName    = "Owner"
)

const eventColumns = `h.id, h.at, h.actor, h.door, h.token_name, h.action, h.subject_id, h.account, h.changes`

// seenEventColumns are eventColumns for the account $1, without the names of owners and of documents that it cannot
// see.
var seenEventColumns = `h.id, h.at, CASE WHEN ` + isUnknownOwner + ` THEN '` + OwnerName + `' ELSE h.actor END, h.door,
	CASE WHEN ` + isUnknownOwner + ` THEN NULL ELSE h.token_name END, h.action, h.subject_id,
	CASE WHEN ` + isUnknownOwner + ` THEN NULL ELSE h.account END, ` +
	fmt.Sprintf(`CASE WHEN h.action IN (%d, %d, %d, %d, %d, %d)`,
		warranty.EnumNumber(warranty.DocumentUploaded), warranty.EnumNumber(warranty.DocumentDeleted),
		warranty.EnumNumber(warranty.DocumentRenamed), warranty.EnumNumber(warranty.DocumentReplaced),
		warranty.EnumNumber(warranty.DocumentVersionErased), warranty.EnumNumber(warranty.DocumentDetached)) + `
		AND NOT EXISTS (SELECT 1 FROM access a WHERE a.user_id = $1
			AND a.kind = ` + kindDocument + ` AND a.item_id = h.subject_id)
		AND (NOT ` + ownsThread + ` OR EXISTS (SELECT 1 FROM documents d
			WHERE d.id = h.subject_id AND d.owner_id <> $1))
	THEN '[]' ELSE h.changes END`

// ownsThread tells whether the account $1 owns the warranty of the event h.
const ownsThread = `EXISTS (SELECT 1 FROM access a
	WHERE a.user_id = $1 AND a.kind = ` + kindWarranty + ` AND a.item_id = h.thread_id
	AND a.roles & ` + roleOwner + ` <> 0)`

// isUnknownOwner tells whether an owner caused the event h who told the business $1 nothing about themselves: they share
// name and address by filing a claim. An owner who recorded the warranty has named the business.
var isUnknownOwner = fmt.Sprintf(`(h.account_id <> $1 AND NOT `+ownsThread+`
	AND (EXISTS (SELECT 1 FROM history t WHERE t.thread_id = h.thread_id AND t.account_id = h.account_id
			AND t.action IN (%d, %d))
		OR EXISTS (SELECT 1 FROM access o JOIN warranties p ON p.id = o.item_id WHERE o.user_id = h.account_id
			AND o.kind = `+kindWarranty+` AND o.item_id = h.thread_id AND o.roles & `+roleOwner+` <> 0
			AND p.issuer_id <> o.user_id AND COALESCE(p.seller_id, p.issuer_id) <> o.user_id))
	AND NOT EXISTS (SELECT 1 FROM claims c WHERE c.warranty_id = h.thread_id
		AND h.account_id IN (c.owner_id, c.customer_id)))`,
	warranty.EnumNumber(warranty.TransferAccepted), warranty.EnumNumber(warranty.HandoverWasTaken))

func readEvent(r *engine.Row) (warranty.Event, error) {
	e := warranty.Event{
		ID:        r.ID(),
		At:        r.Time(),
		Actor:     r.Text(),
		Door:      enum[warranty.Door](r),
		TokenName: r.OptionalText(),
		Action:    enum[warranty.Action](r),
		SubjectID: r.ID(),
		Account:   r.OptionalText(),
	}
	return e, json.Unmarshal([]byte(r.Text()), &e.Changes)
}

// newestRecords bounds the records that the activity is read from, so that it is as fast for a user
// with a million records as for one with ten.
const newestRecords = 200

// Activity lists the latest events of the user's newest warranties, and of the newest ones before each job. It leaves out
// what the jobs did: each has a line of its own. Ids are in the order of time.
func (s *Store) Activity(
	ctx context.Context, user warranty.ID, jobs []ActivityJob, limit int,
) ([]warranty.Activity, error) {
	const newest = `SELECT * FROM (SELECT item_id FROM access WHERE user_id = $1 AND kind = ` + kindWarranty +
		`%s ORDER BY item_id DESC LIMIT $2) n%d`
	records, others, args := fmt.Sprintf(newest, ``, 0), ``, []any{user, newestRecords, limit}
	for i, j := range jobs {
		n := len(args)
		records += ` UNION ` + fmt.Sprintf(newest, fmt.Sprintf(` AND item_id < $%d`, n+1), i+1)
		others += fmt.Sprintf(` AND NOT (h.actor_id = $%d AND h.at >= $%d AND h.at <= $%d AND h.action IN (%s))`,
			n+2, n+3, n+4, jobActions)
		args = append(args, j.ID, j.User, j.CreatedAt, j.Ends)
	}
	var list []warranty.Activity
	err := s.db.Query(ctx, `SELECT w.id, w.product_name, `+seenEventColumns+`
		FROM history h JOIN warranties w ON w.id = h.thread_id
		WHERE h.thread_id IN (`+records+`)`+others+`
		ORDER BY h.id DESC LIMIT $3`, func(r *engine.Row) error {
		a := warranty.Activity{WarrantyID: r.ID(), ProductName: r.Text()}
		var err error
		a.Event, err = readEvent(r)
		list = append(list, a)
		return err
	}, args...)
	return list, err
}

// jobActions are what jobs do to warranties.
var jobActions = fmt.Sprintf(`%d, %d, %d, %d, %d, %d`,
	warranty.EnumNumber(warranty.WarrantyCreated), warranty.EnumNumber(warranty.WarrantyUpdated),
	warranty.EnumNumber(warranty.WarrantyDeleted), warranty.EnumNumber(warranty.WarrantyRestored),
	warranty.EnumNumber(warranty.WarrantyCorrected), warranty.EnumNumber(warranty.HandoverWasOffered))

// WarrantyHistory lists the events of a warranty that the user has access to, and returns their
// total.
func (s *Store) WarrantyHistory(
	ctx context.Context, user warranty.ID, k warranty.WarrantyKey, p warranty.Paging,
) ([]warranty.Event, int64, error) {
	thread, key := keyed(k, `$2`, `(SELECT id FROM warranties WHERE reference = $2)`)
	allowed := `EXISTS (SELECT 1 FROM access WHERE user_id = $1
			AND kind = ` + kindWarranty + ` AND item_id = ` + thread + `)`
	return s.history(ctx, thread, allowed, user, key, p)
}

// Transfers returns when the records of a list that the user has access to last went from one owner to another.
func (s *Store) Transfers(ctx context.Context, user warranty.ID, ids []warranty.ID) (map[warranty.ID]time.Time, error) {
	list, err := json.Marshal(ids)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	at := map[warranty.ID]time.Time{}
	return at, s.db.Query(ctx, `SELECT h.thread_id, max(h.at) FROM history h WHERE h.thread_id IN `+idsIn(`$2`)+` AND h.action = $3
		AND EXISTS (SELECT 1 FROM access WHERE user_id = $1 AND kind = `+kindWarranty+` AND item_id = h.thread_id)
		GROUP BY h.thread_id`, func(r *engine.Row) error {
		id := r.ID()
		at[id] = r.Time()
		return nil
	}, user, string(list), warranty.TransferAccepted)
}

// ClaimHistory lists the events of a claim that the user has access to, newest first.
func (s *Store) ClaimHistory(ctx context.Context, user warranty.ID, claim warranty.Claim) ([]warranty.Event, error) {
	var list []warranty.Event
	err := s.db.Query(ctx, `SELECT `+seenEventColumns+` FROM history h WHERE h.thread_id = $2 AND h.subject_id = $3
		AND EXISTS (SELECT 1 FROM access WHERE user_id = $1 AND kind = `+kindClaim+` AND item_id = $3)
		ORDER BY h.id DESC`,
		func(r *engine.Row) error {
			e, err := readEvent(r)
			list = append(list, e)
			return err
		}, user, claim.WarrantyID, claim.ID)
	return list, err
}

// TokenHistory lists the events of one of the user's tokens, and returns their total.
func (s *Store) TokenHistory(
	ctx context.Context, user, id warranty.ID, p warranty.Paging,
) ([]warranty.Event, int64, error) {
	return s.history(ctx, `$2`, `EXISTS (SELECT 1 FROM tokens WHERE user_id = $1 AND id = $2)`, user, id, p)
}

// history reads one page of a thread if the condition allowed holds. thread is the id of the thread
// in SQL, where $2 is the key.
func (s *Store) history(
	ctx context.Context, thread, allowed string, user warranty.ID, key any, p warranty.Paging,
) ([]warranty.Event, int64, error) {
	var list []warranty.Event
	total, found := int64(0), false
	err := s.db.Query(ctx, `SELECT n.total, `+seenEventColumns+`
		FROM (SELECT count(*) AS total FROM history WHERE thread_id = `+thread+`) n
		LEFT JOIN (SELECT * FROM history WHERE thread_id = `+thread+` ORDER BY id DESC LIMIT $3 OFFSET $4) h ON 1 = 1
		WHERE `+allowed+` ORDER BY h.id DESC`,
		func(r *engine.Row) error {
			total, found = r.Int(), true
			if r.Null() {
				return nil
			}
			e, err := readEvent(r)
			list = append(list, e)
			return err
		}, user, key, p.Limit, p.Offset())
	if err == nil && !found {
		err = warranty.ErrNotFound
	}
	return list, total, err
}

// TouchedSince reports whether a locked warranty was used after it was created: anything but an update, or
// an update after a time.
func (t *Tx) TouchedSince(id warranty.ID, at time.Time) (touched bool, err error) {
	err = t.tx.Query(t.ctx, `SELECT 1 FROM history WHERE thread_id = $1 AND action <> $2 AND (action <> $3 OR at > $4) LIMIT 1`,
		func(*engine.Row) error { touched = true; return nil }, id, warranty.WarrantyCreated, warranty.WarrantyUpdated, at)
	return touched, err
}
