package store

import (
	"context"
	"encoding/hex"
	"errors"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// brandOf selects how an account looks, for readPartyBrand. Party.Branded ignores it without a verified domain, which is
// read in the same statement, so that no page shows the one without the other.
func brandOf(account string) string {
	return `(SELECT l.sha256 FROM logos l WHERE l.account_id = ` + account + `),
		(SELECT b.color FROM brands b WHERE b.account_id = ` + account + `),
		(SELECT b.postal_address FROM brands b WHERE b.account_id = ` + account + `)`
}

func readPartyBrand(r *engine.Row) (b warranty.PartyBrand) {
	b.Logo = hex.EncodeToString(r.Bytes())
	if color := r.OptionalText(); color != nil {
		b.Color = warranty.Color(*color)
	}
	if address := r.OptionalText(); address != nil {
		b.Address = *address
	}
	return b
}

// BrandRow is the brand of an organization as it is stored.
type BrandRow struct {
	warranty.PartyBrand
	SenderName *string
	Domain     *string // the verified domain that it is shown with
}

func readBrandRow(r *engine.Row) BrandRow {
	return BrandRow{readPartyBrand(r), r.OptionalText(), r.OptionalText()}
}

var brandQuery = `SELECT ` + brandOf(`u.id`) + `, b.sender_name, ` + domainOf(`u.id`) + `
	FROM users u LEFT JOIN brands b ON b.account_id = u.id WHERE u.id = $1`

// Brand returns the brand of an account, which may be empty.
func (s *Store) Brand(ctx context.Context, account warranty.ID) (b BrandRow, err error) {
	err = queryRow(ctx, s.db, brandQuery, func(r *engine.Row) { b = readBrandRow(r) }, account)
	return b, err
}

// Brand returns the brand of a locked account.
func (t *Tx) Brand(account warranty.ID) (b BrandRow, err error) {
	err = queryRow(t.ctx, t.tx, brandQuery, func(r *engine.Row) { b = readBrandRow(r) }, account)
	return b, err
}

// SetBrand sets what the brand of a locked account has besides the logo.
func (t *Tx) SetBrand(account warranty.ID, b BrandRow) error {
	return t.exactlyOne(`INSERT INTO brands (account_id, color, sender_name, postal_address) VALUES ($1, $2, $3, $4)
		ON CONFLICT (account_id) DO UPDATE SET color = excluded.color, sender_name = excluded.sender_name,
			postal_address = excluded.postal_address`, account, warranty.Optional(string(b.Color)),
		b.SenderName, warranty.Optional(b.Address))
}

// Logo is the file of a logo.
type Logo struct {
	ID         warranty.ID
	StorageKey string
	SHA256     string
	SizeBytes  int64
}

// SetLogo sets or removes the logo of a locked account. The sweep deletes the file of the earlier one.
func (t *Tx) SetLogo(account warranty.ID, l *Logo, now time.Time) error {
	if _, err := t.dropFiles(`logos`, now, `account_id = $1`, account); err != nil || l == nil {
		return err
	}
	sum, err := hex.DecodeString(l.SHA256)
	if err != nil {
		return err
	}
	return t.exactlyOne(`INSERT INTO logos (id, account_id, storage_key, sha256, size_bytes) VALUES ($1, $2, $3, $4, $5)`,
		l.ID, account, l.StorageKey, sum, l.SizeBytes)
}

// Logo returns a logo by its checksum if an organization with a verified domain has it. Several may have the same one.
func (s *Store) Logo(ctx context.Context, sha256 string) (l Logo, err error) {
	sum, err := hex.DecodeString(sha256)
	if err != nil {
		return l, errors.Join(warranty.ErrNotFound, err)
	}
	l.SHA256 = sha256
	err = queryRow(ctx, s.db, `SELECT l.id, l.storage_key, l.size_bytes FROM logos l
		WHERE l.sha256 = $1 AND `+domainOf(`l.account_id`)+` IS NOT NULL ORDER BY l.id LIMIT 1`,
		func(r *engine.Row) { l.ID, l.StorageKey, l.SizeBytes = r.ID(), r.Text(), r.Int() }, sum)
	return l, err
}
