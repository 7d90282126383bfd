package lists

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"warranty.example/svc/internal/find"
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// Shape is how the records of a page are read.
type Shape[T any] struct {
	// Columns start with the id. Joins may use the access row a.
	Columns, Joins string
	Read           func(*engine.Row) T
	ID             func(T) warranty.ID
	// More are the columns that Record needs in addition, to return what a question looks at.
	More   func(*find.Question) string
	Record func(*find.Question, T, *engine.Row) find.Record
}

// Page returns a page of a list whose conditions access alone can answer, newest first, and its total: from the index
// of a long list, and by SQL otherwise. question returns the same conditions for the index.
func Page[T any](
	ctx context.Context, x *Index, l *List, question func() *find.Question, p warranty.Paging, sh *Shape[T],
) (rows []T, total int64, err error) {
	if l.isWhole() {
		if rows, total, ok, err := knownPage(ctx, x, l.Key, question(), p, sh, l.filter.Len() == 0); ok || err != nil {
			return rows, total, err
		}
		found, err := x.With(ctx, l.Key, func(q engine.Querier, s *Snapshot) error {
			answer, err := s.Ask(question(), p.Offset(), p.Limit)
			if err != nil {
				return err
			}
			total = answer.Total
			rows, err = Rows(ctx, q, l.Key, answer.IDs, sh)
			return err
		})
		if found || err != nil {
			return rows, total, err
		}
	}
	return shortPage(ctx, x, l, p, sh)
}

// shortPage reads one page of a list that is short or narrowed and the exact total, from one snapshot. A list that
// turns out to be long will be indexed.
func shortPage[T any](
	ctx context.Context, x *Index, l *List, p warranty.Paging, sh *Shape[T],
) (rows []T, total int64, err error) {
	matches := `count(*)`
	if l.filter.Len() > 0 {
		matches = `count(CASE WHEN ` + strings.TrimPrefix(l.filter.String(), ` AND `) + ` THEN 1 END)`
	}
	from := ` FROM access a WHERE a.user_id = $1 AND a.kind = $2 AND a.item_id >= $3 AND a.item_id <= $4` +
		l.narrowed.String()
	n := listArgs + len(l.args)
	statement := fmt.Sprintf(`SELECT n.length, n.matches, %s FROM (SELECT count(*) AS length, %s AS matches%s) n
		LEFT JOIN (SELECT a.item_id, a.user_id, a.roles /*sqlite: , a.item_row */%s%s
			ORDER BY a.item_id DESC LIMIT $%d OFFSET $%d) a ON 1 = 1 %s ORDER BY a.item_id DESC`,
		sh.Columns, matches, from, from, l.filter.String(), n+1, n+2,
		strings.ReplaceAll(sh.Joins, `JOIN `, `LEFT JOIN `))
	rows, length := make([]T, 0, p.Limit), int64(0)
	err = x.db.Query(ctx, statement, func(r *engine.Row) error {
		length, total = r.Int(), r.Int()
		if !r.Null() {
			rows = append(rows, sh.Read(r))
		}
		return nil
	}, l.values(p.Limit, p.Offset())...)
	if l.isWhole() {
		x.NoteLength(l.User, length)
	}
	return rows, total, err
}

// Rows reads the records with the given ids of a list, in their order.
func Rows[T any](
	ctx context.Context, q engine.Querier, key Key, ids []warranty.ID, sh *Shape[T],
) ([]T, error) {
	if len(ids) == 0 {
		return []T{}, nil
	}
	param, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	byID := make(map[warranty.ID]T, len(ids))
	err = q.Query(ctx, `SELECT `+sh.Columns+` FROM (`+accessOf+`) a `+sh.Joins, func(r *engine.Row) error {
		row := sh.Read(r)
		byID[sh.ID(row)] = row
		return nil
	}, key.User, key.Kind, string(param))
	return inOrderOf(ids, byID), err
}

// accessOf selects the access rows of the user $1 to the records of the kind $2 with the ids $3. PostgreSQL plans for a
// typical list, where a scan would be cheaper. The limit prevents that.
const accessOf = `/*pg: SELECT a.* FROM json_array_elements_text($3) n CROSS JOIN LATERAL
		(SELECT * FROM access a WHERE a.user_id = $1 AND a.kind = $2 AND a.item_id = n.value::uuid LIMIT 1) a */
	/*sqlite: SELECT * FROM access a WHERE a.user_id = $1 AND a.kind = $2
		AND a.item_id IN (SELECT unhex(value, '-') FROM json_each($3)) */`

// accessBetween selects up to $5 access rows of the user $1 to the records of the kind $2 whose ids are from $3 to $4.
const accessBetween = `SELECT * FROM access a WHERE a.user_id = $1 AND a.kind = $2 AND a.item_id >= $3 AND a.item_id <= $4
	ORDER BY a.item_id DESC LIMIT $5`

// inOrderOf returns the records in the order of their ids.
func inOrderOf[T any](ids []warranty.ID, byID map[warranty.ID]T) []T {
	rows := make([]T, 0, len(ids))
	for _, wanted := range ids {
		if row, ok := byID[wanted]; ok {
			rows = append(rows, row)
		}
	}
	return rows
}

// pageOf returns the elements of a page.
func pageOf[T any](all []T, p warranty.Paging) []T {
	from := min(p.Offset(), int64(len(all)))
	return all[from:min(from+int64(p.Limit), int64(len(all)))]
}
