package store

import (
	"context"
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

// pending is named without what the account confirmed or declined. An account can have the role of the seller
// without having confirmed: an earlier release gave it, or the record has changed since.
const pending = named + `
	AND (w.seller_id IS NULL OR w.seller_id <> $1)
	AND NOT EXISTS (SELECT 1 FROM declined c WHERE c.account_id = $1 AND c.warranty_id = w.id)
	AND NOT EXISTS (SELECT 1 FROM declined_accounts b WHERE b.account_id = $1 AND b.from_id = n.id)`

const confirmationColumns = `w.id, w.reference, w.product_name, w.serial_number, w.start_date, w.end_date,
	w.seller_name, w.seller_email, n.name, n.kind, w.created_at`

func readConfirmation(r *engine.Row) warranty.Confirmation {
	return warranty.Confirmation{
		WarrantyID:      r.ID(),
		ReferenceNumber: warranty.Reference(r.Text()),
		ProductName:     r.Text(),
		SerialNumber:    r.OptionalText(),
		StartDate:       r.Date(),
		EndDate:         r.Date(),
		SellerName:      r.OptionalText(),
		SellerEmail:     r.Text(),
		From:            warranty.ConfirmationFrom{Name: r.Text(), Kind: enum[warranty.AccountKind](r)},
		CreatedAt:       r.Time(),
		Status:          warranty.ConfirmationPending,
	}
}

// Confirmations lists what waits for the confirmation of an account, newest first, and returns the total.
func (s *Store) Confirmations(
	ctx context.Context, account warranty.ID, p warranty.Paging,
) (list []warranty.Confirmation, total int64, err error) {
	err = queryRow(ctx, s.db, `SELECT count(*)`+pending, func(r *engine.Row) { total = r.Int() }, account)
	if err != nil {
		return nil, 0, err
	}
	err = s.db.Query(ctx, `SELECT `+confirmationColumns+pending+` ORDER BY w.id DESC LIMIT $2 OFFSET $3`,
		func(r *engine.Row) error { list = append(list, readConfirmation(r)); return nil }, account, p.Limit, p.Offset())
	return list, total, err
}

// LockConfirmation returns a warranty that names an address of the account, confirmed, declined or neither,
// and the account that named it. It locks the warranty until the transaction ends.
func (t *Tx) LockConfirmation(
	account warranty.ID, k warranty.WarrantyKey,
) (c warranty.Confirmation, from warranty.ID, err error) {
	const lock = `SELECT 1` + named
	const read = `SELECT ` + confirmationColumns + `, n.id` + named
	sql, key := keyed(k, lock+` AND w.id = $2 /*pg: FOR UPDATE OF w */`, lock+byReference+` /*pg: FOR UPDATE OF w */`)
	if err := t.exactlyOne(sql, account, key); err != nil {
		return c, from, err
	}
	sql, key = keyed(k, read+` AND w.id = $2`, read+byReference)
	err = queryRow(t.ctx, t.tx, sql, func(r *engine.Row) { c, from = readConfirmation(r), r.ID() }, account, key)
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
