package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// What waits for the confirmation of a seller is not stored: it follows from the addresses that an account
// has verified. The account sees nothing else of these records until it confirms them.

// named selects the warranties w that name a verified address of the account $1 as the seller's, and the
// account n that named it.
const named = ` FROM addresses x JOIN users u ON u.id = x.account_id JOIN warranties w ON w.seller_email = x.email
	JOIN users n ON n.id = COALESCE(w.named_by, w.issuer_id)
	WHERE x.account_id = $1 AND COALESCE(x.verified_at, u.verified_at) IS NOT NULL AND w.deleted_at IS NULL
		AND n.disabled_at IS NULL`

// candidates selects some of the warranties before $3 that name an address $2, newest first, and whether they
// wait for the account $1: it did not decline them, nor the account that named it. An account can have the role
// of the seller without having confirmed: an earlier release gave it, or the record has changed since. The
// inner query and the name of the index keep the databases from reading all warranties of a large seller. %s are
// the index and a condition on seller_id.
const candidates = `SELECT c.id, CASE WHEN n.disabled_at IS NULL
		AND NOT EXISTS (SELECT 1 FROM declined d WHERE d.account_id = $1 AND d.warranty_id = c.id)
		AND NOT EXISTS (SELECT 1 FROM declined_accounts b WHERE b.account_id = $1 AND b.from_id = n.id) THEN 1 ELSE 0 END
	FROM (SELECT w.id, COALESCE(w.named_by, w.issuer_id) AS namer
			FROM warranties w /*sqlite: INDEXED BY %s */
			WHERE w.seller_email = $2 AND w.deleted_at IS NULL AND w.id < $3 AND %s ORDER BY w.id DESC LIMIT $4) c
		JOIN users n ON n.id = c.namer ORDER BY c.id DESC`

// otherSellers are the conditions that together mean that the account $1 has not confirmed the warranty. An
// index has the rows of each, so that what it has confirmed is not read.
var otherSellers = []string{
	fmt.Sprintf(candidates, `warranties_to_confirm`, `w.seller_id IS NULL`),
	fmt.Sprintf(candidates, `warranties_by_confirmed_seller`, `w.seller_id < $1`),
	fmt.Sprintf(candidates, `warranties_by_confirmed_seller`, `w.seller_id > $1`),
}

const confirmationColumns = `w.id, w.reference, w.product_name, w.brand, w.model, w.gtin, w.serial_number, w.category,
	w.supplier, w.start_date, w.end_date, w.seller_name, w.seller_email, n.name, n.kind, w.created_at, w.version`

func readConfirmation(r *engine.Row) warranty.Confirmation {
	return warranty.Confirmation{
		WarrantyID:      r.ID(),
		ReferenceNumber: warranty.Reference(r.Text()),
		ProductName:     r.Text(),
		Brand:           r.OptionalText(),
		Model:           r.OptionalText(),
		GTIN:            r.OptionalText(),
		SerialNumber:    r.OptionalText(),
		Category:        r.OptionalText(),
		Supplier:        r.OptionalText(),
		StartDate:       r.Date(),
		EndDate:         r.Date(),
		SellerName:      r.OptionalText(),
		SellerEmail:     r.Text(),
		From:            warranty.ConfirmationFrom{Name: r.Text(), Kind: enum[warranty.AccountKind](r)},
		CreatedAt:       r.Time(),
		Status:          warranty.ConfirmationPending,
		ETag:            warranty.Warranty{Version: r.Int()}.ETag(),
	}
}

// waiting returns the newest warranties that wait for the confirmation of an account, newest first.
func (s *Store) waiting(ctx context.Context, account warranty.ID) (ids []warranty.ID, err error) {
	var emails []string
	err = s.db.Query(ctx, `SELECT x.email FROM addresses x JOIN users u ON u.id = x.account_id
		WHERE x.account_id = $1 AND COALESCE(x.verified_at, u.verified_at) IS NOT NULL`,
		func(r *engine.Row) error { emails = append(emails, r.Text()); return nil }, account)
	for _, email := range emails {
		for _, query := range otherSellers {
			if err != nil {
				return nil, err
			}
			var found []warranty.ID
			found, err = s.waitingAt(ctx, account, email, query)
			ids = append(ids, found...)
		}
	}
	slices.SortFunc(ids, func(a, b warranty.ID) int { return bytes.Compare(b[:], a[:]) })
	return ids[:min(len(ids), warranty.MaxConfirmations)], err
}

// waitingAt returns the newest candidates of a query that wait for an account.
func (s *Store) waitingAt(
	ctx context.Context, account warranty.ID, email, query string,
) (ids []warranty.ID, err error) {
	before := warranty.ID(bytes.Repeat([]byte{0xFF}, 16))
	for more := true; more && err == nil && len(ids) < warranty.MaxConfirmations; {
		read := 0
		err = s.db.Query(ctx, query, func(r *engine.Row) error {
			if before = r.ID(); r.Int() != 0 {
				ids = append(ids, before)
			}
			read++
			return nil
		}, account, email, before, warranty.MaxConfirmations)
		more = read == warranty.MaxConfirmations
	}
	return ids, err
}

// CountConfirmations counts the newest warranties that wait for the confirmation of an account.
func (s *Store) CountConfirmations(ctx context.Context, account warranty.ID) (int64, error) {
	ids, err := s.waiting(ctx, account)
	return int64(len(ids)), err
}

// Confirmations lists the newest warranties that wait for the confirmation of an account, newest first, and
// returns their total.
func (s *Store) Confirmations(
	ctx context.Context, account warranty.ID, p warranty.Paging,
) (list []warranty.Confirmation, total int64, err error) {
	ids, err := s.waiting(ctx, account)
	if err != nil {
		return nil, 0, err
	}
	total = int64(len(ids))
	ids = ids[min(p.Offset(), total):]
	if len(ids) == 0 {
		return nil, total, nil
	}
	param, err := json.Marshal(ids[:min(len(ids), p.Limit)])
	if err != nil {
		return nil, 0, err
	}
	err = s.db.Query(ctx, `SELECT `+confirmationColumns+named+` AND w.id IN (
			/*pg: SELECT value::uuid FROM json_array_elements_text($2) */
			/*sqlite: SELECT unhex(value, '-') FROM json_each($2) */) ORDER BY w.id DESC`,
		func(r *engine.Row) error { list = append(list, readConfirmation(r)); return nil }, account, string(param))
	return list, total, err
}

// LockConfirmation returns a warranty that names an address of the account, confirmed, declined or neither,
// and the account that named it. It locks the warranty until the transaction ends.
func (t *Tx) LockConfirmation(
	account warranty.ID, k warranty.WarrantyKey,
) (c warranty.Confirmation, from warranty.ID, err error) {
	const lock = `SELECT 1` + named
	sql, key := keyed(k, lock+` AND w.id = $2 /*pg: FOR UPDATE OF w */`, lock+byReference+` /*pg: FOR UPDATE OF w */`)
	if err := t.exactlyOne(sql, account, key); err != nil {
		return c, from, err
	}
	return t.Confirmation(account, k)
}

// Confirmation is LockConfirmation without the lock.
func (t *Tx) Confirmation(
	account warranty.ID, k warranty.WarrantyKey,
) (c warranty.Confirmation, from warranty.ID, err error) {
	const read = `SELECT ` + confirmationColumns + `, n.id, CASE WHEN w.seller_id = $1 THEN 1 ELSE 0 END` + named
	sql, key := keyed(k, read+` AND w.id = $2`, read+byReference)
	err = queryRow(t.ctx, t.tx, sql, func(r *engine.Row) {
		c, from = readConfirmation(r), r.ID()
		if r.Int() != 0 {
			c.Status = warranty.Confirmed
		}
	}, account, key)
	return c, from, err
}

// AddSeller makes an account the confirmed seller of a locked warranty, and reports whether it was not.
func (t *Tx) AddSeller(account, id warranty.ID, now time.Time) (added bool, err error) {
	added = true
	err = t.tx.Query(t.ctx, `SELECT 1 FROM warranties WHERE id = $2 AND seller_id = $1`,
		func(*engine.Row) error { added = false; return nil }, account, id)
	if err != nil || !added {
		return false, err
	}
	if err := t.setSeller(id, `$2`, account, now); err != nil {
		return false, err
	}
	if err := t.later(`DELETE FROM declined WHERE account_id = $1 AND warranty_id = $2`, account, id); err != nil {
		return false, err
	}
	// The worker notes who filed claims before.
	if err := t.later(`UPDATE claims SET met = 0 WHERE warranty_id = $1`, id); err != nil {
		return false, err
	}
	return true, t.grant(account, id, warranty.NewRoles(warranty.Seller))
}

// RemoveSeller ends the role of an account as the seller of a locked warranty.
func (t *Tx) RemoveSeller(account, id warranty.ID, now time.Time) error {
	if err := t.setSeller(id, `CASE WHEN seller_id = $2 THEN NULL ELSE seller_id END`, account, now); err != nil {
		return err
	}
	if err := t.Decline(account, id); err != nil {
		return err
	}
	return t.removeRoles(id, account, warranty.NewRoles(warranty.Seller))
}

// SellerState is what an account is to a warranty that names it as the seller.
type SellerState struct {
	Seller   *warranty.ID `json:"seller,omitempty"` // the account that has confirmed it
	Role     bool         `json:"role,omitzero"`    // the account is a seller
	Declined bool         `json:"declined,omitzero"`
	Version  int64        `json:"version"` // of the warranty
}

// Same reports whether nothing but the version differs.
func (s SellerState) Same(o SellerState) bool {
	s.Version, o.Version = 0, 0
	return reflect.DeepEqual(s, o)
}

// Confirmed reports whether an account has confirmed the warranty.
func (s SellerState) Confirmed(account warranty.ID) bool {
	return s.Seller != nil && *s.Seller == account
}

// SellerState returns what an account is to a locked warranty.
func (t *Tx) SellerState(account, id warranty.ID) (s SellerState, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT w.seller_id, w.version,
			(SELECT count(*) FROM access a
				WHERE a.user_id = $1 AND a.kind = `+kindWarranty+` AND a.item_id = w.id AND a.roles & $3 <> 0),
			(SELECT count(*) FROM declined d WHERE d.account_id = $1 AND d.warranty_id = w.id)
		FROM warranties w WHERE w.id = $2`,
		func(r *engine.Row) {
			s = SellerState{Seller: r.OptionalID(), Version: r.Int(), Role: r.Int() > 0, Declined: r.Int() > 0}
		}, account, id, warranty.NewRoles(warranty.Seller))
	return s, err
}

// RestoreSeller gives an account back what it was to a locked warranty.
func (t *Tx) RestoreSeller(account, id warranty.ID, is, was SellerState, now time.Time) (err error) {
	switch {
	case is.Role && !was.Role:
		err = t.RemoveSeller(account, id, now)
		is.Declined = true
	case !is.Role && was.Role:
		err = t.grant(account, id, warranty.NewRoles(warranty.Seller))
	}
	if err == nil && was.Seller != nil {
		err = t.setSeller(id, `$2`, *was.Seller, now)
	}
	if err == nil && is.Declined && !was.Declined {
		err = t.later(`DELETE FROM declined WHERE account_id = $1 AND warranty_id = $2`, account, id)
	}
	return err
}

// NameSeller is part of an update of a locked warranty whose seller_email changes. account named the new seller,
// which is itself if own. Accounts that were the seller lose that role, unless there is a claim: an owner must not
// remove who decides it.
func (t *Tx) NameSeller(id, account warranty.ID, own bool) error {
	var former []warranty.ID
	err := t.tx.Query(t.ctx, `SELECT user_id FROM access WHERE parent_id = $1
		AND kind = `+kindWarranty+` AND roles & $2 <> 0
			AND (user_id = $3 OR NOT EXISTS (SELECT 1 FROM claims c WHERE c.warranty_id = $1)) ORDER BY user_id`,
		func(r *engine.Row) error { former = append(former, r.ID()); return nil },
		id, warranty.NewRoles(warranty.Seller), account)
	if err != nil {
		return err
	}
	if err := t.exactlyOne(`UPDATE warranties SET named_by = $2 WHERE id = $1`, id, account); err != nil {
		return err
	}
	for _, seller := range former {
		if own && seller == account {
			continue
		}
		if err := t.removeRoles(id, seller, warranty.NewRoles(warranty.Seller)); err != nil {
			return err
		}
	}
	if !own {
		return nil
	}
	return t.grant(account, id, warranty.NewRoles(warranty.Seller))
}

// setSeller sets the confirmed seller of a locked warranty to a value in SQL, where $2 is the account. It is a
// change for everyone who sees the warranty.
func (t *Tx) setSeller(id warranty.ID, value string, account warranty.ID, now time.Time) error {
	if err := t.exactlyOne(`UPDATE warranties SET seller_id = `+value+`, version = version + 1, updated_at = $3
		WHERE id = $1 AND deleted_at IS NULL`, id, account, now); err != nil {
		return err
	}
	return t.changed(id)
}

// Decline takes a warranty off the list of what waits for an account.
func (t *Tx) Decline(account, id warranty.ID) error {
	return t.later(`INSERT INTO declined (account_id, warranty_id) VALUES ($1, $2)
		ON CONFLICT (account_id, warranty_id) DO NOTHING`, account, id)
}

// DeclineFrom takes all warranties in which another account names this one off the list, later ones too.
func (t *Tx) DeclineFrom(account, from warranty.ID) error {
	return t.later(`INSERT INTO declined_accounts (account_id, from_id) VALUES ($1, $2)
		ON CONFLICT (account_id, from_id) DO NOTHING`, account, from)
}
