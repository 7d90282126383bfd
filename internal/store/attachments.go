package store

import (
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/store/lists"
	"warranty.example/svc/warranty"
)

// An owner can send documents of the warranty with a claim. They stay documents of the warranty, which go along with it or
// not, and the businesses see them as long as they are attached to a claim.

// attachedDocument selects the documents d that are attached to a claim.
const attachedDocument = `EXISTS (SELECT 1 FROM claim_documents y WHERE y.document_id = d.id)`

// storedDocument selects the documents d that the owner with the access row a may attach to a claim.
const storedDocument = `a.kind = ` + kindDocument + ` AND a.roles & ` + roleOwner + ` <> 0 AND d.claim_id IS NULL`

// AttachDocuments sends documents of a locked claim's warranty with the claim or with a message about it.
func (t *Tx) AttachDocuments(c warranty.Claim, owner warranty.ID, message *warranty.ID, ids []warranty.ID) error {
	if len(ids) == 0 {
		return nil
	}
	for _, id := range ids {
		n, err := t.exec(`INSERT INTO claim_documents (claim_id, document_id, message_id)
			SELECT CAST($1 AS UUID), d.id, CAST($4 AS UUID) FROM access a JOIN documents d ON d.id = a.item_id
			WHERE a.user_id = $2 AND a.item_id = $3 AND d.warranty_id = $5 AND `+storedDocument+`
			ON CONFLICT (claim_id, document_id) DO NOTHING`, c.ID, owner, id, message, c.WarrantyID)
		if err != nil {
			return err
		}
		if n != 1 {
			var check warranty.Checks
			check.Add("document_ids", "not_stored", "Choose documents of this warranty that you have not sent with this claim.")
			return check.Err()
		}
	}
	if err := t.showDocuments(c.WarrantyID); err != nil {
		return err
	}
	for _, id := range ids {
		if err := lists.NoteChild(t.ctx, t.tx, id, c.WarrantyID); err != nil {
			return err
		}
	}
	return nil
}

// DetachDocument takes a document of the warranty back from a locked claim. It is ErrNotFound if it is not attached.
func (t *Tx) DetachDocument(c warranty.Claim, id warranty.ID) error {
	if err := t.exactlyOne(`DELETE FROM claim_documents WHERE claim_id = $1 AND document_id = $2`, c.ID, id); err != nil {
		return err
	}
	if err := lists.NoteChild(t.ctx, t.tx, id, c.WarrantyID); err != nil {
		return err
	}
	return t.hideDocuments(c.WarrantyID)
}

// AttachedDocuments lists the documents of a locked claim that were sent with a message.
func (t *Tx) AttachedDocuments(c warranty.Claim, message warranty.ID) (list []warranty.MessageDocument, err error) {
	err = t.tx.Query(t.ctx, `SELECT d.id, d.file_name, d.content_type, d.size_bytes FROM claim_documents x
		JOIN documents d ON d.id = x.document_id WHERE x.claim_id = $1 AND x.message_id = $2 ORDER BY d.id`,
		func(r *engine.Row) error {
			list = append(list, warranty.MessageDocument{ID: r.ID(), FileName: r.Text(), ContentType: r.Text(), SizeBytes: r.Int(), Stored: true})
			return nil
		}, c.ID, message)
	return list, err
}
