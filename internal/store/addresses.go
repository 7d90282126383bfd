package store

import (
	"context"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// VerifiedContact returns the verified contact address of an organization, or "".
func (t *Tx) VerifiedContact(organization warranty.ID) (email string, err error) {
	err = t.tx.Query(t.ctx, `SELECT a.email FROM organizations o
		JOIN addresses a ON a.email = o.contact_email AND a.account_id = o.id AND a.verified_at IS NOT NULL WHERE o.id = $1`,
		func(r *engine.Row) error { email = r.Text(); return nil }, organization)
	return email, err
}

// moveAddress follows a change of the address of a person.
func (t *Tx) moveAddress(user warranty.ID, email string) error {
	return t.later(`UPDATE addresses SET email = $2 WHERE account_id = $1`, user, email)
}

// Addresses lists the addresses of an organization and returns their total.
func (s *Store) Addresses(
	ctx context.Context, organization warranty.ID, p warranty.Paging,
) (list []warranty.Address, total int64, err error) {
	err = queryRow(ctx, s.db, `SELECT count(*) FROM addresses WHERE account_id = $1 AND verified_at IS NOT NULL`,
		func(r *engine.Row) { total = r.Int() }, organization)
	if err != nil {
		return nil, 0, err
	}
	err = s.db.Query(ctx, `SELECT id, email, verified_at FROM addresses WHERE account_id = $1 AND verified_at IS NOT NULL
		ORDER BY email LIMIT $2 OFFSET $3`, func(r *engine.Row) error {
		list = append(list, warranty.Address{ID: r.ID(), Email: r.Text(), VerifiedAt: r.Time()})
		return nil
	}, organization, p.Limit, p.Offset())
	return list, total, err
}

// HasAddress reports whether an account has verified an address.
func (s *Store) HasAddress(ctx context.Context, account warranty.ID, email string) (found bool, err error) {
	err = s.db.Query(ctx, `SELECT 1 FROM addresses a JOIN users u ON u.id = a.account_id
		WHERE a.email = $1 AND a.account_id = $2 AND COALESCE(a.verified_at, u.verified_at) IS NOT NULL`,
		func(*engine.Row) error { found = true; return nil }, email, account)
	return found, err
}

// CountAddresses counts the addresses of a locked organization.
func (t *Tx) CountAddresses(organization warranty.ID) (n int64, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT count(*) FROM addresses WHERE account_id = $1 AND verified_at IS NOT NULL`,
		func(r *engine.Row) { n = r.Int() }, organization)
	return n, err
}

// AddressOwner returns the account that has an address, verified or not.
func (t *Tx) AddressOwner(email string) (owner warranty.ID, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT account_id FROM addresses WHERE email = $1`,
		func(r *engine.Row) { owner = r.ID() }, email)
	return owner, err
}

// IsTaken reports whether an address belongs to an account that verified it.
func (t *Tx) IsTaken(email string) (taken bool, err error) {
	err = t.tx.Query(t.ctx, `SELECT 1 FROM addresses x JOIN users u ON u.id = x.account_id
		WHERE x.email = $1 AND COALESCE(x.verified_at, u.verified_at) IS NOT NULL`,
		func(*engine.Row) error { taken = true; return nil }, email)
	return taken, err
}

// InsertAddress adds a verified address to a locked organization. It fails with a duplicate if the
// address belongs to another account.
func (t *Tx) InsertAddress(organization warranty.ID, a warranty.Address) error {
	_, err := t.exec(`INSERT INTO addresses (email, account_id, id, verified_at) VALUES ($1, $2, $3, $4)`,
		a.Email, organization, a.ID, a.VerifiedAt)
	return err
}

// DeleteAddress removes an address of a locked organization and returns it. Records that the organization
// confirmed stay confirmed.
func (t *Tx) DeleteAddress(organization, id warranty.ID) (email string, err error) {
	err = queryRow(t.ctx, t.tx, `DELETE FROM addresses WHERE account_id = $1 AND id = $2 RETURNING email`,
		func(r *engine.Row) { email = r.Text() }, organization, id)
	return email, err
}

// AddressCode is a code that was emailed to an address which an account wants to have.
type AddressCode struct {
	Account warranty.ID
	Email   string
	Names   *string        // for the conversion of an account
	Stop    *warranty.Hash // of the code that stops the conversion
	Session *warranty.ID   // that asked for the new address of a person
	Expires time.Time
}

// InsertAddressCode adds a code. It replaces earlier ones of the account for the same address, and all for a person's new
// address if it is one.
func (t *Tx) InsertAddressCode(c AddressCode, code warranty.Hash) error {
	if err := t.later(`DELETE FROM address_codes WHERE account_id = $1 AND email = $2`, c.Account, c.Email); err != nil {
		return err
	}
	if c.Session != nil {
		err := t.later(`DELETE FROM address_codes WHERE account_id = $1 AND session_id IS NOT NULL`, c.Account)
		if err != nil {
			return err
		}
	}
	var stop any
	if c.Stop != nil {
		stop = *c.Stop
	}
	return t.later(`INSERT INTO address_codes (code_hash, account_id, email, names, stop_hash, session_id, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`, code, c.Account, c.Email, c.Names, stop, c.Session, c.Expires)
}

// ConversionOf returns the account whose conversion a code stops.
func (s *Store) ConversionOf(ctx context.Context, stop warranty.Hash, now time.Time) (account warranty.ID, err error) {
	err = queryRow(ctx, s.db, `SELECT account_id FROM address_codes WHERE stop_hash = $1 AND expires_at > $2`,
		func(r *engine.Row) { account = r.ID() }, stop, now)
	return account, err
}

// StopConversion deletes the codes of all conversions that were asked for a locked account, with the code that stops one.
func (t *Tx) StopConversion(account warranty.ID, stop warranty.Hash, now time.Time) error {
	n, err := t.exec(`DELETE FROM address_codes WHERE account_id = $1 AND names IS NOT NULL AND EXISTS
		(SELECT 1 FROM address_codes s WHERE s.account_id = $1 AND s.stop_hash = $2 AND s.expires_at > $3)`, account, stop, now)
	if err == nil && n == 0 {
		err = warranty.ErrNotFound
	}
	return err
}

// AddressCode returns a valid code without using it.
func (s *Store) AddressCode(ctx context.Context, code warranty.Hash, now time.Time) (c AddressCode, err error) {
	err = queryRow(ctx, s.db, `SELECT account_id, email, names, session_id, expires_at FROM address_codes
		WHERE code_hash = $1 AND expires_at > $2`,
		func(r *engine.Row) { c = readAddressCode(r) }, code, now)
	return c, err
}

// UseAddressCode uses up a valid code of a locked account.
func (t *Tx) UseAddressCode(account warranty.ID, code warranty.Hash, now time.Time) (c AddressCode, err error) {
	err = queryRow(t.ctx, t.tx, `DELETE FROM address_codes WHERE account_id = $1 AND code_hash = $2 AND expires_at > $3
		RETURNING account_id, email, names, session_id, expires_at`,
		func(r *engine.Row) { c = readAddressCode(r) }, account, code, now)
	return c, err
}

func readAddressCode(r *engine.Row) AddressCode {
	return AddressCode{
		Account: r.ID(), Email: r.Text(), Names: r.OptionalText(), Session: r.OptionalID(), Expires: r.Time(),
	}
}
