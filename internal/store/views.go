package store

import (
	"context"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// Views lists the saved views of an account by name.
func (s *Store) Views(ctx context.Context, account warranty.ID) (list []warranty.SavedView, err error) {
	err = s.db.Query(ctx, `SELECT id, name, query FROM views WHERE account_id = $1 ORDER BY folded_name`,
		func(r *engine.Row) error {
			list = append(list, warranty.SavedView{ID: r.ID(), Name: r.Text(), Query: r.Text()})
			return nil
		}, account)
	return list, err
}

// CountViews counts the saved views of a locked account that have another name.
func (t *Tx) CountViews(account warranty.ID, name string) (n int64, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT count(*) FROM views WHERE account_id = $1 AND folded_name <> $2`,
		func(r *engine.Row) { n = r.Int() }, account, warranty.Fold(name))
	return n, err
}

// SaveView adds a view to a locked account, or replaces the one with its name.
func (t *Tx) SaveView(account warranty.ID, v warranty.SavedView, now time.Time) error {
	return t.later(`INSERT INTO views (id, account_id, name, folded_name, query, created_at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (account_id, folded_name) DO UPDATE SET name = excluded.name, query = excluded.query`,
		v.ID, account, v.Name, warranty.Fold(v.Name), v.Query, now)
}

// DeleteView deletes a view of an account.
func (t *Tx) DeleteView(account, id warranty.ID) error {
	return t.exactlyOne(`DELETE FROM views WHERE account_id = $1 AND id = $2`, account, id)
}
