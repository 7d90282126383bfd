package store

import (
	"context"
	"encoding/json"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// Notes lists the notes of an account about a claim, newest first, and returns their total.
func (s *Store) Notes(
	ctx context.Context, account, claim warranty.ID, p warranty.Paging,
) (list []warranty.Note, total int64, err error) {
	err = s.db.Query(ctx, `SELECT n.id, n.name, n.body, n.created_at FROM claim_notes n
		WHERE n.claim_id = $1 AND n.account_id = $2 ORDER BY n.id DESC`, func(r *engine.Row) error {
		note := warranty.Note{ID: r.ID(), Author: r.Text(), Body: r.Text(), CreatedAt: r.Time(), ClaimID: claim}
		if total++; total > p.Offset() && len(list) < p.Limit {
			list = append(list, note)
		}
		return nil
	}, claim, account)
	return list, total, err
}

// CountNotes counts the notes of an account about a locked claim.
func (t *Tx) CountNotes(account, claim warranty.ID) (n int64, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT count(*) FROM claim_notes WHERE claim_id = $1 AND account_id = $2`,
		func(r *engine.Row) { n = r.Int() }, claim, account)
	return n, err
}

// InsertNote adds a note of a member to a locked claim.
func (t *Tx) InsertNote(account, user warranty.ID, n warranty.Note) error {
	return t.later(`INSERT INTO claim_notes (id, claim_id, account_id, user_id, name, body, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`, n.ID, n.ClaimID, account, user, n.Author, n.Body, n.CreatedAt)
}

// ClaimFiles returns the files of claims that an account may see, oldest first.
func (s *Store) ClaimFiles(
	ctx context.Context, account warranty.ID, list []warranty.Claim,
) (map[warranty.ID][]warranty.MessageDocument, error) {
	files := map[warranty.ID][]warranty.MessageDocument{}
	ids := make([]warranty.ID, len(list))
	for i, c := range list {
		ids[i] = c.ID
	}
	param, err := json.Marshal(ids)
	if err != nil || len(ids) == 0 {
		return files, err
	}
	err = s.db.Query(ctx, `SELECT d.claim_id, d.id, d.file_name, d.content_type, d.size_bytes
		FROM access c JOIN documents d ON d.warranty_id = c.parent_id AND d.claim_id = c.item_id
		JOIN access a ON a.user_id = c.user_id AND a.kind = `+kindDocument+` AND a.item_id = d.id
		WHERE c.user_id = $1 AND c.kind = `+kindClaim+` AND c.item_id IN (SELECT
			/*pg: CAST(value AS UUID) FROM json_array_elements_text($2) */
			/*sqlite: unhex(value, '-') FROM json_each($2) */) ORDER BY d.id`, func(r *engine.Row) error {
		claim := r.ID()
		d := warranty.MessageDocument{ID: r.ID(), FileName: r.Text(), ContentType: r.Text(), SizeBytes: r.Int()}
		files[claim] = append(files[claim], d)
		return nil
	}, account, string(param))
	return files, err
}
