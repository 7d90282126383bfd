package store

import (
	"context"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// NotMeCode is a code of a security email.
type NotMeCode struct {
	User  warranty.ID
	Email string // the address that the email went to
	Ends  time.Time
}

// InsertNotMe adds a code for an account.
func (t *Tx) InsertNotMe(c NotMeCode, code warranty.Hash) error {
	return t.later(`INSERT INTO not_me_codes (code_hash, user_id, email, expires_at) VALUES ($1, $2, $3, $4)`,
		code, c.User, c.Email, c.Ends)
}

// NotMe returns a valid code without using it.
func (s *Store) NotMe(ctx context.Context, code warranty.Hash, now time.Time) (c NotMeCode, err error) {
	err = queryRow(ctx, s.db, `SELECT user_id, email, expires_at FROM not_me_codes WHERE code_hash = $1 AND expires_at > $2`,
		func(r *engine.Row) { c = NotMeCode{User: r.ID(), Email: r.Text(), Ends: r.Time()} }, code, now)
	return c, err
}

// UseNotMe ends a valid code of a locked account, all others that went to the same address, and those of addresses that
// got their first one later. Those of an earlier address stay: a thief who changed the address gets codes too, and must
// not end the ones that undo the change.
func (t *Tx) UseNotMe(c NotMeCode, code warranty.Hash, now time.Time) error {
	n, err := t.exec(`DELETE FROM not_me_codes WHERE user_id = $1 AND EXISTS
			(SELECT 1 FROM not_me_codes c WHERE c.code_hash = $2 AND c.user_id = $1 AND c.expires_at > $3)
		AND (SELECT min(o.expires_at) FROM not_me_codes o WHERE o.user_id = $1 AND o.email = not_me_codes.email)
			>= (SELECT min(o.expires_at) FROM not_me_codes o WHERE o.user_id = $1 AND o.email = $4)`,
		c.User, code, now, c.Email)
	if err == nil && n == 0 {
		err = warranty.ErrNotFound
	}
	return err
}

// DeleteFactorsSince removes the passkeys and the authenticator app that a locked person added since a time, and the app
// that is being added.
func (t *Tx) DeleteFactorsSince(user warranty.ID, since time.Time) error {
	if err := t.later(`DELETE FROM totp_pending WHERE user_id = $1`, user); err != nil {
		return err
	}
	if err := t.later(`DELETE FROM totp WHERE user_id = $1 AND confirmed_at >= $2`, user, since); err != nil {
		return err
	}
	return t.later(`DELETE FROM passkeys WHERE user_id = $1 AND created_at >= $2`, user, since)
}

// ChangeEmail gives a locked person another, verified address. It fails with a duplicate if it belongs to another account.
func (t *Tx) ChangeEmail(user warranty.ID, email string, now time.Time) error {
	if err := t.exactlyOne(`UPDATE users SET email = $2, verified_at = $3, `+nextEpoch+` WHERE id = $1`,
		user, email, now); err != nil {
		return err
	}
	return t.moveAddress(user, email)
}
