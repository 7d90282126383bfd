package store

import (
	"context"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// SigningKey is the public half of a key that signs certificates, or did.
type SigningKey struct {
	warranty.PublicKey
	Active    bool
	CreatedAt time.Time
	RetiredAt *time.Time
	RevokedAt *time.Time // its certificates no longer verify
}

const signingKeysQuery = `SELECT public_key, COALESCE(active, 0), created_at, retired_at, revoked_at FROM signing_keys
	ORDER BY created_at DESC, id`

func signingKeys(ctx context.Context, q engine.Querier) (list []SigningKey, err error) {
	err = q.Query(ctx, signingKeysQuery, func(r *engine.Row) error {
		list = append(list, SigningKey{
			PublicKey: warranty.NewPublicKey(append([]byte(nil), r.Bytes()...)),
			Active:    r.Int() != 0,
			CreatedAt: r.Time(),
			RetiredAt: r.OptionalTime(),
			RevokedAt: r.OptionalTime(),
		})
		return nil
	})
	return list, err
}

// SigningKeys lists all keys, the newest first.
func (s *Store) SigningKeys(ctx context.Context) ([]SigningKey, error) { return signingKeys(ctx, s.db) }

// AddSigningKey makes a key the active one unless there is one, and returns all keys. Of several processes that
// add a key at once, one wins and the others see its key.
func (t *Tx) AddSigningKey(key warranty.PublicKey, now time.Time) ([]SigningKey, error) {
	_, err := t.exec(`INSERT INTO signing_keys (id, public_key, active, created_at) VALUES ($1, $2, 1, $3)
		ON CONFLICT DO NOTHING`, key.ID, []byte(key.Key), now)
	if err != nil {
		return nil, err
	}
	return signingKeys(t.ctx, t.tx)
}

// ReplaceSigningKey retires the active key and makes another one active.
func (t *Tx) ReplaceSigningKey(key warranty.PublicKey, now time.Time) error {
	if _, err := t.exec(`UPDATE signing_keys SET active = NULL, retired_at = $1 WHERE active = 1`, now); err != nil {
		return err
	}
	return t.exactlyOne(`INSERT INTO signing_keys (id, public_key, active, created_at) VALUES ($1, $2, 1, $3)`,
		key.ID, []byte(key.Key), now)
}

// RevokeSigningKey makes the certificates of a retired key invalid. It returns ErrNotFound if there is none with
// this id, or it is active.
func (t *Tx) RevokeSigningKey(id string, now time.Time) error {
	n, err := t.exec(`UPDATE signing_keys SET revoked_at = COALESCE(revoked_at, $2) WHERE id = $1 AND active IS NULL`, id, now)
	if err == nil && n != 1 {
		err = warranty.ErrNotFound
	}
	return err
}
