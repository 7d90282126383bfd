package store

import (
	"context"
	"time"

	"warranty.example/svc/internal/store/engine"
)

// activeSecretsKey returns the id of the key that seals secrets, or "" if there is none.
func activeSecretsKey(ctx context.Context, q engine.Querier) (id string, err error) {
	err = q.Query(ctx, `SELECT id FROM secrets_keys WHERE active = 1`, func(r *engine.Row) error {
		id = r.Text()
		return nil
	})
	return id, err
}

// SecretsKey returns the id of the key that seals secrets, or "" if there is none.
func (s *Store) SecretsKey(ctx context.Context) (id string, err error) {
	return activeSecretsKey(ctx, s.db)
}

// AddSecretsKey makes a key the active one unless there is one, and returns the active one. Of several processes that add
// a key at once, one wins and the others see its key.
func (t *Tx) AddSecretsKey(id string, now time.Time) (active string, err error) {
	_, err = t.exec(`INSERT INTO secrets_keys (id, active, created_at) VALUES ($1, 1, $2) ON CONFLICT DO NOTHING`, id, now)
	if err != nil {
		return "", err
	}
	return activeSecretsKey(t.ctx, t.tx)
}

// ReplaceSecretsKey retires the active key and makes another one active. A key is never active twice.
func (t *Tx) ReplaceSecretsKey(id string, now time.Time) error {
	if _, err := t.exec(`UPDATE secrets_keys SET active = NULL, retired_at = $1 WHERE active = 1`, now); err != nil {
		return err
	}
	return t.exactlyOne(`INSERT INTO secrets_keys (id, active, created_at) VALUES ($1, 1, $2)`, id, now)
}
