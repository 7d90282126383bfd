package warranty

import "time"

// IssueWarranty is the input of warranties.issue: the fields of CreateWarranty, which a product can give in part, and how
// the customer gets the warranty.
type IssueWarranty struct {
	ProductID      *ID     `json:"product_id,omitempty" doc:"Product of your organization. It gives what you leave out: product_name, brand, model, gtin, category, its terms as the description, and the dates." tool:"Product of the organization. It gives what you leave out: name, brand, model, gtin, category, description and dates." example:"019ca93e-5b40-7a1c-8d02-6f3b91c4200a"`
	ProductName    string  `json:"product_name,omitzero" max:"200" doc:"What is covered. Required without product_id." tool:"Required without product_id." example:"Bosch Serie 6 washing machine"`
	StartDate      Date    `json:"start_date,omitzero" doc:"First day of coverage. Required without product_id. With it, the default is purchase_date, or else today." tool:"Required without product_id; else purchase_date or today." example:"2026-03-01"`
	EndDate        Date    `json:"end_date,omitzero" doc:"Last day of coverage, inclusive; 9999-12-31 means lifetime. Required without product_id. With it, the default is the start date plus the length of the product's warranty." tool:"Last day; 9999-12-31 means lifetime. Required without product_id." example:"2028-02-29"`
	Description    string  `json:"description,omitzero" max:"5000" doc:"Terms or notes."`
	SerialNumber   string  `json:"serial_number,omitzero" max:"120" doc:"Serial number of the product." tool:"Serial number." example:"WGG244A20-0017"`
	ExternalID     string  `json:"external_id,omitzero" max:"120" doc:"Your own ID for the record, unique among the records that you issued. A second request with the same ID is rejected and names the existing record." tool:"The shop's own ID. A second call with it is rejected." example:"order-4711-2"`
	Category       string  `json:"category,omitzero" max:"80" doc:"Product category, free text." tool:"Category." example:"Appliances"`
	Supplier       string  `json:"supplier,omitzero" max:"200" doc:"Who supplied the product, such as a manufacturer, importer or distributor. For the shop use seller_name." tool:"Supplier."`
	SellerName     string  `json:"seller_name,omitzero" max:"200" doc:"The shop or person that the product was bought from." tool:"Seller."`
	SellerEmail    string  `json:"seller_email,omitzero" max:"254" format:"email" doc:"Email address of the seller. The account that has verified it can confirm the record, and then sees it." tool:"Asked to confirm the record."`
	Brand          string  `json:"brand,omitzero" max:"120" doc:"Brand of the product." tool:"Brand." example:"Bosch"`
	Model          string  `json:"model,omitzero" max:"120" doc:"Model of the product." tool:"Model." example:"WGG244A20"`
	GTIN           string  `json:"gtin,omitzero" max:"14" doc:"Global Trade Item Number: 8, 12, 13 or 14 digits with a valid check digit." tool:"GTIN." example:"4242005273881"`
	PurchaseDate   Date    `json:"purchase_date,omitzero" doc:"Date of the purchase." tool:"Date of purchase." example:"2026-02-27"`
	Price          string  `json:"price,omitzero" max:"17" doc:"Price that was paid, as a decimal number. Needs currency." tool:"Decimal number. Needs currency." example:"649.00"`
	Currency       string  `json:"currency,omitzero" max:"3" doc:"Currency of the price, an ISO 4217 code. Needs price." tool:"ISO 4217 code." example:"EUR"`
	CustomerEmail  string  `json:"customer_email,omitzero" max:"254" format:"email" doc:"Email the offer to this customer. Required unless print is true." tool:"Email the offer to this customer. Required unless print is true." example:"kim@people.example"`
	CustomerName   string  `json:"customer_name,omitzero" max:"200" doc:"Name of the customer, for your own records." tool:"Customer, for the shop's records." example:"Kim Larsen"`
	Print          *bool   `json:"print,omitempty" doc:"Return a code to print instead of emailing the offer. Required unless customer_email is given; not both." tool:"Return a code to print. Not with customer_email."`
	IdempotencyKey *string `json:"idempotency_key,omitempty" in:"header" max:"255" doc:"A unique string that you generate. Repeating a request with the same key and body within 24 hours returns the same response, without the code, and issues nothing." tool:"A unique string. Repeating the call with it issues nothing."`
}

// Check trims and validates the input.
func (in *IssueWarranty) Check() error {
	var c Checks
	fields := in.fields()
	least := 1 // character of the name
	if in.ProductID != nil {
		least = 0
	}
	fields.ProductName = c.text("product_name", fields.ProductName, least, MaxProductName)
	if in.ProductID == nil || !in.StartDate.IsZero() && !in.EndDate.IsZero() {
		checkDates(&c, in.StartDate, in.EndDate)
	}
	fields.checkOptional(&c)
	switch emailed := fields.CustomerEmail != ""; {
	case emailed && in.Printed():
		c.Add("print", "not_accepted", "The offer is emailed or printed, not both. Leave out print or customer_email.")
	case !emailed && !in.Printed():
		c.Add("customer_email", "required", "This field is required, unless print is true.")
	}
	in.set(fields)
	return c.Err()
}

// Printed reports whether the customer gets a code on paper.
func (in IssueWarranty) Printed() bool { return in.Print != nil && *in.Print }

// From returns the warranty to create. Fields that are not given are those of the product, if there is one; today is
// the start of a warranty without a date of purchase.
func (in IssueWarranty) From(product *Product, today Date) CreateWarranty {
	made := in.fields()
	if product == nil {
		return made
	}
	for _, f := range []struct {
		to   *string
		from *string
	}{
		{&made.ProductName, &product.Name},
		{&made.Brand, product.Brand},
		{&made.Model, product.Model},
		{&made.GTIN, product.GTIN},
		{&made.Category, product.Category},
		{&made.Description, product.Terms},
	} {
		if *f.to == "" && f.from != nil {
			*f.to = *f.from
		}
	}
	if made.StartDate.IsZero() {
		made.StartDate = made.PurchaseDate
	}
	if made.StartDate.IsZero() {
		made.StartDate = today
	}
	if made.EndDate.IsZero() {
		made.EndDate = product.EndDate(made.StartDate)
	}
	return made
}

// fields returns the fields that CreateWarranty has too.
func (in IssueWarranty) fields() CreateWarranty {
	return CreateWarranty{
		ProductName:    in.ProductName,
		StartDate:      in.StartDate,
		EndDate:        in.EndDate,
		Description:    in.Description,
		SerialNumber:   in.SerialNumber,
		ExternalID:     in.ExternalID,
		Category:       in.Category,
		Supplier:       in.Supplier,
		SellerName:     in.SellerName,
		SellerEmail:    in.SellerEmail,
		Brand:          in.Brand,
		Model:          in.Model,
		GTIN:           in.GTIN,
		PurchaseDate:   in.PurchaseDate,
		Price:          in.Price,
		Currency:       in.Currency,
		CustomerEmail:  in.CustomerEmail,
		CustomerName:   in.CustomerName,
		IdempotencyKey: in.IdempotencyKey,
	}
}

// set sets the fields that CreateWarranty has too.
func (in *IssueWarranty) set(f CreateWarranty) {
	in.ProductName, in.StartDate, in.EndDate = f.ProductName, f.StartDate, f.EndDate
	in.Description, in.SerialNumber, in.ExternalID = f.Description, f.SerialNumber, f.ExternalID
	in.Category, in.Supplier = f.Category, f.Supplier
	in.SellerName, in.SellerEmail = f.SellerName, f.SellerEmail
	in.Brand, in.Model, in.GTIN = f.Brand, f.Model, f.GTIN
	in.PurchaseDate, in.Price, in.Currency = f.PurchaseDate, f.Price, f.Currency
	in.CustomerEmail, in.CustomerName = f.CustomerEmail, f.CustomerName
	in.IdempotencyKey = f.IdempotencyKey
}

// IssuedWarranty is a new warranty and its offer to a customer. The code is returned only once.
type IssuedWarranty struct {
	Warranty  Warranty   `json:"warranty" doc:"The warranty. If a limit of emails was reached, it is not offered, and its handover.not_emailed says why."`
	Code      *string    `json:"code" doc:"One-time code to print and give to the customer; null if the offer is emailed, and if the request is a repetition."`
	TakeURL   *string    `json:"take_url" format:"uri" doc:"URL for the QR code of a slip. It contains the code after #, so that no server logs it."`
	ExpiresAt *time.Time `json:"expires_at" doc:"When the offer expires; null if the warranty is not offered."`
	Note      *string    `json:"note" doc:"Why the code of a repeated request is missing, and what to do; null otherwise."`
}

// RecordID returns the ID used in the Location header.
func (i IssuedWarranty) RecordID() ID { return i.Warranty.ID }

// ETag returns the version of the warranty as an HTTP entity tag.
func (i IssuedWarranty) ETag() string { return i.Warranty.ETag() }

// SetETag sets the version from an ETag header. Clients use it.
func (i *IssuedWarranty) SetETag(tag string) { i.Warranty.SetETag(tag) }

// Replayed reports whether this is the stored result of an earlier request.
func (i IssuedWarranty) Replayed() bool { return i.Warranty.Replay }

// SetReplayed sets whether this is the stored result of an earlier request.
func (i *IssuedWarranty) SetReplayed(replayed bool) { i.Warranty.Replay = replayed }
