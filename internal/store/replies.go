package store

import (
	"context"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

const replyColumns = `r.id, r.title, r.body, r.created_at, r.updated_at`

func readReply(r *engine.Row) warranty.SavedReply {
	return warranty.SavedReply{ID: r.ID(), Title: r.Text(), Body: r.Text(), CreatedAt: r.Time(), UpdatedAt: r.Time()}
}

// Replies lists the saved replies of an account, by age, and returns their total. An account has at most
// warranty.MaxReplies.
func (s *Store) Replies(
	ctx context.Context, account warranty.ID, p warranty.Paging,
) (list []warranty.SavedReply, total int64, err error) {
	err = s.db.Query(ctx, `SELECT `+replyColumns+` FROM saved_replies r WHERE r.account_id = $1 ORDER BY r.id`,
		func(r *engine.Row) error {
			reply := readReply(r)
			if total++; total > p.Offset() && len(list) < p.Limit {
				list = append(list, reply)
			}
			return nil
		}, account)
	return list, total, err
}

const replyOf = `SELECT ` + replyColumns + ` FROM saved_replies r WHERE r.account_id = $1 AND r.id = $2`

// Reply returns a saved reply of an account.
func (s *Store) Reply(ctx context.Context, account, id warranty.ID) (reply warranty.SavedReply, err error) {
	err = queryRow(ctx, s.db, replyOf, func(r *engine.Row) { reply = readReply(r) }, account, id)
	return reply, err
}

// Reply returns a saved reply of a locked account.
func (t *Tx) Reply(account, id warranty.ID) (reply warranty.SavedReply, err error) {
	err = queryRow(t.ctx, t.tx, replyOf, func(r *engine.Row) { reply = readReply(r) }, account, id)
	return reply, err
}

// CountReplies counts the saved replies of a locked account.
func (t *Tx) CountReplies(account warranty.ID) (n int64, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT count(*) FROM saved_replies WHERE account_id = $1`,
		func(r *engine.Row) { n = r.Int() }, account)
	return n, err
}

// InsertReply adds a saved reply to a locked account.
func (t *Tx) InsertReply(account warranty.ID, r warranty.SavedReply) error {
	return t.later(`INSERT INTO saved_replies (id, account_id, title, body, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6)`, r.ID, account, r.Title, r.Body, r.CreatedAt, r.UpdatedAt)
}

// UpdateReply changes a saved reply of a locked account.
func (t *Tx) UpdateReply(account warranty.ID, r warranty.SavedReply) error {
	return t.exactlyOne(`UPDATE saved_replies SET title = $3, body = $4, updated_at = $5 WHERE account_id = $1 AND id = $2`,
		account, r.ID, r.Title, r.Body, r.UpdatedAt)
}

// DeleteReply removes a saved reply of a locked account.
func (t *Tx) DeleteReply(account, id warranty.ID) error {
	return t.exactlyOne(`DELETE FROM saved_replies WHERE account_id = $1 AND id = $2`, account, id)
}
