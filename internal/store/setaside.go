package store

import (
	"context"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// SetAside frees the email address of a locked account that was never verified. The account is
// disabled and keeps its records, which successor may restore, but no way to sign in. A record being
// created for the address waits for the lock and then finds the successor.
func (t *Tx) SetAside(id, successor warranty.ID, now time.Time) error {
	if err := t.DeleteFactors(id); err != nil {
		return err
	}
	if err := t.moveAddress(id, id.String()+"@set-aside.invalid"); err != nil {
		return err
	}
	return t.exactlyOne(`UPDATE users SET email = $2, disabled_at = COALESCE(disabled_at, $3), set_aside_for = $4, `+
		nextEpoch+` WHERE id = $1`,
		id, id.String()+"@set-aside.invalid", now, successor)
}

// SetAsideWarranties counts the warranties set aside for a user.
func (s *Store) SetAsideWarranties(ctx context.Context, user warranty.ID) (n int64, err error) {
	err = queryRow(ctx, s.db, `SELECT count(*) FROM users h JOIN access a ON a.user_id = h.id
		AND a.kind = `+kindWarranty+`
		WHERE h.set_aside_for = $1`,
		func(r *engine.Row) { n = r.Int() }, user)
	return n, err
}

// ofAccount selects rows of the warranties of the account $2.
const ofAccount = `warranty_id IN (SELECT item_id FROM access WHERE user_id = $2 AND kind = ` + kindWarranty + `)`

// RestoreSetAside moves everything set aside for a locked user into their account and returns the
// number of warranties.
func (t *Tx) RestoreSetAside(user warranty.ID) (int, error) {
	var from []warranty.ID
	err := t.tx.Query(t.ctx, `SELECT id FROM users WHERE set_aside_for = $1 ORDER BY id /*pg: FOR UPDATE */`,
		func(r *engine.Row) error { from = append(from, r.ID()); return nil }, user)
	if err != nil {
		return 0, err
	}
	moved := 0
	for _, old := range from {
		n, err := t.moveAccess(old, user)
		if err != nil {
			return 0, err
		}
		moved += n
		if err := t.moveTrash(old, user); err != nil {
			return 0, err
		}
		if err := t.later(`UPDATE customers SET user_id = NULL WHERE user_id = $1`, old); err != nil {
			return 0, err
		}
		for _, sql := range []string{
			`UPDATE warranties SET issuer_id = $2, named_by = CASE WHEN named_by = $1 THEN $2 ELSE named_by END
				WHERE issuer_id = $1`,
			`UPDATE offer_codes SET giver_id = $2 WHERE giver_id = $1`,
			`UPDATE ended_codes SET giver_id = $2 WHERE giver_id = $1`,
			`UPDATE handed_over SET account_id = $2 WHERE account_id = $1`,
			`UPDATE documents SET uploader_id = $2 WHERE uploader_id = $1`,
			`UPDATE drafts SET account_id = $2 WHERE account_id = $1`,
			`UPDATE document_versions SET account_id = $2 WHERE account_id = $1`,
			`UPDATE documents SET owner_id = $2 WHERE owner_id = $1 AND ` + ofAccount,
			`UPDATE claims SET owner_id = $2 WHERE owner_id = $1 AND ` + ofAccount,
			`UPDATE claims SET customer_id = NULL WHERE customer_id = $1 AND ` + ofAccount,
			`UPDATE claim_messages SET owner_id = $2
				WHERE owner_id = $1 AND claim_id IN (SELECT id FROM claims WHERE ` + ofAccount + `)`,
		} {
			if err := t.later(sql, old, user); err != nil {
				return 0, err
			}
		}
	}
	return moved, nil
}
