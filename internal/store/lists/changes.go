package lists

import (
	"context"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// changeNumber is what a change adds to n. It is random, so that not even a database that was restored
// from a backup repeats a sum.
const changeNumber = `/*pg: 1 + CAST(floor(random() * 2147483647) AS BIGINT) */
	/*sqlite: 1 + (random() & 2147483647) */`

// NoteChanged notes that records changed, for every indexed list that contains them. The condition
// selects access rows a, so it must run before they are deleted and after they are inserted.
func NoteChanged(ctx context.Context, tx engine.Tx, which string, args ...any) error {
	return tx.Later(ctx, `INSERT INTO index_pending (list, item_id, n)
		SELECT l.list, a.item_id, `+changeNumber+` FROM access a
			JOIN index_lists l ON l.user_id = a.user_id AND l.kind = a.kind
		WHERE `+which+` /*pg: ORDER BY l.list, a.item_id */
		ON CONFLICT (list, item_id) DO UPDATE SET n = index_pending.n + excluded.n`, args...)
}

// NoteWarranty notes that a warranty changed, and with it its claims and documents, for everyone who can
// see it.
func NoteWarranty(ctx context.Context, tx engine.Tx, id warranty.ID) error {
	return NoteChanged(ctx, tx, `a.parent_id = $1`, id)
}

// NoteChild notes that a claim or document changed, and with it whether its warranty has an open claim.
func NoteChild(ctx context.Context, tx engine.Tx, item, parent warranty.ID) error {
	return NoteChanged(ctx, tx, `a.parent_id = $1 AND a.item_id IN ($1, $2)`, parent, item)
}

// NoteNew notes a warranty that was just inserted, for the list of the only user who can see it.
func NoteNew(ctx context.Context, tx engine.Tx, user, id warranty.ID) error {
	return tx.Later(ctx, `INSERT INTO index_pending (list, item_id, n)
		SELECT l.list, CAST($2 AS UUID), `+changeNumber+` FROM index_lists l WHERE l.user_id = $1 AND l.kind = `+SQLWarranties+`
		ON CONFLICT (list, item_id) DO UPDATE SET n = index_pending.n + excluded.n`, user, id)
}
