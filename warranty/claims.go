package warranty

import "time"

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
type ClaimType uint8

// The types of claim.
const (
	Repair ClaimType = iota + 1
	Replacement
	Refund
	Inspection
	OtherClaim
)

var claimTypeNames = []string{"repair", "replacement", "refund", "inspection", "other"}

// Values lists the names a ClaimType may have.
func (ClaimType) Values() []string { return claimTypeNames }

// String is the type's name.
func (t ClaimType) String() string { return enumName(claimTypeNames, t) }

// MarshalText writes the type's name.
func (t ClaimType) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads the type's name.
func (t *ClaimType) UnmarshalText(b []byte) error { return enumValue(claimTypeNames, b, t) }

// ClaimStatus is where a claim stands.
type ClaimStatus uint8

// The statuses of a claim.
const (
	Submitted ClaimStatus = iota + 1
	UnderReview
	InfoRequested
	Approved
	Rejected
	InProgress
	Resolved
	Withdrawn
)

var claimStatusNames = []string{"submitted", "under_review", "info_requested", "approved", "rejected", "in_progress", "resolved", "withdrawn"}

// Values lists the names a ClaimStatus may have.
func (ClaimStatus) Values() []string { return claimStatusNames }

// String is the status's name.
func (s ClaimStatus) String() string { return enumName(claimStatusNames, s) }

// MarshalText writes the status's name.
func (s ClaimStatus) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the status's name.
func (s *ClaimStatus) UnmarshalText(b []byte) error { return enumValue(claimStatusNames, b, s) }

// Resolution is how a claim ended well.
type Resolution uint8

// The resolutions.
const (
	Repaired Resolution = iota + 1
	Replaced
	Refunded
	StoreCredit
	OtherResolution
)

var resolutionNames = []string{"repaired", "replaced", "refunded", "store_credit", "other"}

// Values lists the names a Resolution may have.
func (Resolution) Values() []string { return resolutionNames }

// String is the resolution's name.
func (r Resolution) String() string { return enumName(resolutionNames, r) }

// MarshalText writes the resolution's name.
func (r Resolution) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads the resolution's name.
func (r *Resolution) UnmarshalText(b []byte) error { return enumValue(resolutionNames, b, r) }

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
