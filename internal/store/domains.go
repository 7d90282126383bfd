package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

const domainColumns = `d.id, d.domain, d.token, d.by_operator, d.verified_at, d.checked_at, d.failing_since, d.found, d.created_at`

func readDomain(r *engine.Row) warranty.Domain {
	d := warranty.Domain{
		ID:         r.ID(),
		Domain:     r.Text(),
		RecordText: warranty.DomainPrefix + r.Text(),
		ByOperator: r.Int() != 0,
		VerifiedAt: r.OptionalTime(),
		CheckedAt:  r.OptionalTime(),
		Status:     warranty.DomainWaiting,
	}
	failing := r.OptionalTime()
	d.Found, d.CreatedAt = r.OptionalText(), r.Time()
	d.RecordName = warranty.DomainLabel + d.Domain
	switch {
	case d.VerifiedAt != nil && failing != nil && !d.ByOperator:
		lost := failing.Add(warranty.DomainGrace)
		d.Status, d.LostAt = warranty.DomainFailing, &lost
	case d.VerifiedAt != nil:
		d.Status = warranty.DomainVerified
	}
	return d
}

// Domains lists the domains of an organization, by name, and returns their total.
func (s *Store) Domains(
	ctx context.Context, organization warranty.ID, p warranty.Paging,
) (list []warranty.Domain, total int64, err error) {
	err = queryRow(ctx, s.db, `SELECT count(*) FROM domains WHERE account_id = $1`,
		func(r *engine.Row) { total = r.Int() }, organization)
	if err != nil {
		return nil, 0, err
	}
	err = s.db.Query(ctx, `SELECT `+domainColumns+` FROM domains d WHERE d.account_id = $1
		ORDER BY d.domain LIMIT $2 OFFSET $3`,
		func(r *engine.Row) error { list = append(list, readDomain(r)); return nil }, organization, p.Limit, p.Offset())
	return list, total, err
}

// Domain returns a domain of an organization.
func (s *Store) Domain(ctx context.Context, organization, id warranty.ID) (d warranty.Domain, err error) {
	err = queryRow(ctx, s.db, `SELECT `+domainColumns+` FROM domains d WHERE d.account_id = $1 AND d.id = $2`,
		func(r *engine.Row) { d = readDomain(r) }, organization, id)
	return d, err
}

// LockDomain returns a domain of a locked organization.
func (t *Tx) LockDomain(organization, id warranty.ID) (d warranty.Domain, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT `+domainColumns+` FROM domains d WHERE d.account_id = $1 AND d.id = $2
		/*pg: FOR UPDATE */`, func(r *engine.Row) { d = readDomain(r) }, organization, id)
	return d, err
}

// DomainID returns the id of a domain that a locked organization added.
func (t *Tx) DomainID(organization warranty.ID, domain string) (id warranty.ID, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT id FROM domains WHERE account_id = $1 AND domain = $2`,
		func(r *engine.Row) { id = r.ID() }, organization, domain)
	return id, err
}

// CountDomains counts the domains of a locked organization.
func (t *Tx) CountDomains(organization warranty.ID) (n int64, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT count(*) FROM domains WHERE account_id = $1`,
		func(r *engine.Row) { n = r.Int() }, organization)
	return n, err
}

// bit returns the stored form of a boolean.
func bit(set bool) int {
	if set {
		return 1
	}
	return 0
}

// InsertDomain adds a domain to a locked organization. It fails with a duplicate if the organization has it,
// or if it is verified and another has it.
func (t *Tx) InsertDomain(organization warranty.ID, d warranty.Domain, token string) error {
	_, err := t.exec(`INSERT INTO domains (id, account_id, domain, token, by_operator, created_at, verified_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`, d.ID, organization, d.Domain, token, bit(d.ByOperator), d.CreatedAt, d.VerifiedAt)
	return err
}

// VerifyDomain marks a domain of a locked organization as verified since now, or still. It fails with a
// duplicate if another organization has it verified.
func (t *Tx) VerifyDomain(id warranty.ID, byOperator bool, now time.Time) error {
	n, err := t.exec(`UPDATE domains SET verified_at = COALESCE(verified_at, $2), checked_at = $2, failing_since = NULL,
		found = NULL, by_operator = CASE WHEN by_operator = 1 THEN 1 ELSE CAST($3 AS SMALLINT) END WHERE id = $1`, id, now,
		bit(byOperator))
	if err == nil && n != 1 {
		err = warranty.ErrNotFound
	}
	return err
}

// FailDomain notes a failed check of a domain. It is no longer verified once its checks have failed for
// DomainGrace.
func (t *Tx) FailDomain(d warranty.Domain, found string, now time.Time) error {
	return t.exactlyOne(`UPDATE domains SET checked_at = $2, found = $3,
			failing_since = CASE WHEN verified_at IS NULL THEN NULL ELSE COALESCE(failing_since, $2) END,
			verified_at = CASE WHEN failing_since <= $4 THEN NULL ELSE verified_at END
		WHERE id = $1`, d.ID, now, found, now.Add(-warranty.DomainGrace))
}

// DeleteDomain removes a domain of a locked organization.
func (t *Tx) DeleteDomain(organization, id warranty.ID) error {
	return t.exactlyOne(`DELETE FROM domains WHERE account_id = $1 AND id = $2`, organization, id)
}

// releaseDomains makes the verified domains of a locked account available to others, and notes that they were verified.
func (t *Tx) releaseDomains(account warranty.ID) error {
	return t.later(`UPDATE domains SET released_at = verified_at, verified_at = NULL
		WHERE account_id = $1 AND verified_at IS NOT NULL`, account)
}

// ReclaimDomains makes the released domains of a locked account verified again, and returns those that another
// organization has verified meanwhile. It fails with a duplicate if another one does so at the same time.
func (t *Tx) ReclaimDomains(account warranty.ID) (lost []warranty.Domain, err error) {
	if _, err := t.exec(`UPDATE domains SET verified_at = released_at, released_at = NULL
		WHERE account_id = $1 AND released_at IS NOT NULL AND NOT EXISTS
			(SELECT 1 FROM domains o WHERE o.domain = domains.domain AND o.verified_at IS NOT NULL)`, account); err != nil {
		return nil, err
	}
	err = t.tx.Query(t.ctx, `UPDATE domains SET released_at = NULL, failing_since = NULL, by_operator = 0
		WHERE account_id = $1 AND released_at IS NOT NULL RETURNING id, domain`,
		func(r *engine.Row) error {
			lost = append(lost, warranty.Domain{ID: r.ID(), Domain: r.Text()})
			return nil
		}, account)
	return lost, err
}

// DomainToCheck is a verified domain that is due for a check, and its organization.
type DomainToCheck struct {
	Organization warranty.ID
	ID           warranty.ID
}

// DomainsToCheck lists some verified domains that were not checked since a time.
func (s *Store) DomainsToCheck(ctx context.Context, before time.Time, limit int) (list []DomainToCheck, err error) {
	err = s.db.Query(ctx, `SELECT account_id, id FROM domains WHERE verified_at IS NOT NULL AND by_operator = 0
		AND checked_at <= $1 ORDER BY checked_at LIMIT $2`,
		func(r *engine.Row) error { list = append(list, DomainToCheck{r.ID(), r.ID()}); return nil }, before, limit)
	return list, err
}

// HasDomain reports whether a locked organization has a verified domain.
func (t *Tx) HasDomain(organization warranty.ID) (found bool, err error) {
	err = t.tx.Query(t.ctx, `SELECT 1 FROM domains WHERE account_id = $1 AND verified_at IS NOT NULL LIMIT 1`,
		func(*engine.Row) error { found = true; return nil }, organization)
	return found, err
}

// VerifiedDomain returns the domain that is shown with the name of an account, or nil.
func (s *Store) VerifiedDomain(ctx context.Context, account warranty.ID) (domain *string, err error) {
	err = queryRow(ctx, s.db, `SELECT `+domainOf(`u.id`)+` FROM users u WHERE u.id = $1`,
		func(r *engine.Row) { domain = r.OptionalText() }, account)
	return domain, err
}

// domainOf is the first verified domain of an account, which is shown with its name. An account that is
// disabled or deleted stands behind nothing.
func domainOf(account string) string {
	return `(SELECT min(d.domain) FROM domains d JOIN users o ON o.id = d.account_id
		WHERE d.account_id = ` + account + ` AND d.verified_at IS NOT NULL AND o.disabled_at IS NULL)`
}

// WarrantyByReference returns any warranty by its reference, and who stands behind it. People are never
// named, and neither is an organization that records a warranty for itself.
func (s *Store) WarrantyByReference(
	ctx context.Context, reference warranty.Reference, now time.Time,
) (w warranty.Warranty, by warranty.Standing, err error) {
	err = queryRow(ctx, s.db, selectStanding+` WHERE w.reference = $1 AND w.deleted_at IS NULL AND i.set_aside_for IS NULL`,
		func(r *engine.Row) { w, by = readStanding(r, now) }, reference)
	return w, by, err
}

// ProductIssuer is an organization that issued warranties of a product with a serial number.
type ProductIssuer struct {
	ID         warranty.ID
	GTINs      []string    // the forms in which it wrote the product's number
	Domain     *string     // its verified domain
	VerifiedAt *time.Time  // when its first domain was verified
	Admin      warranty.ID // the oldest account among its admins
}

// gtinForms is a table of the forms of a GTIN, $1 to $4.
const gtinForms = `(SELECT CAST($1 AS TEXT) AS gtin UNION SELECT CAST($2 AS TEXT) UNION SELECT CAST($3 AS TEXT)
	UNION SELECT CAST($4 AS TEXT))`

// serialKey is warranty.SerialKey of the serial number of a table in SQL. The text is that of the indexes.
func serialKey(table string) string {
	return `/*pg: lower(replace(replace(` + table + `.serial_number, ' ', ''), '-', '') COLLATE "C") */` +
		`/*sqlite: ` + table + `.serial_key */`
}

// productIssuers steps from one issuer of a product to the next in the index, so that the number of warranties of an
// issuer does not matter. $1 to $4 are the forms of the GTIN, $5 is the key of the serial number, and $6 bounds the
// steps. The rows are compared as in the index, which no other index can do, so that no statistics make the databases
// read all of them.
var productIssuers = `WITH RECURSIVE step(gtin, issuer) AS (
		SELECT f.gtin, n.issuer_id
		FROM ` + gtinForms + ` f
			JOIN warranties n ON n.id = (SELECT w.id FROM warranties w /*sqlite: INDEXED BY warranties_by_product_key */
				WHERE w.gtin IS NOT NULL AND w.deleted_at IS NULL AND (w.gtin, ` + serialKey(`w`) + `) >= (f.gtin, $5)
				ORDER BY w.gtin, ` + serialKey(`w`) + `, w.issuer_id, w.id LIMIT 1)
		WHERE n.gtin = f.gtin AND ` + serialKey(`n`) + ` = $5
	UNION ALL
		SELECT s.gtin, n.issuer_id
		FROM step s JOIN warranties n ON n.id = (SELECT w.id FROM warranties w /*sqlite: INDEXED BY warranties_by_product_key */
				WHERE w.gtin IS NOT NULL AND w.deleted_at IS NULL AND (w.gtin, ` + serialKey(`w`) + `, w.issuer_id) > (s.gtin, $5, s.issuer)
				ORDER BY w.gtin, ` + serialKey(`w`) + `, w.issuer_id, w.id LIMIT 1)
		WHERE n.gtin = s.gtin AND ` + serialKey(`n`) + ` = $5)
	SELECT s.issuer, s.gtin FROM (SELECT gtin, issuer FROM step LIMIT $6) s`

// verifiedIssuers are all organizations with a verified domain, and issuersByDomain the one with the verified domain $6,
// in place of productIssuers.
const (
	verifiedIssuers = `SELECT v.issuer, f.gtin FROM (SELECT DISTINCT account_id AS issuer FROM domains
		WHERE verified_at IS NOT NULL LIMIT $6) v CROSS JOIN ` + gtinForms + ` f`
	issuersByDomain = `SELECT d.account_id AS issuer, f.gtin FROM domains d CROSS JOIN ` + gtinForms + ` f
		WHERE d.verified_at IS NOT NULL AND d.domain = $6`
)

// issuersAmong selects those candidates that are organizations and have a warranty of the product among their newest
// that they did not record for themselves. $7 is the largest id.
func issuersAmong(candidates string) string {
	return `SELECT p.issuer, p.gtin, CASE WHEN i.kind = ` + kindOrganization + ` AND i.set_aside_for IS NULL
		AND i.disabled_at IS NULL
			AND EXISTS (SELECT 1 FROM (` + newestOfProduct(`p.gtin`, `$5`, `p.issuer`, `$7`, `$8`) + `) newest
				JOIN warranties w ON w.id = newest.id
				WHERE w.gtin = p.gtin AND ` + serialKey(`w`) + ` = $5 AND w.issuer_id = p.issuer
				AND (w.offered_at IS NOT NULL OR NOT ` + recordedForItself + `)) THEN 1 ELSE 0 END,
		` + domainOf(`p.issuer`) + `,
		(SELECT min(d.verified_at) FROM domains d WHERE d.account_id = p.issuer AND d.verified_at IS NOT NULL),
		COALESCE((SELECT m.user_id FROM members m WHERE m.account_id = p.issuer
			AND m.role = ` + memberAdmin + ` ORDER BY m.user_id LIMIT 1), p.issuer)
	FROM (` + candidates + `) p JOIN users i ON i.id = p.issuer ORDER BY p.issuer, p.gtin`
}

// ProductIssuers lists the organizations that issued warranties of a product with a serial number: those with a verified
// domain first, the domain that was verified first before the others, and then the oldest organization. It looks at most
// at limit issuers without a verified domain, and people count among them; more is whether there may be others. newest is
// the number of warranties of an issuer that are looked at. gtins are the forms of the GTIN. If domain is not empty, the
// list has only the issuer with this verified domain.
func (s *Store) ProductIssuers(
	ctx context.Context, gtins [4]string, serial, domain string, limit, newest int,
) (list []ProductIssuer, more bool, err error) {
	add := func(candidates string, bound any) (rows int, err error) {
		return rows, s.db.Query(ctx, issuersAmong(candidates), func(r *engine.Row) error {
			rows++
			i, gtin, issued := ProductIssuer{ID: r.ID()}, r.Text(), r.Int() != 0
			i.Domain, i.VerifiedAt, i.Admin = r.OptionalText(), r.OptionalTime(), r.ID()
			if last := len(list) - 1; issued && last >= 0 && list[last].ID == i.ID {
				list[last].GTINs = append(list[last].GTINs, gtin)
			} else if i.GTINs = []string{gtin}; issued {
				list = append(list, i)
			}
			return nil
		}, gtins[0], gtins[1], gtins[2], gtins[3], warranty.SerialKey(serial), bound, largestID, newest)
	}
	switch {
	case domain != "":
		_, err = add(issuersByDomain, domain)
	default:
		var rows int
		if rows, err = add(productIssuers, limit); err == nil && rows >= limit {
			// Whoever made them must not hide a verified issuer.
			more = true
			list = slices.DeleteFunc(list, func(i ProductIssuer) bool { return i.Domain != nil })
			_, err = add(verifiedIssuers, maxVerified)
		}
	}
	slices.SortStableFunc(list, func(a, b ProductIssuer) int {
		switch {
		case a.Domain != nil && b.Domain != nil:
			return a.VerifiedAt.Compare(*b.VerifiedAt)
		case a.Domain != nil:
			return -1
		case b.Domain != nil:
			return 1
		}
		return 0
	})
	return list, more, err
}

// maxVerified bounds verifiedIssuers.
const maxVerified = 100_000

// largestID is after all others.
var largestID = warranty.ID(bytes.Repeat([]byte{0xFF}, 16))

// IssuedOfProduct returns the newest warranties of an issuer for a product with a serial number, newest first, and who
// stands behind them.
func (s *Store) IssuedOfProduct(
	ctx context.Context, issuer ProductIssuer, serial string, limit int, now time.Time,
) (list []Stood, err error) {
	for _, gtin := range issuer.GTINs {
		err = errors.Join(err, s.db.Query(ctx, issuedOfProduct, func(r *engine.Row) error {
			w, standing := readStanding(r, now)
			if standing.Issuer != nil {
				list = append(list, Stood{w, standing})
			}
			return nil
		}, gtin, warranty.SerialKey(serial), issuer.ID, largestID, limit))
	}
	slices.SortFunc(list, func(a, b Stood) int { return bytes.Compare(b.Warranty.ID[:], a.Warranty.ID[:]) })
	return list, err
}

// Stood is a warranty and who stands behind it.
type Stood struct {
	Warranty warranty.Warranty
	By       warranty.Standing
}

// recordedForItself reports whether the issuer of a warranty w owns it.
const recordedForItself = `EXISTS (SELECT 1 FROM access a
	WHERE a.user_id = w.issuer_id AND a.kind = ` + kindWarranty + ` AND a.item_id = w.id
	AND a.roles & ` + roleOwner + ` <> 0)`

// selectStanding selects a warranty w with its issuer i and its confirmed seller s.
var selectStanding = `SELECT ` + warrantyColumns + `, i.kind, i.name, ` + domainOf(`i.id`) + `, ` + brandOf(`i.id`) + `, i.former_names,
		CASE WHEN ` + recordedForItself + ` THEN 1 ELSE 0 END,
		COALESCE(s.kind, 1), s.name, ` + domainOf(`s.id`) + `, ` + brandOf(`s.id`) + `, s.former_names
	FROM warranties w JOIN users i ON i.id = w.issuer_id
		LEFT JOIN users s ON s.id = w.seller_id AND s.disabled_at IS NULL`

// issuedOfProduct selects the newest warranties of the issuer $3 with the GTIN $1 and the key $2 of the
// serial number. $4 is the largest id.
var issuedOfProduct = selectStanding + ` WHERE w.gtin = $1 AND ` + serialKey(`w`) + ` = $2 AND w.issuer_id = $3
	AND w.id IN (` + newestOfProduct(`$1`, `$2`, `$3`, `$4`, `$5`) + `)`

// newestOfProduct selects the ids of the newest warranties of an issuer for a product, or others if it has fewer.
func newestOfProduct(gtin, serial, issuer, last, limit string) string {
	return `SELECT n.id FROM warranties n /*sqlite: INDEXED BY warranties_by_product_key */
		WHERE n.gtin IS NOT NULL AND n.deleted_at IS NULL
			AND (n.gtin, ` + serialKey(`n`) + `, n.issuer_id, n.id) <= (` + gtin + `, ` + serial + `, ` + issuer + `, ` + last + `)
		ORDER BY n.gtin DESC, ` + serialKey(`n`) + ` DESC, n.issuer_id DESC, n.id DESC LIMIT ` + limit
}

// readStanding reads a row of selectStanding.
func readStanding(r *engine.Row, now time.Time) (w warranty.Warranty, by warranty.Standing) {
	w = readWarranty(r)
	kind, name, domain, brand := enum[warranty.AccountKind](r), r.Text(), r.OptionalText(), readPartyBrand(r)
	former := readFormerNames(r)
	own := r.Int() != 0
	by.Untaken = own && w.Offer.Open(now)
	if kind == warranty.OrganizationKind && (!own || by.Untaken) {
		by.Issuer = warranty.NewParty(name, domain).Formerly(former, now).Branded(brand)
	}
	kind, seller, domain, brand := enum[warranty.AccountKind](r), r.OptionalText(), r.OptionalText(), readPartyBrand(r)
	former = readFormerNames(r)
	switch {
	case seller == nil:
	case kind == warranty.OrganizationKind:
		by.Seller = warranty.NewParty(*seller, domain).Formerly(former, now).Branded(brand)
	default:
		by.PrivateSeller = true
	}
	return w, by
}

// readFormerNames reads users.former_names.
func readFormerNames(r *engine.Row) (list []warranty.FormerName) {
	if text := r.OptionalText(); text != nil {
		_ = json.Unmarshal([]byte(*text), &list) // written by Rename
	}
	return list
}

// VerifiedDomains lists the verified domains of a locked organization.
func (t *Tx) VerifiedDomains(organization warranty.ID) (list []string, err error) {
	err = t.tx.Query(t.ctx, `SELECT domain FROM domains WHERE account_id = $1 AND verified_at IS NOT NULL ORDER BY domain`,
		func(r *engine.Row) error { list = append(list, r.Text()); return nil }, organization)
	return list, err
}

// FormerNames lists the former names of a locked organization, latest first.
func (t *Tx) FormerNames(organization warranty.ID) (list []warranty.FormerName, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT former_names FROM users WHERE id = $1`,
		func(r *engine.Row) { list = readFormerNames(r) }, organization)
	return list, err
}

// SetFormerNames stores the former names of a locked organization.
func (t *Tx) SetFormerNames(organization warranty.ID, list []warranty.FormerName) error {
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return t.exactlyOne(`UPDATE users SET former_names = $2 WHERE id = $1`, organization, string(text))
}
