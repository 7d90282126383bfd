package warranty

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Maximum lengths, in characters.
const (
	MaxProductName  = 200
	MaxDescription  = 5000
	MaxSerialNumber = 120
	MaxExternalID   = 120
	MaxCategory     = 80
	MaxSupplier     = 200
	MaxSellerName   = 200
	MaxEmail        = 254
	MaxKey          = 255
	MaxQuery        = 200
	MaxIfMatch      = 1000
	MaxStatusReason = 500
)

// Warranty is a warranty record as a user sees it today.
type Warranty struct {
	ID              ID        `json:"id" doc:"Identifier of the warranty."`
	ReferenceNumber Reference `json:"reference_number" doc:"Reference number. Anyone who has it can verify the warranty."`
	ProductName     string    `json:"product_name" doc:"What is covered."`
	Description     *string   `json:"description" doc:"Terms or notes."`
	SerialNumber    *string   `json:"serial_number" doc:"Serial number of the product."`
	ExternalID      *string   `json:"external_id" doc:"The issuer's own ID for the record; null for everyone else."`
	Category        *string   `json:"category" doc:"Product category, free text."`
	Supplier        *string   `json:"supplier" doc:"Who supplied the product, such as a manufacturer, importer or distributor. The shop is seller_name."`
	SellerName      *string   `json:"seller_name" doc:"The shop or person that the product was bought from."`
	SellerEmail     *string   `json:"seller_email" format:"email" doc:"Email address of the seller. The account that has verified it can confirm the record."`
	SellerConfirmed bool      `json:"seller_confirmed" doc:"Whether the seller has confirmed the record."`
	Brand           *string   `json:"brand" doc:"Brand of the product."`
	Model           *string   `json:"model" doc:"Model of the product."`
	GTIN            *string   `json:"gtin" doc:"Global Trade Item Number of the product."`
	PurchaseDate    *Date     `json:"purchase_date" doc:"Date of the purchase."`
	Price           *string   `json:"price" doc:"Price that was paid, as a decimal number."`
	Currency        *string   `json:"currency" doc:"Currency of the price, an ISO 4217 code."`
	CustomerName    *string   `json:"customer_name" doc:"The issuer's name for the customer; null for everyone else."`
	Handover        *Handover `json:"handover" doc:"Hand-over to a customer; null for everyone but the issuer."`
	StartDate       Date      `json:"start_date" doc:"First day of coverage."`
	EndDate         Date      `json:"end_date" doc:"Last day of coverage, inclusive; 9999-12-31 means lifetime."`
	Status          Status    `json:"status" doc:"Status today. An active warranty is upcoming before its start date and expired after its end date."`
	DaysRemaining   *int      `json:"days_remaining" doc:"Days of coverage left after today; null if the warranty is not active or is for life."`
	Roles           Roles     `json:"roles" doc:"Your roles on this warranty."`
	VerifyURL       string    `json:"verify_url" format:"uri" doc:"URL of the public verification page."`
	WebURL          string    `json:"web_url" format:"uri" doc:"URL of the record's page for signed-in people."`
	CreatedAt       time.Time `json:"created_at" doc:"When the record was created."`
	UpdatedAt       time.Time `json:"updated_at" doc:"When the record last changed."`
	ClaimCount      *int64    `json:"claim_count,omitzero" lists:"asked" doc:"Number of claims on the warranty. Only if fields names it."`
	ClaimURL        string    `json:"claim_url,omitzero" format:"uri" lists:"no" doc:"URL of the form with which you file a claim. Append &type=, &description= and &incident_date= to fill it in. Only in a single warranty on which you may file one."`
	UploadURL       string    `json:"upload_url,omitzero" format:"uri" lists:"no" doc:"URL of the form with which you upload a document. Only in a single warranty."`

	// Seller is the account that confirmed the record as its seller.
	Seller *ID `json:"-"`
	// Offer is the stored state of the hand-over.
	Offer Offer `json:"-"`
	// Standing is the stored status: active, void or cancelled.
	Standing Status `json:"-"`
	// Version counts the changes to the record. It is the ETag.
	Version int64 `json:"-"`
	// Replay is true if this is the stored result of an earlier request with the same
	// Idempotency-Key.
	Replay bool `json:"-"`
}

// RecordID returns the ID used in the Location header of a created record.
func (w Warranty) RecordID() ID { return w.ID }

// ETag returns the version as an HTTP entity tag.
func (w Warranty) ETag() string { return fmt.Sprintf(`"%d"`, w.Version) }

// Replayed reports whether this is the stored result of an earlier request.
func (w Warranty) Replayed() bool { return w.Replay }

// SetETag sets the version from an ETag header. Clients use it.
func (w *Warranty) SetETag(tag string) {
	if n, err := strconv.ParseInt(strings.Trim(tag, `"`), 10, 64); err == nil {
		w.Version = n
	}
}

// SetReplayed sets Replay from the Idempotent-Replayed header. Clients use it.
func (w *Warranty) SetReplayed(replayed bool) { w.Replay = replayed }

// Matches reports whether an If-Match value matches this version of the record. An
// empty value always matches; a weak tag never does.
func (w Warranty) Matches(ifMatch string) bool { return matchesTag(w.ETag(), ifMatch) }

// ErrChanged means that a warranty does not have the version of an If-Match header.
var ErrChanged = Refuse(PreconditionFailed,
	"The warranty has changed since you read it. Read it again and use its new ETag.")

func matchesTag(tag, ifMatch string) bool {
	if ifMatch == "" {
		return true
	}
	tags, ok := entityTags(ifMatch)
	return ok && (slices.Contains(tags, "*") || slices.Contains(tags, tag))
}

// ValidIfMatch reports whether value is a valid If-Match header by RFC 9110: a list of
// entity tags, or *.
func ValidIfMatch(value string) bool { _, ok := entityTags(value); return ok }

// entityTags parses an If-Match value. It skips empty list elements, as RFC 9110
// requires.
func entityTags(value string) (tags []string, ok bool) {
	rest := strings.Trim(value, " \t")
	if rest == "*" {
		return []string{"*"}, true
	}
	for rest != "" {
		if rest[0] == ',' {
			rest = strings.TrimLeft(rest[1:], " \t")
			continue
		}
		opaque := strings.TrimPrefix(rest, "W/")
		if !strings.HasPrefix(opaque, `"`) {
			return nil, false
		}
		end := strings.IndexByte(opaque[1:], '"')
		if end < 0 || strings.ContainsFunc(opaque[1:end+1], func(r rune) bool { return r <= ' ' || r == 0x7F }) {
			return nil, false
		}
		size := len(rest) - len(opaque) + end + 2
		tags = append(tags, rest[:size])
		if rest = strings.TrimLeft(rest[size:], " \t"); rest != "" && rest[0] != ',' {
			return nil, false
		}
	}
	return tags, len(tags) > 0
}

// Show sets Status and DaysRemaining as of today. They are never stored, so they
// cannot disagree with the dates.
func (w *Warranty) Show(today Date) {
	w.Status, w.DaysRemaining = w.Standing, nil
	switch {
	case w.Standing != Active:
	case today < w.StartDate:
		w.Status = Upcoming
	case today > w.EndDate:
		w.Status = Expired
	case w.EndDate != Lifetime:
		days := int(w.EndDate - today)
		w.DaysRemaining = &days
	}
}

// Covers reports whether the warranty covers an incident on the given day.
func (w Warranty) Covers(day Date) bool {
	return w.Standing == Active && day >= w.StartDate && day <= w.EndDate
}

// Status is the status of a warranty.
type Status string

// The statuses. Only the first three are stored; the others follow from the dates.
const (
	Active    Status = "active"
	Void      Status = "void"
	Cancelled Status = "cancelled"
	Upcoming  Status = "upcoming"
	Expired   Status = "expired"
)

var statusNames = namesOf(Active, Void, Cancelled, Upcoming, Expired)

// Values lists the known statuses.
func (Status) Values() []string { return statusNames }

// String returns the status's name.
func (s Status) String() string { return string(s) }

// statusMoves lists the allowed changes of the stored status. Cancelled is final.
var statusMoves = map[Status][]Status{Active: {Void, Cancelled}, Void: {Active}, Cancelled: nil}

// WarrantyFilter selects warranties. Its zero value selects all.
type WarrantyFilter struct {
	Q                  string    `json:"q,omitzero" in:"query" max:"200" doc:"Words to search for, in any order. Each must be the start of a word in the product name, brand, model, serial number, reference number, external ID, category, supplier, seller name or description, or, in warranties that you issued, the customer's name or email, or, from 3 characters on, part of a serial number, reference number or external ID. Case and accents are ignored." tool:"Words in any order. Each is the start of a word in the product, category, supplier, seller, description, the name or email of the shop's customer, serial number, reference or external ID, or 3+ characters inside one of the last three."`
	Status             Status    `json:"status,omitzero" in:"query" doc:"Only warranties with this status."`
	Category           string    `json:"category,omitzero" in:"query" max:"80" doc:"Only warranties in this category. Case-insensitive." tool:"Only warranties in this category."`
	Supplier           string    `json:"supplier,omitzero" in:"query" max:"200" doc:"Only warranties with this supplier. Case-insensitive." tool:"Only warranties with this supplier."`
	Seller             string    `json:"seller,omitzero" in:"query" max:"254" doc:"Only warranties that were bought from this shop: with this seller name, seller email or supplier. Case-insensitive." tool:"Only warranties bought from this shop: its whole name or email, as seller or supplier. For a part of the name use q."`
	Role               Role      `json:"role,omitzero" in:"query" doc:"Only warranties on which you have this role."`
	EndsFrom           Date      `json:"ends_from,omitzero" in:"query" doc:"Only warranties that end on or after this date."`
	EndsTo             Date      `json:"ends_to,omitzero" in:"query" doc:"Only warranties that end on or before this date."`
	CoveredOn          Date      `json:"covered_on,omitzero" in:"query" doc:"Only warranties that covered the product on this date."`
	ExpiringWithinDays *int      `json:"expiring_within_days,omitempty" in:"query" min:"0" max:"3650" doc:"Only active warranties that end within this many days."`
	HasOpenClaim       *bool     `json:"has_open_claim,omitempty" in:"query" doc:"Only warranties with (true) or without (false) an open claim."`
	Assurance          Assurance `json:"assurance,omitzero" in:"query" doc:"Only warranties with this assurance: an issuer or a confirmed seller with a verified domain stands behind them, or nobody who is verified." tool:"Who stands behind the warranty."`
	ExternalID         string    `json:"external_id,omitzero" in:"query" max:"120" doc:"Only the warranty that you issued with this external ID."`
	Customer           string    `json:"customer,omitzero" in:"query" max:"254" doc:"Only warranties that you issued to this customer: the id of a customer, an email address or its start, or words, each the start of a word in the customer's name or email. Case and accents are ignored." tool:"Only warranties that the user's shop issued to this customer: ID, words of the name, or email."`
	PurchasedFrom      Date      `json:"purchased_from,omitzero" in:"query" doc:"Only warranties of products that were bought on or after this date." tool:"Bought on or after."`
	PurchasedTo        Date      `json:"purchased_to,omitzero" in:"query" doc:"Only warranties of products that were bought on or before this date." tool:"Bought on or before."`
}

// check validates the filter.
func (f *WarrantyFilter) check(c *Checks) {
	f.Q = c.query(f.Q)
	f.Category = c.text("category", f.Category, 0, MaxCategory)
	f.Supplier = c.text("supplier", f.Supplier, 0, MaxSupplier)
	f.Seller = c.text("seller", f.Seller, 0, MaxEmail)
	f.ExternalID = c.text("external_id", f.ExternalID, 0, MaxExternalID)
	f.Customer = c.text("customer", f.Customer, 0, MaxEmail)
	if d := f.ExpiringWithinDays; d != nil && (*d < 0 || *d > maxDays) {
		c.Add("expiring_within_days", "out_of_range", "Must be between 0 and 3650 days.")
	}
	if !f.EndsFrom.IsZero() && !f.EndsTo.IsZero() && f.EndsTo < f.EndsFrom {
		c.Add("ends_to", "before_start", "Must be on or after ends_from.")
	}
	if !f.PurchasedFrom.IsZero() && !f.PurchasedTo.IsZero() && f.PurchasedTo < f.PurchasedFrom {
		c.Add("purchased_to", "before_start", "Must be on or after purchased_from.")
	}
}

// WarrantySort is the order of a list of warranties.
type WarrantySort string

// The orders. Records that are equal in the order are listed newest first.
const (
	ByCreatedAtDesc WarrantySort = "-created_at"
	ByEndDate       WarrantySort = "end_date"
	ByEndDateDesc   WarrantySort = "-end_date"
	ByProductName   WarrantySort = "product_name"
	ByUpdatedAt     WarrantySort = "updated_at"
	ByUpdatedAtDesc WarrantySort = "-updated_at"
)

var sortNames = namesOf(ByCreatedAtDesc, ByEndDate, ByEndDateDesc, ByProductName, ByUpdatedAt, ByUpdatedAtDesc)

// Values lists the known orders.
func (WarrantySort) Values() []string { return sortNames }

// String returns the order's name.
func (s WarrantySort) String() string { return string(s) }

// ListWarranties is the input of warranties.list.
type ListWarranties struct {
	Paging
	WarrantyFilter
	Sort WarrantySort `json:"sort,omitzero" in:"query" default:"-created_at" doc:"Order of the list."`
	Selection

	UpdatedSince *time.Time    `json:"updated_since,omitempty" in:"query" doc:"List what was added or changed for you at or after this time, oldest change first. Cannot be combined with filters. Use the synced_to of an earlier response." example:"2026-03-01T12:00:00Z" tool:"What changed since then, oldest change first. No other filters."`
	After        *FeedPosition `json:"after,omitempty" in:"query" doc:"With updated_since, the next of the previous page." tool:"next of the previous page."`
}

// Check validates the input.
func (in *ListWarranties) Check() error {
	var c Checks
	in.checkFeed(&c)
	in.Paging.Check(&c)
	if in.IsFeed() {
		in.Page = 0
	}
	in.WarrantyFilter.check(&c)
	return c.Err()
}

// SummaryGroup is what a summary groups warranties by.
type SummaryGroup string

// The groupings.
const (
	GroupByStatus   SummaryGroup = "status"
	GroupByCategory SummaryGroup = "category"
	GroupBySupplier SummaryGroup = "supplier"
	GroupByBrand    SummaryGroup = "brand"
	GroupByEndMonth SummaryGroup = "end_month"
)

var summaryGroupNames = namesOf(GroupByStatus, GroupByCategory, GroupBySupplier, GroupByBrand, GroupByEndMonth)

// Values lists the known groupings.
func (SummaryGroup) Values() []string { return summaryGroupNames }

// String returns the grouping's name.
func (g SummaryGroup) String() string { return string(g) }

// SummarizeWarranties is the input of warranties.summarize.
type SummarizeWarranties struct {
	WarrantyFilter
	GroupBy SummaryGroup `json:"group_by,omitzero" in:"query" default:"status" doc:"What to count by."`
	Limit   int          `json:"limit,omitzero" in:"query" default:"100" min:"1" max:"500" doc:"Groups to return, 1 to 500. The rest is counted in other."`
}

// Limits of a summary.
const (
	DefaultGroups = 100
	MaxGroups     = 500
)

// Check sets defaults and validates the input.
func (in *SummarizeWarranties) Check() error {
	var c Checks
	in.WarrantyFilter.check(&c)
	if in.GroupBy == "" {
		in.GroupBy = GroupByStatus
	}
	if in.Limit == 0 {
		in.Limit = DefaultGroups
	}
	if in.Limit < 1 || in.Limit > MaxGroups {
		c.Add("limit", "out_of_range", "Must be between 1 and 500.")
	}
	return c.Err()
}

// Summary counts warranties per group.
type Summary struct {
	Today   Date         `json:"today" doc:"The day on which statuses were computed."`
	GroupBy SummaryGroup `json:"group_by" doc:"What was counted by."`
	Total   int64        `json:"total" doc:"Exact number of warranties that the filters select."`
	Groups  []Group      `json:"groups" doc:"The groups: months in order of time, those nearest to today if there are more than the limit; all others largest first."`
	Other   OtherGroups  `json:"other" doc:"The groups beyond the limit."`
}

// Group is one group of a summary.
type Group struct {
	Value *string `json:"value" doc:"The status, category, supplier, brand or month (YYYY-MM; 9999-12 means lifetime); null for warranties without one."`
	Count int64   `json:"count" doc:"Exact number of warranties in the group."`
}

// OtherGroups counts the groups that a summary leaves out.
type OtherGroups struct {
	Groups int64 `json:"groups" doc:"Number of groups."`
	Count  int64 `json:"count" doc:"Number of warranties in them."`
}

// GetWarranty is the input of warranties.get.
type GetWarranty struct {
	ID WarrantyKey `json:"id" in:"path" required:"true" doc:"ID or reference number of the warranty."`
	Selection
}

// CreateWarranty is the input of warranties.create.
type CreateWarranty struct {
	ProductName    string  `json:"product_name,omitzero" required:"true" max:"200" doc:"What is covered." example:"Bosch Serie 6 washing machine"`
	StartDate      Date    `json:"start_date,omitzero" required:"true" doc:"First day of coverage." example:"2026-03-01"`
	EndDate        Date    `json:"end_date,omitzero" required:"true" doc:"Last day of coverage, inclusive; 9999-12-31 means lifetime." example:"2028-02-29"`
	Description    string  `json:"description,omitzero" max:"5000" doc:"Terms or notes."`
	SerialNumber   string  `json:"serial_number,omitzero" max:"120" doc:"Serial number of the product." example:"WGG244A20-0017"`
	ExternalID     string  `json:"external_id,omitzero" max:"120" doc:"Your own ID for the record, unique among the records that you issued. A second create with the same ID is rejected." example:"order-4711-2"`
	Category       string  `json:"category,omitzero" max:"80" doc:"Product category, free text." example:"Appliances"`
	Supplier       string  `json:"supplier,omitzero" max:"200" doc:"Who supplied the product, such as a manufacturer, importer or distributor. For the shop use seller_name." tool:"Manufacturer, importer or distributor. For the shop use seller_name."`
	SellerName     string  `json:"seller_name,omitzero" max:"200" doc:"The shop or person that the product was bought from." tool:"The shop that it was bought from."`
	SellerEmail    string  `json:"seller_email,omitzero" max:"254" format:"email" doc:"Email address of the seller. The account that has verified it can confirm the record, and then sees it."`
	Brand          string  `json:"brand,omitzero" max:"120" doc:"Brand of the product." example:"Bosch"`
	Model          string  `json:"model,omitzero" max:"120" doc:"Model of the product." example:"WGG244A20"`
	GTIN           string  `json:"gtin,omitzero" max:"14" doc:"Global Trade Item Number: 8, 12, 13 or 14 digits with a valid check digit." tool:"GTIN with a valid check digit." example:"4242005273881"`
	PurchaseDate   Date    `json:"purchase_date,omitzero" doc:"Date of the purchase." example:"2026-02-27"`
	Price          string  `json:"price,omitzero" max:"17" doc:"Price that was paid, as a decimal number. Needs currency." tool:"Decimal number. Needs currency." example:"649.00"`
	Currency       string  `json:"currency,omitzero" max:"3" doc:"Currency of the price, an ISO 4217 code. Needs price." tool:"ISO 4217 code." example:"EUR"`
	CustomerEmail  string  `json:"customer_email,omitzero" max:"254" format:"email" doc:"Offer the warranty to this customer by email. Only organizations can." tool:"Offer it to this customer by email. Only organizations can."`
	CustomerName   string  `json:"customer_name,omitzero" max:"200" doc:"Name of the customer, for your own records."`
	IdempotencyKey *string `json:"idempotency_key,omitempty" in:"header" max:"255" doc:"A unique string that you generate. Repeating a request with the same key and body within 24 hours returns the same response and does not create a second record." tool:"A unique string. Repeating the call with it creates no second record."`
}

// Check trims and validates the input.
func (in *CreateWarranty) Check() error {
	var c Checks
	in.ProductName = c.text("product_name", in.ProductName, 1, MaxProductName)
	checkDates(&c, in.StartDate, in.EndDate)
	in.checkOptional(&c)
	return c.Err()
}

// checkOptional trims and validates the fields that are not required.
func (in *CreateWarranty) checkOptional(c *Checks) {
	in.Description = c.lines("description", in.Description, 0, MaxDescription)
	in.SerialNumber = c.text("serial_number", in.SerialNumber, 0, MaxSerialNumber)
	in.ExternalID = c.text("external_id", in.ExternalID, 0, MaxExternalID)
	in.Category = c.text("category", in.Category, 0, MaxCategory)
	in.Supplier = c.text("supplier", in.Supplier, 0, MaxSupplier)
	in.SellerName = c.text("seller_name", in.SellerName, 0, MaxSellerName)
	in.SellerEmail = c.email("seller_email", in.SellerEmail, false)
	in.Brand = c.text("brand", in.Brand, 0, MaxBrand)
	in.Model = c.text("model", in.Model, 0, MaxModel)
	in.GTIN = c.gtin(in.GTIN)
	in.Price, in.Currency = c.price(in.Price, in.Currency)
	in.CustomerEmail = c.email("customer_email", in.CustomerEmail, false)
	in.CustomerName = c.text("customer_name", in.CustomerName, 0, MaxCustomerName)
	in.IdempotencyKey = c.idempotencyKey(in.IdempotencyKey)
}

const endBeforeStart = "Must be on or after the start date."

func checkDates(c *Checks, start, end Date) {
	if start.IsZero() {
		c.Add("start_date", "required", "This field is required. Use the format YYYY-MM-DD.")
	}
	if end.IsZero() {
		c.Add("end_date", "required", "This field is required. Use the format YYYY-MM-DD.")
	}
	if !start.IsZero() && !end.IsZero() && end < start {
		c.Add("end_date", "before_start", endBeforeStart)
	}
}

// UpdateWarranty is the input of warranties.update. Fields that are nil stay as they
// are.
type UpdateWarranty struct {
	ID           WarrantyKey `json:"id" in:"path" required:"true" doc:"ID or reference number of the warranty."`
	ProductName  *string     `json:"product_name,omitempty" max:"200" doc:"What is covered."`
	StartDate    *Date       `json:"start_date,omitempty" doc:"First day of coverage."`
	EndDate      *Date       `json:"end_date,omitempty" doc:"Last day of coverage, inclusive; 9999-12-31 means lifetime."`
	Status       *Status     `json:"status,omitempty" enum:"active,void,cancelled" doc:"New status: active, void or cancelled. Upcoming and expired follow from the dates and cannot be set."`
	Category     *string     `json:"category,omitempty" null:"true" max:"80" doc:"Product category. An empty string removes it." tool:"Product category."`
	Supplier     *string     `json:"supplier,omitempty" null:"true" max:"200" doc:"Who supplied the product, such as a manufacturer, importer or distributor. An empty string removes it." tool:"Manufacturer, importer or distributor."`
	StatusReason string      `json:"status_reason,omitzero" max:"500" doc:"Reason for the new status. The owner gets it by email, and it is kept in the history." tool:"Reason for the new status; the owner gets it by email."`
	ExternalID   *string     `json:"external_id,omitempty" null:"true" max:"120" doc:"The issuer's own ID for the record. An empty string removes it. Only the issuer can set it." tool:"The issuer's own ID for the record."`
	Brand        *string     `json:"brand,omitempty" null:"true" max:"120" doc:"Brand of the product. An empty string removes it." tool:"Brand of the product."`
	Model        *string     `json:"model,omitempty" null:"true" max:"120" doc:"Model of the product. An empty string removes it." tool:"Model of the product."`
	GTIN         *string     `json:"gtin,omitempty" null:"true" max:"14" doc:"Global Trade Item Number with a valid check digit. An empty string removes it." tool:"GTIN."`
	PurchaseDate *Date       `json:"purchase_date,omitempty" null:"true" doc:"Date of the purchase. In REST, null removes it." tool:"Date of the purchase."`
	Price        *string     `json:"price,omitempty" null:"true" max:"17" doc:"Price that was paid. Send it with currency; an empty string removes both." tool:"Price, with currency."`
	Currency     *string     `json:"currency,omitempty" null:"true" max:"3" doc:"Currency of the price, an ISO 4217 code."`
	CustomerName *string     `json:"customer_name,omitempty" null:"true" max:"200" doc:"Name of the customer, for the issuer's own records. An empty string removes it. Only the issuer can set it." tool:"Name of the customer, for the issuer's records."`
	IfMatch      string      `json:"if_match,omitzero" in:"header" max:"1000" doc:"Update the record only if its ETag matches."`
}

// Check trims and validates the input.
func (in *UpdateWarranty) Check() error {
	var c Checks
	trim := func(field string, value *string, least, most int) {
		if value != nil {
			*value = c.text(field, *value, least, most)
		}
	}
	trim("product_name", in.ProductName, 1, MaxProductName)
	trim("category", in.Category, 0, MaxCategory)
	trim("supplier", in.Supplier, 0, MaxSupplier)
	trim("external_id", in.ExternalID, 0, MaxExternalID)
	trim("brand", in.Brand, 0, MaxBrand)
	trim("model", in.Model, 0, MaxModel)
	trim("customer_name", in.CustomerName, 0, MaxCustomerName)
	if in.GTIN != nil {
		*in.GTIN = c.gtin(*in.GTIN)
	}
	in.checkPrice(&c)
	in.StatusReason = c.lines("status_reason", in.StatusReason, 0, MaxStatusReason)
	if in.StatusReason != "" && in.Status == nil {
		c.Add("status_reason", "not_accepted", "Only accepted together with status. Remove this field.")
	}
	in.IfMatch = c.ifMatch(in.IfMatch)
	if in.StartDate != nil && in.StartDate.IsZero() {
		c.Add("start_date", "required", "Cannot be empty. Omit the field to keep the current date.")
	}
	if in.EndDate != nil && in.EndDate.IsZero() {
		c.Add("end_date", "required", "Cannot be empty. Omit the field to keep the current date.")
	}
	if in.StartDate != nil && in.EndDate != nil && !in.StartDate.IsZero() && !in.EndDate.IsZero() &&
		*in.EndDate < *in.StartDate {
		c.Add("end_date", "before_start", endBeforeStart)
	}
	if in.Status != nil {
		switch *in.Status {
		case "":
			c.Add("status", "required", "Cannot be empty. Omit the field to keep the current status.")
		case Upcoming, Expired:
			c.Add("status", "not_settable",
				"Must be active, void or cancelled. For upcoming or expired, change start_date or end_date instead.")
		}
	}
	return c.Err()
}

// checkPrice validates price and currency. An empty price without a currency removes both.
func (in *UpdateWarranty) checkPrice(c *Checks) {
	if in.Price == nil && in.Currency == nil {
		return
	}
	price, currency := "", ""
	set(&price, in.Price)
	set(&currency, in.Currency)
	price, currency = c.price(price, currency)
	in.Price, in.Currency = &price, &currency
}

// promise reports whether the update changes what the issuer stands for, besides the
// status.
func (in UpdateWarranty) promise() bool {
	return in.ProductName != nil || in.StartDate != nil || in.EndDate != nil || in.Supplier != nil ||
		in.Brand != nil || in.Model != nil || in.GTIN != nil
}

// notes reports whether the update changes what the owner keeps for themselves.
func (in UpdateWarranty) notes() bool {
	return in.Category != nil || in.PurchaseDate != nil || in.Price != nil
}

// Apply returns the updated warranty, or an error if the roles in w.Roles or the
// status do not permit the update. It has no side effects.
func (in UpdateWarranty) Apply(w Warranty) (Warranty, error) {
	for _, part := range []struct {
		given bool
		verb  Verb
	}{
		{in.promise(), ChangePromise},
		{in.notes(), ChangeNotes},
		{in.ExternalID != nil || in.CustomerName != nil, SetExternalID},
	} {
		if !part.given {
			continue
		}
		if err := w.Roles.May(part.verb); err != nil {
			return w, err
		}
	}
	if in.Status != nil && *in.Status != w.Standing {
		if err := moveStatus(w, *in.Status); err != nil {
			return w, err
		}
		w.Standing = *in.Status
	}
	set(&w.ProductName, in.ProductName)
	set(&w.StartDate, in.StartDate)
	set(&w.EndDate, in.EndDate)
	setOptional(&w.Category, in.Category)
	setOptional(&w.Supplier, in.Supplier)
	setOptional(&w.ExternalID, in.ExternalID)
	setOptional(&w.CustomerName, in.CustomerName)
	setOptional(&w.Brand, in.Brand)
	setOptional(&w.Model, in.Model)
	setOptional(&w.GTIN, in.GTIN)
	setOptional(&w.Price, in.Price)
	setOptional(&w.Currency, in.Currency)
	if in.PurchaseDate != nil {
		w.PurchaseDate = in.PurchaseDate
		if in.PurchaseDate.IsZero() {
			w.PurchaseDate = nil
		}
	}
	if w.EndDate < w.StartDate {
		var c Checks
		field := "end_date"
		if in.EndDate == nil {
			field = "start_date"
		}
		c.Add(field, "before_start", "The end date must be on or after the start date. "+
			"With this change the warranty would run from %s to %s.", w.StartDate, w.EndDate)
		return w, c.Err()
	}
	return w, nil
}

// PromiseDiffers reports whether a record promises something else after a change than what its seller has
// confirmed before. Voiding and cancelling promise less.
func PromiseDiffers(before, after Warranty) bool {
	return before.ProductName != after.ProductName || !same(before.Brand, after.Brand) || !same(before.Model, after.Model) ||
		!same(before.GTIN, after.GTIN) || !same(before.SerialNumber, after.SerialNumber) ||
		!same(before.Supplier, after.Supplier) || before.StartDate != after.StartDate || before.EndDate != after.EndDate ||
		before.Standing != Active && after.Standing == Active
}

func moveStatus(w Warranty, to Status) error {
	verb := VoidOrReinstate
	if to == Cancelled {
		verb = Cancel
	}
	if err := w.Roles.May(verb); err != nil {
		return err
	}
	allowed := statusMoves[w.Standing]
	names := make([]string, 0, len(allowed))
	for _, s := range allowed {
		if s == to {
			return nil
		}
		names = append(names, s.String())
	}
	if len(names) == 0 {
		return Refuse(InvalidTransition, "The warranty is %s and can no longer change status.", w.Standing)
	}
	return Refuse(InvalidTransition,
		"The warranty is %s. It can only change to: %s.", w.Standing, strings.Join(names, ", "))
}

func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

func setOptional(field **string, value *string) {
	if value != nil {
		*field = Optional(*value)
	}
}

// Optional returns nil for an empty string, and otherwise a pointer to s.
func Optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// DeleteWarranty is the input of warranties.delete.
type DeleteWarranty struct {
	ID      WarrantyKey `json:"id" in:"path" required:"true" doc:"ID or reference number of the warranty."`
	IfMatch string      `json:"if_match,omitzero" in:"header" max:"1000" doc:"Delete the record only if its ETag matches."`
	Force   *bool       `json:"force,omitempty" in:"query" doc:"Delete it despite an open claim." tool:"Delete it despite an open claim. Only if the user, told of the claim, wants that."`
}

// Check validates the input.
func (in *DeleteWarranty) Check() error {
	var c Checks
	in.IfMatch = c.ifMatch(in.IfMatch)
	return c.Err()
}
