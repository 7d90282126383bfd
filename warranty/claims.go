package warranty

import (
	"slices"
	"strings"
	"time"
)

// Claim is a request for service under a warranty.
type Claim struct {
	ID                      ID           `json:"id" doc:"Identifier of the claim."`
	ClaimNumber             Reference    `json:"claim_number" doc:"Human-readable number of the claim."`
	WarrantyID              ID           `json:"warranty_id" doc:"Identifier of the warranty."`
	Warranty                WarrantyName `json:"warranty" doc:"Summary of the warranty."`
	Type                    ClaimType    `json:"type" doc:"What the claim asks for."`
	Description             string       `json:"description" doc:"What happened. Empty for owners who got the warranty after the claim was filed."`
	IncidentDate            Date         `json:"incident_date" doc:"Date on which it happened. Coverage is checked on this date."`
	Status                  ClaimStatus  `json:"status" doc:"Status of the claim."`
	ManagedBy               ManagedBy    `json:"managed_by" doc:"Who decides the claim: business, or owner if no issuer or confirmed seller can. Then the claim is a log that the owner keeps."`
	WaitingFor              *ClaimSide   `json:"waiting_for" doc:"Who has to act next: owner or business. null if nobody has to, or if the owner keeps the claim as a log."`
	WaitingSince            *time.Time   `json:"waiting_since" doc:"Since when that side has to act; null if nobody has to."`
	Queue                   ClaimQueue   `json:"queue" doc:"Where the claim is in your work. Every claim is in exactly one queue."`
	Fault                   string       `json:"fault" doc:"First line of the description, shortened."`
	Customer                *Customer    `json:"customer" doc:"The owner, as shared with businesses by filing the claim or writing a message. Only for those who decide the claim; otherwise null."`
	Assignee                *Assignee    `json:"assignee" doc:"Member of your organization who works on the claim; null if nobody does."`
	StatusReason            *string      `json:"status_reason" doc:"Reason for the status."`
	Resolution              *Resolution  `json:"resolution" doc:"How the claim was resolved."`
	ResolutionNote          *string      `json:"resolution_note" doc:"Note on the resolution."`
	ReplacementSerialNumber *string      `json:"replacement_serial_number" doc:"Serial number of the replacement."`
	CreatedAt               time.Time    `json:"created_at" doc:"When the claim was filed."`
	UpdatedAt               time.Time    `json:"updated_at" doc:"When the claim last changed."`
	ResolvedAt              *time.Time   `json:"resolved_at" doc:"When the claim was resolved."`
	WebURL                  string       `json:"web_url" format:"uri" doc:"URL of the claim's page for signed-in people."`
	LastMessage             *LastMessage `json:"last_message" doc:"The latest message, shortened; null if there is none that you can read."`
	Messages                []Message    `json:"messages,omitzero" lists:"no" doc:"The latest 20 messages, newest first. Only in a single claim."`
	Spoke                   int64        `json:"-"` // who wrote last since the status changed: see Waiting
	Since                   time.Time    `json:"-"` // since when the claim waits for whom it waits for
	Roles                   Roles        `json:"-"` // the reader's on the warranty
	Replay                  bool         `json:"-"` // a stored response to an earlier request
}

// RecordID returns the ID used in the Location header of a created record.
func (c Claim) RecordID() ID { return c.ID }

// Replayed reports whether this is the stored result of an earlier request.
func (c Claim) Replayed() bool { return c.Replay }

// SetReplayed sets Replay.
func (c *Claim) SetReplayed(replayed bool) { c.Replay = replayed }

// WarrantyName is the summary of a warranty in other records.
type WarrantyName struct {
	ID              ID        `json:"id" doc:"Identifier of the warranty."`
	ReferenceNumber Reference `json:"reference_number" doc:"Reference number of the warranty."`
	ProductName     string    `json:"product_name" doc:"What is covered."`
}

// ClaimType is what a claim asks for.
type ClaimType string

// The types of claim.
const (
	Repair      ClaimType = "repair"
	Replacement ClaimType = "replacement"
	Refund      ClaimType = "refund"
	Inspection  ClaimType = "inspection"
	OtherClaim  ClaimType = "other"
)

var claimTypeNames = namesOf(Repair, Replacement, Refund, Inspection, OtherClaim)

// Values lists the known claim types.
func (ClaimType) Values() []string { return claimTypeNames }

// String returns the type's name.
func (t ClaimType) String() string { return string(t) }

// ClaimStatus is the status of a claim.
type ClaimStatus string

// The statuses of a claim.
const (
	Submitted     ClaimStatus = "submitted"
	UnderReview   ClaimStatus = "under_review"
	InfoRequested ClaimStatus = "info_requested"
	Approved      ClaimStatus = "approved"
	Rejected      ClaimStatus = "rejected"
	InProgress    ClaimStatus = "in_progress"
	Resolved      ClaimStatus = "resolved"
	Withdrawn     ClaimStatus = "withdrawn"
)

var claimStatusNames = namesOf(Submitted, UnderReview, InfoRequested, Approved,
	Rejected, InProgress, Resolved, Withdrawn)

// Values lists the known claim statuses.
func (ClaimStatus) Values() []string { return claimStatusNames }

// String returns the status's name.
func (s ClaimStatus) String() string { return string(s) }

// OpenClaimStatuses are the statuses of claims that are not closed. A rejected claim counts as closed,
// although its owner may appeal.
var OpenClaimStatuses = []ClaimStatus{Submitted, UnderReview, InfoRequested, Approved, InProgress}

// ManagedBy is who decides a claim.
type ManagedBy string

// The deciders of claims.
const (
	ManagedByBusiness ManagedBy = "business"
	ManagedByOwner    ManagedBy = "owner"
)

var managedByNames = namesOf(ManagedByBusiness, ManagedByOwner)

// Values lists the known deciders.
func (ManagedBy) Values() []string { return managedByNames }

// String returns the decider's name.
func (m ManagedBy) String() string { return string(m) }

// Resolution is how a claim was resolved.
type Resolution string

// The resolutions.
const (
	Repaired        Resolution = "repaired"
	Replaced        Resolution = "replaced"
	Refunded        Resolution = "refunded"
	StoreCredit     Resolution = "store_credit"
	OtherResolution Resolution = "other"
)

var resolutionNames = namesOf(Repaired, Replaced, Refunded, StoreCredit, OtherResolution)

// Values lists the known resolutions.
func (Resolution) Values() []string { return resolutionNames }

// String returns the resolution's name.
func (r Resolution) String() string { return string(r) }

// ListClaims is the input of claims.list.
type ListClaims struct {
	Paging
	Status     ClaimStatus `json:"status,omitzero" in:"query" doc:"Only claims with this status." tool:"Their status."`
	WarrantyID WarrantyKey `json:"warranty_id,omitzero" in:"query" doc:"Only claims on this warranty. ID or reference number." tool:"ID or reference number."`
	WaitingFor ClaimSide   `json:"waiting_for,omitzero" in:"query" doc:"Only claims that wait for this side." tool:"Whose turn it is."`
	Queue      ClaimQueue  `json:"queue,omitzero" in:"query" doc:"Only claims in this queue of your work." tool:"Where they are in your work."`
	Assignee   string      `json:"assignee,omitzero" in:"query" max:"36" doc:"Only claims that this member of your organization works on: me, an ID, or none for claims that nobody works on." example:"me" tool:"me, none or the ID of a member."`
	Replied    bool        `json:"replied,omitzero" in:"query" doc:"Only claims in which the other side wrote last." tool:"The other side wrote last."`
	Age        *int        `json:"age,omitempty" in:"query" min:"0" max:"3650" doc:"Only claims that have waited for at least this many days." example:"3" tool:"Days they have waited at least."`
	Q          string      `json:"q,omitzero" in:"query" max:"200" doc:"Words to search for in the claim number and description, in the product it is about and, on warranties that you issued, in the customer's name and email." tool:"Words to find, also of the shop's customer."`
	Customer   string      `json:"customer,omitzero" in:"query" max:"254" doc:"Only claims of this customer that you decide, by the id of a customer, or claims on warranties that you issued to this customer: an email address or its start, or words, each the start of a word in the customer's name or email. Case and accents are ignored." tool:"ID, name or email of the shop's customer."`
	// UpdatedSince is not a feed: claims that a transaction in progress changes can be missing.
	UpdatedSince *time.Time `json:"updated_since,omitempty" in:"query" doc:"Only claims that were filed or changed at or after this time. Begin a minute before your last request: changes may appear late." example:"2026-03-01T12:00:00Z" tool:"Filed or changed since."`
	Sort         ClaimSort  `json:"sort,omitzero" in:"query" doc:"Order. waiting: those that wait for you first, longest first." tool:"Order." default:"-created_at"`
	Selection
}

// ClaimSort is the order of a list of claims.
type ClaimSort string

// The orders of claims.
const (
	ClaimsByCreatedAtDesc ClaimSort = "-created_at"
	ClaimsByWaiting       ClaimSort = "waiting"
	ClaimsByUpdatedAt     ClaimSort = "updated_at"
	ClaimsByUpdatedAtDesc ClaimSort = "-updated_at"
)

var claimSortNames = namesOf(ClaimsByCreatedAtDesc, ClaimsByWaiting, ClaimsByUpdatedAt, ClaimsByUpdatedAtDesc)

// Values lists the known orders.
func (ClaimSort) Values() []string { return claimSortNames }

// String returns the order's name.
func (s ClaimSort) String() string { return string(s) }

// Check validates the input.
func (in *ListClaims) Check() error {
	var c Checks
	in.Paging.Check(&c)
	in.Q = c.query(in.Q)
	in.Customer = c.text("customer", in.Customer, 0, MaxEmail)
	in.Assignee = c.text("assignee", in.Assignee, 0, maxAssignee)
	if in.Age != nil && (*in.Age < 0 || *in.Age > maxDays) {
		c.Add("age", "out_of_range", "Must be between 0 and 3650 days.")
	}
	return c.Err()
}

// GetClaim is the input of claims.get.
type GetClaim struct {
	ID ClaimKey `json:"id" in:"path" required:"true" doc:"ID or number of the claim."`
	Selection
}

// FileClaim is the input of claims.file.
type FileClaim struct {
	WarrantyID   WarrantyKey `json:"warranty_id,omitzero" required:"true" doc:"ID or reference number of the warranty."`
	Type         ClaimType   `json:"type,omitzero" required:"true" doc:"What the claim asks for." example:"repair"`
	Description  string      `json:"description,omitzero" required:"true" max:"5000" doc:"What happened." example:"The drum no longer turns."`
	IncidentDate Date        `json:"incident_date,omitzero" required:"true" doc:"Date on which it happened. Coverage is checked on this date." example:"2026-05-17"`
	DocumentIDs  []string    `json:"document_ids,omitempty" doc:"Documents stored with the warranty to send with the claim, such as its receipt, at most 10. The businesses that decide the claim can then read them."`

	IdempotencyKey *string `json:"idempotency_key,omitempty" in:"header" max:"255" doc:"A unique string that you generate. Repeating a request with the same key and body within 24 hours returns the same response and does not create a second record."`
}

// Check validates the input.
func (in *FileClaim) Check() error {
	var c Checks
	if in.WarrantyID.IsZero() {
		c.Add("warranty_id", "required", "This field is required.")
	}
	if in.Type == "" {
		c.Add("type", "required", "This field is required.")
	}
	in.Description = c.lines("description", in.Description, 1, MaxDescription)
	if in.IncidentDate.IsZero() {
		c.Add("incident_date", "required", "This field is required. Use the format YYYY-MM-DD.")
	}
	c.documents("document_ids", in.DocumentIDs, MaxMessageDocuments)
	in.IdempotencyKey = c.idempotencyKey(in.IdempotencyKey)
	return c.Err()
}

// CheckCoverage returns an error if the warranty does not cover the incident date.
func (in FileClaim) CheckCoverage(w Warranty, today Date) error {
	var c Checks
	if w.Standing != Active {
		c.Add("warranty_id", "not_covered", "This warranty is %s and does not cover claims.", w.Standing)
	}
	switch {
	case in.IncidentDate > today:
		c.Add("incident_date", "in_the_future", "Choose today or an earlier date.")
	case w.Standing == Active && !w.Covers(in.IncidentDate):
		c.Add("incident_date", "not_covered",
			"Not covered. The warranty runs from %s to %s.", w.StartDate, w.EndDate)
	}
	return c.Err()
}

// MoveClaim is the input of claims.move.
type MoveClaim struct {
	ID                      ClaimKey    `json:"id" in:"path" required:"true" doc:"ID or number of the claim."`
	Status                  ClaimStatus `json:"status,omitzero" required:"true" doc:"The new status." example:"under_review"`
	From                    ClaimStatus `json:"from,omitzero" doc:"The status that you saw. If the claim has another one by now, nothing changes."`
	Reason                  string      `json:"reason,omitzero" max:"5000" doc:"Reason for the change, sent as a message. Required for rejected and info_requested." example:"We will look at it this week."`
	Documents               []string    `json:"documents,omitempty" doc:"Documents to send with the reason, at most 10. Upload them to the claim first."`
	DocumentIDs             []string    `json:"document_ids,omitempty" doc:"Documents stored with the warranty to send with the reason, for its owner."`
	Resolution              Resolution  `json:"resolution,omitzero" doc:"How the claim was resolved. Required for resolved; not accepted otherwise."`
	ResolutionNote          string      `json:"resolution_note,omitzero" max:"2000" doc:"Note on the resolution. Only for resolved."`
	ReplacementSerialNumber string      `json:"replacement_serial_number,omitzero" max:"120" doc:"Serial number of the replacement. Only for resolved."`
}

// MaxReason is the maximum length of a note on the resolution, in characters.
const MaxReason = 2000

// Check validates the input.
func (in *MoveClaim) Check() error {
	var c Checks
	if in.Status == "" {
		c.Add("status", "required", "This field is required.")
	}
	least := 0
	if in.Status == Rejected || in.Status == InfoRequested {
		least = 1
	}
	if c.sentDocuments(in.Documents, in.DocumentIDs); len(in.Documents)+len(in.DocumentIDs) > 0 {
		least = 1
	}
	in.Reason = c.lines("reason", in.Reason, least, MaxMessage)
	in.ResolutionNote = c.lines("resolution_note", in.ResolutionNote, 0, MaxReason)
	in.ReplacementSerialNumber = c.text("replacement_serial_number", in.ReplacementSerialNumber, 0, MaxSerialNumber)
	if in.Status == Resolved {
		if in.Resolution == "" {
			c.Add("resolution", "required", "This field is required when status is resolved.")
		}
		return c.Err()
	}
	for field, given := range map[string]bool{
		"resolution":                in.Resolution != "",
		"resolution_note":           in.ResolutionNote != "",
		"replacement_serial_number": in.ReplacementSerialNumber != "",
	} {
		if given {
			c.Add(field, "not_accepted", "Only accepted when status is resolved. Remove this field.")
		}
	}
	slices.SortFunc(c.Fields, func(a, b FieldError) int { return strings.Compare(a.Field, b.Field) })
	return c.Err()
}

// claimMove is an allowed status change and the verb that permits it.
type claimMove struct {
	from, to ClaimStatus
	by       Verb
}

// claimMoves lists every allowed status change. Resolved and withdrawn are final.
var claimMoves = []claimMove{
	{Submitted, UnderReview, DecideClaim},
	{Submitted, InfoRequested, DecideClaim}, // this and the next two also record the review
	{Submitted, Approved, DecideClaim},
	{Submitted, Rejected, DecideClaim},
	{Submitted, Withdrawn, FileAClaim},
	{UnderReview, InfoRequested, DecideClaim},
	{UnderReview, Approved, DecideClaim},
	{UnderReview, Rejected, DecideClaim},
	{UnderReview, Withdrawn, FileAClaim},
	{InfoRequested, UnderReview, FileAClaim},
	{InfoRequested, Rejected, DecideClaim},
	{InfoRequested, Withdrawn, FileAClaim},
	{Approved, InProgress, DecideClaim},
	{Approved, Resolved, DecideClaim},
	{InProgress, Resolved, DecideClaim},
	{Rejected, UnderReview, FileAClaim},
}

// MovedBy returns the side that makes a status change.
func MovedBy(from, to ClaimStatus) ClaimSide {
	for _, m := range claimMoves {
		if m.from == from && m.to == to && m.by == FileAClaim {
			return OwnerSide
		}
	}
	return BusinessSide
}

// IsProgress reports whether a status change of a business decides nothing and asks for nothing.
func IsProgress(from, to ClaimStatus) bool {
	return (to == UnderReview || to == InProgress) && MovedBy(from, to) == BusinessSide
}

// Moves lists the statuses to which a user with these roles can change the claim.
func (c Claim) Moves(roles Roles) []ClaimStatus {
	var list []ClaimStatus
	for _, m := range claimMoves {
		if m.from == c.Status && c.mayMove(m.by, roles) == nil {
			list = append(list, m.to)
		}
	}
	return list
}

func (c Claim) mayMove(by Verb, roles Roles) error {
	if by == DecideClaim {
		return roles.MayDecide(c.ManagedBy)
	}
	return roles.May(by)
}

// Reviews reports whether the change decides a claim whose review was not recorded yet.
func (in MoveClaim) Reviews(c Claim) bool {
	return c.Status == Submitted && in.Status != UnderReview && in.Status != Withdrawn
}

// Apply changes the status on behalf of a user with these roles. It checks the
// transition before the roles.
func (in MoveClaim) Apply(c Claim, roles Roles, now time.Time) (Claim, error) {
	var allowed []string
	if in.From != "" && in.From != c.Status {
		return c, Refuse(InvalidTransition,
			"The claim is %s by now, not %s. Check what happened and decide again.", c.Status, in.From)
	}
	for _, m := range claimMoves {
		if m.from != c.Status {
			continue
		}
		allowed = append(allowed, m.to.String())
		if m.to != in.Status {
			continue
		}
		if err := c.mayMove(m.by, roles); err != nil {
			return c, err
		}
		before := c
		c.Status, c.StatusReason, c.UpdatedAt, c.Spoke = in.Status, Optional(in.Reason), now, 0
		c.waits(before, now)
		if in.Status == Resolved {
			c.Resolution, c.ResolvedAt = &in.Resolution, &now
			c.ResolutionNote = Optional(in.ResolutionNote)
			c.ReplacementSerialNumber = Optional(in.ReplacementSerialNumber)
		}
		return c, nil
	}
	if len(allowed) == 0 {
		return c, Refuse(InvalidTransition, "The claim is %s and can no longer change status.", c.Status)
	}
	return c, Refuse(InvalidTransition,
		"The claim is %s. It can only change to: %s.", c.Status, strings.Join(allowed, ", "))
}
