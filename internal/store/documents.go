package store

import (
	"context"
	"encoding/hex"
	"time"

	"warranty.example/svc/internal/find"
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/store/lists"
	"warranty.example/svc/warranty"
)

const documentColumns = `d.id, d.claim_id, d.warranty_id, w.reference, w.product_name, d.file_name, d.type,
	d.content_type, d.size_bytes, d.sha256, d.created_at, d.message_id, d.filed,
	CASE WHEN ` + attachedDocument + ` THEN 1 ELSE 0 END, CASE WHEN ` + keepsDocument + ` THEN 1 ELSE 0 END`

func readDocument(r *engine.Row) warranty.Document {
	d := warranty.Document{
		ID:          r.ID(),
		ClaimID:     r.OptionalID(),
		Warranty:    readName(r),
		FileName:    r.Text(),
		Type:        enum[warranty.DocumentType](r),
		ContentType: r.Text(),
		SizeBytes:   r.Int(),
		SHA256:      hex.EncodeToString(r.Bytes()),
		CreatedAt:   r.Time(),
		MessageID:   r.OptionalID(),
		Filed:       r.Int() != 0,
		Attached:    r.Int() != 0,
		Kept:        r.Int() != 0,
	}
	d.WarrantyID = d.Warranty.ID
	return d
}

// Document returns the metadata of a document that the user has access to.
func (s *Store) Document(ctx context.Context, user, id warranty.ID) (warranty.Document, error) {
	var d warranty.Document
	err := queryRow(ctx, s.db, `SELECT `+documentColumns+`
		FROM access a JOIN documents d ON d.id = a.item_id JOIN warranties w ON w.id = d.warranty_id
		WHERE a.user_id = $1 AND a.kind = `+kindDocument+` AND a.item_id = $2`,
		func(r *engine.Row) { d = readDocument(r) }, user, id)
	return d, err
}

// Documents lists the metadata of the documents that the user has access to and that match in, and
// returns their total.
func (s *Store) Documents(
	ctx context.Context, user warranty.ID, in warranty.ListDocuments,
) ([]warranty.Document, int64, error) {
	l := lists.Of(user, lists.Documents)
	l.OfWarranty(in.WarrantyID)
	if in.Q != "" {
		return lists.Search(ctx, s.lists, l, childQuestion(in.Q, ""), in.Paging, documentShape)
	}
	return lists.Page(ctx, s.lists, l, func() *find.Question { return childQuestion("", "") }, in.Paging, documentShape)
}

var documentShape = &lists.Shape[warranty.Document]{
	Columns: documentColumns,
	Joins:   lists.JoinDocument,
	Read:    readDocument,
	ID:      func(d warranty.Document) warranty.ID { return d.ID },
	More:    lists.DocumentColumns,
	Record:  lists.DocumentRecord,
}

// ClaimDocuments lists the metadata of all documents of a claim that the user has access to, newest first, and of those of
// the warranty that its owner sent with it. Later owners do not see which these were.
func (s *Store) ClaimDocuments(
	ctx context.Context, user warranty.ID, claim warranty.Claim,
) ([]warranty.Document, error) {
	var list []warranty.Document
	err := s.db.Query(ctx, `SELECT `+documentColumns+`, CASE WHEN x.claim_id IS NULL THEN 0 ELSE 1 END, x.message_id
		FROM documents d JOIN warranties w ON w.id = d.warranty_id
		JOIN access a ON a.user_id = $1 AND a.kind = `+kindDocument+` AND a.item_id = d.id
		LEFT JOIN claim_documents x ON x.document_id = d.id AND x.claim_id = $3
		WHERE d.warranty_id = $2 AND (d.claim_id = $3 OR x.claim_id IS NOT NULL AND NOT EXISTS (
			SELECT 1 FROM claims c WHERE c.id = $3 AND `+lists.EarlierClaim+`))
		ORDER BY d.id DESC`,
		func(r *engine.Row) error {
			d := readDocument(r)
			if d.Stored = r.Int() != 0; d.Stored {
				d.MessageID = r.OptionalID()
				d.Filed = d.MessageID == nil
			}
			list = append(list, d)
			return nil
		}, user, claim.WarrantyID, claim.ID)
	return list, err
}

// File is a document with the location of its file. It is never shown to clients.
type File struct {
	Document   warranty.Document
	StorageKey string
	Uploader   warranty.ID
	Roles      warranty.Roles // of the requesting user on the warranty
}

// File returns the file of a document that the user has access to.
func (s *Store) File(ctx context.Context, user, id warranty.ID) (File, error) {
	var f File
	err := queryRow(ctx, s.db, fileQuery, func(r *engine.Row) { f = readFile(r) }, user, id)
	return f, err
}

const fileQuery = `SELECT ` + documentColumns + `, d.storage_key, d.uploader_id, a.roles
	FROM access a JOIN documents d ON d.id = a.item_id JOIN warranties w ON w.id = d.warranty_id
	WHERE a.user_id = $1 AND a.kind = ` + kindDocument + ` AND a.item_id = $2`

func readFile(r *engine.Row) File {
	return File{
		Document:   readDocument(r),
		StorageKey: r.Text(),
		Uploader:   r.ID(),
		Roles:      warranty.RolesOf(r.Int()),
	}
}

// DocumentPlace is what the page of a document shows beside its metadata.
type DocumentPlace struct {
	File
	UploaderName   string
	Previous, Next *warranty.ID // newer and older documents of the warranty that the user has access to
}

// DocumentPlace returns a document that the user has access to, among the others of its warranty.
func (s *Store) DocumentPlace(ctx context.Context, user, id warranty.ID) (p DocumentPlace, err error) {
	const sees = ` AND EXISTS (SELECT 1 FROM access x WHERE x.user_id = a.user_id
			AND x.kind = ` + kindDocument + ` AND x.item_id = o.id)`
	err = queryRow(ctx, s.db, `SELECT `+documentColumns+`, d.storage_key, d.uploader_id, a.roles,
			COALESCE((SELECT u.name FROM users u WHERE u.id = d.uploader_id), ''),
			(SELECT o.id FROM documents o WHERE o.warranty_id = d.warranty_id AND o.id > d.id`+sees+` ORDER BY o.id LIMIT 1),
			(SELECT o.id FROM documents o WHERE o.warranty_id = d.warranty_id AND o.id < d.id`+sees+` ORDER BY o.id DESC LIMIT 1)
		FROM access a JOIN documents d ON d.id = a.item_id JOIN warranties w ON w.id = d.warranty_id
		WHERE a.user_id = $1 AND a.kind = `+kindDocument+` AND a.item_id = $2`, func(r *engine.Row) {
		p = DocumentPlace{File: readFile(r), UploaderName: r.Text(), Previous: r.OptionalID(), Next: r.OptionalID()}
	}, user, id)
	return p, err
}

// InsertDocument adds the metadata of a stored file to a locked warranty, on which the uploader has roles.
// Who may see it gets access to it.
func (t *Tx) InsertDocument(
	d warranty.Document, uploader warranty.ID, roles warranty.Roles, storageKey string,
) error {
	sum, err := sumOf(d)
	if err != nil {
		return err
	}
	if err := t.later(`INSERT INTO documents (id, warranty_id, claim_id, uploader_id, file_name, type, content_type,
			size_bytes, sha256, storage_key, search, created_at, business, filed, owner_id)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, CASE WHEN CAST($3 AS UUID) IS NULL THEN NULL ELSE
			(SELECT o.user_id FROM access o WHERE o.parent_id = $2
				AND o.kind = `+kindWarranty+` AND o.roles & `+roleOwner+` <> 0) END)`,
		d.ID, d.WarrantyID, d.ClaimID, uploader, d.FileName, d.Type, d.ContentType, d.SizeBytes, sum, storageKey,
		documentSearch(d), d.CreatedAt, business(roles), bit(d.Filed)); err != nil {
		return err
	}
	return t.grantDocument(d.ID, d.WarrantyID)
}

// business is 1 for the uploads of accounts that do not own the warranty.
func business(roles warranty.Roles) int64 {
	if roles.Has(warranty.Owner) {
		return 0
	}
	return 1
}

// Uploaded returns the total size of the documents that a user has uploaded, and of the drafts.
func (s *Store) Uploaded(ctx context.Context, user warranty.ID) (int64, error) {
	return uploaded(ctx, s.db, user)
}

// Uploaded is like Store.Uploaded. If the user is locked, the result holds until the transaction
// ends.
func (t *Tx) Uploaded(user warranty.ID) (int64, error) { return uploaded(t.ctx, t.tx, user) }

func uploaded(ctx context.Context, q engine.Querier, user warranty.ID) (sum int64, err error) {
	err = queryRow(ctx, q, `SELECT CAST((SELECT COALESCE(sum(size_bytes), 0) FROM documents WHERE uploader_id = $1)
		+ (SELECT COALESCE(sum(size_bytes), 0) FROM drafts WHERE account_id = $1) AS BIGINT)`,
		func(r *engine.Row) { sum = r.Int() }, user)
	return sum, err
}

// ClaimOn returns the id of a claim on the warranty, or ErrNotFound.
func (t *Tx) ClaimOn(parent warranty.ID, k warranty.ClaimKey) (id warranty.ID, err error) {
	const read = `SELECT c.id FROM claims c WHERE c.warranty_id = $1`
	sql, key := keyed(k, read+` AND c.id = $2`, read+byNumber)
	err = queryRow(t.ctx, t.tx, sql, func(r *engine.Row) { id = r.ID() }, parent, key)
	return id, err
}

// LockFile returns the file of a document that the user has access to and locks its warranty until
// the transaction ends.
func (t *Tx) LockFile(user, id warranty.ID) (File, error) {
	var f File
	if err := t.exactlyOne(`SELECT 1
		FROM access a JOIN documents d ON d.id = a.item_id JOIN warranties w ON w.id = d.warranty_id
		WHERE a.user_id = $1 AND a.kind = `+kindDocument+` AND a.item_id = $2 /*pg: FOR UPDATE OF w */`,
		user, id); err != nil {
		return f, err
	}
	err := queryRow(t.ctx, t.tx, fileQuery, func(r *engine.Row) { f = readFile(r) }, user, id)
	return f, err
}

// DeleteDocument deletes the metadata of a document. The sweep deletes its file later.
func (t *Tx) DeleteDocument(d warranty.Document, now time.Time) error {
	const versions = `document_id = $1 AND warranty_id = $2`
	if _, err := t.dropFiles(`document_versions`, now, versions, d.ID, d.WarrantyID); err != nil {
		return err
	}
	if err := t.noteDeleted(now, `id = $2`, d.ID); err != nil {
		return err
	}
	if err := t.later(`DELETE FROM claim_documents WHERE document_id = $1`, d.ID); err != nil {
		return err
	}
	if err := t.exactlyOne(`DELETE FROM documents WHERE id = $1`, d.ID); err != nil {
		return err
	}
	if d.Kept { // its name is not for the new owner, who reads the history
		if err := t.eraseDocumentName(d); err != nil {
			return err
		}
	}
	return t.dropChild(lists.Documents, d.ID, d.WarrantyID)
}

// KeptDocuments lists some documents that a user kept when they transferred the warranties.
func (t *Tx) KeptDocuments(user warranty.ID, limit int) (ids []warranty.ID, err error) {
	err = t.tx.Query(t.ctx, `SELECT a.item_id FROM access a JOIN documents d ON d.id = a.item_id
		WHERE a.user_id = $1 AND a.kind = `+kindDocument+` AND d.owner_id = $1 AND `+keepsDocument+` LIMIT $2`,
		func(r *engine.Row) error { ids = append(ids, r.ID()); return nil }, user, limit)
	return ids, err
}
