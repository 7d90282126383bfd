package store

import (
	"context"
	"fmt"
	"strings"

	"warranty.example/svc/warranty"
)

// kind is what an access row gives access to.
type kind uint8

const (
	ofWarranty kind = iota + 1
	ofClaim
	ofDocument
)

// This file holds the only writers of access rows. Claims and documents repeat
// the roles on their warranty, so that a list of them needs no look at it.

const addRoles = ` ON CONFLICT (user_id, kind, item_id) DO UPDATE SET roles = access.roles | excluded.roles`

// grantNew gives a person roles on a warranty that has just been inserted.
func (t *Tx) grantNew(user warranty.ID, w warranty.Warranty, roles warranty.Roles) error {
	return t.later(`INSERT INTO access (user_id, kind, item_id, parent_id, roles, status, start_date, end_date, category)
		VALUES ($1, $2, $3, $3, $4, $5, $6, $7, $8)`+addRoles,
		user, ofWarranty, w.ID, roles, w.Standing, w.StartDate, w.EndDate, foldedCategory(w))
}

// LinkSeller makes a person the seller of every warranty that names their
// address, and of everything that belongs to it. It returns the warranties.
func (t *Tx) LinkSeller(user warranty.ID, email string) ([]warranty.ID, error) {
	var ids []warranty.ID
	// Each is locked first: a claim that is being filed on it is either here
	// already, or will find the new seller's row.
	err := t.tx.query(t.ctx, `SELECT id FROM warranties WHERE seller_email = $1 AND deleted_at IS NULL ORDER BY id /*pg: FOR UPDATE */`,
		func(r Row) error { ids = append(ids, r.ID(0)); return nil }, email)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return ids, t.grantAll(`w.seller_email = $2`, user, email, warranty.Seller)
}

// grant gives a person a role on a locked warranty and everything that belongs to it.
func (t *Tx) grant(user, id warranty.ID, role warranty.Roles) error {
	return t.grantAll(`w.id = $2`, user, id, role)
}

func (t *Tx) grantAll(which string, user warranty.ID, arg any, role warranty.Roles) error {
	const into = `INSERT INTO access (user_id, kind, item_id, parent_id, roles, status, start_date, end_date, category) `
	for _, rows := range []string{
		`SELECT $1, 1, w.id, w.id, $3, w.standing, w.start_date, w.end_date, w.folded_category FROM warranties w`,
		`SELECT $1, 2, c.id, w.id, $3, c.status, 0, 0, '' FROM claims c JOIN warranties w ON w.id = c.warranty_id`,
		`SELECT $1, 3, d.id, w.id, $3, 0, 0, 0, '' FROM documents d JOIN warranties w ON w.id = d.warranty_id`,
	} {
		if err := t.later(into+rows+` WHERE `+which+` AND w.deleted_at IS NULL`+addRoles, user, arg, role); err != nil {
			return err
		}
	}
	return nil
}

// grantChild shows a new claim or document to everybody who sees its locked warranty.
func (t *Tx) grantChild(k kind, item, parent warranty.ID, status int) error {
	return t.later(`INSERT INTO access (user_id, kind, item_id, parent_id, roles, status, start_date, end_date, category)
		SELECT a.user_id, $1, $2, $3, a.roles, $4, 0, 0, '' FROM access a WHERE a.parent_id = $3 AND a.kind = 1`, k, item, parent, status)
}

// takeRole takes a role on a locked warranty from whoever has it; who has no
// other is left without access.
func (t *Tx) takeRole(id warranty.ID, role warranty.Roles) error {
	if err := t.later(`UPDATE access SET roles = roles - $2 WHERE parent_id = $1 AND roles & $2 = $2`, id, role); err != nil {
		return err
	}
	return t.later(`DELETE FROM access WHERE parent_id = $1 AND roles = 0`, id)
}

// syncAccess copies what lists filter on from a warranty that has changed.
func (t *Tx) syncAccess(w warranty.Warranty) error {
	return t.later(`UPDATE access SET status = $3, start_date = $4, end_date = $5, category = $6 WHERE parent_id = $1 AND kind = $2`,
		w.ID, ofWarranty, w.Standing, w.StartDate, w.EndDate, foldedCategory(w))
}

// syncClaim copies what lists filter on from a claim that has moved.
func (t *Tx) syncClaim(c warranty.Claim) error {
	return t.later(`UPDATE access SET status = $3 WHERE parent_id = $1 AND kind = $4 AND item_id = $2`, c.WarrantyID, c.ID, c.Status, ofClaim)
}

// dropAccess takes a warranty and all that belongs to it from everybody's sight.
func (t *Tx) dropAccess(id warranty.ID) error {
	return t.later(`DELETE FROM access WHERE parent_id = $1`, id)
}

func foldedCategory(w warranty.Warranty) string {
	if w.Category == nil {
		return ""
	}
	return warranty.Fold(*w.Category)
}

// list is a question for one page of what a person may see. The person is not
// optional: there is no way to ask without.
type list struct {
	user warranty.ID
	kind kind
	// table is joined with access to find the rows when a condition needs it.
	table string
	where strings.Builder
	args  []any
}

func listOf(user warranty.ID, k kind) *list {
	l := &list{user: user, kind: k}
	l.and(`a.user_id = ?`, user)
	l.and(`a.kind = ?`, k)
	return l
}

// and adds a condition whose arguments stand as question marks.
func (l *list) and(condition string, args ...any) {
	if l.where.Len() > 0 {
		l.where.WriteString(` AND `)
	}
	for _, arg := range args {
		l.args = append(l.args, arg)
		condition = strings.Replace(condition, "?", fmt.Sprintf("$%d", len(l.args)), 1)
	}
	l.where.WriteString(`(` + condition + `)`)
}

// page reads one page, newest first, and the exact total in one statement, so
// that both are of the same moment. columns begin with the id; joins may use a.item_id.
func (l *list) page(ctx context.Context, q querier, columns, joins string, p warranty.Paging, read func(Row, int)) (total int64, err error) {
	from := `access a ` + l.table + ` WHERE ` + l.where.String()
	sql := fmt.Sprintf(`SELECT n.total, %s FROM (SELECT count(*) AS total FROM %s) n
		LEFT JOIN (SELECT a.item_id, a.roles FROM %s ORDER BY a.item_id DESC LIMIT $%d OFFSET $%d) a ON 1 = 1 %s
		ORDER BY a.item_id DESC`, columns, from, from, len(l.args)+1, len(l.args)+2, joins)
	err = q.query(ctx, sql, func(r Row) error {
		total = r.Int(0)
		if !r.Null(1) {
			read(r, 1)
		}
		return nil
	}, append(l.args, p.Limit, p.Offset())...)
	return total, err
}
