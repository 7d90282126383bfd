package store

import (
	"context"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// UserState says whether an account can be used.
type UserState string

// The states of accounts.
const (
	UserActive   UserState = "active"
	UserDisabled UserState = "disabled"
	UserSetAside UserState = "set aside" // see ADR 16
	UserDeleted  UserState = "deleted"
)

// UserSummary is an account as the operator sees it.
type UserSummary struct {
	ID           warranty.ID
	Email, Name  string
	State        UserState
	Verified     bool
	Admin        bool
	Records      int64 // warranties that the account can see
	StorageBytes int64 // documents that it uploaded
	LastSignInAt *time.Time
	CreatedAt    time.Time
}

const (
	summaryColumns = `u.id, u.email, u.name, u.verified_at, u.disabled_at, u.set_aside_for, u.admin_since,
		u.last_sign_in_at, u.created_at`
	summaryStorage = `(SELECT CAST(COALESCE(sum(d.size_bytes), 0) AS BIGINT) FROM documents d WHERE d.uploader_id = u.id)`
)

// readSummary reads summaryColumns, the number of records and the storage.
func readSummary(r *engine.Row) UserSummary {
	u := UserSummary{ID: r.ID(), Email: r.Text(), Name: r.Text(), Verified: r.Set(), State: UserActive}
	if r.Set() {
		u.State = UserDisabled
	}
	if r.Set() {
		u.State = UserSetAside
	}
	u.Admin, u.LastSignInAt, u.CreatedAt = r.Set(), r.OptionalTime(), r.Time()
	u.Records, u.StorageBytes = r.Int(), r.Int()
	return u
}

// Users lists accounts by email address, starting after one. Deleted accounts are not listed.
func (s *Store) Users(ctx context.Context, after string, limit int) (list []UserSummary, err error) {
	err = s.db.Query(ctx, `SELECT `+summaryColumns+`,
			(SELECT count(*) FROM access a WHERE a.user_id = u.id AND a.kind = 1), `+summaryStorage+`
		FROM users u WHERE u.deleted_at IS NULL AND u.email /*pg: COLLATE "C" */ > $1
		ORDER BY u.email /*pg: COLLATE "C" */ LIMIT $2`,
		func(r *engine.Row) error { list = append(list, readSummary(r)); return nil }, after, limit)
	return list, err
}

// EnableUser enables a disabled account. It fails with ErrNotFound for accounts that were set aside
// or deleted.
func (t *Tx) EnableUser(id warranty.ID) error {
	return t.exactlyOne(`UPDATE users SET disabled_at = NULL, `+nextEpoch+`
		WHERE id = $1 AND set_aside_for IS NULL AND deleted_at IS NULL`, id)
}

// SetAdmin grants or revokes access to the admin page.
func (t *Tx) SetAdmin(id warranty.ID, admin bool, now time.Time) error {
	if !admin {
		return t.exactlyOne(`UPDATE users SET admin_since = NULL, `+nextEpoch+` WHERE id = $1`, id)
	}
	return t.exactlyOne(`UPDATE users SET admin_since = COALESCE(admin_since, $2), `+nextEpoch+` WHERE id = $1`, id, now)
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
	ofOthers = `EXISTS (SELECT 1 FROM access b WHERE b.parent_id = a.item_id AND b.kind = 1 AND b.user_id <> $1)`
	isOwner  = `a.roles & 1 <> 0`
)

// UserRecords counts what deleting an account affects.
func (s *Store) UserRecords(ctx context.Context, id warranty.ID) (n UserRecords, err error) {
	err = queryRow(ctx, s.db, `SELECT count(*), count(CASE WHEN a.others THEN 1 END),
			count(CASE WHEN a.others AND a.owner THEN 1 END)
		FROM (SELECT `+ofOthers+` AS others, `+isOwner+` AS owner FROM access a
			WHERE a.user_id = $1 AND a.kind = 1) a`, func(r *engine.Row) {
		n.Own, n.Shared, n.Ownerless = r.Int(), r.Int(), r.Int()
		n.Own -= n.Shared
	}, id)
	if err != nil {
		return n, err
	}
	err = queryRow(ctx, s.db, `SELECT count(*), CAST(COALESCE(sum(d.size_bytes), 0) AS BIGINT)
		FROM access a JOIN documents d ON d.warranty_id = a.item_id
		WHERE a.user_id = $1 AND a.kind = 1 AND NOT `+ofOthers,
		func(r *engine.Row) { n.OwnDocuments, n.OwnBytes = r.Int(), r.Int() }, id)
	return n, err
}

// WarrantiesOf lists some warranties that a user can see.
func (t *Tx) WarrantiesOf(user warranty.ID, limit int) (ids []warranty.ID, err error) {
	err = t.tx.Query(t.ctx, `SELECT item_id FROM access WHERE user_id = $1 AND kind = 1 ORDER BY item_id LIMIT $2`,
		func(r *engine.Row) error { ids = append(ids, r.ID()); return nil }, user, limit)
	return ids, err
}

// LeaveWarranty ends a user's access to a locked warranty. If nobody else can see it, it is deleted
// and its content erased.
func (t *Tx) LeaveWarranty(user warranty.ID, w warranty.Warranty, now time.Time) error {
	shared := false
	if err := t.tx.Query(t.ctx, `SELECT 1 FROM access WHERE parent_id = $1 AND kind = 1 AND user_id <> $2 LIMIT 1`,
		func(*engine.Row) error { shared = true; return nil }, w.ID, user); err != nil {
		return err
	}
	if !shared {
		if err := t.DeleteWarranty(w, now); err != nil {
			return err
		}
		return t.EraseWarranties([]warranty.ID{w.ID})
	}
	if err := t.noteWarranty(w.ID); err != nil {
		return err
	}
	if err := t.partyChanged(w.ID, `a.user_id = $2`, user); err != nil {
		return err
	}
	return t.later(`DELETE FROM access WHERE parent_id = $1 AND user_id = $2`, w.ID, user)
}

// DeletedOf lists the deleted warranties that a user issued and whose content was not erased.
func (s *Store) DeletedOf(ctx context.Context, user warranty.ID) (ids []warranty.ID, err error) {
	err = s.db.Query(ctx, `SELECT id FROM warranties WHERE issuer_id = $1 AND deleted_at IS NOT NULL
		AND product_name <> '' ORDER BY id`,
		func(r *engine.Row) error { ids = append(ids, r.ID()); return nil }, user)
	return ids, err
}

// EraseWarranties erases the content of deleted warranties. Their rows stay, because the feeds of users
// who could see them earlier refer to them.
func (t *Tx) EraseWarranties(ids []warranty.ID) error {
	for _, id := range ids {
		for _, sql := range []string{
			`UPDATE warranties SET product_name = '', description = NULL, serial_number = NULL, category = NULL,
				folded_category = '', supplier = NULL, seller_name = NULL, seller_email = NULL, search = '',
				external_id = NULL WHERE id = $1 AND deleted_at IS NOT NULL`,
			`UPDATE history SET changes = '[]` + noted + `' WHERE thread_id = $1`,
			`DELETE FROM mail_digest WHERE claim_id IN (SELECT id FROM claims WHERE warranty_id = $1)`,
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

// EraseUser erases everything personal about a locked account that has no records and no credentials
// left. Its row stays, because shared records and their history refer to it.
func (t *Tx) EraseUser(id warranty.ID, email string, now time.Time) error {
	for _, sql := range []string{
		`DELETE FROM mails WHERE address = $2 OR id IN (SELECT mail_id FROM mail_log WHERE sender_id = $1)`,
		`DELETE FROM mail_log WHERE recipient = $2 OR sender_id = $1`,
	} {
		if err := t.later(sql, id, email); err != nil {
			return err
		}
	}
	for _, sql := range []string{
		`DELETE FROM requests WHERE token_id IN (SELECT id FROM tokens WHERE user_id = $1)`,
		`DELETE FROM token_usage WHERE token_id IN (SELECT id FROM tokens WHERE user_id = $1)`,
		`DELETE FROM token_secrets WHERE token_id IN (SELECT id FROM tokens WHERE user_id = $1)`,
		`UPDATE tokens SET name = '', prefix = '' WHERE user_id = $1`,
		`DELETE FROM idempotency WHERE user_id = $1`,
		`DELETE FROM mail_digest WHERE user_id = $1`,
		`DELETE FROM gone WHERE user_id = $1`,
		`DELETE FROM find_lists WHERE user_id = $1`,
		`DELETE FROM seller_links WHERE user_id = $1`,
	} {
		if err := t.later(sql, id); err != nil {
			return err
		}
	}
	if err := t.later(`UPDATE history SET actor = $2, token_name = NULL WHERE actor_id = $1`, id, ErasedName); err != nil {
		return err
	}
	return t.exactlyOne(`UPDATE users SET email = $2, name = $3, password_hash = '', verified_at = NULL,
		disabled_at = COALESCE(disabled_at, $4), deleted_at = $4, admin_since = NULL, last_sign_in_at = NULL,
		mail_choices = 0, `+nextEpoch+` WHERE id = $1`,
		id, id.String()+"@deleted.invalid", ErasedName, now)
}
