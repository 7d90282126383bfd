package store

import (
	"context"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// OperatorEvent is something that an operator did.
type OperatorEvent struct {
	warranty.Event
	ActorID warranty.ID // zero for a command
	Account *string     // address of the account that it was done to, if any
}

// byOperators is the condition of the index history_by_operators: the actions of operators, and commands.
const byOperators = `(h.action >= ` + firstOperatorAction + ` AND h.action <= ` + lastOperatorAction + `
	OR h.door = ` + doorOperator + `)`

// OperatorHistory lists what operators did, newest first, and returns the total.
func (s *Store) OperatorHistory(ctx context.Context, p warranty.Paging) (list []OperatorEvent, total int64, err error) {
	err = queryRow(ctx, s.db, `SELECT count(*) FROM history h WHERE `+byOperators,
		func(r *engine.Row) { total = r.Int() })
	if err != nil {
		return nil, 0, err
	}
	err = s.db.Query(ctx, `SELECT h.actor_id, u.email, `+eventColumns+`
		FROM (SELECT * FROM history h WHERE `+byOperators+` ORDER BY h.id DESC LIMIT $1 OFFSET $2) h
		LEFT JOIN users u ON u.id = h.thread_id ORDER BY h.id DESC`, func(r *engine.Row) error {
		e := OperatorEvent{ActorID: r.ID(), Account: r.OptionalText()}
		var err error
		e.Event, err = readEvent(r)
		list = append(list, e)
		return err
	}, p.Limit, p.Offset())
	return list, total, err
}

// AccountHistory lists the latest events of an account.
func (s *Store) AccountHistory(ctx context.Context, id warranty.ID, limit int) (list []warranty.Event, err error) {
	err = s.db.Query(ctx, `SELECT `+eventColumns+` FROM history h WHERE h.thread_id = $1 ORDER BY h.id DESC LIMIT $2`,
		func(r *engine.Row) error {
			e, err := readEvent(r)
			list = append(list, e)
			return err
		}, id, limit)
	return list, err
}
