package store

import (
	"context"
	"encoding/hex"

	"warranty.example/svc/warranty"
)

const documentColumns = `d.id, d.claim_id, d.warranty_id, w.reference, w.product_name, d.file_name, d.type, d.content_type, d.size_bytes, d.sha256, d.created_at`

func readDocument(r Row, i int) warranty.Document {
	d := warranty.Document{ID: r.ID(i), WarrantyID: r.ID(i + 2), Warranty: readName(r, i+2), FileName: r.Text(i + 5), Type: warranty.DocumentType(r.Int(i + 6)),
		ContentType: r.Text(i + 7), SizeBytes: r.Int(i + 8), SHA256: hex.EncodeToString(r.Bytes(i + 9)), CreatedAt: instant(r, i+10)}
	if !r.Null(i + 1) {
		claim := r.ID(i + 1)
		d.ClaimID = &claim
	}
	return d
}

// Document finds the metadata of a document that the user may see.
func (s *Store) Document(ctx context.Context, user, id warranty.ID) (warranty.Document, error) {
	var d warranty.Document
	err := one(ctx, s.engine, `SELECT `+documentColumns+` FROM access a JOIN documents d ON d.id = a.item_id JOIN warranties w ON w.id = d.warranty_id
		WHERE a.user_id = $1 AND a.kind = 3 AND a.item_id = $2`, func(r Row) { d = readDocument(r, 0) }, user, id)
	return d, err
}

// Documents lists the metadata of the documents that the user may see and that fit the question, and counts them all.
func (s *Store) Documents(ctx context.Context, user warranty.ID, in warranty.ListDocuments) ([]warranty.Document, int64, error) {
	l := listOf(user, ofDocument)
	if !in.WarrantyID.IsZero() {
		l.and(`a.parent_id = ?`, in.WarrantyID)
	}
	if in.Q != "" {
		l.table = `JOIN documents d ON d.id = a.item_id`
		l.and(`d.search LIKE ? ESCAPE '\'`, like(in.Q))
	}
	var list []warranty.Document
	total, err := l.page(ctx, s.engine, documentColumns, `LEFT JOIN documents d ON d.id = a.item_id LEFT JOIN warranties w ON w.id = d.warranty_id`, in.Paging,
		func(r Row, i int) { list = append(list, readDocument(r, i)) })
	return list, total, err
}
