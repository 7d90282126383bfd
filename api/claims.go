package api

import (
	"net/http"

	"warranty.example/svc/warranty"
)

// The operations on claims.
var (
	ListClaims = define[warranty.ListClaims, warranty.Page[warranty.Claim]](Spec{
		Name:    "claims.list",
		Method:  http.MethodGet,
		Base:    V1,
		Path:    "/claims",
		Auth:    Credential,
		Scope:   warranty.ClaimsRead,
		Tool:    "list_claims",
		Summary: "List the claims on your warranties, newest first.",
		ToolDoc: "Find claims, a shop those of a customer with q or customer. Open are submitted, under_review, info_requested, " +
			"approved and in_progress. People file them at claim_url of get_warranty and decide at web_url.",
		ToolFields: []string{"id", "claim_number", "warranty", "type", "incident_date", "status"},
	})
	CountClaims = define[warranty.CountClaims, warranty.ClaimCounts](Spec{
		Name:    "claims.count",
		Method:  http.MethodGet,
		Base:    V1,
		Path:    "/claims/count",
		Auth:    Credential,
		Scope:   warranty.ClaimsRead,
		Summary: "Count your claims by where they are in your work.",
	})
	GetClaim = define[warranty.GetClaim, warranty.Claim](Spec{
		Name:    "claims.get",
		Method:  http.MethodGet,
		Base:    V1,
		Path:    "/claims/{id}",
		Auth:    Credential,
		Scope:   warranty.ClaimsRead,
		Tool:    "get_claim",
		Summary: "Get a claim.",
		ToolDoc: "Get all fields of one claim and its latest messages.",
	})
	FileClaim = define[warranty.FileClaim, warranty.Claim](Spec{
		Name:     "claims.file",
		Method:   http.MethodPost,
		Base:     Host,
		Path:     "/claims",
		Auth:     SessionOnly,
		Summary:  "File a claim on a warranty that you own.",
		Status:   http.StatusCreated,
		Location: "/v1/claims/{id}",
		Errors:   []warranty.Code{warranty.NotFound, warranty.RoleNotAllowed, warranty.IdempotencyKeyReused},
	})
	MoveClaim = define[warranty.MoveClaim, warranty.Claim](Spec{
		Name:   "claims.move",
		Method: http.MethodPost,
		Base:   Host,
		Path:   "/claims/{id}/status",
		Auth:   SessionOnly,
		Summary: "Update the status of a claim: " +
			"review, request information, approve, reject, resolve, reply, withdraw or appeal.",
		Errors: []warranty.Code{warranty.RoleNotAllowed, warranty.InvalidTransition},
	})
	ListMessages = define[warranty.ListMessages, warranty.Page[warranty.Message]](Spec{
		Name:    "claims.messages",
		Method:  http.MethodGet,
		Base:    V1,
		Path:    "/claims/{id}/messages",
		Auth:    Credential,
		Scope:   warranty.ClaimsRead,
		Summary: "List the messages about a claim, newest first.",
	})
	WriteMessage = define[warranty.WriteMessage, warranty.Message](Spec{
		Name:     "claims.write",
		Method:   http.MethodPost,
		Base:     Host,
		Path:     "/claims/{id}/messages",
		Auth:     SessionOnly,
		Summary:  "Write a message about a claim. An owner's reply to a request for information continues the review.",
		Status:   http.StatusCreated,
		Location: "/v1/claims/{id}/messages",
		Errors: []warranty.Code{warranty.RoleNotAllowed, warranty.InvalidTransition,
			warranty.IdempotencyKeyReused},
	})
	ListNotes = define[warranty.ListNotes, warranty.Page[warranty.Note]](Spec{
		Name:    "claims.notes",
		Method:  http.MethodGet,
		Base:    V1,
		Path:    "/claims/{id}/notes",
		Auth:    Credential,
		Scope:   warranty.ClaimsRead,
		Summary: "List the notes that your team wrote about a claim that you decide, newest first.",
		Errors:  []warranty.Code{warranty.RoleNotAllowed},
	})
	WriteNote = define[warranty.WriteNote, warranty.Note](Spec{
		Name:     "claims.note",
		Method:   http.MethodPost,
		Base:     Host,
		Path:     "/claims/{id}/notes",
		Auth:     SessionOnly,
		Summary:  "Write a note about a claim that you decide. Only your team reads it.",
		Status:   http.StatusCreated,
		Location: "/v1/claims/{id}/notes",
		Errors:   []warranty.Code{warranty.RoleNotAllowed, warranty.InUse, warranty.IdempotencyKeyReused},
	})
	GetClaimHandling = define[warranty.GetClaimHandling, warranty.ClaimHandling](Spec{
		Name:    "claims.handling",
		Method:  http.MethodGet,
		Base:    Host,
		Path:    "/claims/{id}/handling",
		Auth:    SessionOnly,
		Summary: "Get the customer of a claim that you decide, and the member who works on it.",
		Errors:  []warranty.Code{warranty.RoleNotAllowed},
	})
	AssignClaim = define[warranty.AssignClaim, warranty.ClaimHandling](Spec{
		Name:    "claims.assign",
		Method:  http.MethodPut,
		Base:    Host,
		Path:    "/claims/{id}/handling",
		Auth:    SessionOnly,
		Summary: "Assign a claim that you decide to a member of your organization.",
		Errors:  []warranty.Code{warranty.RoleNotAllowed},
	})
)

// The operations on emails and documents of a claim.
var (
	MuteClaim = define[warranty.MuteClaim, warranty.ClaimMute](Spec{
		Name:    "claims.mute",
		Method:  http.MethodPut,
		Base:    Host,
		Path:    "/claims/{id}/muted",
		Auth:    SessionOnly,
		Summary: "Stop or resume your emails about a claim.",
	})
	DetachDocument = define[warranty.DetachDocument, warranty.None](Spec{
		Name:    "claims.detach",
		Method:  http.MethodDelete,
		Base:    Host,
		Path:    "/claims/{id}/documents/{document_id}",
		Auth:    SessionOnly,
		Summary: "Take a stored document of your warranty back from a claim. It stays with the warranty.",
		Errors:  []warranty.Code{warranty.RoleNotAllowed},
	})
)

// claimOperations are the rows of this file in the operation table.
var claimOperations = []*Spec{
	ListClaims.Spec,
	CountClaims.Spec,
	GetClaim.Spec,
	FileClaim.Spec,
	MoveClaim.Spec,
	ListMessages.Spec,
	WriteMessage.Spec,
	ListNotes.Spec,
	WriteNote.Spec,
	GetClaimHandling.Spec,
	AssignClaim.Spec,
	MuteClaim.Spec,
	DetachDocument.Spec,
}
