package lists

import (
	"slices"
	"strconv"
	"strings"

	"warranty.example/svc/internal/find"
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// This file reads records as package find sees them.

// JoinWarranty, JoinClaim and JoinDocument join the record of an access row a, and its warranty w. On SQLite,
// warranties are joined by rowid as well: a wrong rowid would find nothing, and never another user's record.
const (
	JoinWarranty = `JOIN warranties w ON w.id = a.item_id /*sqlite: AND w.row = a.item_row */`
	JoinClaim    = `JOIN claims c ON c.id = a.item_id JOIN warranties w ON w.id = c.warranty_id`
	JoinDocument = `JOIN documents d ON d.id = a.item_id JOIN warranties w ON w.id = d.warranty_id`
)

// EarlierClaim selects the claims from before the user owned the warranty. Owners do not read their texts, and
// ClaimDescription is empty.
const (
	EarlierClaim     = `a.roles & ` + SQLOwner + ` <> 0 AND c.owner_id <> a.user_id`
	ClaimDescription = `CASE WHEN ` + EarlierClaim + ` THEN '' ELSE c.description END`
)

// source is how the records of one kind are read for package find.
type source struct {
	columns string // of a record, without its texts
	text    string // columns of its texts
	stands  string // columns of who stands behind it, for kinds that have them
	joins   string // the tables of all, for access rows
	read    func(*engine.Row) find.Record
	// readText reads the columns of the texts.
	readText func(*engine.Row) searched
}

var sources = map[Kind]*source{
	Warranties: {
		columns:  recordColumns,
		text:     searchedColumns,
		stands:   standsColumns,
		joins:    JoinWarranty,
		read:     readRecord,
		readText: readSearched,
	},
	Claims: {
		columns:  `a.item_id, a.roles, a.status, c.updated_at, w.product_name, a.start_date` + workColumns,
		text:     ClaimDescription + `, c.claim_number, ` + searchedColumns,
		joins:    JoinClaim,
		read:     readClaimRecord,
		readText: readChildSearched,
	},
	Documents: {
		columns:  `a.item_id, a.roles, d.created_at, d.file_name`,
		text:     documentText,
		joins:    JoinDocument,
		read:     readDocumentRecord,
		readText: readChildSearched,
	},
}

// wanted are the columns of a record that are read in addition to those that every question needs.
type wanted struct{ text, stands bool }

var wholeRecord = wanted{true, true}

func wantedBy(q *find.Question) wanted {
	return wanted{q.Query != nil || q.Customer != nil, q.Assurance != ""}
}

// selected returns the columns of a record.
func (s *source) selected(w wanted) string {
	columns := s.columns
	if w.text {
		columns += `, ` + s.text
	}
	if w.stands && s.stands != "" {
		columns += `, ` + s.stands
	}
	return columns
}

// shape returns how whole records are read by their ids.
func (s *source) shape() *Shape[*find.Record] {
	return &Shape[*find.Record]{
		Columns: s.selected(wholeRecord),
		Joins:   s.joins,
		Read: func(r *engine.Row) *find.Record {
			record := s.record(r, wholeRecord)
			return &record
		},
		ID: func(r *find.Record) warranty.ID { return r.ID },
	}
}

// record reads the selected columns.
func (s *source) record(r *engine.Row, w wanted) find.Record {
	record := s.read(r)
	if w.text {
		s.readText(r).in(&record)
	}
	if w.stands && s.stands != "" {
		readStands(r, &record)
	}
	return record
}

func readClaimRecord(r *engine.Row) find.Record {
	c := warranty.Claim{ID: r.ID(), Roles: warranty.RolesOf(r.Int()), Status: warranty.EnumOf[warranty.ClaimStatus](r.Int())}
	updated := r.Int()
	c.Warranty.ProductName, c.Spoke = r.Text(), r.Int()
	record := claimRecord(c, r)
	record.Updated = updated
	return record
}

func readDocumentRecord(r *engine.Row) find.Record {
	return find.Record{ID: r.ID(), Roles: warranty.RolesOf(r.Int()), Updated: r.Int(), Name: r.Text()}
}

// workColumns are the columns of the queue of a claim.
const workColumns = `, a.queue, a.queued_at, a.assignee`

// claimRecord returns the record of a claim with the account's roles. It reads workColumns.
func claimRecord(c warranty.Claim, r *engine.Row) find.Record {
	record := find.Record{
		ID: c.ID, Roles: c.Roles, Category: c.Status.String(), Name: c.Warranty.ProductName, Updated: c.UpdatedAt.UnixMicro(),
		OpenClaim: slices.Contains(warranty.OpenClaimStatuses, c.Status),
		Work: find.Work{
			Queue: warranty.EnumOf[warranty.ClaimQueue](r.Int()), Owner: c.Roles.Has(warranty.Owner), Replied: c.HasReplied(),
		},
	}
	record.Waits = find.Waits(record.Work.Queue, r.Int())
	if assignee := r.OptionalID(); assignee != nil {
		record.Work.Assignee = *assignee
	}
	return record
}

// readChildSearched reads a text and a code of a claim or document, followed by searchedColumns of its
// warranty.
func readChildSearched(r *engine.Row) searched {
	own, number := r.Text(), r.Text()
	return readSearched(r).with(own, number)
}

// searched is what is searched of a record: find.Record.Text, Codes and Customer.
type searched struct{ text, codes, customer string }

// in sets the texts of a record.
func (s searched) in(r *find.Record) { r.Text, r.Codes, r.Customer = s.text, s.codes, s.customer }

// with adds a text and a code of a claim or document to those of its warranty.
func (s searched) with(own, number string) searched {
	s.text, s.codes = own+"\n"+number+"\n"+s.text, find.Code(number)+"\n"+s.codes
	return s
}

// searchedColumns are the texts of a warranty that are searched, and the user's roles, which decide
// whether the external id and the customer are among them.
const searchedColumns = `a.roles, w.product_name, w.description, w.category, w.supplier, w.seller_name,
	w.serial_number, w.reference, w.external_id, w.brand, w.model, w.customer_name, w.customer_email`

// readSearched reads searchedColumns.
func readSearched(r *engine.Row) searched {
	return searchedOf(&warranty.Warranty{
		Roles:           warranty.RolesOf(r.Int()),
		ProductName:     r.Text(),
		Description:     r.OptionalText(),
		Category:        r.OptionalText(),
		Supplier:        r.OptionalText(),
		SellerName:      r.OptionalText(),
		SerialNumber:    r.OptionalText(),
		ReferenceNumber: warranty.Reference(r.Text()),
		ExternalID:      r.OptionalText(),
		Brand:           r.OptionalText(),
		Model:           r.OptionalText(),
		CustomerName:    r.OptionalText(),
		Offer:           warranty.Offer{Email: r.OptionalText()},
	})
}

// searchedOf returns what is searched of a warranty. Only its issuer finds it by the external id and the customer.
func searchedOf(w *warranty.Warranty) (s searched) {
	lines := append(make([]string, 0, 12), w.ProductName)
	add := func(text *string) {
		if text != nil {
			lines = append(lines, *text)
		}
	}
	for _, text := range []*string{w.Brand, w.Model, w.Description, w.Category, w.Supplier, w.SellerName} {
		add(text)
	}
	isIssuer := w.Roles.Has(warranty.Issuer)
	if isIssuer {
		add(w.CustomerName)
		add(w.Offer.Email)
		s.customer = find.CustomerOf(derefText(w.CustomerName), derefText(w.Offer.Email))
	}
	first := len(lines)
	add(w.SerialNumber)
	lines = append(lines, string(w.ReferenceNumber))
	if isIssuer {
		add(w.ExternalID)
	}
	list := make([]string, 0, 3)
	for _, code := range lines[first:] {
		list = append(list, find.Code(code))
	}
	s.text, s.codes = strings.Join(lines, "\n"), strings.Join(list, "\n")
	return s
}

// OpenStatuses are the numbers of warranty.OpenClaimStatuses, for a condition in SQL.
var OpenStatuses = func() string {
	numbers := make([]string, 0, len(warranty.OpenClaimStatuses))
	for _, status := range warranty.OpenClaimStatuses {
		numbers = append(numbers, strconv.FormatInt(warranty.EnumNumber(status), 10))
	}
	return strings.Join(numbers, ", ")
}()

// WarrantyColumns returns the columns that WarrantyRecord reads in addition to the warranty.
func WarrantyColumns(q *find.Question) (columns string) {
	if q.OpenClaim != nil {
		columns += `, ` + openClaim
	}
	if q.Assurance != "" {
		columns += `, ` + standsColumns
	}
	return columns
}

// WarrantyRecord returns what a question looks at of a warranty with the user's roles.
func WarrantyRecord(q *find.Question, w warranty.Warranty, r *engine.Row) find.Record {
	record := find.Record{
		ID:          w.ID,
		Roles:       w.Roles,
		Standing:    w.Standing,
		Start:       w.StartDate,
		End:         w.EndDate,
		Category:    derefText(w.Category),
		Supplier:    derefText(w.Supplier),
		Seller:      derefText(w.SellerName),
		SellerEmail: derefText(w.SellerEmail),
		Name:        w.ProductName,
		Updated:     w.UpdatedAt.UnixMicro(),
	}
	if q.OpenClaim != nil {
		record.OpenClaim = r.Int() != 0
	}
	if q.Assurance != "" {
		readStands(r, &record)
	}
	if w.PurchaseDate != nil {
		record.Purchased = *w.PurchaseDate
	}
	if wantedBy(q).text {
		searchedOf(&w).in(&record)
	}
	return record
}

// ClaimColumns returns the columns that ClaimRecord reads in addition to the claim.
func ClaimColumns(*find.Question) string { return workColumns + `, ` + searchedColumns }

// ClaimRecord returns what a question looks at of a claim.
func ClaimRecord(_ *find.Question, c warranty.Claim, r *engine.Row) find.Record {
	record := claimRecord(c, r)
	readSearched(r).with(c.Description, string(c.ClaimNumber)).in(&record)
	return record
}

// documentText are the texts of a document that are searched.
const documentText = `d.search, '', ` + searchedColumns

// DocumentColumns returns the columns that DocumentRecord reads in addition to the document.
func DocumentColumns(*find.Question) string { return `, ` + documentText }

// DocumentRecord returns what a question looks at of a document.
func DocumentRecord(_ *find.Question, d warranty.Document, r *engine.Row) find.Record {
	record := find.Record{ID: d.ID, Updated: d.CreatedAt.UnixMicro(), Name: d.FileName}
	readChildSearched(r).in(&record)
	return record
}

// openClaim tells whether a warranty has an open claim.
var openClaim = `CASE WHEN EXISTS (SELECT 1 FROM claims c WHERE c.warranty_id = a.item_id
	AND c.status IN (` + OpenStatuses + `)) THEN 1 ELSE 0 END`

// recordColumns are what a question looks at besides searchedColumns.
var recordColumns = `a.item_id, a.status, a.start_date, a.end_date, w.category, w.supplier, w.seller_name,
	w.seller_email, w.product_name, w.updated_at, a.roles, w.brand, w.purchase_date, ` + openClaim

func readRecord(r *engine.Row) find.Record {
	record := find.Record{
		ID:          r.ID(),
		Standing:    warranty.EnumOf[warranty.Status](r.Int()),
		Start:       r.Date(),
		End:         r.Date(),
		Category:    r.Text(),
		Supplier:    r.Text(),
		Seller:      r.Text(),
		SellerEmail: r.Text(),
		Name:        r.Text(),
		Updated:     r.Int(),
		Roles:       warranty.RolesOf(r.Int()),
		Brand:       r.Text(),
	}
	if bought := r.OptionalDate(); bought != nil {
		record.Purchased = *bought
	}
	record.OpenClaim = r.Int() != 0
	return record
}

// standsColumns are the accounts that stand behind a warranty, if they are verified: its issuer until a time,
// and its confirmed seller. An issuer that owns the record does so only until its offer ends.
const standsColumns = `w.issuer_id, CASE WHEN NOT EXISTS (SELECT 1 FROM access own
		WHERE own.user_id = w.issuer_id AND own.kind = ` + SQLWarranties + ` AND own.item_id = w.id
			AND own.roles & ` + SQLOwner + ` <> 0)
		THEN 9223372036854775807
	WHEN w.offered_at IS NOT NULL AND w.taken_at IS NULL THEN COALESCE(w.offer_expires_at, 0) ELSE 0 END, w.seller_id`

func readStands(r *engine.Row, record *find.Record) {
	record.Issuer, record.StandsUntil = r.ID(), r.Int()
	if seller := r.OptionalID(); seller != nil {
		record.ConfirmedBy = *seller
	}
}

// derefText returns a text, or "" for nil.
func derefText(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
