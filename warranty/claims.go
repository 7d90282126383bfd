package warranty

import (
	"slices"
	"strings"
	"time"
)

// Claim asks for what a warranty promises, after something happened.
type Claim struct {
	ID                      ID           `json:"id" doc:"Identifier of the claim."`
	ClaimNumber             Reference    `json:"claim_number" doc:"Number of the claim, for people."`
	WarrantyID              ID           `json:"warranty_id" doc:"Identifier of the warranty."`
	Warranty                WarrantyName `json:"warranty" doc:"The warranty in short."`
	Type                    ClaimType    `json:"type" doc:"What is asked for."`
	Description             string       `json:"description" doc:"What happened."`
	IncidentDate            Date         `json:"incident_date" doc:"Day on which it happened; cover is judged on it."`
	Status                  ClaimStatus  `json:"status" doc:"Where the claim stands."`
	StatusReason            *string      `json:"status_reason" doc:"Why it stands there."`
	Resolution              *Resolution  `json:"resolution" doc:"How the claim was resolved."`
	ResolutionNote          *string      `json:"resolution_note" doc:"Remark on the resolution."`
	ReplacementSerialNumber *string      `json:"replacement_serial_number" doc:"Serial number of the replacement."`
	CreatedAt               time.Time    `json:"created_at" doc:"When the claim was filed."`
	UpdatedAt               time.Time    `json:"updated_at" doc:"When the claim last changed."`
	ResolvedAt              *time.Time   `json:"resolved_at" doc:"When the claim was resolved."`
}

// RecordID is the id that a created record's Location is made of.
func (c Claim) RecordID() ID { return c.ID }

// WarrantyName is a warranty in short, inside other records.
type WarrantyName struct {
	ID              ID        `json:"id" doc:"Identifier of the warranty."`
	ReferenceNumber Reference `json:"reference_number" doc:"Number printed on the warranty."`
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

// Values lists the names a ClaimType may have.
func (ClaimType) Values() []string { return claimTypeNames }

// String is the type's name.
func (t ClaimType) String() string { return string(t) }

// ClaimStatus is where a claim stands.
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

// Values lists the names a ClaimStatus may have.
func (ClaimStatus) Values() []string { return claimStatusNames }

// String is the status's name.
func (s ClaimStatus) String() string { return string(s) }

// Resolution is how a claim ended well.
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

// Values lists the names a Resolution may have.
func (Resolution) Values() []string { return resolutionNames }

// String is the resolution's name.
func (r Resolution) String() string { return string(r) }

// ListClaims asks for the claims on the caller's warranties, newest first.
type ListClaims struct {
	Paging
	Status     ClaimStatus `json:"status,omitzero" in:"query" doc:"Only claims in this status."`
	WarrantyID ID          `json:"warranty_id,omitzero" in:"query" doc:"Only claims on this warranty."`
}

// Check refuses what no list can be asked for.
func (in *ListClaims) Check() error {
	var c Checks
	in.Paging.Check(&c)
	return c.Err()
}

// GetClaim asks for one claim.
type GetClaim struct {
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the claim."`
}

// FileClaim files a claim on a warranty that the caller owns.
type FileClaim struct {
	WarrantyID   ID        `json:"warranty_id,omitzero" required:"true" doc:"Identifier of the warranty."`
	Type         ClaimType `json:"type,omitzero" required:"true" doc:"What is asked for." example:"repair"`
	Description  string    `json:"description,omitzero" required:"true" max:"5000" doc:"What happened." example:"The drum does not turn any more."`
	IncidentDate Date      `json:"incident_date,omitzero" required:"true" doc:"Day on which it happened; cover is judged on it." example:"2026-05-17"`
}

// Check refuses what no claim can be made of.
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
		c.Add("incident_date", "required", "This field is required; write it as YYYY-MM-DD.")
	}
	return c.Err()
}

// Judge tells whether the warranty covers what happened, on the day when it
// happened and never on another.
func (in FileClaim) Judge(w Warranty, today Date) error {
	var c Checks
	if w.Standing != Active {
		c.Add("warranty_id", "not_covered", "The warranty is "+w.Standing.String()+", so it covers nothing.")
	}
	switch {
	case in.IncidentDate > today:
		c.Add("incident_date", "in_the_future", "This day has not come yet.")
	case w.Standing == Active && !w.Covers(in.IncidentDate):
		c.Add("incident_date", "not_covered", "The warranty covers "+w.StartDate.String()+" to "+w.EndDate.String()+", and this day is outside.")
	}
	return c.Err()
}

// MoveClaim moves a claim to another status.
type MoveClaim struct {
	ID                      ID          `json:"id" in:"path" required:"true" doc:"Identifier of the claim."`
	Status                  ClaimStatus `json:"status,omitzero" required:"true" doc:"The status to move to." example:"under_review"`
	Reason                  string      `json:"reason,omitzero" max:"2000" doc:"Why; needed to reject and to ask for information." example:"We will look at it this week."`
	Resolution              Resolution  `json:"resolution,omitzero" doc:"How the claim was resolved; needed at resolved, and only there."`
	ResolutionNote          string      `json:"resolution_note,omitzero" max:"2000" doc:"Remark on the resolution; only at resolved."`
	ReplacementSerialNumber string      `json:"replacement_serial_number,omitzero" max:"120" doc:"Serial number of the replacement; only at resolved."`
}

// MaxReason is the length of a reason, in characters.
const MaxReason = 2000

// Check refuses what no move can be.
func (in *MoveClaim) Check() error {
	var c Checks
	if in.Status == "" {
		c.Add("status", "required", "This field is required.")
	}
	least := 0
	if in.Status == Rejected || in.Status == InfoRequested {
		least = 1
	}
	in.Reason = c.lines("reason", in.Reason, least, MaxReason)
	in.ResolutionNote = c.lines("resolution_note", in.ResolutionNote, 0, MaxReason)
	in.ReplacementSerialNumber = c.text("replacement_serial_number", in.ReplacementSerialNumber, 0, MaxSerialNumber)
	if in.Status == Resolved {
		if in.Resolution == "" {
			c.Add("resolution", "required", "Say how the claim was resolved.")
		}
		return c.Err()
	}
	for field, given := range map[string]bool{"resolution": in.Resolution != "", "resolution_note": in.ResolutionNote != "",
		"replacement_serial_number": in.ReplacementSerialNumber != ""} {
		if given {
			c.Add(field, "not_accepted", "This belongs to a claim that is being resolved.")
		}
	}
	slices.SortFunc(c.Fields, func(a, b FieldError) int { return strings.Compare(a.Field, b.Field) })
	return c.Err()
}

// claimMove is one allowed move and who makes it.
type claimMove struct {
	from, to ClaimStatus
	by       Verb
}

// claimMoves is the whole life of a claim. Resolved and withdrawn are final.
var claimMoves = []claimMove{
	{Submitted, UnderReview, DecideClaim}, {Submitted, Withdrawn, FileAClaim},
	{UnderReview, InfoRequested, DecideClaim}, {UnderReview, Approved, DecideClaim}, {UnderReview, Rejected, DecideClaim}, {UnderReview, Withdrawn, FileAClaim},
	{InfoRequested, UnderReview, FileAClaim}, {InfoRequested, Rejected, DecideClaim}, {InfoRequested, Withdrawn, FileAClaim},
	{Approved, InProgress, DecideClaim}, {Approved, Resolved, DecideClaim},
	{InProgress, Resolved, DecideClaim},
	{Rejected, UnderReview, FileAClaim},
}

// Moves lists where somebody with these roles may move a claim from its status.
func (c Claim) Moves(roles Roles, sellerLinked bool) []ClaimStatus {
	var list []ClaimStatus
	for _, m := range claimMoves {
		if m.from == c.Status && mayMove(m.by, roles, sellerLinked) == nil {
			list = append(list, m.to)
		}
	}
	return list
}

func mayMove(by Verb, roles Roles, sellerLinked bool) error {
	if by == DecideClaim {
		return roles.MayDecide(sellerLinked)
	}
	return roles.May(by)
}

// Apply makes the move for somebody with these roles, or says why it may not be
// made. A move that the claim's status does not allow is refused before it is
// asked who makes it.
func (in MoveClaim) Apply(c Claim, roles Roles, sellerLinked bool, now time.Time) (Claim, error) {
	var allowed []string
	for _, m := range claimMoves {
		if m.from != c.Status {
			continue
		}
		allowed = append(allowed, m.to.String())
		if m.to != in.Status {
			continue
		}
		if err := mayMove(m.by, roles, sellerLinked); err != nil {
			return c, err
		}
		c.Status, c.StatusReason, c.UpdatedAt = in.Status, Optional(in.Reason), now
		if in.Status == Resolved {
			c.Resolution, c.ResolutionNote, c.ReplacementSerialNumber, c.ResolvedAt = &in.Resolution, Optional(in.ResolutionNote), Optional(in.ReplacementSerialNumber), &now
		}
		return c, nil
	}
	if len(allowed) == 0 {
		return c, Refuse(InvalidTransition, "A "+c.Status.String()+" claim stays "+c.Status.String()+".")
	}
	return c, Refuse(InvalidTransition, "A claim that is "+c.Status.String()+" can become: "+strings.Join(allowed, ", ")+".")
}
