package store

import (
	"context"
	"slices"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// Mute is a claim that a recipient of emails gets none about.
type Mute struct{ Claim, Account, User warranty.ID }

// Muted reports whether a recipient gets no emails about a claim.
func (s *Store) Muted(ctx context.Context, m Mute) (muted bool, err error) {
	err = s.db.Query(ctx, `SELECT 1 FROM claim_mutes WHERE claim_id = $1 AND account_id = $2 AND user_id = $3`,
		func(*engine.Row) error { muted = true; return nil }, m.Claim, m.Account, m.User)
	return muted, err
}

// Mutes returns whether recipients of some claims muted them.
func (t *Tx) Mutes(claims ...warranty.ID) (func(to Recipient, claim warranty.ID) bool, error) {
	var all []Mute
	for _, id := range claims {
		err := t.tx.Query(t.ctx, `SELECT account_id, user_id FROM claim_mutes WHERE claim_id = $1`,
			func(r *engine.Row) error { all = append(all, Mute{id, r.ID(), r.ID()}); return nil }, id)
		if err != nil {
			return nil, err
		}
	}
	return func(to Recipient, claim warranty.ID) bool {
		return slices.Contains(all, Mute{claim, to.Account, to.User})
	}, nil
}

// SetMuted turns the emails about a claim off or on for a recipient who has access to it. It is ErrNotFound if there is no
// such recipient. The account is locked, so that the end of a membership comes before it or after it.
func (t *Tx) SetMuted(m Mute, muted bool) error {
	if err := t.exactlyOne(`SELECT 1 FROM access a WHERE a.user_id = $2 AND a.kind = `+kindClaim+` AND a.item_id = $1
		AND (a.user_id = $3 OR EXISTS (SELECT 1 FROM members m WHERE m.account_id = $2 AND m.user_id = $3 AND m.role > 0))`,
		m.Claim, m.Account, m.User); err != nil {
		return err
	}
	if !muted {
		return t.later(`DELETE FROM claim_mutes WHERE claim_id = $1 AND account_id = $2 AND user_id = $3`, m.Claim, m.Account, m.User)
	}
	return t.later(`INSERT INTO claim_mutes (claim_id, account_id, user_id) VALUES ($1, $2, $3)
		ON CONFLICT (claim_id, account_id, user_id) DO NOTHING`, m.Claim, m.Account, m.User)
}

// unmuteMember ends what a member of a locked organization muted for it.
func (t *Tx) unmuteMember(organization, user warranty.ID) error {
	return t.later(`DELETE FROM claim_mutes WHERE account_id = $1 AND user_id = $2`, organization, user)
}

// unmuteWarranty ends what an account that loses a locked warranty muted.
func (t *Tx) unmuteWarranty(account, id warranty.ID) error {
	return t.later(`DELETE FROM claim_mutes WHERE account_id = $1
		AND claim_id IN (SELECT c.id FROM claims c WHERE c.warranty_id = $2)`, account, id)
}
