package store

import (
	"context"
	"time"

	"warranty.example/svc/internal/store/engine"
)

// ACME returns a value that --acme shares between replicas, and when it expires.
func (s *Store) ACME(ctx context.Context, name string) (value string, until time.Time, err error) {
	err = queryRow(ctx, s.db, `SELECT value, until FROM acme WHERE name = $1`,
		func(r *engine.Row) { value, until = r.Text(), r.Time() }, name)
	return value, until, err
}

// PutACME stores a value.
func (t *Tx) PutACME(name, value string, until time.Time) error {
	return t.exactlyOne(`INSERT INTO acme (name, value, until) VALUES ($1, $2, $3)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value, until = excluded.until`, name, value, until)
}

// KeepACME stores a value unless there is one already.
func (t *Tx) KeepACME(name, value string) error {
	return t.later(`INSERT INTO acme (name, value, until) VALUES ($1, $2, 0) ON CONFLICT (name) DO NOTHING`, name, value)
}

// ClaimACME reserves a name until a time and keeps its value. It returns false if the name is
// reserved now.
func (t *Tx) ClaimACME(name string, now, until time.Time) (bool, error) {
	n, err := t.exec(`INSERT INTO acme (name, value, until) VALUES ($1, '', $3)
		ON CONFLICT (name) DO UPDATE SET until = excluded.until WHERE acme.until <= $2`, name, now, until)
	return n == 1, err
}
