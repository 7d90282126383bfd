package store

import (
	"context"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// PublicFacts returns what the public page of a warranty shows besides its verification, if role is the role of the
// business that stands behind it. Only an organization with a verified domain has a contact.
func (s *Store) PublicFacts(
	ctx context.Context, reference warranty.Reference, role warranty.Role,
) (f warranty.PublicFacts, err error) {
	account := `w.issuer_id`
	if role == warranty.Seller {
		account = `w.seller_id`
	}
	var w warranty.Warranty
	err = queryRow(ctx, s.db, `SELECT `+warrantyColumns+`, `+domainOf(account)+`, o.website, o.contact_email, o.contact_phone
		FROM warranties w LEFT JOIN organizations o ON o.id = `+account+`
		WHERE w.reference = $1 AND w.deleted_at IS NULL`,
		func(r *engine.Row) {
			w = readWarranty(r)
			domain, website, email, phone := r.OptionalText(), r.OptionalText(), r.OptionalText(), r.OptionalText()
			if domain != nil {
				f.Contact = warranty.NewContact(*domain, website, email, phone)
			}
		}, reference)
	if err != nil || role != warranty.Issuer {
		return f, err
	}
	var events []warranty.Event
	err = s.db.Query(ctx, `SELECT * FROM (SELECT `+eventColumns+` FROM history h
			WHERE h.thread_id = $1 AND h.action IN ($2, $3) AND h.account_id = (SELECT issuer_id FROM warranties WHERE id = $1)
			AND h.id > (SELECT t.id FROM history t WHERE t.thread_id = $1 AND t.action = $4 ORDER BY t.id DESC LIMIT 1)
			ORDER BY h.id DESC LIMIT 100) h ORDER BY h.id`,
		func(r *engine.Row) error { return appendEvent(r, &events) },
		w.ID, warranty.WarrantyUpdated, warranty.WarrantyCorrected, warranty.HandoverWasTaken)
	f.Reductions = warranty.Reductions(w, events)
	return f, err
}
