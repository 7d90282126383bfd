package store

import (
	"context"
	"slices"
)

// ClearUnfinished empties a database whose milestone was never reached, if nobody
// but the named people is in it: what is there is the beginning of a demo that
// was cut short. It tells whether it did.
func (s *Store) ClearUnfinished(ctx context.Context, milestone string, people []string) (cleared bool, err error) {
	now := s.Now()
	err = s.Write(ctx, func(t *Tx) error {
		cleared = false
		finished, others := false, false
		if err := t.tx.query(t.ctx, `SELECT 1 FROM milestones WHERE name = $1`, func(Row) error { finished = true; return nil }, milestone); err != nil {
			return err
		}
		if err := t.tx.query(t.ctx, `SELECT email FROM users`, func(r Row) error {
			others = others || !slices.Contains(people, r.Text(0))
			return nil
		}); err != nil || finished || others {
			return err
		}
		if err := t.noteDeleted(now, `1 = 1`); err != nil {
			return err
		}
		for _, table := range []string{"history", "transfers", "reminders", "mails", "idempotency", "access", "list_epochs", "list_changes", "documents", "claims", "warranties",
			"one_time_codes", "token_usage", "token_secrets", "tokens", "sessions", "calendars", "requests", "devices", "mail_log", "mail_digest", "milestones", "users"} {
			if err := t.later(`DELETE FROM ` + table); err != nil {
				return err
			}
		}
		cleared = true
		return nil
	})
	return cleared, err
}
