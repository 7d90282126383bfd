package store

import (
	"context"
	"time"

	"warranty.example/svc/warranty"
)

// SetCalendar gives a person a calendar with this secret; an earlier one stops working.
func (t *Tx) SetCalendar(user warranty.ID, secret warranty.Hash, now time.Time) error {
	return t.later(`INSERT INTO calendars (user_id, secret_hash, created_at) VALUES ($1, $2, $3)
		ON CONFLICT (user_id) DO UPDATE SET secret_hash = excluded.secret_hash, created_at = excluded.created_at`, user, secret, now)
}

// DropCalendar takes a person's calendar away.
func (t *Tx) DropCalendar(user warranty.ID) error {
	return t.later(`DELETE FROM calendars WHERE user_id = $1`, user)
}

// HasCalendar tells whether a person has one, and since when.
func (s *Store) HasCalendar(ctx context.Context, user warranty.ID) (since *time.Time, err error) {
	err = s.engine.query(ctx, `SELECT created_at FROM calendars WHERE user_id = $1`, func(r Row) error {
		since = optionalInstant(r, 0)
		return nil
	}, user)
	return since, err
}

// CalendarOwner finds whose calendar a secret opens.
func (s *Store) CalendarOwner(ctx context.Context, secret warranty.Hash) (warranty.ID, error) {
	var user warranty.ID
	err := one(ctx, s.engine, `SELECT c.user_id FROM calendars c JOIN users u ON u.id = c.user_id WHERE c.secret_hash = $1 AND u.disabled_at IS NULL`,
		func(r Row) { user = r.ID(0) }, secret)
	return user, err
}
