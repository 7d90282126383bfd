package warranty

import (
	"slices"
	"time"
)

// Confirmation is a warranty that names the account as its seller. It gives the account no role until the
// account confirms it.
type Confirmation struct {
	WarrantyID      ID                 `json:"warranty_id" doc:"Identifier of the warranty."`
	ReferenceNumber Reference          `json:"reference_number" doc:"Reference number of the warranty."`
	ProductName     string             `json:"product_name" doc:"What is covered."`
	Brand           *string            `json:"brand" doc:"Brand of the product."`
	Model           *string            `json:"model" doc:"Model of the product."`
	GTIN            *string            `json:"gtin" doc:"Global Trade Item Number of the product."`
	SerialNumber    *string            `json:"serial_number" doc:"Serial number of the product."`
	Category        *string            `json:"category" doc:"Product category."`
	Supplier        *string            `json:"supplier" doc:"Who supplied the product."`
	StartDate       Date               `json:"start_date" doc:"First day of coverage."`
	EndDate         Date               `json:"end_date" doc:"Last day of coverage, inclusive; 9999-12-31 means lifetime."`
	SellerName      *string            `json:"seller_name" doc:"Name of the seller, as it was entered."`
	SellerEmail     string             `json:"seller_email" format:"email" doc:"Your address that the warranty names."`
	From            ConfirmationFrom   `json:"from" doc:"The account that named you as the seller."`
	CreatedAt       time.Time          `json:"created_at" doc:"When the warranty was created."`
	Status          ConfirmationStatus `json:"status" doc:"Whether you confirmed or declined it."`
	ETag            string             `json:"etag" doc:"Version of the warranty. Send it as If-Match to confirm what you read."`
}

// Decidable returns an error unless the decision is about the current version of the warranty. Confirming needs the
// version that was read, so that nobody confirms what they did not see; * names none.
func (c Confirmation) Decidable(in DecideConfirmation) error {
	tags, _ := entityTags(in.IfMatch)
	switch {
	case in.Decision == Confirm && (len(tags) == 0 || slices.Contains(tags, "*")):
		return ErrUnseen
	case in.Decision == Confirm && c.Status == Confirmed:
		return nil // repeated: a change would have ended the confirmation
	case !matchesTag(c.ETag, in.IfMatch):
		return ErrChanged
	}
	return nil
}

// ErrUnseen means that a confirmation does not say what it confirms.
var ErrUnseen = Refuse(PreconditionRequired,
	"Say which version you confirm: send the etag of the confirmation list in If-Match.")

// ConfirmationFrom is the account that named a seller.
type ConfirmationFrom struct {
	Name string      `json:"name" doc:"Name of the account. Nobody has verified it."`
	Kind AccountKind `json:"kind" doc:"Person or organization."`
}

// ConfirmationStatus is what an account decided about a confirmation.
type ConfirmationStatus string

// The statuses of a confirmation.
const (
	ConfirmationPending ConfirmationStatus = "pending"
	Confirmed           ConfirmationStatus = "confirmed"
	Declined            ConfirmationStatus = "declined"
)

var confirmationStatusNames = namesOf(ConfirmationPending, Confirmed, Declined)

// Values lists the known statuses.
func (ConfirmationStatus) Values() []string { return confirmationStatusNames }

// String returns the status's name.
func (s ConfirmationStatus) String() string { return string(s) }

// Decision is what a seller decides about a warranty that names them.
type Decision string

// The decisions.
const (
	Confirm Decision = "confirm"
	Decline Decision = "decline"
)

var decisionNames = namesOf(Confirm, Decline)

// Values lists the known decisions.
func (Decision) Values() []string { return decisionNames }

// String returns the decision's name.
func (d Decision) String() string { return string(d) }

// MaxConfirmations is the number of warranties in the list of what waits for a seller.
const MaxConfirmations = 1000

// ListConfirmations is the input of confirmations.list.
type ListConfirmations struct {
	Paging
}

// Check validates the input.
func (in *ListConfirmations) Check() error {
	var c Checks
	in.Paging.Check(&c)
	return c.Err()
}

// DecideConfirmation is the input of confirmations.decide.
type DecideConfirmation struct {
	ID             WarrantyKey `json:"id" in:"path" required:"true" doc:"ID or reference number of the warranty."`
	Decision       Decision    `json:"decision,omitzero" required:"true" doc:"Confirm that you sold it, or decline." example:"decline"`
	AllFromAccount *bool       `json:"all_from_account,omitempty" doc:"With decline: also decline everything else in which this account names you, now and later."`
	IfMatch        string      `json:"if_match,omitzero" in:"header" max:"1000" doc:"The etag that you read. Required to confirm; * is not accepted then."`
}

// Check validates the input.
func (in *DecideConfirmation) Check() error {
	var c Checks
	in.IfMatch = c.ifMatch(in.IfMatch)
	if in.Decision == "" {
		c.Add("decision", "required", "This field is required. Use confirm or decline.")
	}
	if in.Decision == Confirm && in.All() {
		c.Add("all_from_account", "not_accepted", "Only accepted when decision is decline. Remove this field.")
	}
	return c.Err()
}

// All reports whether everything from the account is meant.
func (in DecideConfirmation) All() bool { return in.AllFromAccount != nil && *in.AllFromAccount }

// LeaveWarranty is the input of sellers.leave.
type LeaveWarranty struct {
	ID WarrantyKey `json:"id" in:"path" required:"true" doc:"ID or reference number of the warranty."`
}
