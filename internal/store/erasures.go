package store

import (
	"context"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/store/lists"
	"warranty.example/svc/warranty"
)

// ErasureDelay is how long a deleted account can be taken back.
const ErasureDelay = 30 * 24 * time.Hour

// Erasure is an account that was deleted and that is erased when it is due.
type Erasure struct {
	Due        time.Time
	Started    bool // it can no longer be taken back
	After      EventKey
	Restorable bool // by the person, or an admin of the organization
}

// EventKey identifies an event in history. Events are ordered by it.
type EventKey struct{ Thread, ID warranty.ID }

// LockErasure returns the erasure of a locked account, or ErrNotFound if there is none.
func (t *Tx) LockErasure(user warranty.ID) (e Erasure, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT e.due_at, e.started_at, e.thread_id, e.event_id, e.restorable
		FROM erasures e WHERE e.user_id = $1 /*pg: FOR UPDATE */`,
		func(r *engine.Row) {
			e = Erasure{
				Due: r.Time(), Started: r.Set(), After: EventKey{Thread: r.ID(), ID: r.ID()}, Restorable: r.Int() == 1,
			}
		}, user)
	return e, err
}

// PlanErasure makes a locked and disabled account due for erasure. restorable means that the person, or an
// admin of the organization, may take it back.
func (t *Tx) PlanErasure(account warranty.ID, due time.Time, restorable bool) error {
	may := 0
	if restorable {
		may = 1
	}
	return t.exactlyOne(`INSERT INTO erasures (user_id, due_at, thread_id, event_id, restorable) VALUES ($1, $2, $3, $3, $4)
		ON CONFLICT (user_id) DO UPDATE SET due_at = excluded.due_at, restorable = excluded.restorable`,
		account, due, warranty.ID{}, may)
}

// KeepDeleted makes the planned erasure of a locked account, if any, one that only an operator takes back.
func (t *Tx) KeepDeleted(account warranty.ID) error {
	return t.later(`UPDATE erasures SET restorable = 0 WHERE user_id = $1`, account)
}

// StartErasure notes that the erasure of a locked account has started.
func (t *Tx) StartErasure(user warranty.ID, now time.Time) error {
	return t.exactlyOne(`UPDATE erasures SET started_at = COALESCE(started_at, $2) WHERE user_id = $1`, user, now)
}

// Closing reports whether the person of a disabled account deleted it themselves and may take that back.
func (s *Store) Closing(ctx context.Context, person warranty.ID, now time.Time) (closing bool, err error) {
	err = s.db.Query(ctx, `SELECT 1 FROM erasures WHERE user_id = $1 AND restorable = 1 AND started_at IS NULL AND due_at > $2`,
		func(*engine.Row) error { closing = true; return nil }, person, now)
	return closing, err
}

// DropErasure forgets the erasure of a locked account.
func (t *Tx) DropErasure(user warranty.ID) error {
	return t.later(`DELETE FROM erasures WHERE user_id = $1`, user)
}

// DueErasures lists some accounts whose erasure is due, including those that were taken back.
func (s *Store) DueErasures(ctx context.Context, now time.Time, limit int) (users []warranty.ID, err error) {
	err = s.db.Query(ctx, `SELECT user_id FROM erasures WHERE due_at <= $1 ORDER BY due_at, user_id LIMIT $2`,
		func(r *engine.Row) error { users = append(users, r.ID()); return nil }, now, limit)
	return users, err
}

// PlannedErasures returns the number of accounts that will be erased, and when the first is due.
func (s *Store) PlannedErasures(ctx context.Context) (n int64, first *time.Time, err error) {
	err = queryRow(ctx, s.db, `SELECT count(*), min(due_at) FROM erasures`,
		func(r *engine.Row) { n, first = r.Int(), r.OptionalTime() })
	return n, first, err
}

// historyPage is the number of events that one query reads while an account is erased.
const historyPage = 1000

// EventsToErase looks for the next events of an account that is erased. It reads a bounded number of events,
// starting after e.After, and returns those of the account in the page where it found the first, and the last
// event that it read, or nil if there are no more. There is no index by actor: every write would have to
// maintain it.
func (s *Store) EventsToErase(
	ctx context.Context, user warranty.ID, pages int,
) (e Erasure, found []EventKey, last *EventKey, err error) {
	err = queryRow(ctx, s.db, `SELECT thread_id, event_id FROM erasures WHERE user_id = $1`,
		func(r *engine.Row) { e.After = EventKey{Thread: r.ID(), ID: r.ID()} }, user)
	if err != nil {
		return e, nil, nil, err
	}
	after := e.After
	for range pages {
		n := 0
		err = s.db.Query(ctx, `SELECT thread_id, id, actor_id FROM history WHERE (thread_id, id) > ($1, $2)
			ORDER BY thread_id, id LIMIT $3`, func(r *engine.Row) error {
			after, n = EventKey{Thread: r.ID(), ID: r.ID()}, n+1
			if r.ID() == user {
				found = append(found, after)
			}
			return nil
		}, after.Thread, after.ID, historyPage)
		if err != nil || n == 0 {
			break
		}
		last = &EventKey{Thread: after.Thread, ID: after.ID}
		if len(found) > 0 || n < historyPage {
			break
		}
	}
	return e, found, last, err
}

// EraseEvents erases the name in events of a locked account, and notes the last event that was read.
func (t *Tx) EraseEvents(user warranty.ID, list []EventKey, last EventKey) error {
	for _, key := range list {
		err := t.later(`UPDATE history SET actor = $4, token_name = NULL WHERE thread_id = $1 AND id = $2 AND actor_id = $3`,
			key.Thread, key.ID, user, ErasedName)
		if err != nil {
			return err
		}
	}
	return t.exactlyOne(`UPDATE erasures SET thread_id = $2, event_id = $3 WHERE user_id = $1`, user, last.Thread, last.ID)
}

// EraseTraces deletes some rows of a user's feed and idempotency keys, or their name from messages, and reports whether there were any.
func (t *Tx) EraseTraces(user warranty.ID, limit int) (bool, error) {
	for _, sql := range []string{
		`DELETE FROM gone WHERE user_id = $1 AND at <=
			(SELECT max(g.at) FROM (SELECT at FROM gone WHERE user_id = $1 ORDER BY at LIMIT $2) g)`,
		`DELETE FROM idempotency WHERE user_id = $1 AND key IN
			(SELECT key FROM idempotency WHERE user_id = $1 ORDER BY operation, key LIMIT $2)`,
		`DELETE FROM customers WHERE id IN (SELECT id FROM customers WHERE account_id = $1 LIMIT $2)`,
	} {
		if n, err := t.exec(sql, user, limit); n > 0 || err != nil {
			return true, err
		}
	}
	for _, table := range []string{"claim_messages", "claim_notes"} {
		n, err := t.exec(`UPDATE `+table+` SET name = $3, user_id = NULL
			WHERE id IN (SELECT id FROM `+table+` WHERE user_id = $1 LIMIT $2)`, user, limit, ErasedName)
		if n > 0 || err != nil {
			return true, err
		}
	}
	return false, nil
}

// EraseSales removes the addresses of a locked account from some of the warranties that organizations issued to it, and ends
// open offers to them. It reports whether there were any. The names stay with the issuers.
func (t *Tx) EraseSales(account warranty.ID, limit int, now time.Time) (bool, error) {
	var ids []warranty.ID
	if err := t.tx.Query(t.ctx, `SELECT w.id FROM customers k
			JOIN warranties w ON w.issuer_id = k.account_id AND w.customer_id = k.id AND w.deleted_at IS NULL
			WHERE (`+isCustomer+`) AND w.customer_email IN (SELECT a.email FROM addresses a WHERE a.account_id = $1)
			ORDER BY w.id LIMIT $2 /*pg: FOR UPDATE OF w */`,
		func(r *engine.Row) error { ids = append(ids, r.ID()); return nil }, account, limit); err != nil {
		return false, err
	}
	for _, id := range ids {
		if err := t.eraseSale(account, id, now); err != nil {
			return false, err
		}
	}
	return len(ids) > 0, nil
}

// eraseSale removes the addresses of an account from a locked warranty and from what undoing actions on it would restore.
func (t *Tx) eraseSale(account, id warranty.ID, now time.Time) error {
	const own = `email IN (SELECT a.email FROM addresses a WHERE a.account_id = $2)`
	if _, err := t.endCodes(id, `used_at IS NULL AND `+own, account); err != nil {
		return err
	}
	for _, sql := range []string{
		`UPDATE offer_codes SET email = NULL, signs_in_until = NULL WHERE warranty_id = $1 AND ` + own,
		`UPDATE ended_codes SET held_by = NULL, made_by = NULL, email = NULL, signs_in_until = NULL, documents = NULL
			WHERE warranty_id = $1 AND ` + own,
		`DELETE FROM offer_mails WHERE warranty_id = $1 AND ` + own,
		`DELETE FROM job_changes WHERE record_id = $1 AND EXISTS (SELECT 1 FROM addresses a WHERE a.account_id = $2
			AND /*pg: strpos *//*sqlite: instr */(before, a.email) > 0)`,
	} {
		if err := t.later(sql, id, account); err != nil {
			return err
		}
	}
	if err := t.exactlyOne(`UPDATE warranties SET customer_email = NULL,
			offered_at = CASE WHEN taken_at IS NULL THEN NULL ELSE offered_at END,
			offer_expires_at = CASE WHEN taken_at IS NULL THEN NULL ELSE offer_expires_at END,
			version = version + 1, updated_at = $2 WHERE id = $1`, id, now); err != nil {
		return err
	}
	return t.changed(id)
}

// UserRecords says what deleting an account affects.
type UserRecords struct {
	// Own are warranties that only this account can see, with their documents and the size of these.
	Own, OwnDocuments, OwnBytes int64
	// Shared are warranties that others can see too. Ownerless are those of them that the account
	// owns.
	Shared, Ownerless int64
}

const (
	// ofOthers selects access to the warranty of access row a by users other than $1.
	ofOthers = `EXISTS (SELECT 1 FROM access b WHERE b.parent_id = a.item_id
			AND b.kind = ` + kindWarranty + ` AND b.user_id <> $1)`
	isOwner = `a.roles & ` + roleOwner + ` <> 0`
)

// UserRecords counts what deleting an account affects.
func (s *Store) UserRecords(ctx context.Context, id warranty.ID) (n UserRecords, err error) {
	err = queryRow(ctx, s.db, `SELECT count(*), count(CASE WHEN a.others THEN 1 END),
			count(CASE WHEN a.others AND a.owner THEN 1 END)
		FROM (SELECT `+ofOthers+` AS others, `+isOwner+` AS owner FROM access a
			WHERE a.user_id = $1 AND a.kind = `+kindWarranty+`) a`, func(r *engine.Row) {
		n.Own, n.Shared, n.Ownerless = r.Int(), r.Int(), r.Int()
		n.Own -= n.Shared
	}, id)
	if err != nil {
		return n, err
	}
	err = queryRow(ctx, s.db, `SELECT count(*), CAST(COALESCE(sum(d.size_bytes), 0) AS BIGINT)
		FROM access a JOIN documents d ON d.warranty_id = a.item_id
		WHERE a.user_id = $1 AND a.kind = `+kindWarranty+` AND NOT `+ofOthers,
		func(r *engine.Row) { n.OwnDocuments, n.OwnBytes = r.Int(), r.Int() }, id)
	return n, err
}

// WarrantiesOf lists some warranties that a user can see.
func (t *Tx) WarrantiesOf(user warranty.ID, limit int) (ids []warranty.ID, err error) {
	err = t.tx.Query(t.ctx, `SELECT item_id FROM access WHERE user_id = $1 AND kind = `+kindWarranty+` ORDER BY item_id
		LIMIT $2`,
		func(r *engine.Row) error { ids = append(ids, r.ID()); return nil }, user, limit)
	return ids, err
}

// LeaveWarranty ends a user's access to a locked warranty. If nobody else can see it, it is deleted
// and its content erased.
func (t *Tx) LeaveWarranty(user warranty.ID, w warranty.Warranty, now time.Time) error {
	shared, err := t.isShared(w.ID, user)
	if err != nil {
		return err
	}
	if !shared {
		if err := t.DeleteWarranty(w, now); err != nil {
			return err
		}
		return t.eraseDeleted(w.ID, now)
	}
	return t.leave(user, w.ID)
}

// isShared reports whether others than a user have access to a locked warranty that is not deleted, or have it in
// their trash.
func (t *Tx) isShared(id, user warranty.ID) (shared bool, err error) {
	err = t.tx.Query(t.ctx, `SELECT 1 FROM access WHERE parent_id = $1 AND kind = `+kindWarranty+` AND user_id <> $2
		UNION ALL SELECT 1 FROM trash WHERE warranty_id = $1 AND account_id <> $2 LIMIT 1`,
		func(*engine.Row) error { shared = true; return nil }, id, user)
	return shared, err
}

// leave ends a user's access to a locked warranty.
func (t *Tx) leave(user, id warranty.ID) error {
	if err := lists.NoteWarranty(t.ctx, t.tx, id); err != nil {
		return err
	}
	if err := t.unmuteWarranty(user, id); err != nil {
		return err
	}
	if err := t.later(`UPDATE warranties SET seller_id = NULL WHERE id = $1 AND seller_id = $2`, id, user); err != nil {
		return err
	}
	if err := t.deleteAccess(`parent_id = $1 AND user_id = $2`, id, user); err != nil {
		return err
	}
	return t.queueClaims(id)
}

// WarrantiesToErase lists some deleted warranties that a user issued and whose content was not erased.
func (t *Tx) WarrantiesToErase(user warranty.ID, limit int) (ids []warranty.ID, err error) {
	err = t.tx.Query(t.ctx, `SELECT id FROM warranties WHERE issuer_id = $1 AND deleted_at IS NOT NULL
		AND product_name <> '' AND NOT EXISTS (SELECT 1 FROM trash x WHERE x.warranty_id = warranties.id)
		ORDER BY id LIMIT $2`,
		func(r *engine.Row) error { ids = append(ids, r.ID()); return nil }, user, limit)
	return ids, err
}

// EraseWarranties erases the content of deleted warranties. Their rows stay, because the feeds of users
// who could see them earlier refer to them.
func (t *Tx) EraseWarranties(ids []warranty.ID) error {
	for _, id := range ids {
		for _, sql := range []string{
			`UPDATE warranties SET product_name = '', description = NULL, serial_number = NULL, category = NULL,
				folded_category = '', supplier = NULL, seller_name = NULL, seller_email = NULL,
				external_id = NULL, brand = NULL, model = NULL, gtin = NULL, purchase_date = NULL, price = NULL,
				currency = NULL, customer_name = NULL, customer_email = NULL, customer_id = NULL
				WHERE id = $1 AND deleted_at IS NOT NULL`,
			`DELETE FROM offer_mails WHERE warranty_id = $1`,
			`DELETE FROM asked_codes WHERE warranty_id = $1`,
			// Slips still say that it was withdrawn.
			`UPDATE offer_codes SET email = NULL, signs_in_until = NULL, documents = '' WHERE warranty_id = $1`,
			`UPDATE ended_codes SET held_by = NULL, made_by = NULL, email = NULL, signs_in_until = NULL, documents = NULL WHERE warranty_id = $1`,
			`DELETE FROM record_reminders WHERE warranty_id = $1`,
			`UPDATE history SET changes = '[]' WHERE thread_id = $1`,
			`DELETE FROM mail_digest WHERE claim_id IN (SELECT id FROM claims WHERE warranty_id = $1)`,
			`DELETE FROM mail_notices WHERE warranty_id = $1`,
			`DELETE FROM claim_messages WHERE claim_id IN (SELECT id FROM claims WHERE warranty_id = $1)`,
			`DELETE FROM claim_notes WHERE claim_id IN (SELECT id FROM claims WHERE warranty_id = $1)`,
			`DELETE FROM claim_assignees WHERE claim_id IN (SELECT id FROM claims WHERE warranty_id = $1)`,
			`DELETE FROM claim_mutes WHERE claim_id IN (SELECT id FROM claims WHERE warranty_id = $1)`,
			`DELETE FROM claim_documents WHERE claim_id IN (SELECT id FROM claims WHERE warranty_id = $1)`,
			`DELETE FROM mails WHERE claim_id IN (SELECT id FROM claims WHERE warranty_id = $1)`,
			`DELETE FROM job_changes WHERE record_id = $1 OR record_id IN (SELECT id FROM claims WHERE warranty_id = $1)`,
			`DELETE FROM claims WHERE warranty_id = $1`,
		} {
			if err := t.later(sql, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// ErasedName is the name of a deleted account where other people see it.
const ErasedName = "Deleted account"

// assignedTo selects the access rows a of accounts to the claims that the person $1 works on.
const assignedTo = `(a.user_id, a.item_id) IN (SELECT x.account_id, x.claim_id FROM claim_assignees x WHERE x.user_id = $1)`

// EraseUser erases what is left of a locked account that has no records and no credentials, and whose
// events were erased. Its row stays, because shared records and their history refer to it.
func (t *Tx) EraseUser(id warranty.ID, email string, now time.Time) error {
	for _, sql := range []string{
		`DELETE FROM mails WHERE address = $2 OR id IN (SELECT mail_id FROM mail_log WHERE sender_id = $1)`,
		`DELETE FROM mail_log WHERE recipient = $2 OR sender_id = $1`,
	} {
		if err := t.later(sql, id, email); err != nil {
			return err
		}
	}
	if err := t.forgetCustomer(id); err != nil {
		return err
	}
	// What they wrote about claims is in emails, too. Failed ones with the texts of several people are not sorted out.
	if err := t.later(`DELETE FROM mails WHERE author_id = $1 OR author_id = $2 AND failed_at IS NOT NULL`, id, warranty.ID{}); err != nil {
		return err
	}
	if err := lists.NoteChanged(t.ctx, t.tx, `a.kind = `+kindClaim+` AND `+assignedTo, id); err != nil {
		return err
	}
	for _, sql := range []string{
		`DELETE FROM requests WHERE token_id IN (SELECT id FROM tokens WHERE user_id = $1)`,
		`DELETE FROM token_usage WHERE token_id IN (SELECT id FROM tokens WHERE user_id = $1)`,
		`DELETE FROM token_secrets WHERE token_id IN (SELECT id FROM tokens WHERE user_id = $1)`,
		`DELETE FROM refresh_tokens WHERE token_id IN (SELECT id FROM tokens WHERE user_id = $1)`,
		`DELETE FROM oauth_codes WHERE token_id IN (SELECT id FROM tokens WHERE user_id = $1)`,
		`UPDATE tokens SET name = '', prefix = '' WHERE user_id = $1`,
		`DELETE FROM idempotency WHERE user_id = $1`,
		`DELETE FROM mail_digest WHERE user_id = $1`,
		`DELETE FROM mail_notices WHERE account_id = $1`,
		`DELETE FROM gone WHERE user_id = $1`,
		`DELETE FROM index_lists WHERE user_id = $1`,
		`DELETE FROM offer_mails WHERE account_id = $1`,
		`DELETE FROM handed_over WHERE account_id = $1`,
		`DELETE FROM wrong_digits WHERE account_id = $1`,
		`DELETE FROM domains WHERE account_id = $1`,
		`DELETE FROM products WHERE account_id = $1`,
		`DELETE FROM saved_replies WHERE account_id = $1`,
		`DELETE FROM claim_notes WHERE account_id = $1`,
		`UPDATE access AS a SET assignee = NULL WHERE a.kind = ` + kindClaim + ` AND ` + assignedTo,
		`DELETE FROM claim_assignees WHERE user_id = $1`,
		`DELETE FROM claim_assignees WHERE account_id = $1`,
		`DELETE FROM claim_mutes WHERE user_id = $1`,
		`DELETE FROM claim_mutes WHERE account_id = $1`,
		`DELETE FROM views WHERE account_id = $1`,
		`DELETE FROM reminder_choices WHERE account_id = $1`,
		`DELETE FROM record_reminders WHERE account_id = $1`,
		`DELETE FROM job_records WHERE job_id IN (SELECT id FROM jobs WHERE account_id = $1 OR user_id = $1)`,
		`DELETE FROM job_changes WHERE job_id IN (SELECT id FROM jobs WHERE account_id = $1 OR user_id = $1)`,
		`DELETE FROM jobs WHERE account_id = $1 OR user_id = $1`,
		`DELETE FROM declined WHERE account_id = $1`,
		`DELETE FROM declined_accounts WHERE account_id = $1 OR from_id = $1`,
		`DELETE FROM address_codes WHERE account_id = $1`,
		`DELETE FROM not_me_codes WHERE user_id = $1`,
		`DELETE FROM addresses WHERE account_id = $1`,
		`DELETE FROM invitations WHERE account_id = $1 OR invited_by = $1`,
		`DELETE FROM members WHERE account_id = $1 OR user_id = $1`,
		`DELETE FROM organizations WHERE id = $1`,
		`DELETE FROM brands WHERE account_id = $1`,
		`DELETE FROM session_proofs WHERE account_id = $1 OR session_id IN (SELECT id FROM sessions WHERE user_id = $1)`,
		`DELETE FROM sign_in_flows WHERE user_id = $1`,
		`DELETE FROM factor_tries WHERE user_id = $1`,
		`DELETE FROM erasures WHERE user_id = $1`,
	} {
		if err := t.later(sql, id); err != nil {
			return err
		}
	}
	if err := t.DeleteFactors(id); err != nil {
		return err
	}
	if _, err := t.dropFiles(`drafts`, now, `account_id = $1 OR user_id = $1`, id); err != nil {
		return err
	}
	for _, table := range []string{`document_versions`, `logos`} {
		if _, err := t.dropFiles(table, now, `account_id = $1`, id); err != nil {
			return err
		}
	}
	// The name of an organization stays on the records that it issued.
	return t.exactlyOne(`UPDATE users SET email = $2, former_names = NULL,
		name = CASE WHEN kind = `+kindOrganization+` THEN name ELSE $3 END, password_hash = '', verified_at = NULL,
		disabled_at = COALESCE(disabled_at, $4), deleted_at = $4, admin_since = NULL, last_sign_in_at = NULL,
		mail_choices = 0, language = '', zone = '', `+nextEpoch+` WHERE id = $1`,
		id, id.String()+"@deleted.invalid", ErasedName, now)
}

// eraseDocumentName erases the name of a document that a former owner kept from the history of its warranty.
func (t *Tx) eraseDocumentName(d warranty.Document) error {
	return t.later(`UPDATE history SET changes = '[]' WHERE thread_id = $1 AND subject_id = $2`, d.WarrantyID, d.ID)
}
