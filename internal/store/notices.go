package store

import (
	"context"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// NoticeKind is what a notice is about.
type NoticeKind int64

// The kinds, as they are stored.
const (
	PromiseNotice   NoticeKind = 1 // a business changed the promise of a warranty that the account owns
	ToConfirmNotice NoticeKind = 2 // a warranty names the account as its seller and waits for its confirmation
	ConfirmedNotice NoticeKind = 3 // a seller confirmed a warranty that the account owns
	// A customer registered a warranty that the account issued, or it has another owner.
	RegisteredNotice NoticeKind = 4
	MovedNotice      NoticeKind = 5
)

// Notice is something that an account is emailed about, together with what else happens until it is due.
type Notice struct {
	Kind     NoticeKind
	Warranty warranty.ID
	From     MailSender
	Event    warranty.ID // the first one
}

const (
	insertNotice = `INSERT INTO mail_notices (kind, account_id, warranty_id, sender_id, person_id, event_id, due_at) `
	// onNotice keeps the first event and its time.
	onNotice = ` ON CONFLICT (kind, account_id, warranty_id, sender_id) DO UPDATE SET event_id = CASE
		WHEN excluded.event_id < mail_notices.event_id THEN excluded.event_id ELSE mail_notices.event_id END`
	noticeValues = `$2 /*pg: ::uuid */, $3 /*pg: ::uuid */, $4 /*pg: ::uuid */, $5 /*pg: ::bigint */`
)

// TellOwners adds a notice for the owners of a warranty, except the sender.
func (t *Tx) TellOwners(n Notice, due time.Time) error {
	return t.later(insertNotice+`SELECT $1 /*pg: ::smallint */, a.user_id, a.parent_id, `+noticeValues+` FROM access a
		WHERE a.parent_id = $6 AND a.kind = `+kindWarranty+` AND a.roles & `+roleOwner+` <> 0
		AND a.user_id <> $2`+onNotice,
		int64(n.Kind), n.From.Account, n.From.Person, n.Event, due, n.Warranty)
}

// TellSellers adds a notice for the account that has verified an address which a warranty names as its seller's, except
// the sender. Accounts that decline everything of the sender get none.
func (t *Tx) TellSellers(n Notice, address string, due time.Time) error {
	return t.later(insertNotice+`SELECT $1 /*pg: ::smallint */, x.account_id, $6 /*pg: ::uuid */, `+noticeValues+`
		FROM addresses x JOIN users u ON u.id = x.account_id
		WHERE x.email = $7 AND COALESCE(x.verified_at, u.verified_at) IS NOT NULL AND x.account_id <> $2
			AND NOT EXISTS (SELECT 1 FROM declined_accounts b WHERE b.account_id = x.account_id AND b.from_id = $2)`+onNotice,
		int64(n.Kind), n.From.Account, n.From.Person, n.Event, due, n.Warranty, address)
}

// TellIssuer adds a notice for the organization that issued a warranty and does not own it, except the sender.
func (t *Tx) TellIssuer(n Notice, due time.Time) error {
	return t.later(insertNotice+`SELECT $1 /*pg: ::smallint */, a.user_id, a.parent_id, `+noticeValues+` FROM access a
		JOIN users u ON u.id = a.user_id
		WHERE a.parent_id = $6 AND a.kind = `+kindWarranty+` AND a.roles & `+roleIssuer+` <> 0
		AND a.roles & `+roleOwner+` = 0 AND u.kind = `+kindOrganization+` AND a.user_id <> $2`+onNotice,
		int64(n.Kind), n.From.Account, n.From.Person, n.Event, due, n.Warranty)
}

// DueNotice names the notices of a kind for an account.
type DueNotice struct {
	Kind    NoticeKind
	Account warranty.ID
}

// DueNotices lists the notices that are due.
func (s *Store) DueNotices(ctx context.Context, now time.Time, limit int) (list []DueNotice, err error) {
	err = s.db.Query(ctx, `SELECT DISTINCT kind, account_id FROM mail_notices WHERE due_at <= $1 LIMIT $2`,
		func(r *engine.Row) error {
			list = append(list, DueNotice{NoticeKind(r.Int()), r.ID()})
			return nil
		}, now, limit)
	return list, err
}

// NoticeSenders lists who causes the notices of a locked account.
func (t *Tx) NoticeSenders(d DueNotice) (list []MailSender, err error) {
	err = t.tx.Query(t.ctx, `SELECT DISTINCT sender_id, person_id FROM mail_notices WHERE kind = $1 AND account_id = $2`,
		func(r *engine.Row) error { list = append(list, MailSender{r.ID(), r.ID()}); return nil }, int64(d.Kind), d.Account)
	return list, err
}

// PostponeNotices sets when the notices of a locked account are due.
func (t *Tx) PostponeNotices(d DueNotice, due time.Time) error {
	return t.later(`UPDATE mail_notices SET due_at = $3 WHERE kind = $1 AND account_id = $2`, int64(d.Kind), d.Account, due)
}

// TakeNotices removes and returns the notices of a locked account.
func (t *Tx) TakeNotices(d DueNotice) (list []Notice, err error) {
	err = t.tx.Query(t.ctx, `DELETE FROM mail_notices WHERE kind = $1 AND account_id = $2
		RETURNING warranty_id, sender_id, person_id, event_id`, func(r *engine.Row) error {
		list = append(list, Notice{Kind: d.Kind, Warranty: r.ID(), From: MailSender{r.ID(), r.ID()}, Event: r.ID()})
		return nil
	}, int64(d.Kind), d.Account)
	return list, err
}

// InsertNotice adds an email with notices to the outbox and counts it for everyone who caused them.
func (t *Tx) InsertNotice(m Mail, list []Notice, topic warranty.ID, now time.Time) error {
	if err := t.InsertMail(m); err != nil {
		return err
	}
	for _, n := range list {
		if err := t.logMail(m, n.From, topic, false, now); err != nil {
			return err
		}
	}
	return nil
}

// OwnedWarranty returns a warranty of its owner, or ErrNotFound.
func (t *Tx) OwnedWarranty(owner, id warranty.ID) (warranty.Warranty, error) {
	w, err := oneWarranty(t.ctx, t.tx, owner, warranty.WarrantyKey{ID: id})
	if err == nil && !w.Roles.Has(warranty.Owner) {
		err = warranty.ErrNotFound
	}
	return w, err
}

// IssuedWarranty returns a warranty of its issuer, which someone else owns, or ErrNotFound.
func (t *Tx) IssuedWarranty(issuer, id warranty.ID) (warranty.Warranty, error) {
	w, err := oneWarranty(t.ctx, t.tx, issuer, warranty.WarrantyKey{ID: id})
	if err == nil && (!w.Roles.Has(warranty.Issuer) || w.Roles.Has(warranty.Owner)) {
		err = warranty.ErrNotFound
	}
	return w, err
}

// promiseEvents selects the events h that may have changed the promise of the warranty $2.
const promiseEvents = ` FROM history h WHERE h.thread_id = $2 AND h.action IN ($3, $4)`

// PromiseEventsFrom lists the events that may have changed the promise of a warranty, from one on, in order.
func (t *Tx) PromiseEventsFrom(owner, id, first warranty.ID) (list []warranty.Event, err error) {
	err = t.tx.Query(t.ctx, `SELECT `+seenEventColumns+promiseEvents+` AND h.id >= $5 ORDER BY h.id`,
		func(r *engine.Row) error { return appendEvent(r, &list) },
		owner, id, warranty.WarrantyUpdated, warranty.WarrantyCorrected, first)
	return list, err
}

// PromiseEvents lists the latest events that may have changed the promise of a warranty since its customer took it,
// in order, for an account that has access to it.
func (s *Store) PromiseEvents(ctx context.Context, account, id warranty.ID) (list []warranty.Event, err error) {
	err = s.db.Query(ctx, `SELECT * FROM (SELECT `+seenEventColumns+promiseEvents+`
			AND h.id > (SELECT t.id FROM history t WHERE t.thread_id = $2 AND t.action = $5 ORDER BY t.id DESC LIMIT 1)
			AND EXISTS (SELECT 1 FROM access a WHERE a.user_id = $1 AND a.kind = `+kindWarranty+` AND a.item_id = $2)
			ORDER BY h.id DESC LIMIT 100) h ORDER BY h.id`,
		func(r *engine.Row) error { return appendEvent(r, &list) },
		account, id, warranty.WarrantyUpdated, warranty.WarrantyCorrected, warranty.HandoverWasTaken)
	return list, err
}

func appendEvent(r *engine.Row, list *[]warranty.Event) error {
	e, err := readEvent(r)
	*list = append(*list, e)
	return err
}
