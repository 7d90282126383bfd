package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// listKey identifies a list: the records of one kind that an account has access to.
type listKey struct {
	user warranty.ID
	kind kind
}

// list is a query for one page of the records that a user has access to. The user is required:
// there is no query without one.
type list struct {
	listKey
	// filter uses only columns of access.
	filter strings.Builder
	// narrowed uses another index of the database, so that few records are left.
	narrowed strings.Builder
	// scanned means that the narrowing condition is checked for every record.
	scanned bool
	// source replaces the source of the kind, if it is set.
	source *source
	args   []any
}

// listArgs is the number of arguments before those of the conditions: the user, the kind, and the
// two ids that delimit the page.
const listArgs = 4

func listOf(user warranty.ID, k kind) *list { return &list{listKey: listKey{user, k}} }

// and adds a condition on access. ? marks an argument.
func (l *list) and(condition string, args ...any) { l.add(&l.filter, condition, args) }

// narrow adds a condition that uses another index of access.
func (l *list) narrow(condition string, args ...any) { l.add(&l.narrowed, condition, args) }

// ofWarranty keeps the claims or documents of a warranty, if the key is set.
func (l *list) ofWarranty(k warranty.WarrantyKey) {
	switch {
	case k.Reference != "":
		l.narrow(`a.parent_id = (SELECT w.id FROM warranties w WHERE w.reference = ?)`, k.Reference)
	case !k.ID.IsZero():
		l.narrow(`a.parent_id = ?`, k.ID)
	}
}

func (l *list) add(to *strings.Builder, condition string, args []any) {
	for _, arg := range args {
		l.args = append(l.args, arg)
		condition = strings.Replace(condition, "?", fmt.Sprintf("$%d", listArgs+len(l.args)), 1)
	}
	to.WriteString(` AND (` + condition + `)`)
}

// isWhole reports whether the list has no narrowing condition, so that its index can answer.
func (l *list) isWhole() bool { return l.narrowed.Len() == 0 }

// leftJoins turns joins into left joins.
func leftJoins(joins string) string { return strings.ReplaceAll(joins, `JOIN `, `LEFT JOIN `) }

// values returns the arguments of the statement.
func (l *list) values(floor, top warranty.ID, others ...any) []any {
	return slices.Concat([]any{l.user, l.kind, floor, top}, l.args, others)
}

// newest is an id above all others.
var newest = func() (id warranty.ID) {
	for i := range id {
		id[i] = 0xFF
	}
	return id
}()

// page reads one page of a list that is short or narrowed, newest first, and the exact total, from one snapshot. columns
// must start with the id; joins may use a.item_id. A list that turns out to be long will be indexed.
func page[T any](ctx context.Context, s *Store, l *list, columns, joins string, p warranty.Paging,
	read func(*engine.Row) T) (rows []T, total int64, err error) {
	matches := `count(*)`
	if l.filter.Len() > 0 {
		matches = `count(CASE WHEN ` + strings.TrimPrefix(l.filter.String(), ` AND `) + ` THEN 1 END)`
	}
	from := ` FROM access a WHERE a.user_id = $1 AND a.kind = $2 AND a.item_id > $3 AND a.item_id <= $4` + l.narrowed.String()
	n := listArgs + len(l.args)
	statement := fmt.Sprintf(`SELECT n.length, n.matches, %s FROM (SELECT count(*) AS length, %s AS matches%s) n
		LEFT JOIN (SELECT a.item_id, a.user_id, a.roles /*sqlite: , a.item_row */%s%s
			ORDER BY a.item_id DESC LIMIT $%d OFFSET $%d) a ON 1 = 1 %s ORDER BY a.item_id DESC`,
		columns, matches, from, from, l.filter.String(), n+1, n+2, joins)
	rows, length := make([]T, 0, p.Limit), int64(0)
	err = s.db.Query(ctx, statement, func(r *engine.Row) error {
		length, total = r.Int(), r.Int()
		if !r.Null() {
			rows = append(rows, read(r))
		}
		return nil
	}, l.values(warranty.ID{}, newest, p.Limit, p.Offset())...)
	if l.isWhole() {
		s.segments.noteLength(l.user, length)
	}
	return rows, total, err
}
