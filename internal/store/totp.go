package store

import (
	"context"
	"slices"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// InsertPendingTOTP stores the sealed secret of an authenticator app that a locked person is adding. It replaces the
// one that they began to add before.
func (t *Tx) InsertPendingTOTP(user warranty.ID, sealed []byte, now time.Time) error {
	return t.later(`INSERT INTO totp_pending (user_id, sealed_secret, created_at) VALUES ($1, $2, $3)
		ON CONFLICT (user_id) DO UPDATE SET sealed_secret = excluded.sealed_secret, created_at = excluded.created_at`,
		user, sealed, now)
}

// HasPendingTOTP reports whether a person is adding an app since a time.
func (s *Store) HasPendingTOTP(ctx context.Context, user warranty.ID, since time.Time) (found bool, err error) {
	err = s.db.Query(ctx, `SELECT 1 FROM totp_pending WHERE user_id = $1 AND created_at > $2`,
		func(*engine.Row) error { found = true; return nil }, user, since)
	return found, err
}

// PendingTOTP returns the sealed secret of the app that a locked person is adding since a time, or ErrNotFound.
func (t *Tx) PendingTOTP(user warranty.ID, since time.Time) (sealed []byte, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT sealed_secret FROM totp_pending WHERE user_id = $1 AND created_at > $2`,
		func(r *engine.Row) { sealed = slices.Clone(r.Bytes()) }, user, since)
	return sealed, err
}

// ConfirmTOTP makes the app that a locked person is adding their app, in place of an earlier one. step is that of its
// first code.
func (t *Tx) ConfirmTOTP(user warranty.ID, step int64, now time.Time) error {
	err := t.exactlyOne(`INSERT INTO totp (user_id, sealed_secret, created_at, confirmed_at, last_step)
		SELECT user_id, sealed_secret, created_at, $3, $2 FROM totp_pending WHERE user_id = $1
		ON CONFLICT (user_id) DO UPDATE SET sealed_secret = excluded.sealed_secret, created_at = excluded.created_at,
			confirmed_at = excluded.confirmed_at, last_step = excluded.last_step`, user, step, now)
	if err != nil {
		return err
	}
	return t.exactlyOne(`DELETE FROM totp_pending WHERE user_id = $1`, user)
}

// TOTP returns the sealed secret of the app of a locked person, or ErrNotFound if they have none that is confirmed.
func (t *Tx) TOTP(user warranty.ID) (sealed []byte, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT sealed_secret FROM totp WHERE user_id = $1 AND confirmed_at IS NOT NULL`,
		func(r *engine.Row) { sealed = slices.Clone(r.Bytes()) }, user)
	return sealed, err
}

// UseTOTP accepts the code of a time step, once. It returns ErrNotFound if a code of this step or of a later one was
// accepted before.
func (t *Tx) UseTOTP(user warranty.ID, step int64) error {
	n, err := t.exec(`UPDATE totp SET last_step = $2 WHERE user_id = $1 AND confirmed_at IS NOT NULL AND last_step < $2`,
		user, step)
	if err == nil && n != 1 {
		err = warranty.ErrNotFound
	}
	return err
}

// ResealTOTP replaces the sealed secret of the app of a locked person by the same secret, sealed for another owner.
func (t *Tx) ResealTOTP(user warranty.ID, sealed []byte) error {
	return t.exactlyOne(`UPDATE totp SET sealed_secret = $2 WHERE user_id = $1`, user, sealed)
}

// DeleteTOTP removes the app of a locked person, and one that they are adding. It reports whether there was one.
func (t *Tx) DeleteTOTP(user warranty.ID) (bool, error) {
	if err := t.later(`DELETE FROM totp_pending WHERE user_id = $1`, user); err != nil {
		return false, err
	}
	n, err := t.exec(`DELETE FROM totp WHERE user_id = $1`, user)
	return n == 1, err
}

// DeleteRecoveryCodes removes the recovery codes of a locked person.
func (t *Tx) DeleteRecoveryCodes(user warranty.ID) error {
	return t.later(`DELETE FROM recovery_codes WHERE user_id = $1`, user)
}

// SetTwoStep turns two-step sign-in of a locked person on, or off if since is nil.
func (t *Tx) SetTwoStep(user warranty.ID, since *time.Time) error {
	return t.exactlyOne(`UPDATE users SET two_step_since = $2 WHERE id = $1`, user, since)
}

// DeleteSecondFactors removes what completes sign-ins of a locked person, and turns two-step sign-in off. Identities
// stay.
func (t *Tx) DeleteSecondFactors(user warranty.ID) error {
	for _, table := range []string{"passkeys", "totp", "totp_pending", "recovery_codes"} {
		if err := t.later(`DELETE FROM `+table+` WHERE user_id = $1`, user); err != nil {
			return err
		}
	}
	return t.SetTwoStep(user, nil)
}

const security = `SELECT u.two_step_since,
		(SELECT t.confirmed_at FROM totp t WHERE t.user_id = u.id),
		(SELECT count(*) FROM passkeys p WHERE p.user_id = u.id),
		(SELECT count(*) FROM recovery_codes r WHERE r.user_id = u.id AND r.used_at IS NULL)
	FROM users u WHERE u.id = $1`

func readSecurity(sec *warranty.Security) func(*engine.Row) {
	return func(r *engine.Row) {
		*sec = warranty.Security{}
		if sec.TwoStepSince = r.OptionalTime(); sec.TwoStepSince != nil {
			sec.TwoStep = true
		}
		if at := r.OptionalTime(); at != nil {
			sec.TOTP = &warranty.TOTP{AddedAt: *at}
		}
		sec.Passkeys, sec.RecoveryCodesLeft = int(r.Int()), int(r.Int())
	}
}

// Security returns what a person has beside the first step of a sign-in.
func (s *Store) Security(ctx context.Context, user warranty.ID) (sec warranty.Security, err error) {
	err = queryRow(ctx, s.db, security, readSecurity(&sec), user)
	return sec, err
}

// Security is Store.Security of a locked person, with what the transaction changed.
func (t *Tx) Security(user warranty.ID) (sec warranty.Security, err error) {
	err = queryRow(t.ctx, t.tx, security, readSecurity(&sec), user)
	return sec, err
}
