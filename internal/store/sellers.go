package store

import (
	"context"
	"encoding/json"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// SellerLink is an account that is being linked as the seller to many warranties that name one of its
// addresses, in several transactions.
type SellerLink struct {
	Email   string
	Account warranty.ID
	After   warranty.ID // the last one that was linked
	Door    warranty.Door
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

// SellerLinks lists what is being linked. It takes over the links of older releases first.
func (s *Store) SellerLinks(ctx context.Context) (list []SellerLink, err error) {
	older := false
	err = s.db.Query(ctx, `SELECT 1 FROM seller_links LIMIT 1`, func(*engine.Row) error { older = true; return nil })
	if err == nil && older {
		err = s.Write(ctx, func(t *Tx) error { return t.takeOverLinks() })
	}
	if err != nil {
		return nil, err
	}
	err = s.db.Query(ctx, `SELECT email, account_id, after_id, door FROM address_links ORDER BY email`,
		func(r *engine.Row) error { list = append(list, readLink(r)); return nil })
	return list, err
}

// takeOverLinks moves the links of older releases, which link each user by the address of its row. They
// start again, because linking a warranty twice does nothing.
func (t *Tx) takeOverLinks() error {
	var users []warranty.ID
	err := t.tx.Query(t.ctx, `DELETE FROM seller_links RETURNING user_id`,
		func(r *engine.Row) error { users = append(users, r.ID()); return nil })
	for _, user := range users {
		if err == nil {
			err = t.later(`INSERT INTO address_links (email, account_id, after_id, door)
				SELECT u.email, u.id, $2, $3 FROM users u WHERE u.id = $1 ON CONFLICT (email) DO NOTHING`,
				user, warranty.ID{}, warranty.DoorWeb)
		}
	}
	return err
}

func readLink(r *engine.Row) SellerLink {
	return SellerLink{Email: r.Text(), Account: r.ID(), After: r.ID(), Door: enum[warranty.Door](r)}
}

// LockSellerLink returns the link of an address of a locked account, or ErrNotFound if it is complete.
func (t *Tx) LockSellerLink(email string) (l SellerLink, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT email, account_id, after_id, door FROM address_links
		WHERE email = $1 /*pg: FOR UPDATE */`, func(r *engine.Row) { l = readLink(r) }, email)
	return l, err
}

// SaveSellerLink saves how far an address is linked.
func (t *Tx) SaveSellerLink(l SellerLink) error {
	return t.later(`INSERT INTO address_links (email, account_id, after_id, door) VALUES ($1, $2, $3, $4)
		ON CONFLICT (email) DO UPDATE SET account_id = excluded.account_id, after_id = excluded.after_id`,
		l.Email, l.Account, l.After, l.Door)
}

// DeleteSellerLink notes that an address is linked completely.
func (t *Tx) DeleteSellerLink(email string) error {
	return t.later(`DELETE FROM address_links WHERE email = $1`, email)
}
