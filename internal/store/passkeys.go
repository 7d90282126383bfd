package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// Passkey is a passkey of a person.
type Passkey struct {
	warranty.AccountPasskey
	User         warranty.ID
	Handle       []byte // of the person
	CredentialID []byte // unique among all people
	PublicKey    []byte
	Counter      uint32
	Transports   []string
	Eligible     bool // it can be synced
}

const passkeyColumns = `p.id, p.user_id, u.passkey_handle, p.name, p.credential_id, p.public_key, p.counter, p.transports,
	p.backup_eligible, p.backed_up, p.created_at, p.used_at FROM passkeys p JOIN users u ON u.id = p.user_id`

func readPasskey(r *engine.Row) (p Passkey) {
	p.ID, p.User, p.Handle, p.Name = r.ID(), r.ID(), slices.Clone(r.Bytes()), r.Text()
	p.CredentialID, p.PublicKey = slices.Clone(r.Bytes()), slices.Clone(r.Bytes())
	p.Counter, p.Transports = uint32(r.Int()), strings.Fields(r.Text())
	p.Eligible, p.Synced = r.Int() == 1, r.Int() == 1
	p.CreatedAt, p.LastUsedAt = r.Time(), r.OptionalTime()
	return p
}

// PasskeyByCredential returns the passkey with a credential id.
func (s *Store) PasskeyByCredential(ctx context.Context, credential []byte) (p Passkey, err error) {
	err = queryRow(ctx, s.db, `SELECT `+passkeyColumns+` WHERE p.credential_id = $1`,
		func(r *engine.Row) { p = readPasskey(r) }, credential)
	return p, err
}

// Passkeys lists the passkeys of a person, the oldest first.
func (s *Store) Passkeys(ctx context.Context, user warranty.ID) (list []Passkey, err error) {
	err = s.db.Query(ctx, `SELECT `+passkeyColumns+` WHERE p.user_id = $1 ORDER BY p.created_at, p.id`,
		func(r *engine.Row) error { list = append(list, readPasskey(r)); return nil }, user)
	return list, err
}

// CountPasskeys counts the passkeys of a locked person.
func (t *Tx) CountPasskeys(user warranty.ID) (n int, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT count(*) FROM passkeys WHERE user_id = $1`,
		func(r *engine.Row) { n = int(r.Int()) }, user)
	return n, err
}

const passkeyHandle = `SELECT passkey_handle FROM users WHERE id = $1`

// PasskeyHandle returns the handle of a person in their passkeys, or nil if they have none yet.
func (s *Store) PasskeyHandle(ctx context.Context, user warranty.ID) (handle []byte, err error) {
	err = queryRow(ctx, s.db, passkeyHandle, func(r *engine.Row) { handle = slices.Clone(r.Bytes()) }, user)
	return handle, err
}

// PasskeyHandle returns the handle of a locked person, or nil if they have none yet.
func (t *Tx) PasskeyHandle(user warranty.ID) (handle []byte, err error) {
	err = queryRow(t.ctx, t.tx, passkeyHandle, func(r *engine.Row) { handle = slices.Clone(r.Bytes()) }, user)
	return handle, err
}

// SetPasskeyHandle sets the handle of a locked person who has none. It never changes.
func (t *Tx) SetPasskeyHandle(user warranty.ID, handle []byte) error {
	return t.exactlyOne(`UPDATE users SET passkey_handle = $2 WHERE id = $1 AND passkey_handle IS NULL`, user, handle)
}

// InsertPasskey adds a passkey of a locked person. A duplicate credential id is an IsDuplicate error.
func (t *Tx) InsertPasskey(p Passkey) error {
	return t.later(`INSERT INTO passkeys (id, user_id, name, credential_id, public_key, counter, transports, backup_eligible,
			backed_up, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		p.ID, p.User, p.Name, p.CredentialID, p.PublicKey, int64(p.Counter), strings.Join(p.Transports, " "),
		flag(p.Eligible), flag(p.Synced), p.CreatedAt)
}

// UsePasskey notes the use of a passkey of a locked person: its new counter, and whether it is synced now. It returns
// ErrNotFound if the person removed it, or if its counter is not the one that the answer was compared with.
func (t *Tx) UsePasskey(user warranty.ID, p Passkey, counter uint32, synced bool, now time.Time) error {
	n, err := t.exec(`UPDATE passkeys SET counter = $4, backed_up = $5, used_at = $6
		WHERE id = $1 AND user_id = $2 AND counter = $3`,
		p.ID, user, int64(p.Counter), int64(counter), flag(synced), now)
	if err == nil && n != 1 {
		err = warranty.ErrNotFound
	}
	return err
}

// RenamePasskey renames a passkey of a person.
func (t *Tx) RenamePasskey(user, id warranty.ID, name string) error {
	return t.exactlyOne(`UPDATE passkeys SET name = $3 WHERE user_id = $1 AND id = $2`, user, id, name)
}

// DeletePasskey removes a passkey of a locked person and returns its name.
func (t *Tx) DeletePasskey(user, id warranty.ID) (name string, err error) {
	err = queryRow(t.ctx, t.tx, `DELETE FROM passkeys WHERE user_id = $1 AND id = $2 RETURNING name`,
		func(r *engine.Row) { name = r.Text() }, user, id)
	return name, err
}

func flag(set bool) int64 {
	if set {
		return 1
	}
	return 0
}
