package store

import (
	"context"
	"encoding/json"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// SellerLink is a user who is being linked as the seller to many warranties, in several transactions.
type SellerLink struct {
	User  warranty.ID
	After warranty.ID // the last one that was linked
	Door  warranty.Door
}

// LinkSeller makes a user the seller of warranties that name their email address, including their claims
// and documents: of at most limit warranties with ids after an id. It returns those that the user did not
// have that role on, and the last one, or nil if there are no more.
func (t *Tx) LinkSeller(
	user warranty.ID, email string, after warranty.ID, limit int,
) (linked []warranty.ID, last *warranty.ID, err error) {
	var ids []warranty.ID
	seller := warranty.NewRoles(warranty.Seller)
	// Lock each warranty first: a claim that is being filed on it is either visible here or will
	// find the new seller's row.
	err = t.tx.Query(t.ctx, `SELECT w.id, CASE WHEN EXISTS (SELECT 1 FROM access a
			WHERE a.user_id = $3 AND a.kind = 1 AND a.item_id = w.id AND a.roles & $4 <> 0) THEN 1 ELSE 0 END
		FROM warranties w WHERE w.seller_email = $1 AND w.id > $2 AND w.deleted_at IS NULL
		ORDER BY w.id LIMIT $5 /*pg: FOR UPDATE OF w */`,
		func(r *engine.Row) error {
			ids = append(ids, r.ID())
			if r.Int() == 0 {
				linked = append(linked, ids[len(ids)-1])
			}
			return nil
		}, email, after, user, seller, limit)
	if err != nil || len(ids) == 0 {
		return nil, nil, err
	}
	param, err := json.Marshal(ids)
	if err != nil {
		return nil, nil, err
	}
	const chosen = `IN (SELECT /*pg: CAST(value AS UUID) FROM json_array_elements_text($2) */
		/*sqlite: unhex(value, '-') FROM json_each($2) */)`
	if err := t.grantAll(`w.id `+chosen, user, string(param), seller); err != nil {
		return nil, nil, err
	}
	// The form of the condition on the user keeps PostgreSQL from reading the user's whole list.
	if err := t.noteChanged(`a.parent_id `+chosen+` AND (a.user_id = $1) IS TRUE`, user, string(param)); err != nil {
		return nil, nil, err
	}
	if len(ids) == limit {
		last = &ids[limit-1]
	}
	return linked, last, t.allListsChanged(user)
}

// SellerLinks lists the users who are being linked.
func (s *Store) SellerLinks(ctx context.Context) (users []warranty.ID, err error) {
	err = s.db.Query(ctx, `SELECT user_id FROM seller_links ORDER BY user_id`,
		func(r *engine.Row) error { users = append(users, r.ID()); return nil })
	return users, err
}

// LockSellerLink returns the link of a locked user, or ErrNotFound if it is complete.
func (t *Tx) LockSellerLink(user warranty.ID) (l SellerLink, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT user_id, after_id, door FROM seller_links WHERE user_id = $1 /*pg: FOR UPDATE */`,
		func(r *engine.Row) { l = SellerLink{User: r.ID(), After: r.ID(), Door: enum[warranty.Door](r)} }, user)
	return l, err
}

// SaveSellerLink saves how far a user is linked.
func (t *Tx) SaveSellerLink(l SellerLink) error {
	return t.later(`INSERT INTO seller_links (user_id, after_id, door) VALUES ($1, $2, $3)
		ON CONFLICT (user_id) DO UPDATE SET after_id = excluded.after_id`, l.User, l.After, l.Door)
}

// DeleteSellerLink notes that a user is linked completely.
func (t *Tx) DeleteSellerLink(user warranty.ID) error {
	return t.later(`DELETE FROM seller_links WHERE user_id = $1`, user)
}
