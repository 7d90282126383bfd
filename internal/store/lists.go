package store

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// list is a query for one page of the records that a user has access to. The user is required:
// there is no query without one.
type list struct {
	listKey
	// filter uses only columns of access, so that it can be counted in blocks.
	filter strings.Builder
	// narrowed uses another index. Such a list is counted on every request.
	narrowed strings.Builder
	// scanned means that the narrowing condition is checked for every record.
	scanned bool
	// source replaces the source of the kind, if it is set.
	source *source
	args   []any
	// quick makes page fail with errUncounted instead of counting many blocks.
	quick bool
	// uncounted is the number of blocks that a quick list would have to count, if that is known.
	uncounted int
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

// countable reports whether the list can be counted in blocks.
func (l *list) countable() bool { return l.narrowed.Len() == 0 }

// key identifies the filter and its arguments.
func (l *list) key() string {
	if l.filter.Len() == 0 {
		return ""
	}
	key := []byte(l.filter.String())
	for _, arg := range l.args {
		key = fmt.Append(key, "\x00", arg) // never part of a text
	}
	return string(key)
}

// leftJoins turns joins into left joins.
func leftJoins(joins string) string { return strings.ReplaceAll(joins, `JOIN `, `LEFT JOIN `) }

const unlimited = math.MaxInt64 - 1

// sql returns the statement of a page: the list's epoch, the number of entries in no block and how
// many of them match, and the rows, all from one snapshot. The rows are between two ids; rare adds
// rows by id.
func (l *list) sql(columns, joins string, rare bool) string {
	matches := `count(*)`
	if l.filter.Len() > 0 {
		matches = `count(CASE WHEN ` + strings.TrimPrefix(l.filter.String(), ` AND `) + ` THEN 1 END)`
	}
	from := ` FROM access a WHERE a.user_id = $1 AND a.kind = $2` + l.narrowed.String()
	n := listArgs + len(l.args)
	rows := fmt.Sprintf(`SELECT a.item_id, a.user_id, a.roles /*sqlite: , a.item_row */%s%s AND a.item_id > $3 AND a.item_id <= $4
		ORDER BY a.item_id DESC LIMIT $%d OFFSET $%d`,
		from, l.filter.String(), n+3, n+4)
	if rare {
		// PostgreSQL plans for a typical list, where a scan would be cheaper. The limit prevents
		// that.
		rows = fmt.Sprintf(`SELECT * FROM (%s) a UNION ALL SELECT a.item_id, a.user_id, a.roles /*sqlite: , a.item_row */ FROM
			/*pg: json_array_elements_text($%[2]d) n CROSS JOIN LATERAL
				(SELECT * FROM access a WHERE a.user_id = $1 AND a.kind = $2 AND a.item_id = n.value::uuid LIMIT 1) a */
			/*sqlite: access a WHERE a.user_id = $1 AND a.kind = $2
				AND a.item_id IN (SELECT unhex(value, '-') FROM json_each($%[2]d)) */`, rows, n+5)
	}
	return fmt.Sprintf(`SELECT COALESCE((SELECT epoch FROM list_epochs WHERE user_id = $1 AND kind = $2), 0),
			n.tail, n.matches, %s
		FROM (SELECT count(*) AS tail, %s AS matches FROM (SELECT a.* %s AND a.item_id > $%d LIMIT $%d) a) n
		LEFT JOIN (%s) a ON 1 = 1 %s ORDER BY a.item_id DESC`, columns, matches, from, n+1, n+2, rows, joins)
}

// values returns the arguments of the statement.
func (l *list) values(floor, top warranty.ID, others ...any) []any {
	return slices.Concat([]any{l.user, l.kind, floor, top}, l.args, others)
}

// pageCounts is the part of a page's result besides its rows.
type pageCounts struct{ epoch, tail, matches int64 }

// page reads one page, newest first, and the exact total. columns must start with the id; joins may
// use a.item_id. A long list is counted in blocks beforehand, and the result shows whether the
// counts are still valid.
func page[T any](ctx context.Context, s *Store, l *list, columns, joins string, p warranty.Paging,
	read func(*engine.Row) T) (rows []T, total int64, err error) {
	maxTail := int64(unlimited)
	var b *blocks
	if l.countable() {
		maxTail = s.lists.maxTail()
		b, err = s.lists.cached(ctx, s, l)
		if err == nil && b == nil && l.quick && p.Offset() > maxTail {
			err = errUncounted // the statement would skip as many entries
		}
	}
	for try := 0; err == nil; try++ {
		if try >= maxTries {
			b, maxTail = nil, unlimited // the list changes faster than blocks can be counted
		}
		got, at := pageCounts{}, b.seek(p, b.guess())
		args := l.values(at.floor, at.top, b.settled(), maxTail+1, p.Limit, at.skip)
		rare := b.rareIDs(at)
		if rare != "" {
			args = append(args, rare)
		}
		rows = make([]T, 0, p.Limit)
		err = s.db.Query(ctx, l.sql(columns, joins, rare != ""), func(r *engine.Row) error {
			got = pageCounts{r.Int(), r.Int(), r.Int()}
			if !r.Null() {
				rows = append(rows, read(r))
			}
			return nil
		}, args...)
		switch {
		case err != nil:
		case b.stale(got), got.tail > maxTail:
			// The counts are stale, or the tail is too long. After this refresh the tail is counted
			// completely, however long it is.
			maxTail = unlimited
			b, err = s.lists.refresh(ctx, s, l)
		case b.seek(p, got.matches) == at:
			b.expect(got.matches)
			return rows, b.total() + got.matches, nil
		default:
			b.expect(got.matches)
		}
	}
	return nil, 0, err
}

// maxTries bounds the attempts to read a page with cached counts.
const maxTries = 4
