package warranty

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Limits of customers.
const (
	MaxCustomerPhone = 40
	MaxCustomerNote  = 2000
	// CustomerMergeUndo is how long a merge can be undone.
	CustomerMergeUndo = 30 * 24 * time.Hour
)

// CustomerRecord is a customer of an organization: whom it issued to, or whose claim it decides. There is one per email
// address, or per name if there is no address.
type CustomerRecord struct {
	ID            ID      `json:"id" doc:"Identifier of the customer."`
	Name          *string `json:"name" doc:"Name of the customer, as your organization or the customer wrote it."`
	Email         *string `json:"email" doc:"Email address of the customer."`
	Phone         *string `json:"phone" doc:"Phone number, for your own records."`
	Warranties    int64   `json:"warranties" doc:"Warranties that you issued to the customer."`
	OpenClaims    int64   `json:"open_claims" doc:"Open claims of the customer that you decide."`
	WaitingClaims int64   `json:"waiting_claims" doc:"Those of the open claims that wait for you."`
	UntakenOffers int64   `json:"untaken_offers" doc:"Warranties that you offered the customer and that are not registered."`
	// ActiveClaims are those of the open claims in which work is in progress.
	ActiveClaims  int64     `json:"-"`
	LastContactAt time.Time `json:"last_contact_at" doc:"When you last issued or offered something, or the customer took it, or something was said about a claim."`
}

// CustomerCard is a customer as members of the organization see them. The customer never sees it.
type CustomerCard struct {
	CustomerRecord
	Note      *string   `json:"note" doc:"Note that only members of your organization read."`
	CreatedAt time.Time `json:"created_at" doc:"Since when you know the customer."`
	// Merged are those that were merged into the customer, latest first. Their records are found under it.
	Merged []MergedCustomer `json:"merged" doc:"Customers that were merged into this one, latest first."`
	// Duplicates are customers with the same name or phone number.
	Duplicates []CustomerRecord `json:"duplicates" doc:"Other customers with the same name or phone number, at most 5."`
	// Version counts the changes that people make. It is the ETag.
	Version int64 `json:"-"`
}

// MergedCustomer is a customer that was merged into another one.
type MergedCustomer struct {
	ID        ID         `json:"id" doc:"Identifier of the customer."`
	Name      *string    `json:"name" doc:"Name of the customer."`
	Email     *string    `json:"email" doc:"Email address of the customer."`
	Phone     *string    `json:"phone" doc:"Phone number of the customer."`
	Note      *string    `json:"note" doc:"Note about the customer."`
	MergedAt  time.Time  `json:"merged_at" doc:"When it was merged."`
	UndoUntil *time.Time `json:"undo_until" doc:"Until when the merge can be undone; null if that time has passed."`
}

// RecordID returns the ID used in the Location header of a created record.
func (c CustomerCard) RecordID() ID { return c.ID }

// ETag returns the version as an HTTP entity tag.
func (c CustomerCard) ETag() string { return fmt.Sprintf(`"%d"`, c.Version) }

// SetETag sets the version from an ETag header. Clients use it.
func (c *CustomerCard) SetETag(tag string) {
	if n, err := strconv.ParseInt(strings.Trim(tag, `"`), 10, 64); err == nil {
		c.Version = n
	}
}

// Matches reports whether an If-Match value matches this version. An empty value always matches.
func (c CustomerCard) Matches(ifMatch string) bool { return matchesTag(c.ETag(), ifMatch) }

// ErrCustomerChanged means that a customer does not have the version of an If-Match header.
var ErrCustomerChanged = Refuse(PreconditionFailed,
	"The customer has changed since you read it. Read it again and use its new ETag.")

// CustomerSort is the order of a list of customers.
type CustomerSort string

// The orders of customers.
const (
	CustomersByContact CustomerSort = "-last_contact_at"
	CustomersByName    CustomerSort = "name"
)

var customerSortNames = namesOf(CustomersByContact, CustomersByName)

// Values lists the known orders.
func (CustomerSort) Values() []string { return customerSortNames }

// String returns the order's name.
func (s CustomerSort) String() string { return string(s) }

// ListCustomers is the input of customers.list.
type ListCustomers struct {
	Paging
	Q    string       `json:"q,omitzero" in:"query" max:"200" doc:"Words to search for: each a part of the name or email address, of the phone number, or of the serial number of a warranty of theirs. Whole names come first. Case and accents are ignored: mueller finds Müller." example:"mueller" tool:"Words of the name or email, or part of a phone or serial number."`
	Sort CustomerSort `json:"sort,omitzero" in:"query" doc:"Order." tool:"Order." default:"-last_contact_at"`
}

// Check validates the input.
func (in *ListCustomers) Check() error {
	var c Checks
	in.Paging.Check(&c)
	in.Q = c.query(in.Q)
	return c.Err()
}

// GetCustomer is the input of customers.get.
type GetCustomer struct {
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the customer. That of a merged one returns the customer that it was merged into."`
}

// GetCustomerCard is the input of customers.card.
type GetCustomerCard struct {
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the customer. That of a merged one returns the customer that it was merged into."`
}

// AddCustomer is the input of customers.add.
type AddCustomer struct {
	Name  string `json:"name,omitzero" required:"true" max:"200" doc:"Name of the customer." example:"Andrea Müller"`
	Email string `json:"email,omitzero" max:"254" format:"email" doc:"Email address of the customer. Nothing is sent to it. It cannot be changed later." example:"a.mueller@post.example"`
	Phone string `json:"phone,omitzero" max:"40" doc:"Phone number." example:"+49 421 555 0188"`
	Note  string `json:"note,omitzero" max:"2000" doc:"Note that only members of your organization read." example:"Call after 17:00."`
}

// Check trims and validates the input.
func (in *AddCustomer) Check() error {
	var c Checks
	in.Name = c.text("name", in.Name, 1, MaxCustomerName)
	in.Email = c.email("email", in.Email, false)
	in.Phone = c.text("phone", in.Phone, 0, MaxCustomerPhone)
	in.Note = c.lines("note", in.Note, 0, MaxCustomerNote)
	return c.Err()
}

// UpdateCustomer is the input of customers.update. Fields that are nil stay as they are.
type UpdateCustomer struct {
	ID      ID      `json:"id" in:"path" required:"true" doc:"Identifier of the customer."`
	IfMatch string  `json:"if_match,omitzero" in:"header" max:"1000" doc:"Update the customer only if its ETag matches."`
	Name    *string `json:"name,omitempty" null:"true" max:"200" doc:"Name of the customer. An empty string removes it, if the customer has an email address."`
	Phone   *string `json:"phone,omitempty" null:"true" max:"40" doc:"Phone number. An empty string removes it." example:"+49 421 555 0188"`
	Note    *string `json:"note,omitempty" null:"true" max:"2000" doc:"Note that only members of your organization read. An empty string removes it." example:"Call after 17:00."`
}

// Check trims and validates the input.
func (in *UpdateCustomer) Check() error {
	var c Checks
	in.IfMatch = c.ifMatch(in.IfMatch)
	if in.Name != nil {
		*in.Name = c.text("name", *in.Name, 0, MaxCustomerName)
	}
	if in.Phone != nil {
		*in.Phone = c.text("phone", *in.Phone, 0, MaxCustomerPhone)
	}
	if in.Note != nil {
		*in.Note = c.lines("note", *in.Note, 0, MaxCustomerNote)
	}
	return c.Err()
}

// Apply returns the changed customer.
func (in UpdateCustomer) Apply(card CustomerCard) (CustomerCard, error) {
	setOptional(&card.Name, in.Name)
	setOptional(&card.Phone, in.Phone)
	setOptional(&card.Note, in.Note)
	if in.Name != nil && card.Name == nil && card.Email == nil {
		var c Checks
		c.Add("name", "required", "A customer without an email address needs a name.")
		return card, c.Err()
	}
	return card, nil
}

// MergeCustomers is the input of customers.merge.
type MergeCustomers struct {
	IntoID ID `json:"into_id,omitzero" required:"true" doc:"Customer that stays, with its name, phone number and note."`
	FromID ID `json:"from_id,omitzero" required:"true" doc:"Customer whose warranties and claims are found under the other one. Nothing of it is lost."`
}

// Check validates the input.
func (in *MergeCustomers) Check() error {
	var c Checks
	if in.IntoID.IsZero() {
		c.Add("into_id", "required", "This field is required.")
	}
	if in.FromID.IsZero() {
		c.Add("from_id", "required", "This field is required.")
	}
	if !in.IntoID.IsZero() && in.IntoID == in.FromID {
		c.Add("from_id", "same", "Choose two different customers.")
	}
	return c.Err()
}

// UnmergeCustomer is the input of customers.unmerge.
type UnmergeCustomer struct {
	ID ID `json:"id" in:"path" required:"true" doc:"Customer that was merged into another one."`
}
