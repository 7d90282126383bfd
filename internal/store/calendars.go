package store

import (
	"context"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// SetCalendar sets the secret of an account's calendar, made by a person. An earlier secret no longer
// works.
func (t *Tx) SetCalendar(account, by warranty.ID, secret warranty.Hash, now time.Time) error {
	return t.later(`INSERT INTO calendars (user_id, secret_hash, created_at, created_by) VALUES ($1, $2, $3, $4)
		ON CONFLICT (user_id) DO UPDATE SET secret_hash = excluded.secret_hash, created_at = excluded.created_at,
			created_by = excluded.created_by`,
		account, secret, now, by)
}

// DropCalendarBy removes an account's calendar if a person made it.
func (t *Tx) DropCalendarBy(account, by warranty.ID) error {
	return t.later(`DELETE FROM calendars WHERE user_id = $1 AND created_by = $2`, account, by)
}

// DropCalendar removes a user's calendar.
func (t *Tx) DropCalendar(user warranty.ID) error {
	return t.later(`DELETE FROM calendars WHERE user_id = $1`, user)
}

// HasCalendar returns when a user's calendar was created, or nil if there is none.
func (s *Store) HasCalendar(ctx context.Context, user warranty.ID) (since *time.Time, err error) {
	err = s.db.Query(ctx, `SELECT created_at FROM calendars WHERE user_id = $1`, func(r *engine.Row) error {
		since = r.OptionalTime()
		return nil
	}, user)
	return since, err
}

// CalendarOwner returns the user whose calendar has a secret.
func (s *Store) CalendarOwner(ctx context.Context, secret warranty.Hash) (warranty.ID, error) {
	var user warranty.ID
	err := queryRow(ctx, s.db, `SELECT c.user_id FROM calendars c JOIN users u ON u.id = c.user_id
		WHERE c.secret_hash = $1 AND u.disabled_at IS NULL`,
		func(r *engine.Row) { user = r.ID() }, secret)
	return user, err
}
