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
	Made    bool   // it was looked for before
	Picture []byte // empty if there is none
}

// Thumbnail returns the small picture of a document that the user has access to.
func (s *Store) Thumbnail(ctx context.Context, user, id warranty.ID) (Thumbnail, error) {
	var t Thumbnail
	err := queryRow(ctx, s.db, `SELECT `+documentColumns+`, d.storage_key, d.uploader_id, a.roles, p.content
		FROM access a JOIN documents d ON d.id = a.item_id JOIN warranties w ON w.id = d.warranty_id
			LEFT JOIN thumbnails p ON p.storage_key = d.storage_key
		WHERE a.user_id = $1 AND a.kind = 3 AND a.item_id = $2`, func(r *engine.Row) {
		t.File = readFile(r)
		if t.Made = !r.Null(); t.Made {
			t.Picture = append([]byte{}, r.Bytes()...)
		}
	}, user, id)
	return t, err
}

// InsertThumbnail keeps the small picture of a file. Several replicas may have made it.
func (t *Tx) InsertThumbnail(storageKey string, picture []byte, now time.Time) error {
	return t.later(`INSERT INTO thumbnails (storage_key, content, made_at) VALUES ($1, $2, $3)
		ON CONFLICT (storage_key) DO NOTHING`, storageKey, picture, now)
}

// sweepThumbnails deletes the small pictures of files that are gone.
func (t *Tx) sweepThumbnails() error {
	return t.later(`DELETE FROM thumbnails WHERE NOT EXISTS
			(SELECT 1 FROM documents d WHERE d.storage_key = thumbnails.storage_key)
		AND NOT EXISTS (SELECT 1 FROM held_files h WHERE h.storage_key = thumbnails.storage_key)`)
}
