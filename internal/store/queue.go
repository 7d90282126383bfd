package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/store/lists"
	"warranty.example/svc/warranty"
)

// queueList is a list of claims in one queue that the index of queues answers: a condition on its columns and an order.
type queueList struct {
	where string
	args  []any
	// order has the columns by which claims are sorted. Ties and claims without another order are sorted by id.
	order []string
	desc  bool
}

// queueList returns the list of claims that match in, and whether the index of queues answers it.
func (s *Store) queueList(account, person warranty.ID, in warranty.ListClaims) (q queueList, ok bool, err error) {
	number, ok := queues[in.Queue]
	if !ok || in.Q != "" || in.Customer != "" || in.Status != "" || in.WaitingFor != "" || in.UpdatedSince != nil ||
		!in.WarrantyID.IsZero() {
		return q, false, nil
	}
	q.order = []string{`a.queued_at`, `a.item_id`}
	switch done := in.Queue == warranty.WorkDone; {
	case in.Sort == warranty.ClaimsByWaiting && !done:
	case in.Sort == warranty.ClaimsByUpdatedAt && done:
	case in.Sort == warranty.ClaimsByUpdatedAtDesc && done:
		q.desc = true
	case in.Sort == "", in.Sort == warranty.ClaimsByCreatedAtDesc:
		q.order, q.desc = q.order[1:], true
	default:
		return q, false, nil
	}
	assignee, err := in.AssigneeOf(person)
	if err != nil {
		return q, false, err
	}
	q.where, q.args = inQueues+`$1 AND a.queue = `+number, []any{account}
	switch {
	case assignee == nil:
	case assignee.IsZero():
		q.where += ` AND a.assignee IS NULL`
	default:
		q.add(` AND a.assignee = %s`, *assignee)
	}
	if in.Replied {
		q.where += ` AND ` + hasReplied
	}
	if in.Age != nil && in.Queue == warranty.WorkDone {
		q.where += ` AND 1 = 0` // done claims do not wait
	} else if in.Age != nil {
		q.add(` AND a.queued_at <= %s`, s.Now().AddDate(0, 0, -*in.Age))
	}
	return q, true, nil
}

// add adds a condition with an argument, for which it has %s.
func (q *queueList) add(condition string, arg any) {
	q.args = append(q.args, arg)
	q.where += fmt.Sprintf(condition, fmt.Sprintf(`$%d`, len(q.args)))
}

// sorted returns the order, or the opposite one.
func (q *queueList) sorted(backwards bool) string {
	if q.desc != backwards {
		return ` ORDER BY ` + strings.Join(q.order, ` DESC, `) + ` DESC`
	}
	return ` ORDER BY ` + strings.Join(q.order, `, `)
}

// page returns a page and the total.
func (q *queueList) page(
	ctx context.Context, db *engine.DB, p warranty.Paging,
) (list []warranty.Claim, total int64, err error) {
	n := len(q.args)
	statement := fmt.Sprintf(`SELECT n.total, %s FROM (SELECT count(*) AS total FROM %s) n
		LEFT JOIN (SELECT a.item_id, a.user_id, a.roles, a.queued_at FROM %s%s LIMIT $%d OFFSET $%d) a ON 1 = 1 %s%s`,
		claimColumns, q.where, q.where, q.sorted(false), n+1, n+2,
		strings.ReplaceAll(lists.JoinClaim, `JOIN `, `LEFT JOIN `), q.sorted(false))
	list = make([]warranty.Claim, 0, p.Limit)
	err = db.Query(ctx, statement, func(r *engine.Row) error {
		total = r.Int()
		if !r.Null() {
			list = append(list, readClaim(r))
		}
		return nil
	}, append(q.args[:n:n], p.Limit, p.Offset())...)
	return list, total, err
}

// place finds a claim in the list. Its neighbours are found in the index; only how many come before and after it is counted.
func (q *queueList) place(ctx context.Context, db *engine.DB, id warranty.ID) (p warranty.Place, err error) {
	n := len(q.args)
	before, after := ` < `, ` > `
	if q.desc {
		before, after = after, before
	}
	err = db.Read(ctx, func(r engine.Querier) error {
		p = warranty.Place{}
		var at int64 // queued_at
		found := false
		if err := r.Query(ctx, fmt.Sprintf(`SELECT a.queued_at FROM %s AND a.item_id = $%d`, q.where, n+1),
			func(r *engine.Row) error { at, found = r.Int(), true; return nil }, slices.Concat(q.args, []any{id})...); err != nil {
			return err
		}
		if !found {
			return r.Query(ctx, `SELECT n.total, a.item_id FROM (SELECT count(*) AS total FROM `+q.where+`) n
					LEFT JOIN (SELECT a.item_id FROM `+q.where+q.sorted(false)+` LIMIT 1) a ON 1 = 1`, func(r *engine.Row) error {
				p.Of, p.Next = r.Int(), r.OptionalID()
				return nil
			}, q.args...)
		}
		args := slices.Concat(q.args, []any{id})
		key, value := `a.item_id`, fmt.Sprintf(`$%d`, n+1)
		if len(q.order) > 1 {
			key, value, args = `(a.queued_at, a.item_id)`, fmt.Sprintf(`($%d, $%d)`, n+2, n+1), append(args, at)
		}
		earlier, later := q.where+` AND `+key+before+value, q.where+` AND `+key+after+value
		return r.Query(ctx, `SELECT (SELECT count(*) FROM `+earlier+`), (SELECT count(*) FROM `+later+`),
			(SELECT a.item_id FROM `+earlier+q.sorted(true)+` LIMIT 1), (SELECT a.item_id FROM `+later+q.sorted(false)+` LIMIT 1)`,
			func(r *engine.Row) error {
				p.At = r.Int() + 1
				p.Of = p.At + r.Int()
				p.Previous, p.Next = r.OptionalID(), r.OptionalID()
				return nil
			}, args...)
	})
	return p, err
}
