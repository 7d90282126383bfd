package store

import (
	"context"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// fromPrinted selects the printed codes h of the organization $1 that can be used at $2, of all or of the person $3.
const fromPrinted = ` FROM offer_codes h JOIN warranties w ON w.id = h.warranty_id
	WHERE h.giver_id = $1 AND h.transfer = 0 AND h.email IS NULL AND h.used_at IS NULL AND h.expires_at > $2
		AND w.deleted_at IS NULL AND (h.made_by = $3 OR $3 IS NULL)`

// PrintedCodes lists the printed codes of an organization that can be used, newest first, and returns their total. by
// selects those that a person made.
func (s *Store) PrintedCodes(
	ctx context.Context, organization warranty.ID, by *warranty.ID, p warranty.Paging, now time.Time,
) (list []warranty.PrintedCode, total int64, err error) {
	err = queryRow(ctx, s.db, `SELECT count(*)`+fromPrinted, func(r *engine.Row) { total = r.Int() }, organization, now, by)
	if err != nil {
		return nil, 0, err
	}
	err = s.db.Query(ctx, `SELECT w.id, w.reference, w.product_name, h.made_by,
			(SELECT u.name FROM users u WHERE u.id = h.made_by),
			(SELECT m.role FROM members m WHERE m.account_id = h.giver_id AND m.user_id = h.made_by AND m.role > 0),
			w.offered_at, h.expires_at`+fromPrinted+` ORDER BY h.expires_at DESC, w.id LIMIT $4 OFFSET $5`,
		func(r *engine.Row) error {
			list = append(list, warranty.PrintedCode{
				WarrantyID:      r.ID(),
				ReferenceNumber: warranty.Reference(r.Text()),
				ProductName:     r.Text(),
				MadeByID:        r.ID(),
				MadeBy:          r.Text(),
				Member:          r.Set(),
				OfferedAt:       r.OptionalTime(),
				ExpiresAt:       r.Time(),
			})
			return nil
		}, organization, now, by, p.Limit, p.Offset())
	return list, total, err
}

// PrintedBy lists some warranties of a locked organization with a printed code that a person made, including those in
// the trash, from where a restore would bring the code back.
func (t *Tx) PrintedBy(organization, by warranty.ID, limit int) (ids []warranty.ID, err error) {
	err = t.tx.Query(t.ctx, `SELECT DISTINCT warranty_id FROM offer_codes
		WHERE giver_id = $1 AND transfer = 0 AND email IS NULL AND used_at IS NULL AND made_by = $2 ORDER BY warranty_id LIMIT $3`,
		func(r *engine.Row) error { ids = append(ids, r.ID()); return nil }, organization, by, limit)
	if err != nil {
		return ids, err
	}
	// Undoing an action does not give back what it ended of theirs.
	return ids, t.later(`UPDATE ended_codes SET held_by = NULL WHERE giver_id = $1 AND made_by = $2 AND transfer = 0
		AND email IS NULL AND held_by IS NOT NULL`, organization, by)
}
