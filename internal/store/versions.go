package store

import (
	"context"
	"encoding/hex"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/store/lists"
	"warranty.example/svc/warranty"
)

// Version is a file that was replaced by another one.
type Version struct {
	ID         warranty.ID
	FileName   string
	SizeBytes  int64
	ReplacedAt time.Time
	DocumentID warranty.ID // of the document that has another file now
	WarrantyID warranty.ID
	Product    string // empty if the account no longer sees the document
}

// ErasedAt returns when the file is erased.
func (v Version) ErasedAt() time.Time { return v.ReplacedAt.Add(warranty.TrashLifetime) }

// Versions lists the files of a document that an account replaced since a time, newest first.
func (s *Store) Versions(ctx context.Context, account, document warranty.ID, since time.Time) (list []Version, err error) {
	err = s.db.Query(ctx, `SELECT `+versionColumns+` FROM document_versions v
		JOIN documents d ON d.id = v.document_id AND d.warranty_id = v.warranty_id
		WHERE v.account_id = $1 AND v.replaced_at > $3 AND v.document_id = $2
		ORDER BY v.replaced_at DESC, v.id DESC LIMIT 20`,
		func(r *engine.Row) error {
			list = append(list, readVersion(r))
			return nil
		}, account, document, since)
	return list, err
}

const versionColumns = `v.id, v.file_name, v.size_bytes, v.replaced_at, v.document_id, v.warranty_id`

func readVersion(r *engine.Row) Version {
	return Version{
		ID: r.ID(), FileName: r.Text(), SizeBytes: r.Int(), ReplacedAt: r.Time(), DocumentID: r.ID(), WarrantyID: r.ID(),
	}
}

// AccountVersions lists the files that an account replaced since a time, the largest first, at most limit.
func (s *Store) AccountVersions(
	ctx context.Context, account warranty.ID, since time.Time, limit int,
) (list []Version, err error) {
	err = s.db.Query(ctx, `SELECT `+versionColumns+`, COALESCE((SELECT w.product_name FROM warranties w
			JOIN access a ON a.user_id = $1 AND a.kind = `+kindDocument+` AND a.item_id = v.document_id
			WHERE w.id = v.warranty_id), '')
		FROM document_versions v WHERE v.account_id = $1 AND v.replaced_at > $2
		ORDER BY v.size_bytes DESC, v.id LIMIT $3`, func(r *engine.Row) error {
		v := readVersion(r)
		v.Product = r.Text()
		list = append(list, v)
		return nil
	}, account, since, limit)
	return list, err
}

// Replaced returns the total size of the files that an account replaced, and when it replaced the last one.
func (s *Store) Replaced(ctx context.Context, account warranty.ID) (int64, *time.Time, error) {
	return replaced(ctx, s.db, account)
}

// Replaced is like Store.Replaced.
func (t *Tx) Replaced(account warranty.ID) (int64, *time.Time, error) {
	return replaced(t.ctx, t.tx, account)
}

func replaced(ctx context.Context, q engine.Querier, account warranty.ID) (sum int64, last *time.Time, err error) {
	err = queryRow(ctx, q, `SELECT CAST(COALESCE(sum(size_bytes), 0) AS BIGINT), max(replaced_at)
		FROM document_versions WHERE account_id = $1`,
		func(r *engine.Row) { sum, last = r.Int(), r.OptionalTime() }, account)
	return sum, last, err
}

// EraseVersion deletes a file that an account replaced since a time, and returns it and whether the account still sees
// the warranty. The account must be locked.
func (t *Tx) EraseVersion(account, id warranty.ID, since, now time.Time) (v Version, visible bool, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT `+versionColumns+`, CASE WHEN EXISTS (SELECT 1 FROM access a
			WHERE a.user_id = v.account_id AND a.kind = `+kindWarranty+` AND a.item_id = v.warranty_id) THEN 1
			ELSE 0 END
		FROM document_versions v WHERE v.account_id = $1 AND v.id = $2 AND v.replaced_at > $3 /*pg: FOR UPDATE */`,
		func(r *engine.Row) { v, visible = readVersion(r), r.Int() != 0 }, account, id, since)
	if err != nil {
		return v, false, err
	}
	_, err = t.dropFiles(`document_versions`, now, `id = $1`, id)
	return v, visible, err
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
	return lists.NoteChild(t.ctx, t.tx, d.ID, d.WarrantyID)
}

func sumOf(d warranty.Document) ([]byte, error) { return hex.DecodeString(d.SHA256) }

// documentSearch returns the text of a document that is searched.
func documentSearch(d warranty.Document) string {
	return warranty.Fold(d.FileName + "\n" + d.Type.String())
}

// ReplaceFile gives a document of a locked warranty another file. The account keeps the present one under the id
// version.
func (t *Tx) ReplaceFile(d warranty.Document, storageKey string, version, account warranty.ID, now time.Time) error {
	if err := t.exactlyOne(`INSERT INTO document_versions (id, replaced_at, account_id, document_id, warranty_id,
			file_name, content_type, size_bytes, sha256, storage_key)
		SELECT $2, $3, $4, id, warranty_id, file_name, content_type, size_bytes, sha256, storage_key
		FROM documents WHERE id = $1`, d.ID, version, now, account); err != nil {
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
func (t *Tx) TakeVersion(account, document, id warranty.ID, since time.Time) (f File, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT file_name, content_type, size_bytes, sha256, storage_key FROM document_versions
		WHERE account_id = $1 AND document_id = $2 AND id = $3 AND replaced_at > $4 /*pg: FOR UPDATE */`,
		func(r *engine.Row) {
			f.Document = warranty.Document{
				FileName: r.Text(), ContentType: r.Text(), SizeBytes: r.Int(), SHA256: hex.EncodeToString(r.Bytes()),
			}
			f.StorageKey = r.Text()
		}, account, document, id, since)
	if err != nil {
		return f, err
	}
	return f, t.exactlyOne(`DELETE FROM document_versions WHERE id = $1`, id)
}

// ExpireVersions deletes files that were replaced until a time, and returns their number.
func (t *Tx) ExpireVersions(by, now time.Time) (int, error) {
	return t.dropFiles(`document_versions`, now, `replaced_at <= $1`, by)
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
			AND EXISTS (SELECT 1 FROM access a WHERE a.user_id = $1 AND a.kind = `+kindDocument+` AND a.item_id = d.id)
		ORDER BY d.id LIMIT 1`, func(r *engine.Row) { d = readDocument(r) }, user, parent, sum)
	return d, err
}
