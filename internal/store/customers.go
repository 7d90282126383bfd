package store

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"warranty.example/svc/internal/find"
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/store/lists"
	"warranty.example/svc/warranty"
)

// This file reads the customers of organizations and changes what members wrote about them. contacts.go has the writes of
// everything else that makes and changes customers. The customer h is shown; others were merged into it.

const customerColumns = `h.id, h.name, h.email, h.phone, h.recent_at`

func readCustomerRecord(r *engine.Row) warranty.CustomerRecord {
	return warranty.CustomerRecord{
		ID: r.ID(), Name: r.OptionalText(), Email: r.OptionalText(), Phone: r.OptionalText(), LastContactAt: r.Time(),
	}
}

// shownCustomers are the customers h of the account $1 that are not merged into another one.
const shownCustomers = ` FROM customers h WHERE h.account_id = $1 AND h.merged_into IS NULL`

// byContact is the order of lists of customers h.
const byContact = ` ORDER BY h.recent_at DESC, h.id DESC`

// hasWarranties selects the customers h of the account $1 that warranties were issued to or who were added, not only claims
// filed by. Others were merged into them.
const hasWarranties = ` AND (h.user_id IS NULL OR EXISTS (SELECT 1 FROM warranties w WHERE w.issuer_id = $1 AND w.customer_id = h.id
		AND w.deleted_at IS NULL)
	OR EXISTS (SELECT 1 FROM customers k JOIN warranties w ON w.issuer_id = $1 AND w.customer_id = k.id AND w.deleted_at IS NULL
		WHERE k.account_id = $1 AND k.merged_into IS NOT NULL AND k.head_id = h.id))`

// nameless puts customers f without a name last.
const nameless = `CASE WHEN f.folded_name = '' THEN 1 ELSE 0 END`

// byName is the page of the customers f of the account $1 in the order of their names. Those with and without a name are read
// separately, so that both are ranges of the index of names.
const byName = `SELECT f.* FROM (SELECT * FROM (SELECT h.id, h.folded_name, h.email` + shownCustomers + ` AND h.folded_name > ''
			ORDER BY h.folded_name, h.email, h.id LIMIT CAST($2 AS BIGINT) + CAST($3 AS BIGINT)) n
		UNION ALL SELECT * FROM (SELECT h.id, h.folded_name, h.email` + shownCustomers + ` AND h.folded_name = ''
			ORDER BY h.folded_name, h.email, h.id LIMIT CAST($2 AS BIGINT) + CAST($3 AS BIGINT)) n) f`

// Customers lists the customers of an account that match in, and returns their total. Without claims, customers who only
// filed claims are left out.
func (s *Store) Customers(
	ctx context.Context, account warranty.ID, in warranty.ListCustomers, claims bool, now time.Time,
) (list []warranty.CustomerRecord, total int64, err error) {
	c, ok := customerSearch(account, in, claims)
	if !ok {
		return []warranty.CustomerRecord{}, 0, nil
	}
	err = s.db.Read(ctx, func(q engine.Querier) error {
		list = make([]warranty.CustomerRecord, 0, min(in.Limit, mostCounted))
		if c.readings == nil && c.more == "" {
			err = allCustomers(ctx, q, account, in, &list, &total)
		} else {
			err = c.find(ctx, q, in, &list, &total)
		}
		for some := range slices.Chunk(list, mostCounted) {
			if err == nil {
				err = countCustomers(ctx, q, account, some, now)
			}
		}
		return err
	})
	return list, total, err
}

// allCustomers reads a page of the customers of an account, and their total.
func allCustomers(
	ctx context.Context, q engine.Querier, account warranty.ID, in warranty.ListCustomers,
	list *[]warranty.CustomerRecord, total *int64,
) error {
	// SQLite looks up every row to count those that are not merged.
	if err := q.Query(ctx, `SELECT (SELECT count(*) FROM customers c WHERE c.account_id = $1)
			- (SELECT count(*) FROM customers c WHERE c.account_id = $1 AND c.merged_into IS NOT NULL)`,
		func(r *engine.Row) error { *total = r.Int(); return nil }, account); err != nil {
		return err
	}
	const limit = ` LIMIT $2 OFFSET $3`
	order := ` ORDER BY f.recent_at DESC, f.id DESC`
	page := `SELECT h.id, h.recent_at` + shownCustomers + byContact + limit
	if in.Sort == warranty.CustomersByName {
		order = ` ORDER BY ` + nameless + `, f.folded_name, f.email, f.id`
		page = byName + order + limit
	}
	return q.Query(ctx, `SELECT `+customerColumns+` FROM (`+page+`) f JOIN customers h ON h.id = f.id`+order,
		func(r *engine.Row) error {
			*list = append(*list, readCustomerRecord(r))
			return nil
		}, account, in.Limit, in.Offset())
}

// readCustomers adds customers that were found to a list, in their order.
func readCustomers(ctx context.Context, q engine.Querier, found []foundCustomer, list *[]warranty.CustomerRecord) error {
	at, ids := make(map[warranty.ID]int, len(found)), make([]warranty.ID, len(found))
	for i, f := range found {
		at[f.id], ids[i] = len(*list)+i, f.id
	}
	param, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	*list = slices.Grow(*list, len(found))[:len(*list)+len(found)]
	return q.Query(ctx, `SELECT `+customerColumns+` FROM customers h WHERE h.id IN `+idsIn(`$1`), func(r *engine.Row) error {
		c := readCustomerRecord(r)
		(*list)[at[c.ID]] = c
		return nil
	}, string(param))
}

// mostCounted is for how many customers a statement counts.
const mostCounted = 500

// idsIn selects the ids of a list in JSON.
func idsIn(param string) string {
	return `(SELECT /*pg: CAST(value AS UUID) FROM json_array_elements_text(` + param + `) */
		/*sqlite: unhex(value, '-') FROM json_each(` + param + `) */)`
}

// countCustomers adds what is counted to the customers of a page.
func countCustomers(
	ctx context.Context, q engine.Querier, account warranty.ID, list []warranty.CustomerRecord, now time.Time,
) error {
	if len(list) == 0 {
		return nil
	}
	at, ids := make(map[warranty.ID]int, len(list)), make([]warranty.ID, len(list))
	for i, c := range list {
		at[c.ID], ids[i] = i, c.ID
	}
	param, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	// Those that were merged have the same head.
	of := `(SELECT k.id, k.head_id, k.user_id FROM customers k WHERE k.id IN ` + idsIn(`$2`) + `
		UNION ALL SELECT k.id, k.head_id, k.user_id FROM customers k
		WHERE k.account_id = $1 AND k.merged_into IS NOT NULL AND k.head_id IN ` + idsIn(`$2`) + `) k`
	if err := q.Query(ctx, `SELECT k.head_id, count(*), count(CASE WHEN w.offered_at IS NOT NULL AND w.taken_at IS NULL
				AND w.offer_expires_at > $3 AND w.standing = `+standingActive+` THEN 1 END)
			FROM `+of+` JOIN warranties w ON w.issuer_id = $1 AND w.customer_id = k.id AND w.deleted_at IS NULL
			GROUP BY k.head_id`, func(r *engine.Row) error {
		c := &list[at[r.ID()]]
		c.Warranties, c.UntakenOffers = r.Int(), r.Int()
		return nil
	}, account, string(param), now); err != nil {
		return err
	}
	queue := func(q warranty.ClaimQueue) string {
		return `count(DISTINCT CASE WHEN a.queue = ` + queues[q] + ` THEN c.id END)`
	}
	return q.Query(ctx, `SELECT k.head_id, count(DISTINCT c.id), `+queue(warranty.WaitingForUs)+`, `+queue(warranty.WorkInProgress)+`
			FROM `+of+` JOIN claims c ON c.customer_id = k.user_id
			JOIN access a ON a.user_id = $1 AND a.kind = `+kindClaim+` AND a.item_id = c.id AND a.roles & `+roleOwner+` = 0
			WHERE c.status IN (`+lists.OpenStatuses+`) GROUP BY k.head_id`, func(r *engine.Row) error {
		c := &list[at[r.ID()]]
		c.OpenClaims, c.WaitingClaims, c.ActiveClaims = r.Int(), r.Int(), r.Int()
		return nil
	}, account, string(param))
}

// headOf selects the id of the customer of the account $1 that is shown for the customer $2.
const headOf = `(SELECT o.head_id FROM customers o WHERE o.id = $2 AND o.account_id = $1)`

// Customer returns a customer of an account: the one that is shown for id.
// Without claims, one who only filed claims is not found.
func (s *Store) Customer(
	ctx context.Context, account, id warranty.ID, claims bool, now time.Time,
) (c warranty.CustomerRecord, err error) {
	which := ` AND h.id = ` + headOf
	if !claims {
		which += hasWarranties
	}
	err = s.db.Read(ctx, func(q engine.Querier) error {
		list := make([]warranty.CustomerRecord, 1)
		if err := queryRow(ctx, q, `SELECT `+customerColumns+shownCustomers+which,
			func(r *engine.Row) { list[0] = readCustomerRecord(r) }, account, id); err != nil {
			return err
		}
		err := countCustomers(ctx, q, account, list, now)
		c = list[0]
		return err
	})
	return c, err
}

// maxDuplicates is how many possible duplicates a customer shows.
const maxDuplicates = 5

// CustomerCard returns a customer of an account, the one that is shown for id, with everything that members wrote.
func (s *Store) CustomerCard(ctx context.Context, account, id warranty.ID, now time.Time) (c warranty.CustomerCard, err error) {
	err = s.db.Read(ctx, func(q engine.Querier) error {
		c = warranty.CustomerCard{}
		var name, phone string
		if err := queryRow(ctx, q, `SELECT `+customerColumns+`, h.note, h.created_at, h.version, h.folded_name, h.phone_digits`+
			shownCustomers+` AND h.id = `+headOf, func(r *engine.Row) {
			c.CustomerRecord = readCustomerRecord(r)
			c.Note, c.CreatedAt, c.Version, name, phone = r.OptionalText(), r.Time(), r.Int(), r.Text(), r.Text()
		}, account, id); err != nil {
			return err
		}
		list := []warranty.CustomerRecord{c.CustomerRecord}
		if err := q.Query(ctx, `SELECT `+customerColumns+shownCustomers+` AND h.id <> $2
				AND ($3 <> '' AND h.folded_name = $3 OR $4 <> '' AND h.phone_digits = $4)`+
			byContact+` LIMIT $5`, func(r *engine.Row) error {
			list = append(list, readCustomerRecord(r))
			return nil
		}, account, c.ID, name, phone, maxDuplicates); err != nil {
			return err
		}
		if err := countCustomers(ctx, q, account, list, now); err != nil {
			return err
		}
		c.CustomerRecord, c.Duplicates, c.Merged = list[0], list[1:], []warranty.MergedCustomer{}
		return q.Query(ctx, `SELECT k.id, k.name, k.email, k.phone, k.note, k.merged_at FROM customers k
			WHERE k.account_id = $1 AND k.head_id = $2 AND k.merged_into IS NOT NULL ORDER BY k.merged_at DESC, k.id DESC`,
			func(r *engine.Row) error {
				m := warranty.MergedCustomer{
					ID: r.ID(), Name: r.OptionalText(), Email: r.OptionalText(), Phone: r.OptionalText(), Note: r.OptionalText(),
					MergedAt: r.Time(),
				}
				if until := m.MergedAt.Add(warranty.CustomerMergeUndo); until.After(now) {
					m.UndoUntil = &until
				}
				c.Merged = append(c.Merged, m)
				return nil
			}, account, c.ID)
	})
	return c, err
}

// CustomerOfWarranty returns the customer that is shown for a warranty that the account issued.
func (s *Store) CustomerOfWarranty(ctx context.Context, account, id warranty.ID) (customer warranty.ID, err error) {
	err = queryRow(ctx, s.db, `SELECT k.head_id FROM warranties w JOIN customers k ON k.id = w.customer_id
		WHERE w.id = $2 AND w.issuer_id = $1 AND k.account_id = $1 AND w.deleted_at IS NULL`,
		func(r *engine.Row) { customer = r.ID() }, account, id)
	return customer, err
}

// CustomerOfClaim returns the customer that is shown for a claim that the account decides.
func (s *Store) CustomerOfClaim(ctx context.Context, account, id warranty.ID) (customer warranty.ID, err error) {
	err = queryRow(ctx, s.db, `SELECT k.head_id FROM access a JOIN claims c ON c.id = a.item_id
		JOIN customers k ON k.account_id = a.user_id AND k.user_id = c.customer_id
		WHERE a.user_id = $1 AND a.kind = `+kindClaim+` AND a.item_id = $2 AND a.roles & `+roleOwner+` = 0
		ORDER BY k.id LIMIT 1`, func(r *engine.Row) { customer = r.ID() }, account, id)
	return customer, err
}

// narrowToCustomer keeps the warranties that the account issued to the customer with an id, or the claims of the customer
// that it decides. Other texts are for find.NewCustomer.
func narrowToCustomer(l *lists.List, text string) {
	customer, err := warranty.ParseID(text)
	if err != nil {
		return
	}
	const shown = `k.account_id = $1 AND k.head_id = (SELECT o.head_id FROM customers o WHERE o.id = ? AND o.account_id = $1)`
	if l.Kind == lists.Warranties {
		l.Narrow(`a.item_id IN (SELECT w.id FROM customers k JOIN warranties w ON w.issuer_id = $1 AND w.customer_id = k.id
			AND w.deleted_at IS NULL WHERE `+shown+`)`, customer)
		return
	}
	l.Narrow(`a.roles & `+roleOwner+` = 0 AND a.item_id IN (SELECT c.id FROM customers k
		JOIN claims c ON c.customer_id = k.user_id WHERE `+shown+`)`, customer)
}

// LockedCustomer is a customer of a locked account.
type LockedCustomer struct {
	warranty.CustomerCard
	Merged   bool // into another one
	Head     warranty.ID
	MergedAt time.Time
}

// LockCustomer returns a customer of a locked account as it is stored, merged or not.
func (t *Tx) LockCustomer(account, id warranty.ID) (c LockedCustomer, err error) {
	err = queryRow(t.ctx, t.tx, `SELECT h.id, h.name, h.email, h.phone, h.recent_at, h.note, h.version, h.head_id, h.merged_at
		FROM customers h WHERE h.id = $2 AND h.account_id = $1 /*pg: FOR UPDATE */`, func(r *engine.Row) {
		c.CustomerRecord = readCustomerRecord(r)
		c.Note, c.Version, c.Head = r.OptionalText(), r.Int(), r.ID()
		if at := r.OptionalTime(); at != nil {
			c.Merged, c.MergedAt = true, *at
		}
	}, account, id)
	return c, err
}

// AddCustomer adds a customer to a locked account. It fails with a duplicate if one has the address, or the name if there is no
// address.
func (t *Tx) AddCustomer(account warranty.ID, c warranty.CustomerCard) error {
	name, email := derefText(c.Name), derefText(c.Email)
	digits := find.PhoneDigits(derefText(c.Phone))
	return t.exactlyOne(`INSERT INTO customers (id, account_id, key, head_id, email, name, folded_name, phone, phone_digits, note,
			search, last_contact_at, recent_at, version, created_at)
		VALUES ($1, $2, $3, $1, $4, $5, $6, $7, $8, $9, $10, $11, $11, $12, $11)`, c.ID, account, customerKey(name, email), c.Email,
		c.Name, find.CustomerName(name), c.Phone, digits, c.Note, searchedCustomer(name, email, digits), c.CreatedAt, c.Version)
}

// UpdateCustomer changes what members wrote about a locked customer. One without an address is who gets its new name from
// now on. It fails with a duplicate if another one has it.
func (t *Tx) UpdateCustomer(account warranty.ID, c warranty.CustomerCard) error {
	name, email := derefText(c.Name), derefText(c.Email)
	digits := find.PhoneDigits(derefText(c.Phone))
	if err := t.exactlyOne(`UPDATE customers SET name = $3, folded_name = $4, phone = $5, phone_digits = $6, note = $7,
			search = $8, version = version + 1 WHERE id = $2 AND account_id = $1`, account, c.ID, c.Name, find.CustomerName(name),
		c.Phone, digits, c.Note, searchedCustomer(name, email, digits)); err != nil || email != "" || name == "" {
		return err
	}
	_, err := t.exec(`UPDATE customers SET key = $3 WHERE id = $2 AND account_id = $1 AND key <> $3 AND key LIKE 'n%'`,
		account, c.ID, customerKey(name, ""))
	return err
}

// MergeCustomer merges a customer of a locked account, with all that were merged into it, into another one that is shown.
func (t *Tx) MergeCustomer(account, from, into warranty.ID, now time.Time) error {
	if err := t.later(`UPDATE customers SET head_id = $3 WHERE account_id = $1 AND head_id = $2
		AND (id = $2 OR merged_into IS NOT NULL)`, account, from, into); err != nil {
		return err
	}
	if err := t.exactlyOne(`UPDATE customers SET merged_into = $3, merged_at = $4, version = version + 1
		WHERE account_id = $1 AND id = $2 AND merged_into IS NULL`, account, from, into, now); err != nil {
		return err
	}
	return t.refreshCustomer(account, into)
}

// UnmergeCustomer undoes a merge of a customer of a locked account: it is shown again, with those that had been merged
// into it.
func (t *Tx) UnmergeCustomer(account, id warranty.ID) error {
	var head warranty.ID
	into := map[warranty.ID]warranty.ID{}
	if err := t.tx.Query(t.ctx, `SELECT k.id, k.merged_into, k.head_id FROM customers k WHERE k.account_id = $1
			AND k.merged_into IS NOT NULL AND k.head_id = `+headOf, func(r *engine.Row) error {
		k := r.ID()
		into[k], head = r.ID(), r.ID()
		return nil
	}, account, id); err != nil {
		return err
	}
	if err := t.exactlyOne(`UPDATE customers SET merged_into = NULL, merged_at = NULL, head_id = id WHERE account_id = $1
		AND id = $2 AND merged_into IS NOT NULL`, account, id); err != nil {
		return err
	}
	delete(into, id)
	for k := range into {
		up := k
		for up != id {
			next, merged := into[up]
			if !merged {
				break
			}
			up = next
		}
		if up != id {
			continue
		}
		if err := t.exactlyOne(`UPDATE customers SET head_id = $3 WHERE account_id = $1 AND id = $2`, account, k, id); err != nil {
			return err
		}
	}
	if err := t.refreshCustomer(account, id); err != nil {
		return err
	}
	return t.refreshCustomer(account, head)
}

// refreshCustomer sets the last contact of a customer of a locked account to the latest of all that were merged into it.
func (t *Tx) refreshCustomer(account, id warranty.ID) error {
	return t.exactlyOne(`UPDATE customers SET version = version + 1, recent_at = (SELECT max(k.last_contact_at) FROM customers k
			WHERE k.account_id = $1 AND (k.id = $2 OR k.merged_into IS NOT NULL AND k.head_id = $2))
		WHERE account_id = $1 AND id = $2`, account, id)
}
