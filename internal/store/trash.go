package store

import (
	"context"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/store/lists"
	"warranty.example/svc/warranty"
)

// A deleted warranty keeps its documents and claims, to which nobody has access, and trash has the roles to
// restore. After TrashLifetime, EmptyTrash deletes the documents and erases the content.

// inTrash selects warranties w in the trash of the account $1, which owned them, deleted after $2. An older
// release may have erased the content of some.
const inTrash = ` FROM trash x JOIN warranties w ON w.id = x.warranty_id
	WHERE x.account_id = $1 AND x.deleted_at > $2 AND x.roles & ` + roleOwner + ` <> 0 AND w.product_name <> ''`

const trashColumns = `w.id, w.reference, w.product_name, w.serial_number, w.category, w.start_date, w.end_date,
	x.deleted_at`

func readTrashed(r *engine.Row) warranty.Trashed {
	t := warranty.Trashed{
		ID:              r.ID(),
		ReferenceNumber: warranty.Reference(r.Text()),
		ProductName:     r.Text(),
		SerialNumber:    r.OptionalText(),
		Category:        r.OptionalText(),
		StartDate:       r.Date(),
		EndDate:         r.Date(),
		DeletedAt:       r.Time(),
	}
	t.ErasedAt = t.DeletedAt.Add(warranty.TrashLifetime)
	return t
}

// Trash lists the warranties in an account's trash, latest first, and returns their total.
func (s *Store) Trash(
	ctx context.Context, account warranty.ID, p warranty.Paging, now time.Time,
) (list []warranty.Trashed, total int64, err error) {
	since := now.Add(-warranty.TrashLifetime)
	err = queryRow(ctx, s.db, `SELECT count(*)`+inTrash, func(r *engine.Row) { total = r.Int() }, account, since)
	if err != nil {
		return nil, 0, err
	}
	err = s.db.Query(ctx, `SELECT `+trashColumns+inTrash+` ORDER BY x.deleted_at DESC, x.warranty_id DESC LIMIT $3 OFFSET $4`,
		func(r *engine.Row) error { list = append(list, readTrashed(r)); return nil }, account, since, p.Limit, p.Offset())
	return list, total, err
}

// TrashedExternalID returns the issuer and the external id of a warranty in an account's trash.
func (s *Store) TrashedExternalID(
	ctx context.Context, account warranty.ID, k warranty.WarrantyKey, now time.Time,
) (issuer warranty.ID, externalID *string, err error) {
	sql, key := keyed(k, `SELECT w.issuer_id, w.external_id`+inTrash+` AND w.id = $3`,
		`SELECT w.issuer_id, w.external_id`+inTrash+` AND w.reference = $3`)
	err = queryRow(ctx, s.db, sql, func(r *engine.Row) { issuer, externalID = r.ID(), r.OptionalText() },
		account, now.Add(-warranty.TrashLifetime), key)
	return issuer, externalID, err
}

// toTrash notes the roles on a locked warranty of the accounts that which selects with $2, before they lose
// them.
func (t *Tx) toTrash(id, arg warranty.ID, which string, now time.Time) error {
	return t.later(`INSERT INTO trash (warranty_id, account_id, roles, deleted_at)
		SELECT a.item_id, a.user_id, a.roles, CAST($3 AS BIGINT) FROM access a
		WHERE a.parent_id = $1 AND a.kind = `+kindWarranty+` AND `+which+`
		ON CONFLICT (warranty_id, account_id) DO UPDATE SET roles = excluded.roles, deleted_at = excluded.deleted_at`,
		id, arg, now)
}

// trashRow is the place of a warranty in the trash.
type trashRow struct {
	id      warranty.ID
	account warranty.ID
	deleted bool // otherwise its owner removed it from their account, and others keep it
}

// lockTrashed locks a warranty in an account's trash until the transaction ends. It is ErrNotFound if the
// warranty was deleted by a time.
func (t *Tx) lockTrashed(account warranty.ID, k warranty.WarrantyKey, by time.Time) (row trashRow, err error) {
	const lock, read = `SELECT 1` + inTrash, `SELECT w.id, w.deleted_at` + inTrash
	sql, key := keyed(k, lock+` AND w.id = $3 /*pg: FOR UPDATE OF w */`, lock+` AND w.reference = $3 /*pg: FOR UPDATE OF w */`)
	if err := t.exactlyOne(sql, account, by, key); err != nil {
		return row, err
	}
	// Another transaction may have restored or erased the warranty while this one waited for the lock.
	sql, key = keyed(k, read+` AND w.id = $3`, read+` AND w.reference = $3`)
	err = queryRow(t.ctx, t.tx, sql, func(r *engine.Row) { row = trashRow{id: r.ID(), account: account, deleted: r.Set()} }, account, by, key)
	return row, err
}

// RestoreWarranty restores a warranty from an account's trash and returns it. Its codes work again until they
// expire. The roles of others come back, except those of accounts that were deleted or that declined records of
// this one.
func (t *Tx) RestoreWarranty(
	account warranty.ID, k warranty.WarrantyKey, now time.Time,
) (w warranty.Warranty, err error) {
	row, err := t.lockTrashed(account, k, now.Add(-warranty.TrashLifetime))
	if err != nil {
		return w, err
	}
	return t.restoreTrashed(row, account, now)
}

// RestoreDeleted is RestoreWarranty for what was deleted at a time. It is ErrNotFound if it was restored since, also if it was
// deleted again.
func (t *Tx) RestoreDeleted(account, id warranty.ID, at, now time.Time) (w warranty.Warranty, err error) {
	row, err := t.lockTrashed(account, warranty.WarrantyKey{ID: id}, now.Add(-warranty.TrashLifetime))
	if err != nil {
		return w, err
	}
	if err := t.exactlyOne(`SELECT 1 FROM trash WHERE warranty_id = $1 AND account_id = $2 AND deleted_at = $3`, id, account, at); err != nil {
		return w, err
	}
	return t.restoreTrashed(row, account, now)
}

// restoreTrashed restores a locked warranty from an account's trash.
func (t *Tx) restoreTrashed(row trashRow, account warranty.ID, now time.Time) (w warranty.Warranty, err error) {
	if row.deleted {
		err = t.undelete(row.id, account, now)
	} else {
		err = t.takeBack(row.id, account, now)
	}
	if err != nil {
		return w, err
	}
	return oneWarranty(t.ctx, t.tx, account, warranty.WarrantyKey{ID: row.id})
}

// undelete restores a locked warranty that was deleted.
func (t *Tx) undelete(id, owner warranty.ID, now time.Time) error {
	type party struct {
		account warranty.ID
		roles   warranty.Roles
	}
	var parties []party
	if err := t.tx.Query(t.ctx, `SELECT x.account_id, x.roles FROM trash x JOIN users u ON u.id = x.account_id
		WHERE x.warranty_id = $1 AND u.deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM declined_accounts b
			WHERE b.account_id = x.account_id AND b.from_id = $2) ORDER BY x.account_id`,
		func(r *engine.Row) error {
			parties = append(parties, party{r.ID(), warranty.RolesOf(r.Int())})
			return nil
		}, id, owner); err != nil {
		return err
	}
	if err := t.exactlyOne(`UPDATE warranties SET deleted_at = NULL, version = version + 1, updated_at = $2
		WHERE id = $1 AND deleted_at IS NOT NULL`, id, now); err != nil {
		return err
	}
	if err := t.later(`DELETE FROM trash WHERE warranty_id = $1`, id); err != nil {
		return err
	}
	for _, p := range parties {
		if err := t.grant(p.account, id, p.roles); err != nil {
			return err
		}
	}
	if err := t.showKept(id); err != nil {
		return err
	}
	return t.later(`UPDATE warranties SET seller_id = NULL WHERE id = $1 AND seller_id IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM access a WHERE a.user_id = warranties.seller_id
			AND a.kind = `+kindWarranty+` AND a.item_id = $1)`, id)
}

// takeBack gives a locked warranty back to the owner who removed it from their account.
func (t *Tx) takeBack(id, owner warranty.ID, now time.Time) error {
	if err := t.exactlyOne(`UPDATE warranties SET version = version + 1, updated_at = $2 WHERE id = $1
		AND deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM access a WHERE a.parent_id = $1
			AND a.kind = `+kindWarranty+` AND a.roles & `+roleOwner+` <> 0)`,
		id, now); err != nil {
		return err
	}
	if err := t.later(`DELETE FROM trash WHERE warranty_id = $1 AND account_id = $2`, id, owner); err != nil {
		return err
	}
	if err := t.changed(id); err != nil {
		return err
	}
	return t.grant(owner, id, warranty.NewRoles(warranty.Owner))
}

// TrashedBy lists some warranties in an account's trash.
func (t *Tx) TrashedBy(account warranty.ID, limit int) (ids []warranty.ID, err error) {
	err = t.tx.Query(t.ctx, `SELECT warranty_id FROM trash WHERE account_id = $1 ORDER BY warranty_id LIMIT $2`,
		func(r *engine.Row) error { ids = append(ids, r.ID()); return nil }, account, limit)
	return ids, err
}

// LeaveTrash ends the access of an account, which is being erased, to a warranty in its trash. What it owned is
// erased.
func (t *Tx) LeaveTrash(account, id warranty.ID, now time.Time) error {
	row, roles, err := t.lockTrashRow(id, `x.account_id = $2`, account)
	switch {
	case err != nil || row.id.IsZero():
		return err
	case row.deleted && !roles.Has(warranty.Owner):
		return t.later(`DELETE FROM trash WHERE warranty_id = $1 AND account_id = $2`, id, account)
	}
	return t.endTrash(row, now)
}

// TrashedUntil lists some deleted warranties, oldest first, whose time in the trash has ended: those deleted by a
// time.
func (s *Store) TrashedUntil(ctx context.Context, by time.Time, limit int) (ids []warranty.ID, err error) {
	err = s.db.Query(ctx, `SELECT DISTINCT warranty_id FROM (
			SELECT warranty_id FROM trash WHERE deleted_at <= $1 ORDER BY deleted_at, warranty_id LIMIT $2) x`,
		func(r *engine.Row) error { ids = append(ids, r.ID()); return nil }, by, limit)
	return ids, err
}

// EmptyTrash erases a warranty that was deleted by a time and was not restored. If its owner removed it from
// their account, it deletes what only the owner could see.
func (t *Tx) EmptyTrash(id warranty.ID, by, now time.Time) error {
	row, _, err := t.lockTrashRow(id, `x.deleted_at <= $2`, by)
	if err != nil || row.id.IsZero() { // it was restored, or another process erased it
		return err
	}
	return t.endTrash(row, now)
}

// lockTrashRow locks a warranty and returns its place in the trash that which selects with $2, the owner's if
// there are several, and the zero row if there is none.
func (t *Tx) lockTrashRow(id warranty.ID, which string, arg any) (row trashRow, roles warranty.Roles, err error) {
	// The warranty is locked first and everything else read afterwards, as for a restore.
	if err := t.exactlyOne(`SELECT 1 FROM warranties WHERE id = $1 /*pg: FOR UPDATE */`, id); err != nil {
		return row, roles, err
	}
	err = t.tx.Query(t.ctx, `SELECT x.warranty_id, x.account_id, w.deleted_at, x.roles
		FROM trash x JOIN warranties w ON w.id = x.warranty_id WHERE x.warranty_id = $1 AND `+which+`
		ORDER BY x.roles & `+roleOwner+`, x.account_id`, func(r *engine.Row) error {
		row, roles = trashRow{id: r.ID(), account: r.ID(), deleted: r.Set()}, warranty.RolesOf(r.Int())
		return nil
	}, id, arg)
	return row, roles, err
}

// endTrash ends the time of a locked warranty in the trash. A deleted one is erased. If an owner removed it from
// their account, their documents are deleted, and without others who have access the warranty too.
func (t *Tx) endTrash(row trashRow, now time.Time) error {
	if row.deleted {
		return t.eraseDeleted(row.id, now)
	}
	if err := t.deleteOwnDocuments(row.account, row.id, now); err != nil {
		return err
	}
	if err := t.later(`DELETE FROM offer_codes WHERE warranty_id = $1 AND giver_id = $2 AND used_at IS NULL`,
		row.id, row.account); err != nil {
		return err
	}
	if err := t.later(`DELETE FROM trash WHERE warranty_id = $1 AND account_id = $2`, row.id, row.account); err != nil {
		return err
	}
	shared, err := t.isShared(row.id, row.account)
	if err != nil || shared {
		return err
	}
	if err := t.exactlyOne(`UPDATE warranties SET deleted_at = $2, version = version + 1
		WHERE id = $1 AND deleted_at IS NULL`, row.id, now); err != nil {
		return err
	}
	return t.eraseDeleted(row.id, now)
}

// eraseDeleted deletes the documents of a locked, deleted warranty, whose files the sweep deletes later, and
// erases its content. The row remains for the history.
func (t *Tx) eraseDeleted(id warranty.ID, now time.Time) error {
	if err := t.noteDeleted(now, `warranty_id = $2`, id); err != nil {
		return err
	}
	for _, table := range []string{`drafts`, `document_versions`} {
		if _, err := t.dropFiles(table, now, `warranty_id = $1`, id); err != nil {
			return err
		}
	}
	for _, sql := range []string{
		`DELETE FROM documents WHERE warranty_id = $1`,
		`DELETE FROM trash WHERE warranty_id = $1`,
	} {
		if err := t.later(sql, id); err != nil {
			return err
		}
	}
	return t.EraseWarranties([]warranty.ID{id})
}

// moveTrash moves the trash of one account to another.
func (t *Tx) moveTrash(from, to warranty.ID) error {
	if err := t.later(`INSERT INTO trash (warranty_id, account_id, roles, deleted_at)
		SELECT warranty_id, $2, roles, deleted_at FROM trash WHERE account_id = $1
		ON CONFLICT (warranty_id, account_id) DO UPDATE SET roles = trash.roles | excluded.roles`, from, to); err != nil {
		return err
	}
	return t.later(`DELETE FROM trash WHERE account_id = $1`, from)
}

// OpenClaimOn returns the number of an open claim on a locked warranty, or "".
func (t *Tx) OpenClaimOn(id warranty.ID) (number warranty.Reference, err error) {
	err = t.tx.Query(t.ctx, `SELECT c.claim_number FROM claims c WHERE c.warranty_id = $1
		AND c.status IN (`+lists.OpenStatuses+`) ORDER BY c.id DESC LIMIT 1`,
		func(r *engine.Row) error { number = warranty.Reference(r.Text()); return nil }, id)
	return number, err
}
