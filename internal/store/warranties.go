package store

import (
	"context"
	"encoding/json"
	"time"

	"warranty.example/svc/internal/find"
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/store/lists"
	"warranty.example/svc/warranty"
)

// Groups of the columns of warranties that are in indexes.
const (
	identityIndex uint8 = iota + 1
	sellerIndex
	startIndex
	endIndex
	standingIndex
	customerIndex
)

// warranties is the table of warranties. The issuer and who named the seller are not in the record.
var warranties = newTable("warranties",
	plainColumn("id", (*engine.Row).ID, func(w *warranty.Warranty) *warranty.ID { return &w.ID }).once(),
	plainColumn("reference", func(r *engine.Row) warranty.Reference { return warranty.Reference(r.Text()) },
		func(w *warranty.Warranty) *warranty.Reference { return &w.ReferenceNumber }).once(),
	textColumn("product_name", func(w *warranty.Warranty) *string { return &w.ProductName }).in(identityIndex),
	optionalTextColumn("description", func(w *warranty.Warranty) **string { return &w.Description }),
	optionalTextColumn("serial_number", func(w *warranty.Warranty) **string { return &w.SerialNumber }).in(identityIndex),
	optionalTextColumn("category", func(w *warranty.Warranty) **string { return &w.Category }),
	derivedColumn("folded_category", func(w *warranty.Warranty) string { return foldedCategory(*w) }),
	optionalTextColumn("supplier", func(w *warranty.Warranty) **string { return &w.Supplier }),
	optionalTextColumn("seller_name", func(w *warranty.Warranty) **string { return &w.SellerName }),
	optionalTextColumn("seller_email", func(w *warranty.Warranty) **string { return &w.SellerEmail }).in(sellerIndex),
	optionalColumn("seller_id", (*engine.Row).OptionalID,
		func(w *warranty.Warranty) **warranty.ID { return &w.Seller }).in(sellerIndex),
	dateColumn("start_date", func(w *warranty.Warranty) *warranty.Date { return &w.StartDate }).in(startIndex),
	dateColumn("end_date", func(w *warranty.Warranty) *warranty.Date { return &w.EndDate }).in(endIndex),
	plainColumn("standing", enum[warranty.Status],
		func(w *warranty.Warranty) *warranty.Status { return &w.Standing }).in(standingIndex),
	plainColumn("version", (*engine.Row).Int, func(w *warranty.Warranty) *int64 { return &w.Version }),
	timeColumn("created_at", func(w *warranty.Warranty) *time.Time { return &w.CreatedAt }).once(),
	timeColumn("updated_at", func(w *warranty.Warranty) *time.Time { return &w.UpdatedAt }),
	optionalTextColumn("external_id", func(w *warranty.Warranty) **string { return &w.ExternalID }).in(identityIndex),
	optionalTextColumn("brand", func(w *warranty.Warranty) **string { return &w.Brand }),
	optionalTextColumn("model", func(w *warranty.Warranty) **string { return &w.Model }),
	optionalTextColumn("gtin", func(w *warranty.Warranty) **string { return &w.GTIN }).in(identityIndex),
	optionalColumn("purchase_date", (*engine.Row).OptionalDate,
		func(w *warranty.Warranty) **warranty.Date { return &w.PurchaseDate }),
	optionalTextColumn("price", func(w *warranty.Warranty) **string { return &w.Price }),
	optionalTextColumn("currency", func(w *warranty.Warranty) **string { return &w.Currency }),
	optionalTextColumn("customer_name", func(w *warranty.Warranty) **string { return &w.CustomerName }).in(customerIndex),
	// The hand-over has statements of its own, so that an update cannot undo it.
	optionalTextColumn("customer_email", func(w *warranty.Warranty) **string { return &w.Offer.Email }).once(),
	optionalTimeColumn("offered_at", func(w *warranty.Warranty) **time.Time { return &w.Offer.OfferedAt }).once(),
	optionalTimeColumn("offer_expires_at", func(w *warranty.Warranty) **time.Time { return &w.Offer.ExpiresAt }).once(),
	optionalTimeColumn("taken_at", func(w *warranty.Warranty) **time.Time { return &w.Offer.TakenAt }).once(),
)

var (
	warrantyColumns = warranties.selected("w")
	insertWarranty  = warranties.insertWith("issuer_id, named_by, customer_id",
		`$%[1]d, $%[1]d, (SELECT k.id FROM customers k WHERE k.account_id = $%[1]d AND k.key = $%[2]d)`)
)

func readWarranty(r *engine.Row) warranty.Warranty { return warranties.read(r) }

// readWarrantyRoles reads a warranty followed by the user's roles on it.
func readWarrantyRoles(r *engine.Row) warranty.Warranty {
	w := readWarranty(r)
	w.Roles = warranty.RolesOf(r.Int())
	return w
}

var (
	fromWarranty = ` FROM access a ` + lists.JoinWarranty + `
		WHERE a.user_id = $1 AND a.kind = ` + kindWarranty + ` AND w.deleted_at IS NULL`
	readWarrantyOf = `SELECT ` + warrantyColumns + `, a.roles` + fromWarranty
	byReference    = ` AND w.reference = $2`
)

// Warranty returns a warranty that the user has access to.
func (s *Store) Warranty(ctx context.Context, user warranty.ID, k warranty.WarrantyKey) (warranty.Warranty, error) {
	return oneWarranty(ctx, s.db, user, k)
}

func oneWarranty(
	ctx context.Context, q engine.Querier, user warranty.ID, k warranty.WarrantyKey,
) (w warranty.Warranty, err error) {
	sql, key := keyed(k, readWarrantyOf+byItem, readWarrantyOf+byReference)
	err = queryRow(ctx, q, sql, func(r *engine.Row) { w = readWarrantyRoles(r) }, user, key)
	return w, err
}

// Warranties lists the warranties that the user has access to and that match in as of today, and
// returns their total.
func (s *Store) Warranties(
	ctx context.Context, user warranty.ID, in warranty.ListWarranties, today warranty.Date,
) ([]warranty.Warranty, int64, error) {
	question := func() *find.Question { return find.QuestionOf(in.WarrantyFilter, in.Sort, today) }
	if needsScan(in) {
		q := question()
		if err := s.verifiedAccounts(ctx, q); err != nil {
			return nil, 0, err
		}
		return lists.Search(ctx, s.lists, searchedList(user, in.WarrantyFilter), q, in.Paging, warrantyShape)
	}
	return lists.Page(ctx, s.lists, plainList(user, in, today), question, in.Paging, warrantyShape)
}

var warrantyShape = &lists.Shape[warranty.Warranty]{
	Columns: warrantyColumns + `, a.roles`,
	Joins:   lists.JoinWarranty,
	Read:    readWarrantyRoles,
	ID:      func(w warranty.Warranty) warranty.ID { return w.ID },
	More:    lists.WarrantyColumns,
	Record:  lists.WarrantyRecord,
}

// CountClaims sets the numbers of claims on warranties that the user has access to.
func (s *Store) CountClaims(ctx context.Context, user warranty.ID, list []warranty.Warranty) error {
	if len(list) == 0 {
		return nil
	}
	ids, counts := make([]warranty.ID, len(list)), map[warranty.ID]int64{}
	for i := range list {
		ids[i] = list[i].ID
	}
	param, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	err = s.db.Query(ctx, `SELECT a.parent_id, count(*) FROM access a WHERE a.user_id = $1 AND a.kind = `+kindClaim+`
			AND a.parent_id IN (SELECT /*pg: CAST(value AS UUID) FROM json_array_elements_text($2) */
				/*sqlite: unhex(value, '-') FROM json_each($2) */) GROUP BY a.parent_id`,
		func(r *engine.Row) error {
			id := r.ID()
			counts[id] = r.Int()
			return nil
		}, user, string(param))
	for i := range list {
		n := counts[list[i].ID]
		list[i].ClaimCount = &n
	}
	return err
}

// searchedList is a list of warranties whose conditions are those of a question, except an external id,
// which at most one record has.
func searchedList(user warranty.ID, f warranty.WarrantyFilter) *lists.List {
	l := lists.Of(user, lists.Warranties)
	narrowToCustomer(l, f.Customer)
	if externalID := f.ExternalID; externalID != "" {
		l.Narrow(`a.item_id = (SELECT w.id FROM warranties w
			WHERE w.issuer_id = $1 AND w.external_id = ? AND w.deleted_at IS NULL)`, externalID)
	}
	return l
}

// plainList is a list with filters that access alone can answer.
func plainList(user warranty.ID, in warranty.ListWarranties, today warranty.Date) *lists.List {
	l := lists.Of(user, lists.Warranties)
	narrowToCustomer(l, in.Customer)
	switch in.Status {
	case "":
	case warranty.Active:
		l.And(`a.status = ? AND a.start_date <= ? AND a.end_date >= ?`, warranty.Active, today, today)
	case warranty.Upcoming:
		l.And(`a.status = ? AND a.start_date > ?`, warranty.Active, today)
	case warranty.Expired:
		l.And(`a.status = ? AND a.end_date < ?`, warranty.Active, today)
	default:
		l.And(`a.status = ?`, in.Status)
	}
	if in.ExpiringWithinDays != nil {
		last := min(today+warranty.Date(*in.ExpiringWithinDays), warranty.Lifetime-1)
		l.And(`a.status = ? AND a.start_date <= ? AND a.end_date >= ? AND a.end_date <= ?`,
			warranty.Active, today, today, last)
	}
	if in.Category != "" {
		l.And(`a.category = ?`, warranty.Fold(in.Category))
	}
	if in.Role != "" {
		l.And(`a.roles & ? <> 0`, warranty.NewRoles(in.Role))
	}
	return l
}

// needsScan reports whether a list has a filter or an order that access alone cannot answer.
func needsScan(in warranty.ListWarranties) bool {
	plain := warranty.WarrantyFilter{
		Status:             in.Status,
		Category:           in.Category,
		Role:               in.Role,
		ExpiringWithinDays: in.ExpiringWithinDays,
	}
	if find.NewCustomer(in.Customer) == nil {
		plain.Customer = in.Customer // none, or an id
	}
	return in.WarrantyFilter != plain || in.Sort != "" && in.Sort != warranty.ByCreatedAtDesc
}

// ending selects the warranties that are active today and end by a day.
const ending = ` FROM access a
	WHERE a.user_id = $1 AND a.kind = ` + kindWarranty + ` AND a.status = ` + standingActive + `
	AND a.start_date <= $2 AND a.end_date >= $2 AND a.end_date <= $3`

// Ending lists the active warranties that the user has access to and that end by a day, soonest
// first.
func (s *Store) Ending(
	ctx context.Context, user warranty.ID, today, last warranty.Date, limit int,
) (list []warranty.Warranty, err error) {
	question := &find.Question{Today: today, ExpiringBy: &last, Sort: warranty.ByEndDate}
	key := lists.Key{User: user, Kind: lists.Warranties}
	if found, err := s.lists.With(ctx, key, func(q engine.Querier, index *lists.Snapshot) error {
		answer, err := index.Ask(question, 0, limit)
		if err != nil {
			return err
		}
		list, err = lists.Rows(ctx, q, key, answer.IDs, warrantyShape)
		return err
	}); found || err != nil {
		return list, err
	}
	release, err := s.endGate.Acquire(ctx, user)
	if err != nil {
		return nil, err
	}
	defer release()
	err = s.db.Query(ctx, `SELECT `+warrantyColumns+`, a.roles
		FROM (SELECT a.item_id, a.roles /*sqlite: , a.item_row */`+ending+`
		ORDER BY a.end_date, a.item_id DESC LIMIT $4) a `+lists.JoinWarranty+` ORDER BY w.end_date, w.id DESC`,
		func(r *engine.Row) error { list = append(list, readWarrantyRoles(r)); return nil }, user, today, last, limit)
	return list, err
}

// EndDates counts the active warranties that the user has access to and that end by a day, per end
// date.
func (s *Store) EndDates(
	ctx context.Context, user warranty.ID, today, last warranty.Date,
) (days map[warranty.Date]int64, err error) {
	key := lists.Key{User: user, Kind: lists.Warranties}
	if found, err := s.lists.Totals(ctx, key, func(index *lists.Snapshot) (err error) {
		days, err = index.CountEnds(&find.Question{Today: today, ExpiringBy: &last})
		return err
	}); found || err != nil {
		return days, err
	}
	release, err := s.endGate.Acquire(ctx, user)
	if err != nil {
		return nil, err
	}
	defer release()
	days = map[warranty.Date]int64{}
	err = s.db.Query(ctx, `SELECT a.end_date, count(*)`+ending+` GROUP BY a.end_date`,
		func(r *engine.Row) error { days[r.Date()] = r.Int(); return nil }, user, today, last)
	return days, err
}

// InsertWarranty adds a warranty. Its creator becomes owner and issuer, and its seller if w.Roles has that. Its customer is
// linked if NoteContacts noted them.
func (t *Tx) InsertWarranty(w warranty.Warranty, creator warranty.ID) error {
	customer := warranty.Optional(customerKey(derefText(w.CustomerName), derefText(w.Offer.Email)))
	if err := t.later(insertWarranty, warranties.values(&w, creator, customer)...); err != nil {
		return err
	}
	return t.grantNew(creator, w, w.Roles.With(warranty.Owner).With(warranty.Issuer))
}

// People lists who gets emails about a warranty: the recipients of the accounts with roles on it, those of
// an account together. They have the roles of their account.
func (t *Tx) People(id warranty.ID) (list []Recipient, err error) {
	err = t.tx.Query(t.ctx, `SELECT `+recipientColumns+`, a.roles
		FROM access a JOIN recipients r ON r.account_id = a.user_id
		WHERE a.parent_id = $1 AND a.kind = `+kindWarranty+` ORDER BY r.account_id, r.user_id`,
		func(r *engine.Row) error {
			to := readRecipient(r)
			to.Roles = warranty.RolesOf(r.Int())
			list = append(list, to)
			return nil
		}, id)
	return list, err
}

// WithOpenClaim returns which of some warranties that a user can see have an open claim.
func (s *Store) WithOpenClaim(ctx context.Context, user warranty.ID, ids []warranty.ID) (map[warranty.ID]bool, error) {
	claimed := map[warranty.ID]bool{}
	param, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	err = s.db.Query(ctx, `SELECT DISTINCT c.warranty_id FROM claims c JOIN access a ON a.item_id = c.warranty_id
		WHERE a.user_id = $1 AND a.kind = `+kindWarranty+` AND c.status IN (`+lists.OpenStatuses+`)
			AND c.warranty_id IN (SELECT /*pg: CAST(value AS UUID) FROM json_array_elements_text($2) */
				/*sqlite: unhex(value, '-') FROM json_each($2) */)`,
		func(r *engine.Row) error { claimed[r.ID()] = true; return nil }, user, string(param))
	return claimed, err
}

// LockWarranty returns a warranty that the user has access to and locks it until the transaction
// ends.
func (t *Tx) LockWarranty(user warranty.ID, k warranty.WarrantyKey) (warranty.Warranty, error) {
	if t.store.db.Concurrent() {
		// Only the record is locked, and the access row is read afterwards. Locking both could deadlock
		// two users who change the same record.
		lock := `SELECT 1` + fromWarranty
		sql, key := keyed(k, lock+byItem+` FOR UPDATE OF w`, lock+byReference+` FOR UPDATE OF w`)
		if err := t.exactlyOne(sql, user, key); err != nil {
			return warranty.Warranty{}, err
		}
	}
	return oneWarranty(t.ctx, t.tx, user, k)
}

// UpdateWarranty updates a locked warranty whose version is still before.Version.
func (t *Tx) UpdateWarranty(before, w warranty.Warranty) error {
	sql, args := warranties.update(&before, &w, w.ID, before.Version)
	if err := t.exactlyOne(sql+` WHERE id = $1 AND version = $2 AND deleted_at IS NULL`, args...); err != nil {
		return err
	}
	if err := lists.NoteWarranty(t.ctx, t.tx, w.ID); err != nil {
		return err
	}
	return t.syncAccess(w)
}

// DeleteWarranty moves a locked warranty to the trash. Its codes take nothing while it is there.
func (t *Tx) DeleteWarranty(w warranty.Warranty, now time.Time) error {
	if err := t.exactlyOne(`UPDATE warranties SET deleted_at = $3, version = version + 1
		WHERE id = $1 AND version = $2 AND deleted_at IS NULL`,
		w.ID, w.Version, now); err != nil {
		return err
	}
	if err := t.toTrash(w.ID, w.ID, `a.parent_id = $2`, now); err != nil {
		return err
	}
	return t.dropAccess(w.ID)
}

// RemoveFromOwner moves a locked warranty, with the documents that the owner uploaded for themselves, from its
// owner's account to their trash. Others keep it; without others, it is deleted.
func (t *Tx) RemoveFromOwner(owner warranty.ID, w warranty.Warranty, now time.Time) error {
	shared, err := t.isShared(w.ID, owner)
	if err != nil {
		return err
	}
	if !shared {
		return t.DeleteWarranty(w, now)
	}
	if err := t.toTrash(w.ID, owner, `a.user_id = $2`, now); err != nil {
		return err
	}
	return t.leave(owner, w.ID)
}

// deleteOwnDocuments deletes the documents of a locked warranty that its owner uploaded for themselves.
func (t *Tx) deleteOwnDocuments(owner, id warranty.ID, now time.Time) error {
	// Those that were sent with a claim stay for the businesses, like those of the claim.
	const own = `uploader_id = $3 AND claim_id IS NULL AND business = 0
		AND NOT EXISTS (SELECT 1 FROM claim_documents y WHERE y.document_id = documents.id)`
	if err := t.noteDeleted(now, `warranty_id = $2 AND `+own, id, owner); err != nil {
		return err
	}
	return t.later(`DELETE FROM documents WHERE warranty_id = $1 AND uploader_id = $2 AND claim_id IS NULL AND business = 0
		AND NOT EXISTS (SELECT 1 FROM claim_documents y WHERE y.document_id = documents.id)`, id, owner)
}
