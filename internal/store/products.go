package store

import (
	"context"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

const productColumns = `p.id, p.name, p.brand, p.model, p.gtin, p.category, p.length_months, p.terms, p.created_at, p.updated_at`

func readProduct(r *engine.Row) warranty.Product {
	p := warranty.Product{
		ID:       r.ID(),
		Name:     r.Text(),
		Brand:    r.OptionalText(),
		Model:    r.OptionalText(),
		GTIN:     r.OptionalText(),
		Category: r.OptionalText(),
	}
	if months := int(r.Int()); months > 0 {
		p.LengthMonths = &months
	}
	p.Lifetime = p.LengthMonths == nil
	p.Terms, p.CreatedAt, p.UpdatedAt = r.OptionalText(), r.Time(), r.Time()
	return p
}

// lengthOf returns the stored length of a product: 0 is a lifetime.
func lengthOf(p warranty.Product) int64 {
	if p.LengthMonths == nil {
		return 0
	}
	return int64(*p.LengthMonths)
}

// Products lists the products of an account that match q, by name, and returns their total. An account has at
// most warranty.MaxProducts.
func (s *Store) Products(
	ctx context.Context, account warranty.ID, in warranty.ListProducts,
) (list []warranty.Product, total int64, err error) {
	from := in.Offset()
	err = s.db.Query(ctx, `SELECT `+productColumns+` FROM products p WHERE p.account_id = $1 ORDER BY p.folded_name`,
		func(r *engine.Row) error {
			p := readProduct(r)
			if !p.Matches(in.Q) {
				return nil
			}
			if total++; total > from && len(list) < in.Limit {
				list = append(list, p)
			}
			return nil
		}, account)
	return list, total, err
}

const productOf = `SELECT ` + productColumns + ` FROM products p WHERE p.account_id = $1 AND p.id = $2`

// Product returns a product of an account.
func (s *Store) Product(ctx context.Context, account, id warranty.ID) (p warranty.Product, err error) {
	err = queryRow(ctx, s.db, productOf, func(r *engine.Row) { p = readProduct(r) }, account, id)
	return p, err
}

// LockProduct returns a product of a locked account.
func (t *Tx) LockProduct(account, id warranty.ID) (p warranty.Product, err error) {
	err = queryRow(t.ctx, t.tx, productOf+` /*pg: FOR UPDATE */`, func(r *engine.Row) { p = readProduct(r) }, account, id)
	return p, err
}

// CountProducts counts the products of a locked account.
func (t *Tx) CountProducts(account warranty.ID) (n int64, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT count(*) FROM products WHERE account_id = $1`,
		func(r *engine.Row) { n = r.Int() }, account)
	return n, err
}

// InsertProduct adds a product to a locked account. It fails with a duplicate if the account has one with
// this name.
func (t *Tx) InsertProduct(account warranty.ID, p warranty.Product) error {
	_, err := t.exec(`INSERT INTO products (id, account_id, name, folded_name, brand, model, gtin, category,
			length_months, terms, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`, p.ID, account, p.Name, warranty.Fold(p.Name),
		p.Brand, p.Model, p.GTIN, p.Category, lengthOf(p), p.Terms, p.CreatedAt, p.UpdatedAt)
	return err
}

// UpdateProduct changes a locked product. It fails with a duplicate if the account has another one with this
// name.
func (t *Tx) UpdateProduct(p warranty.Product) error {
	return t.exactlyOne(`UPDATE products SET name = $2, folded_name = $3, brand = $4, model = $5, gtin = $6,
			category = $7, length_months = $8, terms = $9, updated_at = $10 WHERE id = $1`,
		p.ID, p.Name, warranty.Fold(p.Name), p.Brand, p.Model, p.GTIN, p.Category, lengthOf(p), p.Terms, p.UpdatedAt)
}

// DeleteProduct removes a product of a locked account.
func (t *Tx) DeleteProduct(account, id warranty.ID) error {
	return t.exactlyOne(`DELETE FROM products WHERE account_id = $1 AND id = $2`, account, id)
}
