package store

import (
	"context"
	"encoding/hex"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// Draft is a file of a form or a message that was not sent yet (ADR 52). It becomes a document with its ID.
type Draft struct {
	ID                              warranty.ID
	FileName                        string
	Type                            warranty.DocumentType
	ContentType, SHA256, StorageKey string
	SizeBytes                       int64
	WarrantyID, ClaimID             *warranty.ID // set if it is for a message
	CreatedAt                       time.Time
}

// draftQuery selects the draft $3 of the person $2 in the account $1, if it is newer than $4.
const draftQuery = `SELECT id, file_name, type, content_type, sha256, storage_key, size_bytes, warranty_id, claim_id,
		created_at FROM drafts WHERE account_id = $1 AND user_id = $2 AND id = $3 AND created_at > $4`

func readDraft(r *engine.Row) Draft {
	return Draft{
		ID: r.ID(), FileName: r.Text(), Type: enum[warranty.DocumentType](r), ContentType: r.Text(),
		SHA256: hex.EncodeToString(r.Bytes()), StorageKey: r.Text(), SizeBytes: r.Int(),
		WarrantyID: r.OptionalID(), ClaimID: r.OptionalID(), CreatedAt: r.Time(),
	}
}

// Draft returns a draft of a person in an account that is newer than a time.
func (s *Store) Draft(ctx context.Context, account, user, id warranty.ID, since time.Time) (f Draft, err error) {
	err = queryRow(ctx, s.db, draftQuery, func(r *engine.Row) { f = readDraft(r) }, account, user, id, since)
	return f, err
}

// LockDraft is like Store.Draft and locks the draft.
func (t *Tx) LockDraft(account, user, id warranty.ID, since time.Time) (f Draft, err error) {
	err = queryRow(t.ctx, t.tx, draftQuery+` /*pg: FOR UPDATE */`, func(r *engine.Row) { f = readDraft(r) },
		account, user, id, since)
	return f, err
}

// InsertDraft adds a draft of a person in a locked account.
func (t *Tx) InsertDraft(account, user warranty.ID, f Draft) error {
	sum, err := hex.DecodeString(f.SHA256)
	if err != nil {
		return err
	}
	return t.later(`INSERT INTO drafts (id, account_id, user_id, warranty_id, claim_id, file_name, type, content_type,
			size_bytes, sha256, storage_key, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		f.ID, account, user, f.WarrantyID, f.ClaimID, f.FileName, f.Type, f.ContentType, f.SizeBytes, sum, f.StorageKey,
		f.CreatedAt)
}

const draftsOfPerson = `account_id = $1 AND user_id = $2`

// CountDrafts returns the number of drafts of a person in a locked account.
func (t *Tx) CountDrafts(account, user warranty.ID) (n int64, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT count(*) FROM drafts WHERE `+draftsOfPerson,
		func(r *engine.Row) { n = r.Int() }, account, user)
	return n, err
}

// DropOldestDrafts deletes the drafts of a person in a locked account, except for the newest ones.
func (t *Tx) DropOldestDrafts(account, user warranty.ID, newest int64, now time.Time) error {
	n, err := t.CountDrafts(account, user)
	if err != nil || n <= newest {
		return err
	}
	_, err = t.dropFiles(`drafts`, now,
		`id IN (SELECT id FROM drafts WHERE `+draftsOfPerson+` ORDER BY created_at, id LIMIT $3)`, account, user, n-newest)
	return err
}

// SameUpload returns the document with the place, name and content of d that the account uploaded, or ErrNotFound.
func (t *Tx) SameUpload(account warranty.ID, d warranty.Document) (same warranty.ID, err error) {
	sum, err := sumOf(d)
	if err != nil {
		return same, err
	}
	var claim, none warranty.ID
	if d.ClaimID != nil {
		claim = *d.ClaimID
	}
	err = queryRow(t.ctx, t.tx, `SELECT id FROM documents WHERE warranty_id = $1 AND sha256 = $2 AND file_name = $3
			AND uploader_id = $4 AND COALESCE(claim_id, $6) = $5 ORDER BY id LIMIT 1`,
		func(r *engine.Row) { same = r.ID() }, d.WarrantyID, sum, d.FileName, account, claim, none)
	return same, err
}

// TakeDraft removes a locked draft whose file becomes that of a document.
func (t *Tx) TakeDraft(f Draft) error {
	return t.exactlyOne(`DELETE FROM drafts WHERE id = $1`, f.ID)
}

// DropDraft deletes a draft of a person in an account, or returns ErrNotFound.
func (t *Tx) DropDraft(account, user, id warranty.ID, now time.Time) error {
	n, err := t.dropFiles(`drafts`, now, draftsOfPerson+` AND id = $3`, account, user, id)
	if err == nil && n == 0 {
		err = warranty.ErrNotFound
	}
	return err
}

// ExpireDrafts deletes drafts that were made until a time, and returns their number.
func (t *Tx) ExpireDrafts(by, now time.Time) (int, error) {
	return t.dropFiles(`drafts`, now, `created_at <= $1`, by)
}

// Document returns the document that a draft becomes.
func (f Draft) Document(kind warranty.DocumentType, now time.Time) warranty.Document {
	return warranty.Document{
		ID: f.ID, FileName: f.FileName, Type: kind, ContentType: f.ContentType, SizeBytes: f.SizeBytes,
		SHA256: f.SHA256, CreatedAt: now,
	}
}
