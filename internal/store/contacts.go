package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"warranty.example/svc/internal/find"
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// This file notes whom organizations have to do with. Each write is part of the transaction that issues, offers, takes or
// claims something. It adds a customer, or changes when there was contact. Transactions that note several do it in the
// order of their keys, after they locked their records.

// Contact is what is known of whom a warranty is issued to.
type Contact struct {
	Name, Email string // "" if it is not known
	At          time.Time
}

// ContactOf returns the contact that the issuer of a warranty has.
func ContactOf(w warranty.Warranty, at time.Time) Contact {
	return Contact{Name: derefText(w.CustomerName), Email: derefText(w.Offer.Email), At: at}
}

// customerKey identifies a customer of an organization: by address, or by name if there is none. It is "" without either.
func customerKey(name, email string) string {
	switch {
	case email != "":
		return "e" + email
	case name != "":
		return "n" + cmp.Or(find.CustomerName(name), find.Fold(name))
	}
	return ""
}

// searchedCustomer is what a search for customers sees.
func searchedCustomer(name, email, digits string) string {
	return find.CustomerWords(name, email) + " " + digits
}

// noteContact adds a customer, or notes the contact. $1 is the id of a new one.
const noteContact = `INSERT INTO customers (id, account_id, key, head_id, email, name, folded_name, search, user_id,
		last_contact_at, recent_at, version, created_at)
	VALUES ($1, $2, $3, $1, $4, $5, $6, $7, $8, $9, $9, 1, $9)
	ON CONFLICT (key, account_id) DO UPDATE SET
		name = COALESCE(customers.name, excluded.name),
		folded_name = CASE WHEN customers.name IS NULL THEN excluded.folded_name ELSE customers.folded_name END,
		search = CASE WHEN customers.name IS NULL THEN excluded.search || customers.phone_digits ELSE customers.search END,
		user_id = COALESCE(excluded.user_id, customers.user_id),
		last_contact_at = ` + laterContact + `, recent_at = CASE WHEN excluded.recent_at > customers.recent_at
			THEN excluded.recent_at ELSE customers.recent_at END,
		created_at = CASE WHEN excluded.created_at < customers.created_at THEN excluded.created_at ELSE customers.created_at END`

const laterContact = `CASE WHEN excluded.last_contact_at > customers.last_contact_at
	THEN excluded.last_contact_at ELSE customers.last_contact_at END`

// noteHead notes the contact with a merged customer for the one that is shown in its place.
const noteHead = `UPDATE customers SET recent_at = $3 WHERE recent_at < $3 AND id = (SELECT k.head_id FROM customers k
	WHERE k.key = $2 AND k.account_id = $1 AND k.merged_into IS NOT NULL)`

// NoteContacts adds those that an organization has to do with to its customers, or notes the contact.
func (t *Tx) NoteContacts(account warranty.ID, list []Contact, newID func() warranty.ID) error {
	byKey := map[string]Contact{}
	for _, c := range list {
		key := customerKey(c.Name, c.Email)
		if key == "" {
			continue
		}
		known, ok := byKey[key]
		if ok {
			c.Name = cmp.Or(known.Name, c.Name)
			if known.At.After(c.At) {
				c.At = known.At
			}
		}
		byKey[key] = c
	}
	keys := make([]string, 0, len(byKey))
	for key := range byKey {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if err := t.noteContact(account, key, byKey[key], nil, newID()); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tx) noteContact(account warranty.ID, key string, c Contact, user *warranty.ID, id warranty.ID) error {
	if err := t.later(noteContact, id, account, key, warranty.Optional(c.Email), warranty.Optional(c.Name),
		find.CustomerName(c.Name), searchedCustomer(c.Name, c.Email, ""), user, c.At); err != nil {
		return err
	}
	return t.later(noteHead, account, key, c.At)
}

// linkCustomer makes the customer with the key $2 the customer of the warranty $1, whose issuer has it.
const linkCustomer = `UPDATE warranties SET customer_id = (SELECT k.id FROM customers k
	WHERE k.key = $2 AND k.account_id = warranties.issuer_id) WHERE id = $1`

// LinkCustomer makes the customer of a locked warranty the one that it names, after NoteContacts.
func (t *Tx) LinkCustomer(w warranty.Warranty) error {
	return t.later(linkCustomer, w.ID, warranty.Optional(customerKey(derefText(w.CustomerName), derefText(w.Offer.Email))))
}

// touch notes a contact at $1 with the customers k that a condition selects.
func (t *Tx) touch(at time.Time, which string, args ...any) error {
	args = append([]any{at}, args...)
	if err := t.later(`UPDATE customers SET last_contact_at = $1, recent_at = CASE WHEN recent_at < $1 THEN $1 ELSE recent_at END
		WHERE last_contact_at < $1 AND id IN (SELECT k.id FROM `+which+`)`, args...); err != nil {
		return err
	}
	return t.later(`UPDATE customers SET recent_at = $1 WHERE recent_at < $1
		AND id IN (SELECT k.head_id FROM `+which+` AND k.merged_into IS NOT NULL)`, args...)
}

// noteTaken notes that an account took a locked warranty from its issuer, with the code that an address got.
func (t *Tx) noteTaken(id, account warranty.ID, email *string, at time.Time) error {
	const customer = `warranties w JOIN customers k ON k.id = w.customer_id AND k.account_id = w.issuer_id WHERE w.id = $2`
	if err := t.touch(at, customer, id); err != nil || email == nil {
		return err
	}
	return t.later(`UPDATE customers SET user_id = $1 WHERE user_id IS NULL AND email = $3
		AND id IN (SELECT k.id FROM `+customer+`)`, account, id, *email)
}

// deciders are the organizations l.user_id that decide the claim c.
const deciders = `claims c JOIN access l ON l.parent_id = c.warranty_id AND ` + decides

// touchClaimant notes for those who decide a locked claim that something was said about it.
func (t *Tx) touchClaimant(claim warranty.ID, at time.Time) error {
	return t.touch(at, deciders+` JOIN customers k ON k.account_id = l.user_id AND k.user_id = c.customer_id WHERE c.id = $2`,
		claim)
}

// NoteClaimant adds who filed a locked claim to the customers of the organizations that decide it.
func (t *Tx) NoteClaimant(claim warranty.ID, at time.Time, newID func() warranty.ID) error {
	type claimant struct {
		account, user warranty.ID
		contact       Contact
	}
	var list []claimant
	if err := t.tx.Query(t.ctx, `SELECT l.user_id, u.id, u.name, u.kind, u.email,
			(SELECT o.contact_email FROM organizations o WHERE o.id = u.id)
		FROM `+deciders+` JOIN organizations b ON b.id = l.user_id JOIN users u ON u.id = c.customer_id
		WHERE c.id = $1 AND u.deleted_at IS NULL AND u.set_aside_for IS NULL ORDER BY l.user_id`, func(r *engine.Row) error {
		one := claimant{account: r.ID(), user: r.ID()}
		who := readCustomer(r.Text(), r)
		one.contact = Contact{Name: who.Name, Email: who.Email, At: at}
		list = append(list, one)
		return nil
	}, claim); err != nil {
		return err
	}
	for _, one := range list {
		known := false
		if err := t.tx.Query(t.ctx, `SELECT 1 FROM customers k WHERE k.user_id = $1 AND k.account_id = $2 LIMIT 1`,
			func(*engine.Row) error { known = true; return nil }, one.user, one.account); err != nil {
			return err
		}
		key := customerKey(one.contact.Name, one.contact.Email)
		if known || key == "" {
			continue
		}
		if err := t.noteContact(one.account, key, one.contact, &one.user, newID()); err != nil {
			return err
		}
	}
	if err := t.touchClaimant(claim, at); err != nil {
		return err
	}
	return t.later(`UPDATE claims SET met = 1 WHERE id = $1 AND met = 0`, claim)
}

// unlinked are the warranties w of an issuer $1 whose customer is not linked yet; see the migration.
const unlinked = `warranties w WHERE w.issuer_id = $1 AND w.customer_id IS NULL AND w.deleted_at IS NULL
	AND (w.customer_email IS NOT NULL OR w.customer_name IS NOT NULL)`

// OrganizationToLink returns an organization that issued warranties whose customers are not linked yet.
func (s *Store) OrganizationToLink(ctx context.Context) (id warranty.ID, found bool, err error) {
	err = s.db.Query(ctx, `SELECT b.id FROM organizations b WHERE EXISTS (SELECT 1 FROM warranties w
			WHERE w.issuer_id = b.id AND w.customer_id IS NULL AND w.deleted_at IS NULL
			AND (w.customer_email IS NOT NULL OR w.customer_name IS NOT NULL)) LIMIT 1`,
		func(r *engine.Row) error { id, found = r.ID(), true; return nil })
	return id, found, err
}

// LinkCustomers adds the customers of some warranties of an organization whose customers are not linked yet, and returns
// their number.
func (t *Tx) LinkCustomers(account warranty.ID, limit int, newID func() warranty.ID) (int, error) {
	type link struct {
		id      warranty.ID
		contact Contact
		first   time.Time
	}
	var list []link
	if err := t.tx.Query(t.ctx, `SELECT w.id, w.customer_name, w.customer_email, w.created_at, w.offered_at, w.taken_at
			FROM `+unlinked+` ORDER BY w.id LIMIT $2 /*pg: FOR UPDATE OF w SKIP LOCKED */`, func(r *engine.Row) error {
		one := link{id: r.ID(), contact: Contact{Name: r.Text(), Email: r.Text(), At: r.Time()}}
		one.first = one.contact.At
		for range 2 {
			if at := r.OptionalTime(); at != nil && at.After(one.contact.At) {
				one.contact.At = *at
			}
		}
		list = append(list, one)
		return nil
	}, account, limit); err != nil {
		return 0, err
	}
	contacts := make([]Contact, 0, 2*len(list))
	for _, one := range list {
		contacts = append(contacts, one.contact)
	}
	if err := t.NoteContacts(account, contacts, newID); err != nil {
		return 0, err
	}
	for _, one := range list {
		key := warranty.Optional(customerKey(one.contact.Name, one.contact.Email))
		if err := t.later(linkCustomer, one.id, key); err != nil {
			return 0, err
		}
		if err := t.later(`UPDATE customers SET created_at = $3 WHERE key = $2 AND account_id = $1 AND created_at > $3`,
			account, key, one.first); err != nil {
			return 0, err
		}
	}
	return len(list), nil
}

// ClaimsToMeet lists some claims whose claimants are not noted yet.
func (s *Store) ClaimsToMeet(ctx context.Context, limit int) (list []warranty.ID, err error) {
	err = s.db.Query(ctx, `SELECT c.id FROM claims c WHERE c.met = 0 AND c.customer_id IS NOT NULL ORDER BY c.id LIMIT $1`,
		func(r *engine.Row) error { list = append(list, r.ID()); return nil }, limit)
	return list, err
}

// MeetClaimant is NoteClaimant for a claim that is not locked, if its claimant is not noted yet.
func (t *Tx) MeetClaimant(claim warranty.ID, newID func() warranty.ID) error {
	var at *time.Time
	if err := t.tx.Query(t.ctx, `SELECT c.updated_at FROM claims c JOIN warranties w ON w.id = c.warranty_id
			WHERE c.id = $1 AND c.met = 0 /*pg: FOR UPDATE OF w */`,
		func(r *engine.Row) error { at = r.OptionalTime(); return nil }, claim); err != nil || at == nil {
		return err
	}
	return t.NoteClaimant(claim, *at, newID)
}

// isCustomer selects the customers k that are the account $1.
const isCustomer = `k.user_id = $1 OR k.key IN (SELECT 'e' || a.email FROM addresses a WHERE a.account_id = $1)`

// forgetCustomer empties what organizations know of a locked account that is erased, also what they typed for customers that
// they merged with it, unless those are another account. Their records keep the customer, without a name.
func (t *Tx) forgetCustomer(account warranty.ID) error {
	for _, which := range []string{
		`id IN (SELECT k.head_id FROM customers k WHERE ` + isCustomer + ` UNION SELECT m.id FROM customers k JOIN customers m
				ON m.account_id = k.account_id AND m.head_id = k.head_id AND m.merged_into IS NOT NULL WHERE ` + isCustomer + `)
			AND (user_id IS NULL OR user_id = $1) AND NOT EXISTS (SELECT 1 FROM addresses a
				WHERE a.email = customers.email AND a.account_id <> $1)`,
		`user_id = $1`,
		`key IN (SELECT 'e' || a.email FROM addresses a WHERE a.account_id = $1)`,
	} {
		if err := t.later(`UPDATE customers SET key = 'x' || /*pg: CAST(id AS TEXT) *//*sqlite: hex(id) */, email = NULL,
				name = NULL, folded_name = '', phone = NULL, phone_digits = '', note = NULL, search = '',
				version = version + 1 WHERE `+which, account); err != nil {
			return err
		}
	}
	return nil
}

// derefText returns a text, or "" for nil.
func derefText(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
