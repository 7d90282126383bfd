package store

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// Taking is what a valid code takes.
type Taking struct {
	Warranty     warranty.Warranty
	Giver        warranty.ID
	Transfer     bool
	Email        *string    // the only address that can use the code
	SignsInUntil *time.Time // until when the code also signs in
	Preview      warranty.HandoverPreview

	MadeBy warranty.ID // the person who offers it

	documents []string // ids of those that go along
}

// canBeTaken selects the warranties w that a code can take: those that are neither deleted, void nor cancelled.
const canBeTaken = `w.deleted_at IS NULL AND w.standing = ` + standingActive

// fromCode selects the warranty w of a code $1 that is valid at $2. Its giver g still owns it. i is its issuer.
const fromCode = ` FROM offer_codes c JOIN warranties w ON w.id = c.warranty_id JOIN users g ON g.id = c.giver_id
		JOIN users i ON i.id = w.issuer_id
	WHERE c.code_hash = $1 AND c.expires_at > $2 AND c.used_at IS NULL AND ` + canBeTaken + ` AND g.disabled_at IS NULL
		AND EXISTS (SELECT 1 FROM access a WHERE a.user_id = c.giver_id
			AND a.kind = ` + kindWarranty + ` AND a.item_id = w.id
			AND a.roles & ` + roleOwner + ` <> 0 AND (c.transfer = 1 OR a.roles & ` + roleIssuer + ` <> 0))`

// OfferCode returns what a code takes, without using it.
func (s *Store) OfferCode(ctx context.Context, code warranty.Hash, now time.Time) (Taking, error) {
	return takes(ctx, s.db, code, now)
}

func takes(ctx context.Context, q engine.Querier, code warranty.Hash, now time.Time) (t Taking, err error) {
	err = queryRow(ctx, q, `SELECT `+warrantyColumns+`, c.giver_id, c.transfer, c.email, c.signs_in_until, c.documents, c.made_by,
			c.expires_at, g.kind, g.name, `+domainOf(`g.id`)+`, `+brandOf(`g.id`)+`,
			i.kind, i.name, `+domainOf(`i.id`)+fromCode,
		func(r *engine.Row) {
			t.Warranty, t.Giver, t.Transfer = readWarranty(r), r.ID(), r.Int() != 0
			t.Email, t.SignsInUntil = r.OptionalText(), r.OptionalTime()
			t.documents, t.MadeBy = strings.Fields(r.Text()), r.ID()
			t.Warranty.Show(warranty.DateOf(now))
			t.Preview = warranty.HandoverPreview{
				ReferenceNumber: t.Warranty.ReferenceNumber,
				ProductName:     t.Warranty.ProductName,
				SerialNumberEnd: t.Warranty.SerialNumberEnd(),
				Status:          t.Warranty.Status,
				StartDate:       t.Warranty.StartDate,
				EndDate:         t.Warranty.EndDate,
				Transfer:        t.Transfer,
				Documents:       []string{},
				Email:           t.Email,
				ExpiresAt:       r.Time(),
			}
			t.Preview.Business = enum[warranty.AccountKind](r) == warranty.OrganizationKind
			t.Preview.From = *warranty.NewParty(r.Text(), r.OptionalText()).Branded(readPartyBrand(r))
			issuer := enum[warranty.AccountKind](r)
			if by := warranty.NewParty(r.Text(), r.OptionalText()); issuer == warranty.OrganizationKind {
				t.Preview.Issuer = by
			}
		}, code, now)
	if err != nil || len(t.documents) == 0 {
		return t, err
	}
	t.Preview.Documents, err = documentsAlong(ctx, q, t)
	return t, err
}

// documentsAlong returns the names of the documents that the giver chose to go along and still has.
func documentsAlong(ctx context.Context, q engine.Querier, t Taking) (names []string, err error) {
	err = q.Query(ctx, ownDocuments, func(r *engine.Row) error {
		if d := readDocument(r); slices.Contains(t.documents, d.ID.String()) {
			names = append(names, d.FileName)
		}
		return nil
	}, t.Giver, t.Warranty.ID)
	return names, err
}

// CodeState says why a code takes nothing. The empty state is that of an unknown code.
type CodeState string

// The states of codes that take nothing.
const (
	CodeTaken     CodeState = "taken"
	CodeExpired   CodeState = "expired"
	CodeNotValid  CodeState = "not_valid" // the warranty is void or cancelled
	CodeWithdrawn CodeState = "withdrawn" // the warranty was deleted, or its owner removed it from their account
	CodeCancelled CodeState = "cancelled" // the offer was cancelled or replaced by another one
)

// readCodeState reads when a code was used and when it expires, whether its offer was ended, when its warranty was
// deleted, and the standing of the warranty.
func readCodeState(r *engine.Row, now time.Time) CodeState {
	used, expires, ended, deleted := r.Set(), r.Time(), r.Int() != 0, r.Set()
	switch standing := enum[warranty.Status](r); {
	case used:
		return CodeTaken
	case deleted:
		return CodeWithdrawn
	case standing != warranty.Active:
		return CodeNotValid
	case ended:
		return CodeCancelled
	case !expires.After(now):
		return CodeExpired
	}
	return ""
}

// CodeState says why a code takes nothing. business is the organization that offered the warranty; nil for a person.
func (s *Store) CodeState(
	ctx context.Context, code warranty.Hash, now time.Time,
) (state CodeState, business *warranty.Party, err error) {
	err = s.db.Query(ctx, `SELECT c.used_at, c.expires_at, c.ended, COALESCE(w.deleted_at, (SELECT x.deleted_at FROM trash x
				WHERE x.warranty_id = w.id AND x.account_id = c.giver_id)), w.standing, g.kind, g.name, `+domainOf(`g.id`)+`
			FROM (SELECT warranty_id, giver_id, used_at, expires_at, 0 AS ended FROM offer_codes WHERE code_hash = $1
				UNION ALL SELECT warranty_id, giver_id, NULL, expires_at, 1 FROM ended_codes WHERE code_hash = $1) c
			JOIN warranties w ON w.id = c.warranty_id JOIN users g ON g.id = c.giver_id`,
		func(r *engine.Row) error {
			state = readCodeState(r, now)
			kind := enum[warranty.AccountKind](r)
			if party := warranty.NewParty(r.Text(), r.OptionalText()); kind == warranty.OrganizationKind {
				business = party
			}
			return nil
		}, code)
	return state, business, err
}

// LockOffered locks the warranty of a valid code until the transaction ends.
func (t *Tx) LockOffered(code warranty.Hash, now time.Time) error {
	if err := t.exactlyOne(`SELECT 1`+fromCode+` /*pg: FOR UPDATE OF w */`, code, now); err != nil {
		return err
	}
	// Another transaction may have ended the offer while this one waited for the lock.
	return t.exactlyOne(`SELECT 1`+fromCode, code, now)
}

// UseOfferCode uses up a code and returns what it takes. The warranty is locked until the transaction ends, and its other
// codes no longer work. They stay until they expire, to tell that the warranty was taken.
func (t *Tx) UseOfferCode(code warranty.Hash, now time.Time) (Taking, error) {
	// Lock the warranty before its codes, like every other transaction.
	if err := t.LockOffered(code, now); err != nil {
		return Taking{}, err
	}
	taking, err := takes(t.ctx, t.tx, code, now)
	if err != nil {
		return taking, err
	}
	used, err := t.exec(`UPDATE offer_codes SET used_at = $2 WHERE code_hash = $1 AND used_at IS NULL`, code, now)
	if err == nil && used != 1 {
		err = warranty.ErrNotFound
	}
	if err != nil {
		return taking, err
	}
	return taking, t.later(`UPDATE offer_codes SET used_at = $2 WHERE warranty_id = $1 AND used_at IS NULL`,
		taking.Warranty.ID, now)
}

// Take gives a locked warranty, whose code was used, to a new owner. Who recorded a warranty for themselves and
// transfers it keeps nothing; the issuer of an issued one stays.
func (t *Tx) Take(taking Taking, owner warranty.ID, now time.Time) error {
	id := taking.Warranty.ID
	if taking.Transfer {
		_, roles, err := t.ownerOf(id)
		if err != nil {
			return err
		}
		if err := t.keepDocuments(id, taking.Giver, taking.documents); err != nil {
			return err
		}
		move := t.MoveOwner
		if roles.SelfRecorded() {
			move = t.passOn
		}
		if err := move(id, taking.Giver, owner); err != nil {
			return err
		}
		return t.showKept(id)
	}
	if err := t.exactlyOne(`UPDATE warranties SET taken_at = $2, offer_expires_at = NULL, version = version + 1,
			updated_at = $2 WHERE id = $1`, id, now); err != nil {
		return err
	}
	if taking.Email != nil {
		if err := t.later(`UPDATE offer_mails SET taken_at = $3 WHERE warranty_id = $1 AND email = $2`,
			id, *taking.Email, now); err != nil {
			return err
		}
	}
	if err := t.changed(id); err != nil {
		return err
	}
	if err := t.noteTaken(id, owner, taking.Email, now); err != nil {
		return err
	}
	return t.MoveOwner(id, taking.Giver, owner)
}

// InsertHandedOver notes for the account that gave a warranty away what it was. id is the event in the history.
func (t *Tx) InsertHandedOver(taking Taking, id warranty.ID, now time.Time) error {
	return t.later(`INSERT INTO handed_over (account_id, id, warranty_id, product_name, at) VALUES ($1, $2, $3, $4, $5)`,
		taking.Giver, id, taking.Warranty.ID, taking.Warranty.ProductName, now)
}

// HandedOver lists the warranties that an account gave away and no longer sees, newest first.
func (s *Store) HandedOver(ctx context.Context, account warranty.ID, limit int) (list []warranty.HandedOver, err error) {
	err = s.db.Query(ctx, `SELECT h.product_name, h.at FROM handed_over h WHERE h.account_id = $1
			AND NOT EXISTS (SELECT 1 FROM access a WHERE a.user_id = $1 AND a.kind = `+kindWarranty+`
				AND a.item_id = h.warranty_id)
			ORDER BY h.id DESC LIMIT $2`,
		func(r *engine.Row) error {
			list = append(list, warranty.HandedOver{ProductName: r.Text(), At: r.Time()})
			return nil
		}, account, limit)
	return list, err
}

// AskedCode is what was emailed because a page asked for it. The link and the digits are codes of the offer.
type AskedCode struct {
	Page         warranty.Hash
	Email        string
	Link, Digits warranty.Hash
	Expires      time.Time
	// Giver and MadeBy are who offers the warranty; the zero id if the offer ended.
	Giver, MadeBy warranty.ID
}

// InsertAskedCode adds the codes of an email that someone with the code of a locked offer asked for. They sign in. What the
// address was emailed before about the warranty no longer works.
func (t *Tx) InsertAskedCode(offer Taking, asked AskedCode) error {
	id := offer.Warranty.ID
	for _, sql := range []string{
		`DELETE FROM offer_codes WHERE warranty_id = $1 AND used_at IS NULL AND code_hash IN
			(SELECT link_hash FROM asked_codes WHERE warranty_id = $1 AND email = $2
			UNION ALL SELECT code_hash FROM asked_codes WHERE warranty_id = $1 AND email = $2)`,
		`DELETE FROM asked_codes WHERE warranty_id = $1 AND email = $2`,
	} {
		if err := t.later(sql, id, asked.Email); err != nil {
			return err
		}
	}
	for _, code := range []warranty.Hash{asked.Link, asked.Digits} {
		if err := t.InsertOfferCode(OfferCode{
			Hash: code, Warranty: id, Giver: offer.Giver, By: offer.MadeBy, Transfer: offer.Transfer, Email: &asked.Email,
			SignsInUntil: &asked.Expires, Documents: offer.documents, Expires: asked.Expires,
		}); err != nil {
			return err
		}
	}
	return t.later(`INSERT INTO asked_codes (page_hash, warranty_id, email, link_hash, code_hash, tries, expires_at)
		VALUES ($1, $2, $3, $4, $5, 0, $6)`, asked.Page, id, asked.Email, asked.Link, asked.Digits, asked.Expires)
}

// AskedCode returns what a page asked for, or ErrNotFound.
func (s *Store) AskedCode(ctx context.Context, page warranty.Hash) (a AskedCode, err error) {
	err = queryRow(ctx, s.db, `SELECT a.email, a.link_hash, a.code_hash, a.expires_at, o.giver_id, o.made_by
			FROM asked_codes a LEFT JOIN offer_codes o ON o.code_hash = a.code_hash WHERE a.page_hash = $1`,
		func(r *engine.Row) {
			a.Page, a.Email = page, r.Text()
			a.Link, a.Digits, a.Expires = warranty.Hash(r.Bytes()), warranty.Hash(r.Bytes()), r.Time()
			for _, who := range []*warranty.ID{&a.Giver, &a.MadeBy} {
				if id := r.OptionalID(); id != nil {
					*who = *id
				}
			}
		}, page)
	return a, err
}

// CountTry counts what was entered on a page that asked for a code, and reports whether it was one of the first tries.
func (t *Tx) CountTry(page warranty.Hash, tries int) (bool, error) {
	n, err := t.exec(`UPDATE asked_codes SET tries = tries + 1 WHERE page_hash = $1 AND tries < $2`, page, tries)
	return n == 1, err
}

// CountWrongDigits counts six digits that were entered on a day for an offer of an account and a person, if they are wrong,
// and reports whether fewer than most wrong ones were before. Concurrent tries are counted one by one.
func (t *Tx) CountWrongDigits(asked AskedCode, day warranty.Date, wrong bool, most int) (bool, error) {
	who := []warranty.ID{asked.Giver, asked.MadeBy}
	slices.SortFunc(who, func(a, b warranty.ID) int { return bytes.Compare(a[:], b[:]) })
	allowed := true
	for _, id := range slices.Compact(who) {
		if id.IsZero() {
			continue
		}
		tries := 0
		if wrong {
			tries = 1
		}
		n, err := t.exec(`INSERT INTO wrong_digits (account_id, day, tries) VALUES ($1, $2, $3)
			ON CONFLICT (account_id, day) DO UPDATE SET tries = wrong_digits.tries + $3 WHERE wrong_digits.tries < $4`,
			id, day, tries, most)
		if err != nil {
			return false, err
		}
		allowed = allowed && n == 1
	}
	return allowed, nil
}
