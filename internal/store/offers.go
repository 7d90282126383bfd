package store

import (
	"context"
	"strings"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/store/lists"
	"warranty.example/svc/warranty"
)

// OfferCode is a code that makes someone else the owner of a warranty.
type OfferCode struct {
	Hash     warranty.Hash
	Warranty warranty.ID
	Giver    warranty.ID // the account that owns the warranty
	By       warranty.ID // the person who offers it
	Transfer bool        // a transfer to a new owner; otherwise a hand-over by the issuer, who stays the issuer
	// Email is the only address that can use the code. Whoever has a code without one can use it.
	Email *string
	// SignsInUntil is until when the code also signs in to the account of its address.
	SignsInUntil *time.Time
	Documents    []string // ids of those of the owner, which go along with a transfer
	Expires      time.Time
}

// InsertOfferCode adds a code of a locked warranty.
func (t *Tx) InsertOfferCode(c OfferCode) error {
	return t.later(`INSERT INTO offer_codes
			(code_hash, warranty_id, giver_id, made_by, transfer, email, signs_in_until, documents, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, c.Hash, c.Warranty, c.Giver, c.By, bit(c.Transfer), c.Email,
		c.SignsInUntil, strings.Join(c.Documents, " "), c.Expires)
}

// EndOffers ends the open codes of a locked warranty.
func (t *Tx) EndOffers(id warranty.ID) error {
	if err := t.dropHeldOffer(id); err != nil {
		return err
	}
	_, err := t.endCodes(id, `used_at IS NULL`)
	return err
}

// endCodes ends the codes of a locked warranty that which selects, and returns their number. They are kept for as
// long as expired ones, to tell that they were ended.
func (t *Tx) endCodes(id warranty.ID, which string, args ...any) (int64, error) {
	args = append([]any{id}, args...)
	if err := t.later(`INSERT INTO ended_codes (code_hash, warranty_id, giver_id, expires_at)
		SELECT code_hash, warranty_id, giver_id, expires_at FROM offer_codes WHERE warranty_id = $1 AND `+which+`
		ON CONFLICT (code_hash) DO NOTHING`, args...); err != nil {
		return 0, err
	}
	return t.exec(`DELETE FROM offer_codes WHERE warranty_id = $1 AND `+which, args...)
}

// KeepOffers keeps the open codes of a locked warranty, which an action is about to end, so that undoing the action
// gives them back.
func (t *Tx) KeepOffers(id, job warranty.ID) error {
	return t.later(`INSERT INTO ended_codes (code_hash, warranty_id, giver_id, expires_at, held_by, made_by, transfer, email,
			signs_in_until, documents)
		SELECT code_hash, warranty_id, giver_id, expires_at, $2 /*pg: ::uuid */, made_by, transfer, email, signs_in_until, documents
		FROM offer_codes WHERE warranty_id = $1 AND used_at IS NULL
		ON CONFLICT (code_hash) DO NOTHING`, id, job)
}

// OfferState is what a locked warranty says about its customer and the offer to them.
type OfferState struct {
	CustomerName  *string    `json:"customer_name,omitempty"`
	CustomerEmail *string    `json:"customer_email,omitempty"`
	OfferedAt     *time.Time `json:"offered_at,omitempty"`
	ExpiresAt     *time.Time `json:"expires_at,omitempty"`
	TakenAt       *time.Time `json:"taken_at,omitempty"`
}

// OfferState returns what a locked warranty says about its customer and the offer to them.
func (t *Tx) OfferState(id warranty.ID) (o OfferState, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT customer_name, customer_email, offered_at, offer_expires_at, taken_at FROM warranties
		WHERE id = $1`, func(r *engine.Row) {
		o = OfferState{r.OptionalText(), r.OptionalText(), r.OptionalTime(), r.OptionalTime(), r.OptionalTime()}
	}, id)
	return o, err
}

// UndoOffer takes the open offer of a locked warranty back, which nobody was told of, and gives back what the action
// of a job ended.
func (t *Tx) UndoOffer(id, job warranty.ID, o OfferState, now time.Time) error {
	if err := t.EndOffers(id); err != nil {
		return err
	}
	const kept = ` FROM ended_codes WHERE warranty_id = $1 AND held_by = $2`
	if err := t.later(`INSERT INTO offer_codes
			(code_hash, warranty_id, giver_id, made_by, transfer, email, signs_in_until, documents, expires_at)
		SELECT code_hash, warranty_id, giver_id, made_by, transfer, email, signs_in_until, documents, expires_at`+kept, id, job); err != nil {
		return err
	}
	if err := t.later(`DELETE`+kept, id, job); err != nil {
		return err
	}
	if err := t.exactlyOne(`UPDATE warranties SET customer_name = $2, customer_email = $3, offered_at = $4, offer_expires_at = $5,
			taken_at = $6, customer_id = NULL, version = version + 1, updated_at = $7
		WHERE id = $1 AND deleted_at IS NULL`,
		id, o.CustomerName, o.CustomerEmail, o.OfferedAt, o.ExpiresAt, o.TakenAt, now); err != nil {
		return err
	}
	return t.changed(id)
}

// OfferHandover sets the hand-over of a locked warranty, which its issuer owns. Earlier codes no longer work.
func (t *Tx) OfferHandover(w warranty.Warranty, code OfferCode, now time.Time) error {
	if err := t.EndOffers(w.ID); err != nil {
		return err
	}
	if err := t.exactlyOne(`UPDATE warranties SET customer_name = $2, customer_email = $3, offered_at = $4,
			offer_expires_at = $5, taken_at = NULL, version = version + 1, updated_at = $6
		WHERE id = $1 AND deleted_at IS NULL`,
		w.ID, w.CustomerName, w.Offer.Email, w.Offer.OfferedAt, w.Offer.ExpiresAt, now); err != nil {
		return err
	}
	if err := t.changed(w.ID); err != nil {
		return err
	}
	return t.InsertOfferCode(code)
}

// changed stamps a change of a warranty for everyone who sees it.
func (t *Tx) changed(id warranty.ID) error {
	if err := t.later(`UPDATE access SET changed_at = `+changeStamp+` WHERE parent_id = $1
		AND kind = `+kindWarranty, id); err != nil {
		return err
	}
	return lists.NoteWarranty(t.ctx, t.tx, id)
}

// EndHandover removes the open hand-over of a locked warranty and all of its codes.
func (t *Tx) EndHandover(id warranty.ID) error {
	if err := t.EndOffers(id); err != nil {
		return err
	}
	return t.later(`UPDATE warranties SET offered_at = NULL, offer_expires_at = NULL WHERE id = $1`, id)
}

// CancelHandover removes the open hand-over of a locked warranty, which is a change for its issuer.
func (t *Tx) CancelHandover(id warranty.ID, now time.Time) error {
	if err := t.EndHandover(id); err != nil {
		return err
	}
	// Without a name it no longer has a customer; with one, the worker finds it.
	if err := t.exactlyOne(`UPDATE warranties SET customer_email = NULL,
			customer_id = CASE WHEN customer_email IS NULL THEN customer_id ELSE NULL END, version = version + 1, updated_at = $2
		WHERE id = $1`, id, now); err != nil {
		return err
	}
	return t.changed(id)
}

// PrintedCode returns the warranty that an open code for paper of an account hands over.
func (s *Store) PrintedCode(
	ctx context.Context, giver warranty.ID, code warranty.Hash, now time.Time,
) (id warranty.ID, err error) {
	err = queryRow(ctx, s.db, `SELECT c.warranty_id FROM offer_codes c JOIN warranties w ON w.id = c.warranty_id
		WHERE c.code_hash = $1 AND c.giver_id = $2 AND c.email IS NULL AND c.transfer = 0 AND c.used_at IS NULL
			AND c.expires_at > $3 AND w.deleted_at IS NULL`,
		func(r *engine.Row) { id = r.ID() }, code, giver, now)
	return id, err
}

// openTransfer selects the codes c of transfers that can be used at $2.
const openTransfer = `c.transfer = 1 AND c.used_at IS NULL AND c.expires_at > $2`

// IsOffered reports whether a warranty that the account owns has an open transfer.
func (s *Store) IsOffered(ctx context.Context, owner, id warranty.ID, now time.Time) (offered bool, err error) {
	err = s.db.Query(ctx, `SELECT 1 FROM offer_codes c JOIN access a ON a.item_id = c.warranty_id
		AND a.kind = `+kindWarranty+`
		WHERE c.warranty_id = $1 AND `+openTransfer+` AND c.giver_id = $3 AND a.user_id = $3
		AND a.roles & `+roleOwner+` <> 0 LIMIT 1`,
		func(*engine.Row) error { offered = true; return nil }, id, now, owner)
	return offered, err
}

// CancelTransfer ends the open transfer of a locked warranty.
func (t *Tx) CancelTransfer(id warranty.ID, now time.Time) error {
	n, err := t.endCodes(id, `transfer = 1 AND used_at IS NULL AND expires_at > $2`, now)
	if err == nil && n == 0 {
		err = warranty.ErrNotFound
	}
	return err
}

// CancelTransfers ends the open transfers of an account, of all or of those that a member made, and returns the
// warranties, including those in the trash: restoring one restores its offer.
func (t *Tx) CancelTransfers(owner warranty.ID, by *warranty.ID, now time.Time) (ids []warranty.ID, err error) {
	err = t.tx.Query(t.ctx, `SELECT w.id FROM warranties w WHERE w.id IN (SELECT c.warranty_id FROM offer_codes c
			WHERE c.giver_id = $1 AND `+openTransfer+` AND c.email IS NULL AND (c.made_by = $3 OR $3 IS NULL))
		ORDER BY w.id /*pg: FOR UPDATE OF w */`,
		func(r *engine.Row) error { ids = append(ids, r.ID()); return nil }, owner, now, by)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if _, err := t.endCodes(id, `transfer = 1 AND used_at IS NULL`); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// StopSigningIn makes that the codes of offers to the addresses of an account no longer sign in to it. They still
// take their warranties.
func (t *Tx) StopSigningIn(account warranty.ID) error {
	for _, table := range []string{`offer_codes`, `ended_codes`} {
		if err := t.later(`UPDATE `+table+` SET signs_in_until = NULL WHERE signs_in_until IS NOT NULL
			AND email IN (SELECT email FROM addresses WHERE account_id = $1)`, account); err != nil {
			return err
		}
	}
	return nil
}

// InsertOfferMail notes that a locked account emails an offer of a warranty. It reports false if the address got
// one for this warranty before.
func (t *Tx) InsertOfferMail(id, account warranty.ID, email string, now time.Time) (bool, error) {
	n, err := t.exec(`INSERT INTO offer_mails (warranty_id, email, account_id, at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (warranty_id, email) DO NOTHING`, id, email, account, now)
	return n == 1, err
}
