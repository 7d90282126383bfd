package store

import (
	"context"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// OfferHandover sets the offer of a locked warranty, which its issuer owns. Earlier codes no longer work. by is who
// makes the offer.
func (t *Tx) OfferHandover(w warranty.Warranty, code warranty.Hash, issuer, by warranty.ID, now time.Time) error {
	if err := t.deleteCodes(w.ID); err != nil {
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
	if w.Offer.Email != nil {
		return t.InsertHandoverCode(w.ID, code, w.Offer.Email, false, *w.Offer.ExpiresAt)
	}
	return t.later(`INSERT INTO handover_codes (code_hash, warranty_id, asked, expires_at, account_id, made_by)
		VALUES ($1, $2, 0, $3, $4, $5)`, code, w.ID, *w.Offer.ExpiresAt, issuer, by)
}

func (t *Tx) deleteCodes(id warranty.ID) error {
	return t.later(`DELETE FROM handover_codes WHERE warranty_id = $1 AND used_at IS NULL`, id)
}

// changed stamps a change of a warranty for everyone who sees it.
func (t *Tx) changed(id warranty.ID) error {
	if err := t.later(`UPDATE access SET changed_at = `+changeStamp+` WHERE parent_id = $1 AND kind = 1`, id); err != nil {
		return err
	}
	return t.noteWarranty(id)
}

// InsertHandoverCode adds a code that takes a warranty. asked means that the person at the address asked for
// it, so that it also signs in.
func (t *Tx) InsertHandoverCode(
	id warranty.ID, code warranty.Hash, email *string, asked bool, expires time.Time,
) error {
	return t.later(`INSERT INTO handover_codes (code_hash, warranty_id, email, asked, expires_at)
		VALUES ($1, $2, $3, $4, $5)`, code, id, email, bit(asked), expires)
}

// EndHandover removes the open offer of a locked warranty and its codes.
func (t *Tx) EndHandover(id warranty.ID) error {
	if err := t.deleteCodes(id); err != nil {
		return err
	}
	return t.later(`UPDATE warranties SET offered_at = NULL, offer_expires_at = NULL WHERE id = $1`, id)
}

// CancelHandover removes the open offer of a locked warranty, which is a change for its issuer.
func (t *Tx) CancelHandover(id warranty.ID, now time.Time) error {
	if err := t.EndHandover(id); err != nil {
		return err
	}
	if err := t.exactlyOne(`UPDATE warranties SET customer_email = NULL, version = version + 1, updated_at = $2
		WHERE id = $1`, id, now); err != nil {
		return err
	}
	return t.changed(id)
}

// HandoverCode is a valid code with what it takes.
type HandoverCode struct {
	Warranty warranty.Warranty
	Issuer   warranty.ID
	Email    *string // the only address that can use it
	Asked    bool    // the person at the address asked for it
	Preview  warranty.HandoverPreview
}

// canBeTaken selects the warranties w that a code can take: those that are neither deleted, void nor cancelled.
const canBeTaken = `w.deleted_at IS NULL AND w.standing = 1`

// fromHandover selects the warranty w of a code $1 that is valid at $2. Its issuer i still owns it.
const fromHandover = ` FROM handover_codes h JOIN warranties w ON w.id = h.warranty_id JOIN users i ON i.id = w.issuer_id
	WHERE h.code_hash = $1 AND h.expires_at > $2 AND h.used_at IS NULL AND ` + canBeTaken + ` AND i.disabled_at IS NULL
		AND EXISTS (SELECT 1 FROM access a
			WHERE a.user_id = w.issuer_id AND a.kind = 1 AND a.item_id = w.id AND a.roles & 5 = 5)`

// HandoverCode returns what a code takes, without using it.
func (s *Store) HandoverCode(ctx context.Context, code warranty.Hash, now time.Time) (HandoverCode, error) {
	return handoverCode(ctx, s.db, code, now)
}

func handoverCode(ctx context.Context, q engine.Querier, code warranty.Hash, now time.Time) (h HandoverCode, err error) {
	err = queryRow(ctx, q, `SELECT `+warrantyColumns+`, w.issuer_id, i.name, `+domainOf(`i.id`)+`, h.email, h.asked,
		h.expires_at`+fromHandover,
		func(r *engine.Row) {
			h.Warranty, h.Issuer = readWarranty(r), r.ID()
			issuer := warranty.NewParty(r.Text(), r.OptionalText())
			h.Email, h.Asked = r.OptionalText(), r.Int() != 0
			h.Warranty.Show(warranty.DateOf(now))
			h.Preview = warranty.HandoverPreview{
				ReferenceNumber: h.Warranty.ReferenceNumber,
				ProductName:     h.Warranty.ProductName,
				Status:          h.Warranty.Status,
				StartDate:       h.Warranty.StartDate,
				EndDate:         h.Warranty.EndDate,
				Issuer:          *issuer,
				Email:           h.Email,
				ExpiresAt:       r.Time(),
			}
		}, code, now)
	return h, err
}

// CodeState says why a code takes nothing. The empty state is that of an unknown code.
type CodeState string

// The states of codes that take nothing.
const (
	CodeTaken     CodeState = "taken"
	CodeExpired   CodeState = "expired"
	CodeNotValid  CodeState = "not_valid" // the warranty is void or cancelled
	CodeWithdrawn CodeState = "withdrawn" // the warranty was deleted
)

// readCodeState reads when a code was used and when it expires, when its warranty was deleted, and the standing of
// the warranty.
func readCodeState(r *engine.Row, now time.Time) CodeState {
	used, expires, deleted := r.Set(), r.Time(), r.Set()
	switch standing := enum[warranty.Status](r); {
	case used:
		return CodeTaken
	case deleted:
		return CodeWithdrawn
	case standing != warranty.Active:
		return CodeNotValid
	case !expires.After(now):
		return CodeExpired
	}
	return ""
}

// HandoverState says why a code takes nothing. issuer is the organization that issued the warranty.
func (s *Store) HandoverState(
	ctx context.Context, code warranty.Hash, now time.Time,
) (state CodeState, issuer warranty.Party, err error) {
	err = s.db.Query(ctx, `SELECT h.used_at, h.expires_at, w.deleted_at, w.standing, i.name, `+domainOf(`i.id`)+`
			FROM handover_codes h JOIN warranties w ON w.id = h.warranty_id JOIN users i ON i.id = w.issuer_id
			WHERE h.code_hash = $1`,
		func(r *engine.Row) error {
			state = readCodeState(r, now)
			issuer = *warranty.NewParty(r.Text(), r.OptionalText())
			return nil
		}, code)
	return state, issuer, err
}

// UseHandoverCode uses up a code and returns what it takes. The warranty is locked until the transaction
// ends, and its other codes no longer work.
func (t *Tx) UseHandoverCode(code warranty.Hash, now time.Time) (HandoverCode, error) {
	// Lock the warranty before its codes, like every other transaction.
	if err := t.exactlyOne(`SELECT 1`+fromHandover+` /*pg: FOR UPDATE OF w */`, code, now); err != nil {
		return HandoverCode{}, err
	}
	// Another transaction may have used the code while this one waited for the lock.
	h, err := handoverCode(t.ctx, t.tx, code, now)
	if err != nil {
		return h, err
	}
	used, err := t.exec(`UPDATE handover_codes SET used_at = $3 WHERE code_hash = $1 AND warranty_id = $2
		AND used_at IS NULL`, code, h.Warranty.ID, now)
	if err == nil && used != 1 {
		err = warranty.ErrNotFound
	}
	return h, err
}

// TakeHandover gives a locked warranty, whose code was used, to its customer.
func (t *Tx) TakeHandover(h HandoverCode, customer warranty.ID, now time.Time) error {
	id := h.Warranty.ID
	// The other codes stay until they expire, to tell that the warranty was taken.
	if err := t.later(`UPDATE handover_codes SET used_at = $2 WHERE warranty_id = $1 AND used_at IS NULL`,
		id, now); err != nil {
		return err
	}
	if err := t.later(`DELETE FROM transfers WHERE warranty_id = $1`, id); err != nil {
		return err
	}
	if err := t.exactlyOne(`UPDATE warranties SET taken_at = $2, offer_expires_at = NULL, version = version + 1,
			updated_at = $2 WHERE id = $1`, id, now); err != nil {
		return err
	}
	if h.Email != nil {
		if err := t.later(`UPDATE offers SET taken_at = $3 WHERE warranty_id = $1 AND email = $2`,
			id, *h.Email, now); err != nil {
			return err
		}
	}
	if err := t.changed(id); err != nil {
		return err
	}
	return t.MoveOwner(id, h.Issuer, customer)
}

// InsertOffer notes that a locked account emails an offer of a warranty. It reports false if the address got
// one for this warranty before.
func (t *Tx) InsertOffer(id, account warranty.ID, email string, now time.Time) (bool, error) {
	n, err := t.exec(`INSERT INTO offers (warranty_id, email, account_id, at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (warranty_id, email) DO NOTHING`, id, email, account, now)
	return n == 1, err
}
