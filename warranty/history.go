package warranty

import "time"

// Event is one thing that somebody did. Events are only ever added.
type Event struct {
	ID        ID        `json:"id" doc:"Identifier of the event."`
	At        time.Time `json:"at" doc:"When it happened."`
	Actor     string    `json:"actor" doc:"Name of who did it, as it was then."`
	Door      Door      `json:"door" doc:"How it was done."`
	TokenName *string   `json:"token_name" doc:"Integration token it was done with, if any."`
	Action    Action    `json:"action" doc:"What was done."`
	SubjectID ID        `json:"subject_id" doc:"Identifier of the record it was done to."`
	Changes   []Change  `json:"changes" doc:"What changed, field by field."`
}

// Activity is an event with the warranty that it is about.
type Activity struct {
	Event
	WarrantyID  ID
	ProductName string
}

// Change is one field before and after.
type Change struct {
	Field string  `json:"field" doc:"Name of the field."`
	From  *string `json:"from" doc:"Before."`
	To    *string `json:"to" doc:"After."`
}

// Action is what an event tells.
type Action string

// The actions. New ones go to the end: the numbers are stored.
const (
	WarrantyCreated   Action = "warranty.created"
	WarrantyUpdated   Action = "warranty.updated"
	WarrantyDeleted   Action = "warranty.deleted"
	SellerLinked      Action = "seller.linked"
	ClaimFiled        Action = "claim.filed"
	ClaimMoved        Action = "claim.moved"
	DocumentUploaded  Action = "document.uploaded"
	DocumentDeleted   Action = "document.deleted"
	TransferOffered   Action = "transfer.offered"
	TransferCancelled Action = "transfer.cancelled"
	TransferAccepted  Action = "transfer.accepted"
	TokenCreated      Action = "token.created"
	TokenRotated      Action = "token.rotated"
	TokenWasRevoked   Action = "token.revoked"
)

var actionNames = namesOf(WarrantyCreated, WarrantyUpdated, WarrantyDeleted, SellerLinked, ClaimFiled, ClaimMoved, DocumentUploaded,
	DocumentDeleted, TransferOffered, TransferCancelled, TransferAccepted, TokenCreated, TokenRotated, TokenWasRevoked)

// Values lists the names an Action may have.
func (Action) Values() []string { return actionNames }

// String is the action's name.
func (a Action) String() string { return string(a) }

// ListHistory asks what was done to a warranty and all that belongs to it, newest first.
type ListHistory struct {
	Paging
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the warranty."`
}

// Check refuses what no list can be asked for.
func (in *ListHistory) Check() error {
	var c Checks
	in.Paging.Check(&c)
	return c.Err()
}

// ListTokenHistory asks what was done to an integration token, newest first.
type ListTokenHistory struct {
	Paging
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the token."`
}

// Check refuses what no list can be asked for.
func (in *ListTokenHistory) Check() error {
	var c Checks
	in.Paging.Check(&c)
	return c.Err()
}

// Differences lists the fields in which two states of a warranty differ.
func Differences(before, after Warranty) []Change {
	var list []Change
	add := func(field string, from, to *string) {
		if same(from, to) {
			return
		}
		list = append(list, Change{Field: field, From: from, To: to})
	}
	add("product_name", &before.ProductName, &after.ProductName)
	add("start_date", text(before.StartDate), text(after.StartDate))
	add("end_date", text(before.EndDate), text(after.EndDate))
	add("status", text(before.Standing), text(after.Standing))
	add("category", before.Category, after.Category)
	add("supplier", before.Supplier, after.Supplier)
	if !same(before.ExternalID, after.ExternalID) {
		// Everyone with a role reads the history; the number is the issuer's alone.
		list = append(list, Change{Field: "external_id"})
	}
	return list
}

func same(a, b *string) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

func text(s interface{ String() string }) *string { return Optional(s.String()) }
