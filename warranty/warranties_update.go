package warranty

import (
	"strings"
)

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

// Inverse returns the update that gives a warranty, which an update changed, its fields back.
func Inverse(before, after Warranty) (in UpdateWarranty) {
	in.ID = WarrantyKey{ID: after.ID}
	was := func(field **string, before, after *string) {
		if !same(before, after) {
			value := ""
			set(&value, before)
			*field = &value
		}
	}
	was(&in.ProductName, &before.ProductName, &after.ProductName)
	was(&in.Category, before.Category, after.Category)
	was(&in.Supplier, before.Supplier, after.Supplier)
	was(&in.ExternalID, before.ExternalID, after.ExternalID)
	was(&in.Brand, before.Brand, after.Brand)
	was(&in.Model, before.Model, after.Model)
	was(&in.GTIN, before.GTIN, after.GTIN)
	was(&in.Price, before.Price, after.Price)
	was(&in.Currency, before.Currency, after.Currency)
	was(&in.CustomerName, before.CustomerName, after.CustomerName)
	if before.StartDate != after.StartDate {
		in.StartDate = &before.StartDate
	}
	if before.EndDate != after.EndDate {
		in.EndDate = &before.EndDate
	}
	if before.Standing != after.Standing {
		in.Status = &before.Standing
	}
	if !same(dateText(before.PurchaseDate), dateText(after.PurchaseDate)) {
		in.PurchaseDate = new(Date)
		if before.PurchaseDate != nil {
			in.PurchaseDate = before.PurchaseDate
		}
	}
	return in
}

// Revert is Apply for an update that gives a warranty the fields back that it had a moment before. Cancelling is not final
// then.
func (in UpdateWarranty) Revert(w Warranty) (Warranty, error) {
	if in.Status != nil && w.Standing == Cancelled {
		if err := w.Roles.May(Cancel); err != nil {
			return w, err
		}
		w.Standing, in.Status = *in.Status, nil
	}
	return in.Apply(w)
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
