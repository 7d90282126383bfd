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
		ToolDoc: "Find claims on the user's warranties, newest first. Open are submitted, under_review, info_requested, " +
			"approved and in_progress. A person files and decides claims on the page of the warranty or claim (web_url).",
		ToolFields: []string{"id", "claim_number", "warranty", "type", "incident_date", "status"},
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
		ToolDoc: "Get all fields of one claim: its description, the reason of its status and its resolution.",
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
)

// claimOperations are the rows of this file in the operation table.
var claimOperations = []*Spec{
	ListClaims.Spec,
	GetClaim.Spec,
	FileClaim.Spec,
	MoveClaim.Spec,
}
