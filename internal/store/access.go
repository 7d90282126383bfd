package store

import (
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/store/lists"
	"warranty.example/svc/warranty"
)

// This file contains the only writers of access rows. Rows of claims and documents repeat the roles
// on their warranty, so that listing them needs no join.

const accessColumns = `user_id, kind, item_id, parent_id, roles, status, start_date, end_date,
	category /*sqlite: , item_row */`

// addRoles adds the roles of a row that exists already, and stamps it if they are new.
const addRoles = ` ON CONFLICT (user_id, kind, item_id) DO UPDATE SET roles = access.roles | excluded.roles,
	changed_at = CASE WHEN access.roles | excluded.roles = access.roles THEN access.changed_at ELSE excluded.changed_at END`

// stamped is changed_at of a new row: a stamp for warranties.
const stamped = `CASE WHEN kind = ` + kindWarranty + ` THEN ` + changeStamp + ` ELSE 0 END`

// grantNew gives a user roles on a warranty that was just inserted. Only the list of this user has
// to be noted and marked as changed.
func (t *Tx) grantNew(user warranty.ID, w warranty.Warranty, roles warranty.Roles) error {
	if err := t.later(`INSERT INTO access (`+accessColumns+`, changed_at)
		VALUES ($1, $2, $3, $3, $4, $5, $6, $7, $8 /*sqlite: , (SELECT row FROM warranties WHERE id = $3) */,
			`+changeStamp+`)`+addRoles,
		user, lists.Warranties, w.ID, roles, w.Standing, w.StartDate, w.EndDate, foldedCategory(w)); err != nil {
		return err
	}
	return lists.NoteNew(t.ctx, t.tx, user, w.ID)
}

// Owners see all documents of a warranty, except those that an earlier owner kept and those of earlier claims. Businesses see what
// they and other businesses uploaded, and what is attached to a claim.
const (
	sharedDocument = `(d.claim_id IS NOT NULL OR d.business = 1 OR ` + attachedDocument + `)`
	seesDocument   = `(CASE WHEN a.roles & ` + roleOwner + ` <> 0 THEN d.owner_id IS NULL OR d.owner_id = a.user_id
		ELSE ` + sharedDocument + ` END OR d.uploader_id = a.user_id)`
)

// keepsDocument selects the documents d that a former owner kept when they transferred the warranty. They see these
// without seeing the warranty.
const keepsDocument = `(d.claim_id IS NULL AND d.owner_id = d.uploader_id AND NOT EXISTS (SELECT 1 FROM access k
	WHERE k.user_id = d.owner_id AND k.kind = ` + kindWarranty + ` AND k.item_id = d.warranty_id))`

// showKept gives the former owners of a locked warranty access to the documents that they kept.
func (t *Tx) showKept(id warranty.ID) error {
	if err := t.later(`INSERT INTO access
			(user_id, kind, item_id, parent_id, roles, status, start_date, end_date, category)
		SELECT d.owner_id, `+kindDocument+`, d.id, d.warranty_id, `+roleOwner+`, 0, 0, 0, ''
		FROM documents d JOIN users u ON u.id = d.owner_id AND u.deleted_at IS NULL
		WHERE d.warranty_id = $1 AND `+keepsDocument+`
		ON CONFLICT (user_id, kind, item_id) DO NOTHING`, id); err != nil {
		return err
	}
	return lists.NoteChanged(t.ctx, t.tx, `a.parent_id = $1 AND a.kind = `+kindDocument+` AND NOT EXISTS (SELECT 1
		FROM access k WHERE k.user_id = a.user_id AND k.kind = `+kindWarranty+` AND k.item_id = $1)`, id)
}

// grant gives a user roles on a locked warranty and its claims and documents.
func (t *Tx) grant(user, id warranty.ID, roles warranty.Roles) error {
	if err := t.grantAll(user, id, roles); err != nil {
		return err
	}
	// Documents that the user could not see have only the new roles.
	if err := t.syncRoles(`user_id = $1 AND parent_id = $2`, user, id); err != nil {
		return err
	}
	if err := t.queueClaims(id); err != nil {
		return err
	}
	return lists.NoteWarranty(t.ctx, t.tx, id)
}

func (t *Tx) grantAll(user, id warranty.ID, roles warranty.Roles) error {
	const into = `INSERT INTO access (` + accessColumns + `, changed_at) `
	for _, rows := range []string{
		`SELECT $1, ` + kindWarranty + `, w.id, w.id, CAST($3 AS SMALLINT), w.standing, w.start_date, w.end_date,
				w.folded_category /*sqlite: , w.row */, ` + changeStamp + `
			FROM warranties w WHERE w.id = $2`,
		`SELECT $1, ` + kindClaim + `, c.id, w.id, CAST($3 AS SMALLINT), c.status, c.spoke, 0, '' /*sqlite: , 0 */, 0
			FROM claims c JOIN warranties w ON w.id = c.warranty_id WHERE w.id = $2`,
		`SELECT $1, ` + kindDocument + `, d.id, w.id, CAST($3 AS SMALLINT), 0, 0, 0, '' /*sqlite: , 0 */, 0
			FROM documents d JOIN warranties w ON w.id = d.warranty_id
			WHERE w.id = $2 AND (CASE WHEN CAST($3 AS SMALLINT) & ` + roleOwner + ` <> 0
				THEN d.owner_id IS NULL OR d.owner_id = $1 ELSE ` + sharedDocument + ` END OR d.uploader_id = $1)`,
	} {
		if err := t.later(into+rows+` AND w.deleted_at IS NULL`+addRoles, user, id, roles); err != nil {
			return err
		}
	}
	return nil
}

// syncRoles copies the roles on warranties to documents of the same user.
func (t *Tx) syncRoles(which string, args ...any) error {
	return t.later(`UPDATE access SET roles = (SELECT p.roles FROM access p
			WHERE p.user_id = access.user_id AND p.kind = `+kindWarranty+` AND p.item_id = access.parent_id)
		WHERE `+which+` AND kind = `+kindDocument+` AND roles <> (SELECT p.roles FROM access p
			WHERE p.user_id = access.user_id AND p.kind = `+kindWarranty+` AND p.item_id = access.parent_id)`, args...)
}

// hideDocuments removes the access of businesses to documents of a locked warranty that they do not see.
func (t *Tx) hideDocuments(id warranty.ID) error {
	return t.later(`DELETE FROM access WHERE parent_id = $1 AND kind = `+kindDocument+` AND roles & `+roleOwner+` = 0
		AND item_id IN (
		SELECT d.id FROM documents d WHERE d.warranty_id = $1 AND NOT `+sharedDocument+`
			AND d.uploader_id <> access.user_id)`, id)
}

// showDocuments gives everyone with access to a locked warranty access to the documents that they see.
func (t *Tx) showDocuments(id warranty.ID) error {
	return t.later(`INSERT INTO access
			(user_id, kind, item_id, parent_id, roles, status, start_date, end_date, category)
		SELECT a.user_id, `+kindDocument+`, d.id, $1, a.roles, 0, 0, 0, ''
		FROM access a JOIN documents d ON d.warranty_id = $1
		WHERE a.parent_id = $1 AND a.kind = `+kindWarranty+` AND `+seesDocument+`
		ON CONFLICT (user_id, kind, item_id) DO NOTHING`, id)
}

// grantDocument gives everyone with access to a locked warranty access to its new document, if they see it.
func (t *Tx) grantDocument(id, parent warranty.ID) error {
	if err := t.later(`INSERT INTO access
			(user_id, kind, item_id, parent_id, roles, status, start_date, end_date, category)
		SELECT a.user_id, `+kindDocument+`, $1, $2, a.roles, 0, 0, 0, '' FROM access a JOIN documents d ON d.id = $1
		WHERE `+seesDocument+` AND a.parent_id = $2 AND a.kind = `+kindWarranty, id, parent); err != nil {
		return err
	}
	return lists.NoteChild(t.ctx, t.tx, id, parent)
}

// grantClaim gives everyone with access to a locked warranty access to its new claim.
func (t *Tx) grantClaim(c warranty.Claim) error {
	if err := t.later(`INSERT INTO access
			(user_id, kind, item_id, parent_id, roles, status, start_date, end_date, category, `+queueColumns+`)
		SELECT a.user_id, `+kindClaim+`, a.item_id, a.parent_id, a.roles, a.status, a.start_date, 0, '', `+queueValues+`
		FROM (SELECT p.user_id, c.id AS item_id, p.parent_id, p.roles, c.status, c.spoke AS start_date
			FROM access p JOIN claims c ON c.id = $1 WHERE p.parent_id = $2 AND p.kind = `+kindWarranty+`) a`,
		c.ID, c.WarrantyID); err != nil {
		return err
	}
	return lists.NoteChild(t.ctx, t.tx, c.ID, c.WarrantyID)
}

// dropChild removes all access to a claim or document.
func (t *Tx) dropChild(k lists.Kind, item, parent warranty.ID) error {
	if err := lists.NoteChild(t.ctx, t.tx, item, parent); err != nil {
		return err
	}
	return t.later(`DELETE FROM access WHERE parent_id = $1 AND kind = $2 AND item_id = $3`, parent, k, item)
}

// removeRoles removes roles on a locked warranty from a user, who loses access without another role.
func (t *Tx) removeRoles(id, user warranty.ID, roles warranty.Roles) error {
	if err := lists.NoteWarranty(t.ctx, t.tx, id); err != nil {
		return err
	}
	if err := t.unmuteWarranty(user, id); err != nil {
		return err
	}
	if err := t.later(`UPDATE access SET roles = roles - (roles & $3),
			changed_at = CASE WHEN kind = `+kindWarranty+` AND roles & $3 <> 0 THEN `+changeStamp+` ELSE changed_at END
		WHERE parent_id = $1 AND user_id = $2`, id, user, roles); err != nil {
		return err
	}
	if err := t.deleteAccess(`parent_id = $1 AND roles = 0`, id); err != nil {
		return err
	}
	if err := t.queueClaims(id); err != nil {
		return err
	}
	return t.hideDocuments(id)
}

// moveAccess moves all access of one account to another and returns the number of warranties.
func (t *Tx) moveAccess(from, to warranty.ID) (int, error) {
	n := 0
	err := t.tx.Query(t.ctx, `SELECT w.id FROM access a JOIN warranties w ON w.id = a.item_id
		WHERE a.user_id = $1 AND a.kind = `+kindWarranty+` ORDER BY w.id /*pg: FOR UPDATE OF w */`,
		func(*engine.Row) error { n++; return nil }, from)
	if err != nil {
		return 0, err
	}
	if err := t.later(`INSERT INTO access (`+accessColumns+`, changed_at)
		SELECT $2, kind, item_id, parent_id, roles, status, start_date, end_date, category /*sqlite: , item_row */,
			`+stamped+` FROM access WHERE user_id = $1`+addRoles, from, to); err != nil {
		return 0, err
	}
	if err := t.syncRoles(`user_id = $1`, to); err != nil {
		return 0, err
	}
	for _, user := range []warranty.ID{from, to} {
		if err := lists.NoteChanged(t.ctx, t.tx, `a.user_id = $1`, user); err != nil {
			return 0, err
		}
	}
	if err := t.deleteAccess(`user_id = $1`, from); err != nil {
		return 0, err
	}
	const moved = `a.parent_id IN (SELECT p.item_id FROM access p WHERE p.user_id = $1 AND p.kind = ` + kindWarranty + `)`
	if err := t.later(`UPDATE access AS a SET `+setQueue+` WHERE `+moved+` AND `+outOfQueue, to); err != nil {
		return 0, err
	}
	return n, lists.NoteChanged(t.ctx, t.tx, `a.kind = `+kindClaim+` AND `+moved, to)
}

// deleteAccess deletes access rows, and notes the warranties that accounts lose for their feeds. On PostgreSQL, one
// statement does both, so that the table is locked before the stamp is made (see feed.go).
func (t *Tx) deleteAccess(which string, args ...any) error {
	if err := t.later(`/*pg: WITH lost AS (DELETE FROM access WHERE `+which+` RETURNING user_id, kind, item_id) */
		INSERT INTO gone (user_id, at, item_id) SELECT user_id, `+changeStamp+`, item_id
		FROM /*pg: lost *//*sqlite: access */ WHERE kind = `+kindWarranty+` /*sqlite: AND `+which+` */
		ON CONFLICT DO NOTHING`,
		args...); err != nil {
		return err
	}
	return t.later(`DELETE FROM access WHERE `+which, args...)
}

// syncAccess stamps the change of a warranty for everyone who can see it, and copies the columns that
// lists filter on.
func (t *Tx) syncAccess(w warranty.Warranty) error {
	return t.later(`UPDATE access SET status = $3, start_date = $4, end_date = $5, category = $6, changed_at = `+
		changeStamp+` WHERE parent_id = $1 AND kind = $2`,
		w.ID, lists.Warranties, w.Standing, w.StartDate, w.EndDate, foldedCategory(w))
}

// queueChanged is setQueue for the claim $2 that now has the status $3, and in which $4 wrote last.
var queueChanged = with(setQueue, `status`, `CAST($3 AS SMALLINT)`, `start_date`, `CAST($4 AS INTEGER)`)

// syncClaim copies the status of a changed claim, and who wrote last, and stores its queue.
func (t *Tx) syncClaim(c warranty.Claim) error {
	if err := t.later(`UPDATE access AS a SET status = $3, start_date = $4, `+queueChanged+`
			WHERE a.parent_id = $1 AND a.kind = `+kindClaim+` AND a.item_id = $2`,
		c.WarrantyID, c.ID, c.Status, c.Spoke); err != nil {
		return err
	}
	return lists.NoteChild(t.ctx, t.tx, c.ID, c.WarrantyID)
}

// dropAccess removes all access to a warranty and its claims and documents.
func (t *Tx) dropAccess(id warranty.ID) error {
	if err := lists.NoteWarranty(t.ctx, t.tx, id); err != nil {
		return err
	}
	return t.deleteAccess(`parent_id = $1`, id)
}

func foldedCategory(w warranty.Warranty) string {
	if w.Category == nil {
		return ""
	}
	return warranty.Fold(*w.Category)
}
