package store

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"warranty.example/svc/warranty"
)

// list is a question for one page of what a person may see. The person is not
// optional: there is no way to ask without.
type list struct {
	user warranty.ID
	kind kind
	// filter is on the columns of access alone, so that it can be counted in blocks.
	filter strings.Builder
	// joins and narrowed are what another table or another index answers; such a
	// list is counted anew each time.
	joins, narrowed strings.Builder
	args            []any
}

// listArgs are the arguments before those of the conditions: the person, the kind,
// and the two entries between which the page lies.
const listArgs = 4

func listOf(user warranty.ID, k kind) *list { return &list{user: user, kind: k} }

// and adds a condition on access whose arguments stand as question marks.
func (l *list) and(condition string, args ...any) { l.add(&l.filter, condition, args) }

// narrow adds a condition that access can not answer by itself, and the join that it needs.
func (l *list) narrow(join, condition string, args ...any) {
	if join != "" {
		l.joins.WriteString(" " + join)
	}
	l.add(&l.narrowed, condition, args)
}

func (l *list) add(to *strings.Builder, condition string, args []any) {
	for _, arg := range args {
		l.args = append(l.args, arg)
		condition = strings.Replace(condition, "?", fmt.Sprintf("$%d", listArgs+len(l.args)), 1)
	}
	to.WriteString(` AND (` + condition + `)`)
}

// counted tells whether the list can be counted in blocks.
func (l *list) counted() bool { return l.narrowed.Len() == 0 }

// searches tells whether the list reads another table to find its entries.
func (l *list) searches() bool { return l.joins.Len() > 0 }

// key tells lists apart by what they filter on.
func (l *list) key() string {
	if l.filter.Len() == 0 {
		return ""
	}
	key := []byte(l.filter.String())
	for _, arg := range l.args {
		key = fmt.Append(key, "\x00", arg) // no text has such a character
	}
	return string(key)
}

const everything = math.MaxInt64 - 1

// sql is the statement of a page: the list's epoch, the entries that no block has
// counted and how many of them fit, and the rows, all of one moment. The rows lie
// between two entries, and others may be named.
func (l *list) sql(columns, joins string, named bool) string {
	fits := `count(*)`
	if l.filter.Len() > 0 {
		fits = `count(CASE WHEN ` + strings.TrimPrefix(l.filter.String(), ` AND `) + ` THEN 1 END)`
	}
	from := ` FROM access a` + l.joins.String() + ` WHERE a.user_id = $1 AND a.kind = $2` + l.narrowed.String()
	n := listArgs + len(l.args)
	rows := fmt.Sprintf(`SELECT a.item_id, a.roles /*sqlite: , a.item_row */%s%s AND a.item_id > $3 AND a.item_id <= $4 ORDER BY a.item_id DESC LIMIT $%d OFFSET $%d`,
		from, l.filter.String(), n+3, n+4)
	if named {
		// PostgreSQL plans for the list of a usual person, whom it would be cheaper to
		// go through; the limit keeps it from that.
		rows = fmt.Sprintf(`SELECT * FROM (%s) a UNION ALL SELECT a.item_id, a.roles /*sqlite: , a.item_row */ FROM
			/*pg: json_array_elements_text($%[2]d) n CROSS JOIN LATERAL
				(SELECT * FROM access a WHERE a.user_id = $1 AND a.kind = $2 AND a.item_id = n.value::uuid LIMIT 1) a */
			/*sqlite: access a WHERE a.user_id = $1 AND a.kind = $2 AND a.item_id IN (SELECT unhex(value, '-') FROM json_each($%[2]d)) */`, rows, n+5)
	}
	return fmt.Sprintf(`SELECT COALESCE((SELECT epoch FROM list_epochs WHERE user_id = $1 AND kind = $2), 0), n.tail, n.fits, %s
		FROM (SELECT count(*) AS tail, %s AS fits FROM (SELECT a.* %s AND a.item_id > $%d LIMIT $%d) a) n
		LEFT JOIN (%s) a ON 1 = 1 %s ORDER BY a.item_id DESC`, columns, fits, from, n+1, n+2, rows, joins)
}

// values are the statement's arguments.
func (l *list) values(floor, top warranty.ID, others ...any) []any {
	return slices.Concat([]any{l.user, l.kind, floor, top}, l.args, others)
}

// answer is what the statement of a page tells beside its rows.
type answer struct{ epoch, tail, fits int64 }

// page reads one page, newest first, and the exact total. columns begin with the
// id; joins may use a.item_id. A list that grew long is counted in blocks
// beforehand, and the answer says whether they still hold.
func page[T any](ctx context.Context, s *Store, l *list, columns, joins string, p warranty.Paging, read func(Row, int) T) (rows []T, total int64, err error) {
	if l.searches() {
		giveBack, err := s.searches.take(ctx, l.user)
		if err != nil {
			return nil, 0, err
		}
		defer giveBack()
	}
	most := int64(everything)
	var b *blocks
	if l.counted() {
		most = s.lists.longest()
		b, err = s.lists.remembered(ctx, s, l)
	}
	for try := 0; err == nil; try++ {
		if try >= maxTries {
			b, most = nil, everything // it changes faster than blocks can be counted
		}
		got, at := answer{}, b.seek(p, b.guess())
		args := l.values(at.floor, at.top, b.settled(), most+1, p.Limit, at.skip)
		named := b.named(at)
		if named != "" {
			args = append(args, named)
		}
		rows = make([]T, 0, p.Limit)
		err = s.engine.query(ctx, l.sql(columns, joins, named != ""), func(r Row) error {
			got = answer{r.Int(0), r.Int(1), r.Int(2)}
			if !r.Null(3) {
				rows = append(rows, read(r, 3))
			}
			return nil
		}, args...)
		switch {
		case err != nil:
		case b.stale(got), got.tail > most:
			// What was remembered does not hold any more, or not far enough. Behind
			// the next one the rest is counted whole, however long it is.
			most = everything
			b, err = s.lists.bring(ctx, s, l)
		case b.seek(p, got.fits) == at:
			b.expect(got.fits)
			return rows, b.total() + got.fits, nil
		default:
			b.expect(got.fits)
		}
	}
	return nil, 0, err
}

// maxTries is how often a page is looked for with what is remembered of its list.
const maxTries = 4
