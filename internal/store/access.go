package store

import (
	"fmt"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// kind is the kind of record that an access row gives access to.
type kind uint8

const (
	kindWarranty kind = iota + 1
	kindClaim
	kindDocument
)

// joinWarranty joins the warranty of an access row, on SQLite by rowid as well. A wrong rowid would
// find nothing, and never another user's record.
const joinWarranty = `JOIN warranties w ON w.id = a.item_id /*sqlite: AND w.row = a.item_row */`

// This file contains the only writers of access rows. Rows of claims and documents repeat the roles
// on their warranty, so that listing them needs no join.

const accessColumns = `user_id, kind, item_id, parent_id, roles, status, start_date, end_date,
	category /*sqlite: , item_row */`

const addRoles = ` ON CONFLICT (user_id, kind, item_id) DO UPDATE SET roles = access.roles | excluded.roles`

// grantNew gives a user roles on a warranty that was just inserted. Only the list of this user has
// to be noted and marked as changed.
func (t *Tx) grantNew(user warranty.ID, w warranty.Warranty, roles warranty.Roles) error {
	if err := t.later(`INSERT INTO access (`+accessColumns+`, changed_at)
		VALUES ($1, $2, $3, $3, $4, $5, $6, $7, $8 /*sqlite: , (SELECT row FROM warranties WHERE id = $3) */,
			`+changeStamp+`)`+addRoles,
		user, kindWarranty, w.ID, roles, w.Standing, w.StartDate, w.EndDate, foldedCategory(w)); err != nil {
		return err
	}
	if err := t.later(`INSERT INTO index_pending (list, item_id, n)
		SELECT l.list, CAST($2 AS UUID), `+changeNumber+` FROM index_lists l WHERE l.user_id = $1 AND l.kind = 1
		ON CONFLICT (list, item_id) DO UPDATE SET n = index_pending.n + excluded.n`, user, w.ID); err != nil {
		return err
	}
	if t.store.lists.late(w.ID, t.store.Now()) {
		return t.childChanged(kindWarranty, w.ID, w.ID)
	}
	return t.later(`UPDATE list_epochs SET epoch = epoch + 1 WHERE user_id = $1 AND kind = $2 AND horizon >= $3`,
		user, kindWarranty, w.ID)
}

// Owners see all documents of a warranty, except those that an earlier owner kept and those of earlier claims. Businesses see what
// they and other businesses uploaded, and what is attached to a claim.
const (
	sharedDocument = `(d.claim_id IS NOT NULL OR d.business = 1)`
	seesDocument   = `(CASE WHEN a.roles & 1 <> 0 THEN d.owner_id IS NULL OR d.owner_id = a.user_id
		ELSE ` + sharedDocument + ` END OR d.uploader_id = a.user_id)`
)

// grant gives a user roles on a locked warranty and its claims and documents.
func (t *Tx) grant(user, id warranty.ID, roles warranty.Roles) error {
	if err := t.grantAll(user, id, roles); err != nil {
		return err
	}
	// Documents that the user could not see have only the new roles.
	if err := t.syncRoles(`user_id = $1 AND parent_id = $2`, user, id); err != nil {
		return err
	}
	if err := t.noteWarranty(id); err != nil {
		return err
	}
	return t.partyChanged(id, `a.user_id = $2`, user)
}

func (t *Tx) grantAll(user, id warranty.ID, roles warranty.Roles) error {
	const into = `INSERT INTO access (` + accessColumns + `) `
	for _, rows := range []string{
		`SELECT $1, 1, w.id, w.id, CAST($3 AS SMALLINT), w.standing, w.start_date, w.end_date,
				w.folded_category /*sqlite: , w.row */
			FROM warranties w WHERE w.id = $2`,
		`SELECT $1, 2, c.id, w.id, CAST($3 AS SMALLINT), c.status, c.spoke, 0, '' /*sqlite: , 0 */
			FROM claims c JOIN warranties w ON w.id = c.warranty_id WHERE w.id = $2`,
		`SELECT $1, 3, d.id, w.id, CAST($3 AS SMALLINT), 0, 0, 0, '' /*sqlite: , 0 */
			FROM documents d JOIN warranties w ON w.id = d.warranty_id
			WHERE w.id = $2 AND (CASE WHEN CAST($3 AS SMALLINT) & 1 <> 0
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
			WHERE p.user_id = access.user_id AND p.kind = 1 AND p.item_id = access.parent_id)
		WHERE `+which+` AND kind = 3 AND roles <> (SELECT p.roles FROM access p
			WHERE p.user_id = access.user_id AND p.kind = 1 AND p.item_id = access.parent_id)`, args...)
}

// hideDocuments removes the access of businesses to documents of a locked warranty that they do not see.
func (t *Tx) hideDocuments(id warranty.ID) error {
	return t.later(`DELETE FROM access WHERE parent_id = $1 AND kind = 3 AND roles & 1 = 0 AND item_id IN (
		SELECT d.id FROM documents d WHERE d.warranty_id = $1 AND d.claim_id IS NULL AND COALESCE(d.business, 0) = 0
			AND d.uploader_id <> access.user_id)`, id)
}

// showDocuments gives everyone with access to a locked warranty access to the documents that they see.
func (t *Tx) showDocuments(id warranty.ID) error {
	if err := t.later(`INSERT INTO access
			(user_id, kind, item_id, parent_id, roles, status, start_date, end_date, category)
		SELECT a.user_id, 3, d.id, $1, a.roles, 0, 0, 0, '' FROM access a JOIN documents d ON d.warranty_id = $1
		WHERE a.parent_id = $1 AND a.kind = 1 AND `+seesDocument+`
		ON CONFLICT (user_id, kind, item_id) DO NOTHING`, id); err != nil {
		return err
	}
	return t.partyChanged(id, `a.roles <> $2`, 0)
}

// grantChild gives everyone with access to a locked warranty access to its new claim, or to its new
// document if they see it.
func (t *Tx) grantChild(k kind, item, parent warranty.ID, status int) error {
	from := `access a WHERE`
	if k == kindDocument {
		from = `access a JOIN documents d ON d.id = $2 WHERE ` + seesDocument + ` AND`
	}
	if err := t.later(`INSERT INTO access
			(user_id, kind, item_id, parent_id, roles, status, start_date, end_date, category)
		SELECT a.user_id, $1, $2, $3, a.roles, $4, 0, 0, '' FROM `+from+` a.parent_id = $3 AND a.kind = 1`,
		k, item, parent, status); err != nil {
		return err
	}
	if err := t.noteChild(item, parent); err != nil {
		return err
	}
	return t.listsGrew(parent, k, item)
}

// dropChild removes all access to a claim or document.
func (t *Tx) dropChild(k kind, item, parent warranty.ID) error {
	if err := t.noteChild(item, parent); err != nil {
		return err
	}
	if err := t.childChanged(k, item, parent); err != nil {
		return err
	}
	return t.later(`DELETE FROM access WHERE parent_id = $1 AND kind = $2 AND item_id = $3`, parent, k, item)
}

// removeRoles removes roles on a locked warranty from a user, who loses access without another role.
func (t *Tx) removeRoles(id, user warranty.ID, roles warranty.Roles) error {
	if err := t.noteWarranty(id); err != nil {
		return err
	}
	if err := t.partyChanged(id, `a.user_id = $2`, user); err != nil {
		return err
	}
	if err := t.later(`UPDATE access SET roles = roles - (roles & $3) WHERE parent_id = $1 AND user_id = $2`,
		id, user, roles); err != nil {
		return err
	}
	if err := t.later(`DELETE FROM access WHERE parent_id = $1 AND roles = 0`, id); err != nil {
		return err
	}
	return t.hideDocuments(id)
}

// moveAccess moves all access of one account to another and returns the number of warranties.
func (t *Tx) moveAccess(from, to warranty.ID) (int, error) {
	n := 0
	err := t.tx.Query(t.ctx, `SELECT w.id FROM access a JOIN warranties w ON w.id = a.item_id
		WHERE a.user_id = $1 AND a.kind = 1 ORDER BY w.id /*pg: FOR UPDATE OF w */`,
		func(*engine.Row) error { n++; return nil }, from)
	if err != nil {
		return 0, err
	}
	if err := t.later(`INSERT INTO access (`+accessColumns+`)
		SELECT $2, kind, item_id, parent_id, roles, status, start_date, end_date, category /*sqlite: , item_row */
		FROM access WHERE user_id = $1`+addRoles, from, to); err != nil {
		return 0, err
	}
	if err := t.syncRoles(`user_id = $1`, to); err != nil {
		return 0, err
	}
	for _, user := range []warranty.ID{from, to} {
		if err := t.noteChanged(`a.user_id = $1`, user); err != nil {
			return 0, err
		}
	}
	if err := t.listsChanged(`a.user_id = $1`, anyItem, to); err != nil {
		return 0, err
	}
	return n, t.later(`DELETE FROM access WHERE user_id = $1`, from)
}

// syncAccess stamps the change of a warranty for everyone who can see it, and copies the columns that
// lists filter on.
func (t *Tx) syncAccess(before, w warranty.Warranty) error {
	if err := t.later(`UPDATE access SET status = $3, start_date = $4, end_date = $5, category = $6, changed_at = `+
		changeStamp+` WHERE parent_id = $1 AND kind = $2`,
		w.ID, kindWarranty, w.Standing, w.StartDate, w.EndDate, foldedCategory(w)); err != nil {
		return err
	}
	if w.Standing == before.Standing && w.StartDate == before.StartDate && w.EndDate == before.EndDate &&
		foldedCategory(w) == foldedCategory(before) {
		return nil
	}
	return t.childChanged(kindWarranty, w.ID, w.ID)
}

// syncClaim copies the status of a changed claim, and who wrote last.
func (t *Tx) syncClaim(c warranty.Claim) error {
	if err := t.later(`UPDATE access SET status = $3, start_date = $5 WHERE parent_id = $1 AND kind = $4 AND item_id = $2`,
		c.WarrantyID, c.ID, c.Status, kindClaim, c.Spoke); err != nil {
		return err
	}
	if err := t.noteChild(c.ID, c.WarrantyID); err != nil {
		return err
	}
	return t.childChanged(kindClaim, c.ID, c.WarrantyID)
}

// dropAccess removes all access to a warranty and its claims and documents.
func (t *Tx) dropAccess(id warranty.ID) error {
	if err := t.noteWarranty(id); err != nil {
		return err
	}
	if err := t.partyChanged(id, `a.roles <> $2`, 0); err != nil {
		return err
	}
	return t.later(`DELETE FROM access WHERE parent_id = $1`, id)
}

func foldedCategory(w warranty.Warranty) string {
	if w.Category == nil {
		return ""
	}
	return warranty.Fold(*w.Category)
}

// Every change above marks the affected lists as changed in its own transaction (see blocks.go).
// New entries at the end of a list are marked only if they are below its horizon.

// anyItem marks more changes than are recorded individually.
var anyItem warranty.ID

// listsGrew invalidates the counts that a process may have made around an entry that was just
// granted. It must run after the grant: see fence. If the entry is late by its id, the change is
// recorded, so that one block is counted again. An entry that is late for another reason, which
// takes a fault, invalidates the whole list.
func (t *Tx) listsGrew(parent warranty.ID, k kind, item warranty.ID) error {
	if t.store.lists.late(item, t.store.Now()) {
		return t.childChanged(k, item, parent)
	}
	return t.later(`UPDATE list_epochs SET epoch = epoch + 1 WHERE kind = $2 AND user_id IN (
		SELECT e.user_id FROM list_epochs e WHERE e.kind = $2 AND e.horizon >= $3 AND e.user_id IN (
			SELECT a.user_id FROM access a WHERE a.parent_id = $1 AND a.kind = $2 AND a.item_id = $3)
		ORDER BY e.user_id /*pg: FOR UPDATE */)`, parent, k, item)
}

// raiseHorizon records that a process is about to count a list up to an entry.
func (t *Tx) raiseHorizon(user warranty.ID, k kind, horizon warranty.ID) error {
	return t.later(`INSERT INTO list_epochs (user_id, kind, epoch, horizon) VALUES ($1, $2, 0, $3)
		ON CONFLICT (user_id, kind) DO UPDATE SET horizon = excluded.horizon
		WHERE list_epochs.horizon IS NULL OR list_epochs.horizon < excluded.horizon`, user, k, horizon)
}

// childChanged marks the lists that contain an item of a warranty, or the warranty itself, as
// changed.
func (t *Tx) childChanged(k kind, item, parent warranty.ID) error {
	return t.listsChanged(`a.parent_id = $1 AND a.kind = $2 AND a.item_id = $3`, item, parent, k, item)
}

// partyChanged marks the lists of users who have access to a warranty, and match the condition on
// $2, as changed: the warranty itself and all its claims and documents.
func (t *Tx) partyChanged(id warranty.ID, who string, arg any) error {
	if err := t.listsChanged(`a.parent_id = $1 AND a.kind = 1 AND `+who, id, id, arg); err != nil {
		return err
	}
	return t.listsChanged(`a.parent_id = $1 AND a.kind > 1 AND `+who, anyItem, id, arg)
}

// lockLists locks the lists of everyone with access to a warranty, and of a new owner, for a
// transaction that changes them in more than one statement.
func (t *Tx) lockLists(id, newOwner warranty.ID) error {
	if !t.store.db.Concurrent() {
		return nil
	}
	return t.later(`INSERT INTO list_epochs (user_id, kind, epoch) SELECT p.user_id, p.kind, 0 FROM (
			SELECT a.user_id, a.kind FROM access a WHERE a.parent_id = $1
			UNION SELECT CAST($2 AS UUID), a.kind FROM access a WHERE a.parent_id = $1) p
		ORDER BY p.kind, p.user_id ON CONFLICT (user_id, kind) DO UPDATE SET epoch = list_epochs.epoch`, id, newOwner)
}

// listsChanged increments the epochs of the lists that the condition on access selects and records
// the item. Every transaction locks lists by kind and then by account, so that no two deadlock.
func (t *Tx) listsChanged(which string, item warranty.ID, args ...any) error {
	distinct := ``
	if item == anyItem {
		distinct = `DISTINCT` // a list contains one item only once
	}
	if err := t.later(`INSERT INTO list_epochs (user_id, kind, epoch)
		SELECT `+distinct+` a.user_id, a.kind, 1 FROM access a WHERE `+which+` /*pg: ORDER BY a.kind, a.user_id */
		ON CONFLICT (user_id, kind) DO UPDATE SET epoch = list_epochs.epoch + 1`, args...); err != nil {
		return err
	}
	n := len(args)
	// PostgreSQL would read all of an account's rows to find those of one warranty, unless the subquery is its own.
	return t.later(fmt.Sprintf(`INSERT INTO list_changes (user_id, kind, slot, epoch, item_id)
		SELECT `+distinct+` e.user_id, e.kind, e.epoch %% $%d, e.epoch, CAST($%d AS UUID)
		FROM list_epochs e JOIN /*pg: (SELECT a.user_id, a.kind FROM */ access a /*pg: WHERE `+which+` OFFSET 0) a */
			ON a.user_id = e.user_id AND a.kind = e.kind /*sqlite: WHERE `+which+` */
		ON CONFLICT (user_id, kind, slot) DO UPDATE SET epoch = excluded.epoch, item_id = excluded.item_id`, n+1, n+2),
		append(args, t.store.lists.slots, item)...)
}
