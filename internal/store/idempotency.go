package store

import (
	"context"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// SavedResponse is the response to a request with an idempotency key.
type SavedResponse struct {
	User        warranty.ID
	Operation   string
	Key         string
	Fingerprint warranty.Hash
	Response    string
	At          time.Time
}

// handoverCodesKept is how long expired hand-over codes are kept, to tell that they have expired.
const handoverCodesKept = 90 * 24 * time.Hour

// KeyLifetime is how long an idempotency key is valid.
const KeyLifetime = 24 * time.Hour

// SaveResponse stores a response under its key, in the transaction that writes the record. If the
// key is taken, it writes nothing and returns the earlier response. It must be the first write: a
// concurrent request with the same key waits here for the first one to commit and then replays its
// response.
func (t *Tx) SaveResponse(k SavedResponse) (earlier *SavedResponse, err error) {
	n, err := t.exec(`INSERT INTO idempotency (user_id, operation, key, fingerprint, response, created_at)
		VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (user_id, operation, key) DO UPDATE
			SET fingerprint = excluded.fingerprint, response = excluded.response, created_at = excluded.created_at
		WHERE idempotency.created_at <= $7`,
		k.User, k.Operation, k.Key, k.Fingerprint, k.Response, k.At, k.At.Add(-KeyLifetime))
	if err != nil || n == 1 {
		return nil, err
	}
	earlier = &SavedResponse{User: k.User, Operation: k.Operation, Key: k.Key}
	err = queryRow(t.ctx, t.tx, `SELECT fingerprint, response, created_at FROM idempotency
		WHERE user_id = $1 AND operation = $2 AND key = $3`,
		func(r *engine.Row) {
			copy(earlier.Fingerprint[:], r.Bytes())
			earlier.Response, earlier.At = r.Text(), r.Time()
		}, k.User, k.Operation, k.Key)
	return earlier, err
}

// HasResponse reports whether a response is stored under a key.
func (s *Store) HasResponse(
	ctx context.Context, user warranty.ID, operation, key string, now time.Time,
) (found bool, err error) {
	err = s.db.Query(ctx, `SELECT 1 FROM idempotency WHERE user_id = $1 AND operation = $2 AND key = $3 AND created_at > $4`,
		func(*engine.Row) error { found = true; return nil }, user, operation, key, now.Add(-KeyLifetime))
	return found, err
}

// ReplaceResponse replaces the response that SaveResponse stored in this transaction.
func (t *Tx) ReplaceResponse(user warranty.ID, operation, key, response string) error {
	return t.exactlyOne(`UPDATE idempotency SET response = $4 WHERE user_id = $1 AND operation = $2 AND key = $3`,
		user, operation, key, response)
}

// Sweep deletes expired rows. It only saves space: expired rows are already rejected because of
// their age.
func (s *Store) Sweep(ctx context.Context, now time.Time) error {
	return s.Write(ctx, func(t *Tx) error {
		// The order matches the lock order: see Service.writeWithLocks.
		if err := t.later(`DELETE FROM one_time_codes WHERE code_hash IN
			(SELECT code_hash FROM one_time_codes WHERE expires_at <= $1 /*pg: FOR UPDATE SKIP LOCKED */)`, now); err != nil {
			return err
		}
		for _, sql := range []string{
			`DELETE FROM invitations WHERE id IN
				(SELECT id FROM invitations WHERE expires_at <= $1 /*pg: FOR UPDATE SKIP LOCKED */)`,
			`DELETE FROM setup_codes WHERE expires_at <= $1`,
			`DELETE FROM not_me_codes WHERE expires_at <= $1`,
			`DELETE FROM address_codes WHERE code_hash IN
				(SELECT code_hash FROM address_codes WHERE expires_at <= $1 /*pg: FOR UPDATE SKIP LOCKED */)`,
		} {
			if err := t.later(sql, now); err != nil {
				return err
			}
		}
		if err := t.sweepOAuth(now); err != nil {
			return err
		}
		// Ended sessions are kept for a week, so that clients get "expired" and not "invalid". Rows
		// locked by others are left for the next sweep.
		if err := t.later(`DELETE FROM sessions WHERE id IN
			(SELECT id FROM sessions WHERE expires_at <= $1 OR seen_at <= $2 AND created_at <= $2
				/*pg: FOR UPDATE SKIP LOCKED */)`,
			now.Add(-7*24*time.Hour), now.Add(-7*24*time.Hour-warranty.SessionIdle)); err != nil {
			return err
		}
		if err := t.sweepFlows(now); err != nil {
			return err
		}
		for _, table := range []string{`offer_codes`, `ended_codes`} {
			if err := t.later(`DELETE FROM `+table+` WHERE code_hash IN
				(SELECT code_hash FROM `+table+` WHERE expires_at <= $1 /*pg: FOR UPDATE SKIP LOCKED */)`,
				now.Add(-handoverCodesKept)); err != nil {
				return err
			}
		}
		// The page says for a day that its code has expired.
		if err := t.later(`DELETE FROM asked_codes WHERE page_hash IN
			(SELECT page_hash FROM asked_codes WHERE expires_at <= $1 /*pg: FOR UPDATE SKIP LOCKED */)`,
			now.Add(-24*time.Hour)); err != nil {
			return err
		}
		if err := t.later(`DELETE FROM wrong_digits WHERE day < $1`, warranty.DateOf(now)-1); err != nil {
			return err
		}
		if err := t.later(`DELETE FROM devices WHERE seen_at <= $1`, now.Add(-warranty.DeviceLifetime)); err != nil {
			return err
		}
		if err := t.later(`DELETE FROM mail_log WHERE at <= $1`, now.Add(-MailDay)); err != nil {
			return err
		}
		if err := t.later(`DELETE FROM idempotency WHERE created_at <= $1`, now.Add(-KeyLifetime)); err != nil {
			return err
		}
		if err := t.later(`DELETE FROM gone WHERE at <= $1`, now.Add(-goneKept)); err != nil {
			return err
		}
		if err := t.sweepThumbnails(); err != nil {
			return err
		}
		if err := t.SweepReminded(warranty.DateOf(now)); err != nil {
			return err
		}
		if err := t.SweepMails(now.Add(-FailedMailLifetime), now); err != nil {
			return err
		}
		if err := t.PruneServerErrors(now.Add(-ServerErrorLifetime), MaxServerErrors); err != nil {
			return err
		}
		return t.later(`DELETE FROM usage_batches WHERE written_at <= $1`, now.Add(-7*24*time.Hour))
	})
}
