package store

import (
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// OfferTransfer sets the transfer code of a locked warranty. An earlier code no longer works.
func (t *Tx) OfferTransfer(id warranty.ID, code warranty.Hash, expires time.Time) error {
	return t.later(`INSERT INTO transfers (warranty_id, code_hash, expires_at) VALUES ($1, $2, $3)
		ON CONFLICT (warranty_id) DO UPDATE SET code_hash = excluded.code_hash, expires_at = excluded.expires_at`,
		id, code, expires)
}

// CancelTransfer deletes the transfer offer of a locked warranty.
func (t *Tx) CancelTransfer(id warranty.ID, now time.Time) error {
	return t.exactlyOne(`DELETE FROM transfers WHERE warranty_id = $1 AND expires_at > $2`, id, now)
}

// CancelTransfers deletes all open transfer offers of a user's warranties and returns the
// warranties.
func (t *Tx) CancelTransfers(owner warranty.ID, now time.Time) ([]warranty.ID, error) {
	return t.cancelTransfers(`TRUE`, owner, now)
}

// CancelTransfersBy deletes the open transfer offers of an organization's warranties that a member made, and
// returns the warranties. Who made an offer is in the history.
func (t *Tx) CancelTransfersBy(owner, by warranty.ID, now time.Time) ([]warranty.ID, error) {
	return t.cancelTransfers(`(SELECT h.actor_id FROM history h WHERE h.thread_id = w.id AND h.action = $4
		ORDER BY h.id DESC LIMIT 1) = $3`, owner, now, by, warranty.TransferOffered)
}

func (t *Tx) cancelTransfers(which string, owner warranty.ID, now time.Time, args ...any) (ids []warranty.ID, err error) {
	err = t.tx.Query(t.ctx, `SELECT w.id FROM transfers o
			JOIN access a ON a.item_id = o.warranty_id AND a.kind = 1 JOIN warranties w ON w.id = o.warranty_id
		WHERE a.user_id = $1 AND a.roles & 1 <> 0 AND o.expires_at > $2 AND w.deleted_at IS NULL AND `+which+`
		ORDER BY w.id /*pg: FOR UPDATE OF w */`,
		func(r *engine.Row) error { ids = append(ids, r.ID()); return nil }, append([]any{owner, now}, args...)...)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if err := t.later(`DELETE FROM transfers WHERE warranty_id = $1`, id); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// AcceptTransfer uses up a transfer code and makes newOwner the owner of its warranty. The previous
// owner keeps their other roles.
func (t *Tx) AcceptTransfer(code warranty.Hash, newOwner warranty.ID, now time.Time) (warranty.ID, error) {
	var id warranty.ID
	// Lock the warranty before its offer, like every other transaction.
	if err := queryRow(t.ctx, t.tx, `SELECT w.id FROM transfers o JOIN warranties w ON w.id = o.warranty_id
		WHERE o.code_hash = $1 AND o.expires_at > $2 AND w.deleted_at IS NULL /*pg: FOR UPDATE OF w */`,
		func(r *engine.Row) { id = r.ID() }, code, now); err != nil {
		return id, err
	}
	// If two accept concurrently, the second must fail here, as if it came later.
	taken, err := t.exec(`DELETE FROM transfers WHERE warranty_id = $1 AND code_hash = $2 AND expires_at > $3`,
		id, code, now)
	if err == nil && taken != 1 {
		err = warranty.ErrNotFound
	}
	if err != nil {
		return id, err
	}
	if err := t.lockLists(id, newOwner); err != nil {
		return id, err
	}
	if err := t.removeRole(id, warranty.NewRoles(warranty.Owner)); err != nil {
		return id, err
	}
	return id, t.grant(newOwner, id, warranty.NewRoles(warranty.Owner))
}
