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
