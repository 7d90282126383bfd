package store

import (
	"context"
	"slices"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/store/lists"
	"warranty.example/svc/warranty"
)

// ownerOf returns the owner of a locked warranty and their roles on it.
func (t *Tx) ownerOf(id warranty.ID) (owner warranty.ID, roles warranty.Roles, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT user_id, roles FROM access WHERE parent_id = $1
		AND kind = `+kindWarranty+` AND roles & `+roleOwner+` <> 0`,
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
		AND EXISTS (SELECT 1 FROM access WHERE user_id = $2 AND kind = `+kindWarranty+` AND item_id = $1
			AND roles & `+roleIssuer+` <> 0)`,
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
			customer_email = NULL, customer_id = NULL, taken_at = NULL, seller_id = CASE WHEN seller_id = $3 THEN NULL ELSE seller_id END WHERE id = $1`, id, to, from); err != nil {
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

// ownDocument selects the documents d of an owner, which go along with a transfer only if the owner says so. Those of
// claims never do, and those of businesses always.
const ownDocument = `d.claim_id IS NULL AND d.business = 0 AND d.owner_id IS NULL`

// OwnDocuments lists the documents of a warranty that its owner can let go along with a transfer, newest first.
func (s *Store) OwnDocuments(ctx context.Context, owner, id warranty.ID) (list []warranty.Document, err error) {
	err = s.db.Query(ctx, ownDocuments, func(r *engine.Row) error { list = append(list, readDocument(r)); return nil }, owner, id)
	return list, err
}

const ownDocuments = `SELECT ` + documentColumns + ` FROM access a ` + lists.JoinDocument + `
	WHERE a.user_id = $1 AND a.kind = ` + kindDocument + ` AND a.parent_id = $2 AND a.roles & ` + roleOwner + ` <> 0
	AND ` + ownDocument + ` ORDER BY d.id DESC`

// OwnDocuments lists those of a locked warranty.
func (t *Tx) OwnDocuments(owner, id warranty.ID) (list []warranty.ID, err error) {
	err = t.tx.Query(t.ctx, ownDocuments,
		func(r *engine.Row) error { list = append(list, readDocument(r).ID); return nil }, owner, id)
	return list, err
}

// keepDocuments makes the documents of a locked warranty its leaving owner's, except those that go along.
func (t *Tx) keepDocuments(id, owner warranty.ID, along []string) error {
	list, err := t.OwnDocuments(owner, id)
	if err != nil {
		return err
	}
	for _, d := range list {
		if slices.Contains(along, d.String()) {
			continue
		}
		if err := t.later(`UPDATE documents SET owner_id = $2 WHERE id = $1`, d, owner); err != nil {
			return err
		}
	}
	return nil
}
