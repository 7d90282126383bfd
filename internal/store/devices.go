package store

import (
	"context"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// RecordDevice records that a locked account was used on a device. It reports whether this device
// was known, and whether any other was.
func (t *Tx) RecordDevice(user warranty.ID, device warranty.Hash, now time.Time) (known, others bool, err error) {
	err = t.tx.Query(t.ctx, `SELECT device_hash FROM devices WHERE user_id = $1`, func(r *engine.Row) error {
		if warranty.Hash(r.Bytes()) == device {
			known = true
		} else {
			others = true
		}
		return nil
	}, user)
	if err != nil {
		return known, others, err
	}
	return known, others, t.later(`INSERT INTO devices (user_id, device_hash, seen_at) VALUES ($1, $2, $3)
		ON CONFLICT (user_id, device_hash) DO UPDATE SET seen_at = excluded.seen_at`, user, device, now)
}

// ForgetDevices forgets all devices of a user.
func (t *Tx) ForgetDevices(user warranty.ID) error {
	return t.later(`DELETE FROM devices WHERE user_id = $1`, user)
}

// KnowsDevice reports whether the account with an email address was used on a device.
func (s *Store) KnowsDevice(ctx context.Context, email string, device warranty.Hash) (known bool, err error) {
	err = s.db.Query(ctx, `SELECT 1 FROM devices d JOIN users u ON u.id = d.user_id
		WHERE u.email = $1 AND d.device_hash = $2`,
		func(*engine.Row) error { known = true; return nil }, email, device)
	return known, err
}
