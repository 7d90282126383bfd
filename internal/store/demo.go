package store

import (
	"context"
	"slices"

	"warranty.example/svc/internal/store/engine"
)

// ClearUnfinished deletes everything if milestone was never reached and only the named users exist:
// the database then contains an interrupted demo setup. It reports whether it did.
func (s *Store) ClearUnfinished(ctx context.Context, milestone string, people []string) (cleared bool, err error) {
	now := s.Now()
	err = s.Write(ctx, func(t *Tx) error {
		cleared = false
		finished, others := false, false
		err := t.tx.Query(t.ctx, `SELECT 1 FROM milestones WHERE name = $1`,
			func(*engine.Row) error { finished = true; return nil }, milestone)
		if err != nil {
			return err
		}
		if err := t.tx.Query(t.ctx, `SELECT email FROM users WHERE kind = `+kindPerson, func(r *engine.Row) error {
			others = others || !slices.Contains(people, r.Text())
			return nil
		}); err != nil || finished || others {
			return err
		}
		if err := t.noteDeleted(now, `1 = 1`); err != nil {
			return err
		}
		for _, table := range []string{
			"domains", "asked_codes", "wrong_digits", "handed_over", "offer_codes", "offer_mails", "members", "organizations", "addresses", "history", "token_reminders", "reminded", "reminder_choices", "record_reminders", "mails", "idempotency", "access", "gone",
			"documents", "claim_messages", "claim_notes", "claim_assignees", "claim_mutes", "claim_documents", "saved_replies", "claims", "warranties", "one_time_codes", "token_usage", "token_secrets", "tokens",
			"session_proofs", "sessions", "sign_in_flows", "not_me_codes", "passkeys", "totp", "totp_pending", "recovery_codes", "factor_tries", "used_challenges", "identities",
			"calendars", "requests", "devices", "mail_log", "mail_digest", "mail_notices", "milestones", "setup_codes", "service_settings", "users",
		} {
			if err := t.later(`DELETE FROM ` + table); err != nil {
				return err
			}
		}
		cleared = true
		return nil
	})
	return cleared, err
}
