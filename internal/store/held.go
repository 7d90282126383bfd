package store

import (
	"context"
	"encoding/hex"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// Held files have no document, so that nobody but one account has access to them (ADR 39).

// heldKept is the state of a file that a person keeps for a form or a message. See the migration for the others.
const heldKept = 1

// KeptFile is a file that a person keeps for a form or a message. It becomes a document with its ID.
type KeptFile struct {
	ID                              warranty.ID
	FileName                        string
	Type                            warranty.DocumentType
	ContentType, SHA256, StorageKey string
	SizeBytes                       int64
	WarrantyID, ClaimID             *warranty.ID // set if it was uploaded for a message
	KeptAt                          time.Time
}

const keptColumns = `h.id, h.file_name, h.type, h.content_type, h.sha256, h.storage_key, h.size_bytes, h.warranty_id,
	h.claim_id, h.since`

func readKept(r *engine.Row) KeptFile {
	return KeptFile{
		ID: r.ID(), FileName: r.Text(), Type: enum[warranty.DocumentType](r), ContentType: r.Text(),
		SHA256: hex.EncodeToString(r.Bytes()), StorageKey: r.Text(), SizeBytes: r.Int(),
		WarrantyID: r.OptionalID(), ClaimID: r.OptionalID(), KeptAt: r.Time(),
	}
}

// keptBy selects the files h that the person $2 keeps in the account $1 since the time $3.
const keptBy = ` FROM held_files h WHERE h.state = 1 AND h.account_id = $1 AND h.user_id = $2 AND h.since > $3`

// KeptFile returns a file that a person keeps in an account since a time.
func (s *Store) KeptFile(ctx context.Context, account, user, id warranty.ID, since time.Time) (f KeptFile, err error) {
	err = queryRow(ctx, s.db, `SELECT `+keptColumns+keptBy+` AND h.id = $4`,
		func(r *engine.Row) { f = readKept(r) }, account, user, since, id)
	return f, err
}

// KeepFile keeps a stored file for a person in a locked account.
func (t *Tx) KeepFile(account, user warranty.ID, f KeptFile) error {
	sum, err := hex.DecodeString(f.SHA256)
	if err != nil {
		return err
	}
	return t.later(`INSERT INTO held_files (id, state, since, account_id, user_id, warranty_id, claim_id, uploader_id,
			file_name, type, content_type, size_bytes, sha256, storage_key, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $4, $8, $9, $10, $11, $12, $13, $3)`,
		f.ID, heldKept, f.KeptAt, account, user, f.WarrantyID, f.ClaimID, f.FileName, f.Type, f.ContentType,
		f.SizeBytes, sum, f.StorageKey)
}

const keptByPerson = `state = 1 AND account_id = $1 AND user_id = $2`

// CountKept returns the number of files that a person keeps in a locked account.
func (t *Tx) CountKept(account, user warranty.ID) (n int64, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT count(*) FROM held_files WHERE `+keptByPerson,
		func(r *engine.Row) { n = r.Int() }, account, user)
	return n, err
}

// DropOldestKept deletes the files that a person keeps in a locked account, except for the newest ones.
func (t *Tx) DropOldestKept(account, user warranty.ID, newest int64, now time.Time) error {
	n, err := t.CountKept(account, user)
	if err != nil || n <= newest {
		return err
	}
	_, err = t.dropHeld(now, `id IN (SELECT id FROM held_files WHERE `+keptByPerson+` ORDER BY since, id LIMIT $3)`,
		account, user, n-newest)
	return err
}

// SameAsKept returns the document with the name and content of a kept file that the account uploaded for a claim, or
// ErrNotFound.
func (t *Tx) SameAsKept(account, claim, id warranty.ID) (same warranty.ID, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT d.id FROM held_files h JOIN documents d
			ON d.sha256 = h.sha256 AND d.file_name = h.file_name AND d.uploader_id = h.account_id
		WHERE h.id = $1 AND h.state = 1 AND h.account_id = $2 AND d.claim_id = $3 ORDER BY d.id LIMIT 1`,
		func(r *engine.Row) { same = r.ID() }, id, account, claim)
	return same, err
}

// TakeKept removes a file that a person keeps in a locked account since a time, to make it a document.
func (t *Tx) TakeKept(account, user, id warranty.ID, since time.Time) (f KeptFile, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT `+keptColumns+keptBy+` AND h.id = $4 /*pg: FOR UPDATE */`,
		func(r *engine.Row) { f = readKept(r) }, account, user, since, id)
	if err != nil {
		return f, err
	}
	return f, t.exactlyOne(`DELETE FROM held_files WHERE id = $1 AND state = 1`, id)
}

// DropKept deletes a file that a person keeps in an account, or returns ErrNotFound.
func (t *Tx) DropKept(account, user, id warranty.ID, now time.Time) error {
	n, err := t.dropHeld(now, `state = 1 AND account_id = $1 AND user_id = $2 AND id = $3`, account, user, id)
	if err == nil && n == 0 {
		err = warranty.ErrNotFound
	}
	return err
}

// ExpireKept deletes files that were kept until a time, and returns their number.
func (t *Tx) ExpireKept(by, now time.Time) (int, error) {
	return t.dropHeld(now, `state = 1 AND since <= $1`, by)
}

// dropHeld deletes held files that where selects and returns their number. The sweep deletes the files later, like
// those of documents.
func (t *Tx) dropHeld(now time.Time, where string, args ...any) (int, error) {
	var ids []warranty.ID
	// The rows are locked first, because one of them may become a document at the same time.
	if err := t.tx.Query(t.ctx, `SELECT id FROM held_files WHERE `+where+` ORDER BY id /*pg: FOR UPDATE */`,
		func(r *engine.Row) error { ids = append(ids, r.ID()); return nil }, args...); err != nil {
		return 0, err
	}
	for _, id := range ids {
		if err := t.noteDeletedIn(`held_files`, now, `id = $2`, id); err != nil {
			return 0, err
		}
		if err := t.exactlyOne(`DELETE FROM held_files WHERE id = $1`, id); err != nil {
			return 0, err
		}
	}
	return len(ids), nil
}

// Document returns the document that a kept file becomes.
func (f KeptFile) Document(kind warranty.DocumentType, now time.Time) warranty.Document {
	return warranty.Document{
		ID: f.ID, FileName: f.FileName, Type: kind, ContentType: f.ContentType, SizeBytes: f.SizeBytes,
		SHA256: f.SHA256, CreatedAt: now,
	}
}
