package store

import (
	"context"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// Thumbnail is the small picture of a document.
type Thumbnail struct {
	File
	Made    bool   // an attempt to make it has ended
	Picture []byte // empty if there is none
}

// Thumbnail returns the small picture of a document that the user has access to.
func (s *Store) Thumbnail(ctx context.Context, user, id warranty.ID) (Thumbnail, error) {
	var t Thumbnail
	err := queryRow(ctx, s.db, `SELECT `+documentColumns+`, d.storage_key, d.uploader_id, a.roles, p.content, p.tries
		FROM access a JOIN documents d ON d.id = a.item_id JOIN warranties w ON w.id = d.warranty_id
			LEFT JOIN thumbnails p ON p.storage_key = d.storage_key
		WHERE a.user_id = $1 AND a.kind = `+kindDocument+` AND a.item_id = $2`, func(r *engine.Row) {
		t.File = readFile(r)
		if !r.Null() {
			t.Picture = append([]byte{}, r.Bytes()...)
			t.Made = r.Int() == 0
		}
	}, user, id)
	return t, err
}

// TryThumbnail counts an attempt to make the small picture of a file, and reports whether it may begin. After most
// attempts that did not end, because a process died or a request ended, there is another one once the last was before
// since.
func (t *Tx) TryThumbnail(storageKey string, most int, now, since time.Time) (bool, error) {
	n, err := t.exec(`INSERT INTO thumbnails (storage_key, content, made_at, tries) VALUES ($1, $2, $3, 1)
		ON CONFLICT (storage_key) DO UPDATE SET tries = thumbnails.tries + 1, made_at = excluded.made_at
		WHERE thumbnails.tries > 0 AND (thumbnails.tries < $4 OR thumbnails.made_at < $5)`,
		storageKey, []byte{}, now, most, since)
	return n == 1, err
}

// KeepThumbnail keeps the small picture of a file, empty if it has none. Several replicas may have made it.
func (t *Tx) KeepThumbnail(storageKey string, picture []byte, now time.Time) error {
	return t.later(`UPDATE thumbnails SET content = $2, made_at = $3, tries = 0 WHERE storage_key = $1`,
		storageKey, picture, now)
}

// sweepThumbnails deletes the small pictures of files that are gone.
func (t *Tx) sweepThumbnails() error {
	return t.later(`DELETE FROM thumbnails WHERE NOT EXISTS
			(SELECT 1 FROM stored_files f WHERE f.storage_key = thumbnails.storage_key)`)
}
