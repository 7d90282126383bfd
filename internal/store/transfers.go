package store

import (
	"context"
	"strings"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// OfferTransfer sets the transfer code of a locked warranty and the documents that go along. An earlier code no longer
// works.
func (t *Tx) OfferTransfer(id warranty.ID, code warranty.Hash, expires time.Time, documents []warranty.ID) error {
	var text []string
	for _, d := range documents {
		text = append(text, d.String())
	}
	return t.later(`INSERT INTO transfers (warranty_id, code_hash, expires_at, documents) VALUES ($1, $2, $3, $4)
		ON CONFLICT (warranty_id) DO UPDATE SET code_hash = excluded.code_hash, expires_at = excluded.expires_at,
			documents = excluded.documents`, id, code, expires, strings.Join(text, " "))
}

// ownDocument selects the documents d of an owner, which go along with a transfer only if the owner says so. Those of
// claims never do, and those of businesses always.
const ownDocument = `d.claim_id IS NULL AND d.business = 0 AND d.owner_id IS NULL`

// OwnDocuments lists the documents of a warranty that its owner can let go along with a transfer, newest first.
func (s *Store) OwnDocuments(ctx context.Context, owner, id warranty.ID) (list []warranty.Document, err error) {
	err = s.db.Query(ctx, ownDocuments, func(r *engine.Row) error { list = append(list, readDocument(r)); return nil }, owner, id)
	return list, err
}

const ownDocuments = `SELECT ` + documentColumns + ` FROM access a ` + joinDocument + `
	WHERE a.user_id = $1 AND a.kind = 3 AND a.parent_id = $2 AND a.roles & 1 <> 0 AND ` + ownDocument + ` ORDER BY d.id DESC`

// OwnDocuments lists those of a locked warranty.
func (t *Tx) OwnDocuments(owner, id warranty.ID) (list []warranty.ID, err error) {
	err = t.tx.Query(t.ctx, ownDocuments,
		func(r *engine.Row) error { list = append(list, readDocument(r).ID); return nil }, owner, id)
	return list, err
}

// keepDocuments makes the documents of a locked warranty its leaving owner's, except those that go along.
func (t *Tx) keepDocuments(id, owner warranty.ID, along string) error {
	given := map[string]bool{}
	for _, d := range strings.Fields(along) {
		given[d] = true
	}
	list, err := t.OwnDocuments(owner, id)
	if err != nil {
		return err
	}
	for _, d := range list {
		if given[d.String()] {
			continue
		}
		if err := t.later(`UPDATE documents SET owner_id = $2 WHERE id = $1`, d, owner); err != nil {
			return err
		}
	}
	return nil
}

// IsOffered reports whether a warranty that the user owns has an open transfer.
func (s *Store) IsOffered(ctx context.Context, owner, id warranty.ID, now time.Time) (offered bool, err error) {
	err = s.db.Query(ctx, `SELECT 1 FROM transfers o JOIN access a ON a.item_id = o.warranty_id AND a.kind = 1
		WHERE o.warranty_id = $1 AND a.user_id = $2 AND a.roles & 1 <> 0 AND o.expires_at > $3`,
		func(*engine.Row) error { offered = true; return nil }, id, owner, now)
	return offered, err
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
	// Also of warranties in the trash: restoring one restores its offer.
	err = t.tx.Query(t.ctx, `SELECT w.id FROM transfers o JOIN warranties w ON w.id = o.warranty_id
		WHERE o.expires_at > $2 AND `+which+` AND o.warranty_id IN (
			SELECT a.item_id FROM access a WHERE a.user_id = $1 AND a.kind = 1 AND a.roles & 1 <> 0
			UNION ALL SELECT x.warranty_id FROM trash x WHERE x.account_id = $1 AND x.roles & 1 <> 0)
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

// AcceptTransfer uses up a transfer code and makes newOwner the owner of its warranty. It returns the former owner, too.
func (t *Tx) AcceptTransfer(
	code warranty.Hash, newOwner warranty.ID, now time.Time,
) (id, owner warranty.ID, err error) {
	var documents string
	// Lock the warranty before its offer, like every other transaction.
	if err := queryRow(t.ctx, t.tx, `SELECT w.id, o.documents FROM transfers o JOIN warranties w ON w.id = o.warranty_id
		WHERE o.code_hash = $1 AND o.expires_at > $2 AND `+canBeTaken+` AND NOT EXISTS
			(SELECT 1 FROM access a JOIN users u ON u.id = a.user_id
				WHERE a.parent_id = w.id AND a.kind = 1 AND a.roles & 1 <> 0 AND u.disabled_at IS NOT NULL)
		/*pg: FOR UPDATE OF w */`,
		func(r *engine.Row) { id, documents = r.ID(), r.Text() }, code, now); err != nil {
		return id, owner, err
	}
	// If two accept concurrently, the second must fail here, as if it came later.
	taken, err := t.exec(`DELETE FROM transfers WHERE warranty_id = $1 AND code_hash = $2 AND expires_at > $3`,
		id, code, now)
	if err == nil && taken != 1 {
		err = warranty.ErrNotFound
	}
	if err != nil {
		return id, owner, err
	}
	owner, roles, err := t.ownerOf(id)
	if err != nil || owner == newOwner {
		return id, owner, err
	}
	if err := t.keepDocuments(id, owner, documents); err != nil {
		return id, owner, err
	}
	if roles.SelfRecorded() {
		return id, owner, t.passOn(id, owner, newOwner)
	}
	return id, owner, t.MoveOwner(id, owner, newOwner)
}

// TransferState says why a transfer code takes nothing.
func (s *Store) TransferState(
	ctx context.Context, code warranty.Hash, now time.Time,
) (state CodeState, err error) {
	// An owner who removed the warranty from their account withdrew it, too.
	err = s.db.Query(ctx, `SELECT NULL, o.expires_at, COALESCE(w.deleted_at, (SELECT x.deleted_at FROM trash x
			WHERE x.warranty_id = w.id AND x.roles & 1 <> 0)), w.standing
		FROM transfers o JOIN warranties w ON w.id = o.warranty_id WHERE o.code_hash = $1`,
		func(r *engine.Row) error { state = readCodeState(r, now); return nil }, code)
	return state, err
}

// ownerOf returns the owner of a locked warranty and their roles on it.
func (t *Tx) ownerOf(id warranty.ID) (owner warranty.ID, roles warranty.Roles, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT user_id, roles FROM access WHERE parent_id = $1 AND kind = 1 AND roles & 1 <> 0`,
		func(r *engine.Row) { owner, roles = r.ID(), warranty.RolesOf(r.Int()) }, id)
	return owner, roles, err
}

// MoveOwner gives a locked warranty to another owner. The former owner keeps other roles: what an issuer
// hands over is issued, and its promise goes along.
func (t *Tx) MoveOwner(id, from, to warranty.ID) error {
	if err := t.keepConversations(id, from); err != nil {
		return err
	}
	// What the issuer uploaded before it handed the record over is a business's.
	if err := t.later(`UPDATE documents SET business = 1 WHERE warranty_id = $1 AND uploader_id = $2
		AND EXISTS (SELECT 1 FROM access WHERE user_id = $2 AND kind = 1 AND item_id = $1 AND roles & 4 <> 0)`,
		id, from); err != nil {
		return err
	}
	if err := t.showDocuments(id); err != nil {
		return err
	}
	if err := t.removeRoles(id, from, warranty.NewRoles(warranty.Owner)); err != nil {
		return err
	}
	if err := t.grant(to, id, warranty.NewRoles(warranty.Owner)); err != nil {
		return err
	}
	return t.hideConversations(id, to)
}

// passOn gives a locked, self-recorded warranty to another owner, who also becomes its issuer. The former
// owner keeps nothing. The external id was the former issuer's.
func (t *Tx) passOn(id, from, to warranty.ID) error {
	if err := t.keepConversations(id, from); err != nil {
		return err
	}
	if err := t.EndHandover(id); err != nil {
		return err
	}
	if err := t.exactlyOne(`UPDATE warranties SET issuer_id = $2, external_id = NULL, customer_name = NULL,
			customer_email = NULL, taken_at = NULL, seller_id = CASE WHEN seller_id = $3 THEN NULL ELSE seller_id END WHERE id = $1`, id, to, from); err != nil {
		return err
	}
	if err := t.removeRoles(id, from, warranty.NewRoles(warranty.Owner, warranty.Issuer, warranty.Seller)); err != nil {
		return err
	}
	if err := t.grant(to, id, warranty.NewRoles(warranty.Owner, warranty.Issuer)); err != nil {
		return err
	}
	return t.hideConversations(id, to)
}
