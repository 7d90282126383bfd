package store

import (
	"context"
	"encoding/hex"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// Version is a file that was replaced by another one.
type Version struct {
	ID         warranty.ID
	FileName   string
	SizeBytes  int64
	ReplacedAt time.Time
}

// heldReplaced is the state of a replaced file.
const heldReplaced = 2

// Versions lists the files of a document that an account replaced since a time, newest first.
func (s *Store) Versions(ctx context.Context, account, document warranty.ID, since time.Time) (list []Version, err error) {
	err = s.db.Query(ctx, `SELECT h.id, h.file_name, h.size_bytes, h.since FROM held_files h
		JOIN documents d ON d.id = h.replaced_id AND d.warranty_id = h.warranty_id
		WHERE h.account_id = $1 AND h.state = 2 AND h.since > $3 AND h.replaced_id = $2 ORDER BY h.since DESC, h.id DESC LIMIT 20`,
		func(r *engine.Row) error {
			list = append(list, Version{ID: r.ID(), FileName: r.Text(), SizeBytes: r.Int(), ReplacedAt: r.Time()})
			return nil
		}, account, document, since)
	return list, err
}

// RenameDocument changes the name of a document of a locked warranty.
func (t *Tx) RenameDocument(d warranty.Document) error {
	if err := t.exactlyOne(`UPDATE documents SET file_name = $2, search = $3 WHERE id = $1`,
		d.ID, d.FileName, documentSearch(d)); err != nil {
		return err
	}
	return t.documentChanged(d)
}

// documentChanged notes a change of a document for lists and indexes.
func (t *Tx) documentChanged(d warranty.Document) error {
	if err := t.noteChild(d.ID, d.WarrantyID); err != nil {
		return err
	}
	return t.childChanged(kindDocument, d.ID, d.WarrantyID)
}

func sumOf(d warranty.Document) ([]byte, error) { return hex.DecodeString(d.SHA256) }

// documentSearch returns the text of a document that is searched.
func documentSearch(d warranty.Document) string {
	return warranty.Fold(d.FileName + "\n" + d.Type.String())
}

// ReplaceFile gives a document of a locked warranty another file. The account keeps the present one under the id
// version.
func (t *Tx) ReplaceFile(d warranty.Document, storageKey string, version, account warranty.ID, now time.Time) error {
	if err := t.exactlyOne(`INSERT INTO held_files (id, state, since, account_id, replaced_id, warranty_id, claim_id,
			uploader_id, file_name, type, content_type, size_bytes, sha256, storage_key, created_at)
		SELECT $2, $3, $4, $5, id, warranty_id, claim_id, uploader_id, file_name, type, content_type,
			size_bytes, sha256, storage_key, created_at FROM documents WHERE id = $1`,
		d.ID, version, heldReplaced, now, account); err != nil {
		return err
	}
	sum, err := sumOf(d)
	if err != nil {
		return err
	}
	if err := t.exactlyOne(`UPDATE documents SET file_name = $2, search = $3, content_type = $4, size_bytes = $5,
			sha256 = $6, storage_key = $7, created_at = $8 WHERE id = $1`,
		d.ID, d.FileName, documentSearch(d), d.ContentType, d.SizeBytes, sum, storageKey, d.CreatedAt); err != nil {
		return err
	}
	return t.documentChanged(d)
}

// TakeVersion removes a file of a document of a locked warranty that an account replaced since a time, to restore it.
func (t *Tx) TakeVersion(account, document, id warranty.ID, since time.Time) (f KeptFile, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT `+keptColumns+` FROM held_files h WHERE h.account_id = $1 AND h.state = 2
		AND h.replaced_id = $2 AND h.id = $3 AND h.since > $4 /*pg: FOR UPDATE */`,
		func(r *engine.Row) { f = readKept(r) }, account, document, id, since)
	if err != nil {
		return f, err
	}
	return f, t.exactlyOne(`DELETE FROM held_files WHERE id = $1 AND state = 2`, id)
}

// ExpireVersions deletes files that were replaced until a time, and returns their number.
func (t *Tx) ExpireVersions(by, now time.Time) (int, error) {
	return t.dropHeld(now, `state = 2 AND since <= $1`, by)
}

// SameDocument returns the oldest document of a warranty with this content that the user has access to and that
// belongs to no claim, or ErrNotFound.
func (s *Store) SameDocument(ctx context.Context, user, parent warranty.ID, sha256 string) (d warranty.Document, err error) {
	sum, err := sumOf(warranty.Document{SHA256: sha256})
	if err != nil {
		return d, err
	}
	err = queryRow(ctx, s.db, `SELECT `+documentColumns+` FROM documents d JOIN warranties w ON w.id = d.warranty_id
		WHERE d.warranty_id = $2 AND d.sha256 = $3 AND d.claim_id IS NULL
			AND EXISTS (SELECT 1 FROM access a WHERE a.user_id = $1 AND a.kind = 3 AND a.item_id = d.id)
		ORDER BY d.id LIMIT 1`, func(r *engine.Row) { d = readDocument(r) }, user, parent, sum)
	return d, err
}
