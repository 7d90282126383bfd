package api

import (
	"net/http"

	"warranty.example/svc/warranty"
)

// The operations on claims.
var (
	ListClaims = define[warranty.ListClaims, warranty.Page[warranty.Claim]](Spec{
		Name: "claims.list", Method: http.MethodGet, Base: V1, Path: "/claims", Auth: Credential, Scope: warranty.ClaimsRead,
		Tool: "list_claims", Summary: "List the claims on your warranties, newest first.",
	})
	GetClaim = define[warranty.GetClaim, warranty.Claim](Spec{
		Name: "claims.get", Method: http.MethodGet, Base: V1, Path: "/claims/{id}", Auth: Credential, Scope: warranty.ClaimsRead,
		Tool: "get_claim", Summary: "Get one claim.",
	})
)
