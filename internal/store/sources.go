package store

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"warranty.example/svc/internal/find"
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// This file reads records as package find sees them.

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

var sources = map[kind]*source{
	kindWarranty: {
		columns:  recordColumns,
		text:     searchedColumns,
		stands:   standsColumns,
		joins:    joinWarranty,
		read:     readRecord,
		readText: readSearched,
	},
	kindClaim: {
		columns:  `a.item_id, a.roles, a.status`,
		text:     claimDescription + `, c.claim_number, ` + searchedColumns,
		joins:    joinClaim,
		read:     readClaimRecord,
		readText: readChildSearched,
	},
	kindDocument: {
		columns:  `a.item_id, a.roles`,
		text:     `d.search, '', ` + searchedColumns,
		joins:    joinDocument,
		read:     func(r *engine.Row) find.Record { return find.Record{ID: r.ID(), Roles: warranty.RolesOf(r.Int())} },
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
func (s *source) shape() *shape[*find.Record] {
	return &shape[*find.Record]{
		columns: s.selected(wholeRecord),
		joins:   s.joins,
		read: func(r *engine.Row) *find.Record {
			record := s.record(r, wholeRecord)
			return &record
		},
		id: func(r *find.Record) warranty.ID { return r.ID },
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
	return claimRecord(r.ID(), warranty.RolesOf(r.Int()), enum[warranty.ClaimStatus](r))
}

func claimRecord(id warranty.ID, roles warranty.Roles, status warranty.ClaimStatus) find.Record {
	return find.Record{ID: id, Roles: roles, Category: status.String(),
		OpenClaim: slices.Contains(warranty.OpenClaimStatuses, status)}
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

// openStatuses are the numbers of warranty.OpenClaimStatuses.
var openStatuses = func() string {
	numbers := make([]string, 0, len(warranty.OpenClaimStatuses))
	for _, status := range warranty.OpenClaimStatuses {
		numbers = append(numbers, strconv.FormatInt(enumNumber(status), 10))
	}
	return strings.Join(numbers, ", ")
}()

// openClaim tells whether a warranty has an open claim.
var openClaim = `CASE WHEN EXISTS (SELECT 1 FROM claims c WHERE c.warranty_id = a.item_id
	AND c.status IN (` + openStatuses + `)) THEN 1 ELSE 0 END`

// recordColumns are what a question looks at besides searchedColumns.
var recordColumns = `a.item_id, a.status, a.start_date, a.end_date, w.category, w.supplier, w.seller_name,
	w.seller_email, w.product_name, w.updated_at, a.roles, w.brand, w.purchase_date, ` + openClaim

func readRecord(r *engine.Row) find.Record {
	record := find.Record{
		ID:          r.ID(),
		Standing:    enum[warranty.Status](r),
		Start:       r.Date(),
		End:         r.Date(),
		Category:    derefText(r.OptionalText()),
		Supplier:    derefText(r.OptionalText()),
		Seller:      derefText(r.OptionalText()),
		SellerEmail: derefText(r.OptionalText()),
		Name:        r.Text(),
		Updated:     r.Int(),
		Roles:       warranty.RolesOf(r.Int()),
		Brand:       derefText(r.OptionalText()),
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
		WHERE own.user_id = w.issuer_id AND own.kind = 1 AND own.item_id = w.id AND own.roles & 1 <> 0) THEN 9223372036854775807
	WHEN w.offered_at IS NOT NULL AND w.taken_at IS NULL THEN COALESCE(w.offer_expires_at, 0) ELSE 0 END, w.seller_id`

func readStands(r *engine.Row, record *find.Record) {
	record.Issuer, record.StandsUntil = r.ID(), r.Int()
	if seller := r.OptionalID(); seller != nil {
		record.ConfirmedBy = *seller
	}
}

// verifiedAccounts completes a question that needs them with the accounts that give an assurance and the time.
func (s *Store) verifiedAccounts(ctx context.Context, question *find.Question) error {
	if question.Assurance == "" {
		return nil
	}
	question.Verified, question.Now = map[warranty.ID]bool{}, s.Now().UnixMicro()
	return s.db.Query(ctx, `SELECT o.id FROM users o JOIN domains d ON d.account_id = o.id
		WHERE d.verified_at IS NOT NULL AND o.kind = 2 AND o.disabled_at IS NULL`, func(r *engine.Row) error {
		question.Verified[r.ID()] = true
		return nil
	})
}

func derefText(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
