package warranty

import "strings"

// CorrectWarranty is the input of warranties.correct. Fields that are nil stay as they are.
type CorrectWarranty struct {
	ID           WarrantyKey `json:"id" in:"path" required:"true" doc:"ID or reference number of the warranty."`
	SerialNumber *string     `json:"serial_number,omitempty" max:"120" doc:"Serial number of the product. An empty string removes it." example:"WGG244A20-0071"`
	Description  *string     `json:"description,omitempty" max:"5000" doc:"Terms or notes. An empty string removes them."`
	SellerName   *string     `json:"seller_name,omitempty" max:"200" doc:"The shop or person that the product was bought from. An empty string removes it."`
	SellerEmail  *string     `json:"seller_email,omitempty" max:"254" format:"email" doc:"Email address of the seller. An empty string removes it. The previous seller can no longer see the record, unless it has a claim; the account that has verified the new address can confirm it."`
	Brand        *string     `json:"brand,omitempty" max:"120" doc:"Brand of the product. An empty string removes it."`
	Model        *string     `json:"model,omitempty" max:"120" doc:"Model of the product. An empty string removes it."`
	GTIN         *string     `json:"gtin,omitempty" max:"14" doc:"Global Trade Item Number with a valid check digit. An empty string removes it."`
	Reason       string      `json:"reason,omitzero" required:"true" max:"500" doc:"Why it is corrected. It is kept in the history." example:"Two digits were swapped."`
	IfMatch      string      `json:"if_match,omitzero" in:"header" max:"1000" doc:"Correct the record only if its ETag matches."`

	// own is set for a record that nobody else relies on: its owner corrects it without a reason.
	own bool
}

// WithoutReason returns the correction of a record that nobody else relies on, which needs no reason. Apply checks
// that nobody does.
func (in CorrectWarranty) WithoutReason() CorrectWarranty {
	in.own = true
	return in
}

// NeedsReason reports whether corrections of a warranty need a reason: a customer or a seller relies on what it says.
func (w Warranty) NeedsReason() bool {
	return !w.Roles.SelfRecorded() || w.Offer.OfferedAt != nil || (w.SellerConfirmed || w.Seller != nil) && !w.Roles.Has(Seller)
}

// Check trims and validates the input.
func (in *CorrectWarranty) Check() error {
	var c Checks
	text := func(field string, value *string, most int) {
		if value != nil {
			*value = c.text(field, *value, 0, most)
		}
	}
	text("serial_number", in.SerialNumber, MaxSerialNumber)
	if in.Description != nil {
		*in.Description = c.lines("description", *in.Description, 0, MaxDescription)
	}
	text("seller_name", in.SellerName, MaxSellerName)
	if in.SellerEmail != nil {
		*in.SellerEmail = c.email("seller_email", *in.SellerEmail, false)
	}
	text("brand", in.Brand, MaxBrand)
	text("model", in.Model, MaxModel)
	if in.GTIN != nil {
		*in.GTIN = c.gtin(*in.GTIN)
	}
	least := 1
	if in.own {
		least = 0
	}
	in.Reason = c.lines("reason", in.Reason, least, MaxStatusReason)
	in.IfMatch = c.ifMatch(in.IfMatch)
	return c.Err()
}

// Apply returns the corrected warranty, or an error if the roles in w.Roles do not permit it: whoever may change the
// promise may correct it. It has no side effects.
func (in CorrectWarranty) Apply(w Warranty) (Warranty, error) {
	if err := w.Roles.May(ChangePromise); err != nil {
		return w, err
	}
	if in.Reason == "" && w.NeedsReason() {
		var c Checks
		c.Add("reason", "required", "This field is required.")
		return w, c.Err()
	}
	setOptional(&w.SerialNumber, in.SerialNumber)
	if in.Description != nil && (w.Description == nil || unixLines(*in.Description) != unixLines(*w.Description)) {
		w.Description = Optional(*in.Description) // browsers send other line breaks than they got
	}
	setOptional(&w.SellerName, in.SellerName)
	setOptional(&w.SellerEmail, in.SellerEmail)
	setOptional(&w.Brand, in.Brand)
	setOptional(&w.Model, in.Model)
	setOptional(&w.GTIN, in.GTIN)
	return w, nil
}

func unixLines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
