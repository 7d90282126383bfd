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
	Email, Name  string // an organization has no Email
	Organization bool
	State        UserState
	Verified     bool
	Admin        bool
	Records      int64 // warranties that the account can see
	StorageBytes int64 // documents that it uploaded
	LastSignInAt *time.Time
	EraseAt      *time.Time // set if the operator deleted the account
	CreatedAt    time.Time
}

const (
	summaryColumns = `u.id, u.email, u.name, u.verified_at, u.disabled_at, u.set_aside_for, u.admin_since,
		u.last_sign_in_at, (SELECT e.due_at FROM erasures e WHERE e.user_id = u.id), u.created_at, u.kind`
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
	u.Admin, u.LastSignInAt, u.EraseAt, u.CreatedAt = r.Set(), r.OptionalTime(), r.OptionalTime(), r.Time()
	if u.Organization = enum[warranty.AccountKind](r) == warranty.OrganizationKind; u.Organization {
		u.Email = ""
	}
	u.Records, u.StorageBytes = r.Int(), r.Int()
	return u
}

// Users lists people's accounts by email address, starting after one. Deleted accounts are not listed.
func (s *Store) Users(ctx context.Context, after string, limit int) (list []UserSummary, err error) {
	err = s.db.Query(ctx, `SELECT `+summaryColumns+`,
			(SELECT count(*) FROM access a WHERE a.user_id = u.id AND a.kind = `+kindWarranty+`), `+summaryStorage+`
		FROM users u WHERE u.deleted_at IS NULL AND u.kind = `+kindPerson+` AND u.email /*pg: COLLATE "C" */ > $1
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
