package store

import (
	"context"
	"encoding/json"

	"warranty.example/svc/warranty"
)

// InsertEvent adds to the history of a warranty or a token, by the principal.
// There is no way to change or remove an event.
func (t *Tx) InsertEvent(thread warranty.ID, e warranty.Event, actor warranty.ID) error {
	changes, err := json.Marshal(e.Changes)
	if err != nil {
		return err
	}
	return t.later(`INSERT INTO history (thread_id, id, at, actor_id, actor, door, token_name, action, subject_id, changes)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		thread, e.ID, e.At, actor, e.Actor, int(e.Door), e.TokenName, int(e.Action), e.SubjectID, string(changes))
}

// WarrantyHistory lists the events of a warranty that the user may see, and counts them all.
func (s *Store) WarrantyHistory(ctx context.Context, user, id warranty.ID, p warranty.Paging) ([]warranty.Event, int64, error) {
	return s.history(ctx, `EXISTS (SELECT 1 FROM access WHERE user_id = $1 AND kind = 1 AND item_id = $2)`, user, id, p)
}

// TokenHistory lists the events of a token that is the user's, and counts them all.
func (s *Store) TokenHistory(ctx context.Context, user, id warranty.ID, p warranty.Paging) ([]warranty.Event, int64, error) {
	return s.history(ctx, `EXISTS (SELECT 1 FROM tokens WHERE user_id = $1 AND id = $2)`, user, id, p)
}

// history reads one page of a thread for somebody to whom the condition allows it.
func (s *Store) history(ctx context.Context, allowed string, user, thread warranty.ID, p warranty.Paging) ([]warranty.Event, int64, error) {
	var list []warranty.Event
	total, found := int64(0), false
	err := s.engine.query(ctx, `SELECT n.total, h.id, h.at, h.actor, h.door, h.token_name, h.action, h.subject_id, h.changes
		FROM (SELECT count(*) AS total FROM history WHERE thread_id = $2) n
		LEFT JOIN (SELECT * FROM history WHERE thread_id = $2 ORDER BY id DESC LIMIT $3 OFFSET $4) h ON 1 = 1
		WHERE `+allowed+` ORDER BY h.id DESC`,
		func(r Row) error {
			total, found = r.Int(0), true
			if r.Null(1) {
				return nil
			}
			e := warranty.Event{ID: r.ID(1), At: instant(r, 2), Actor: r.Text(3), Door: warranty.Door(r.Int(4)), TokenName: optionalText(r, 5),
				Action: warranty.Action(r.Int(6)), SubjectID: r.ID(7)}
			list = append(list, e)
			return json.Unmarshal([]byte(r.Text(8)), &list[len(list)-1].Changes)
		}, user, thread, p.Limit, p.Offset())
	if err == nil && !found {
		err = warranty.ErrNotFound
	}
	return list, total, err
}
