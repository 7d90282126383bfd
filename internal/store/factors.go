package store

import (
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// FactorBudget is a number of tries of second factors that a person has in a time, over all doors and forms.
type FactorBudget uint8

// The budgets. They are stored, so new ones must go at the end.
const (
	TOTPOfHour FactorBudget = iota + 1
	TOTPOfDay
	RecoveryOfHour
	StepsOfDay // second steps of all kinds
)

// longestBudget is the longest time of a budget.
const longestBudget = 24 * time.Hour

// CountFactorTry counts a try of a person against a budget and returns the number of tries since start, which is when
// the current time of the budget began: after period, a new one begins. It belongs in a transaction of its own, so that
// nothing takes the try back.
func (t *Tx) CountFactorTry(
	user warranty.ID, what FactorBudget, now time.Time, period time.Duration,
) (tries int, start time.Time, err error) {
	err = queryRow(t.ctx, t.tx, `INSERT INTO factor_tries AS f (user_id, what, since, tries) VALUES ($1, $2, $3, 1)
		ON CONFLICT (user_id, what) DO UPDATE SET
			tries = CASE WHEN f.since <= $4 THEN 1 ELSE f.tries + 1 END,
			since = CASE WHEN f.since <= $4 THEN excluded.since ELSE f.since END
		RETURNING tries, since`, func(r *engine.Row) { tries, start = int(r.Int()), r.Time() },
		user, int(what), now, now.Add(-period))
	return tries, start, err
}

// ReturnFactorTry takes back a try that was right.
func (t *Tx) ReturnFactorTry(user warranty.ID, what FactorBudget) error {
	return t.later(`UPDATE factor_tries SET tries = tries - 1 WHERE user_id = $1 AND what = $2 AND tries > 0`, user, int(what))
}

// SecondFactors returns what completes a sign-in of a locked person.
func (t *Tx) SecondFactors(user warranty.ID) (list []warranty.SecondFactor, err error) {
	err = t.tx.Query(t.ctx, `SELECT CAST(1 AS BIGINT) WHERE EXISTS (SELECT 1 FROM passkeys WHERE user_id = $1)
		UNION ALL SELECT 2 WHERE EXISTS (SELECT 1 FROM totp WHERE user_id = $1 AND confirmed_at IS NOT NULL)
		UNION ALL SELECT 3 WHERE EXISTS (SELECT 1 FROM recovery_codes WHERE user_id = $1 AND used_at IS NULL)
		ORDER BY 1`,
		func(r *engine.Row) error { list = append(list, enum[warranty.SecondFactor](r)); return nil }, user)
	return list, err
}

// InsertRecoveryCode adds a recovery code of a locked person.
func (t *Tx) InsertRecoveryCode(user warranty.ID, code warranty.Hash, now time.Time) error {
	return t.later(`INSERT INTO recovery_codes (user_id, code_hash, created_at) VALUES ($1, $2, $3)`, user, code, now)
}

// UseRecoveryCode uses a recovery code of a locked person. It returns ErrNotFound if they have none that is like it, or
// used it before.
func (t *Tx) UseRecoveryCode(user warranty.ID, code warranty.Hash, now time.Time) error {
	n, err := t.exec(`UPDATE recovery_codes SET used_at = $3 WHERE user_id = $1 AND code_hash = $2 AND used_at IS NULL`,
		user, code, now)
	if err == nil && n != 1 {
		err = warranty.ErrNotFound
	}
	return err
}

// factorTables have what a person proves who they are with.
var factorTables = []string{"passkeys", "totp", "totp_pending", "recovery_codes", "identities"}

// DeleteFactors removes all factors and identities of a locked person.
func (t *Tx) DeleteFactors(user warranty.ID) error {
	for _, table := range factorTables {
		if err := t.later(`DELETE FROM `+table+` WHERE user_id = $1`, user); err != nil {
			return err
		}
	}
	return t.later(`UPDATE users SET two_step_since = NULL, passkey_handle = NULL WHERE id = $1`, user)
}

// MoveFactors gives all factors and identities of a locked person to one who was just added.
func (t *Tx) MoveFactors(from, to warranty.ID) error {
	for _, table := range append([]string{"factor_tries"}, factorTables...) {
		if err := t.later(`UPDATE `+table+` SET user_id = $2 WHERE user_id = $1`, from, to); err != nil {
			return err
		}
	}
	var handle []byte
	var since *time.Time
	err := queryRow(t.ctx, t.tx, `SELECT passkey_handle, two_step_since FROM users WHERE id = $1`,
		func(r *engine.Row) { handle, since = r.Bytes(), r.OptionalTime() }, from)
	if err != nil {
		return err
	}
	// The handle is unique.
	if err := t.later(`UPDATE users SET two_step_since = NULL, passkey_handle = NULL WHERE id = $1`, from); err != nil {
		return err
	}
	if len(handle) > 0 {
		if err := t.exactlyOne(`UPDATE users SET passkey_handle = $2 WHERE id = $1`, to, handle); err != nil {
			return err
		}
	}
	return t.exactlyOne(`UPDATE users SET two_step_since = $2 WHERE id = $1`, to, since)
}
