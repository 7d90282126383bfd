package store

import (
	"context"
	"time"

	"warranty.example/svc/warranty"
)

// Kept is the answer to a request that carried an idempotency key.
type Kept struct {
	User        warranty.ID
	Operation   string
	Key         string
	Fingerprint warranty.Hash
	Response    string
	At          time.Time
}

// KeyLifetime is how long a key is remembered.
const KeyLifetime = 24 * time.Hour

// KeepAnswer stores the answer under its key, in the transaction that writes the
// record. When the key is taken it returns what was kept, and writes nothing. It
// comes before every other write: of two requests at once, the second waits here
// for the first to commit, and then replays it.
func (t *Tx) KeepAnswer(k Kept) (earlier *Kept, err error) {
	n, err := t.exec(`INSERT INTO idempotency (user_id, operation, key, fingerprint, response, created_at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (user_id, operation, key) DO UPDATE SET fingerprint = excluded.fingerprint, response = excluded.response, created_at = excluded.created_at
		WHERE idempotency.created_at <= $7`,
		k.User, k.Operation, k.Key, k.Fingerprint, k.Response, k.At, k.At.Add(-KeyLifetime))
	if err != nil || n == 1 {
		return nil, err
	}
	earlier = &Kept{User: k.User, Operation: k.Operation, Key: k.Key}
	err = one(t.ctx, t.tx, `SELECT fingerprint, response, created_at FROM idempotency WHERE user_id = $1 AND operation = $2 AND key = $3`,
		func(r Row) {
			copy(earlier.Fingerprint[:], r.Bytes(0))
			earlier.Response, earlier.At = r.Text(1), instant(r, 2)
		}, k.User, k.Operation, k.Key)
	return earlier, err
}

// Sweep removes what has outlived its use. It is hygiene alone: everything that
// it removes is refused by its own age already.
func (s *Store) Sweep(ctx context.Context, now time.Time) error {
	return s.Write(ctx, func(t *Tx) error {
		// In the order in which everything is locked: see Service.writeAfter.
		if err := t.later(`DELETE FROM one_time_codes WHERE code_hash IN (SELECT code_hash FROM one_time_codes WHERE expires_at <= $1 /*pg: FOR UPDATE SKIP LOCKED */)`,
			now); err != nil {
			return err
		}
		// An ended session is kept for a while, so that its owner hears "expired" and not
		// "invalid". What others hold is left for the next time.
		if err := t.later(`DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE expires_at <= $1 /*pg: FOR UPDATE SKIP LOCKED */)`,
			now.Add(-7*24*time.Hour)); err != nil {
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
		return t.later(`DELETE FROM usage_batches WHERE written_at <= $1`, now.Add(-7*24*time.Hour))
	})
}
