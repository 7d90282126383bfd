package api

import (
	"net/http"

	"warranty.example/svc/warranty"
)

// The operations on integration tokens. They require a session: tokens cannot manage
// tokens.
var (
	CreateToken = define[warranty.CreateToken, warranty.NewToken](Spec{
		Name:     "tokens.create",
		Method:   http.MethodPost,
		Base:     Host,
		Path:     "/integration-tokens",
		Auth:     SessionOnly,
		Summary:  "Create an integration token. Its secret is returned only once.",
		Status:   http.StatusCreated,
		Location: "/integration-tokens/{id}",
		Errors:   []warranty.Code{warranty.TokenLimitReached, warranty.AlreadyExists, warranty.EmailNotVerified},
	})
	ListTokens = define[warranty.ListTokens, warranty.Page[warranty.Token]](Spec{
		Name:    "tokens.list",
		Method:  http.MethodGet,
		Base:    Host,
		Path:    "/integration-tokens",
		Auth:    SessionOnly,
		Summary: "List your integration tokens with their usage, newest first.",
	})
	GetToken = define[warranty.GetToken, warranty.Token](Spec{
		Name:    "tokens.get",
		Method:  http.MethodGet,
		Base:    Host,
		Path:    "/integration-tokens/{id}",
		Auth:    SessionOnly,
		Summary: "Get an integration token with its usage.",
	})
	RotateToken = define[warranty.RotateToken, warranty.NewToken](Spec{
		Name:         "tokens.rotate",
		Method:       http.MethodPost,
		Base:         Host,
		Path:         "/integration-tokens/{id}/rotate",
		Auth:         SessionOnly,
		Summary:      "Replace a token's secret. The old secret can keep working for a while.",
		BodyOptional: true,
		Errors:       []warranty.Code{warranty.InvalidTransition},
	})
	RevokeToken = define[warranty.RevokeToken, warranty.None](Spec{
		Name:    "tokens.revoke",
		Method:  http.MethodDelete,
		Base:    Host,
		Path:    "/integration-tokens/{id}",
		Auth:    SessionOnly,
		Summary: "Revoke a token. It stops working immediately.",
	})
	ListTokenHistory = define[warranty.ListTokenHistory, warranty.Page[warranty.Event]](Spec{
		Name:    "tokens.history",
		Method:  http.MethodGet,
		Base:    Host,
		Path:    "/integration-tokens/{id}/history",
		Auth:    SessionOnly,
		Summary: "List the changes to a token, newest first.",
	})
	ListTokenRequests = define[warranty.ListTokenRequests, warranty.Page[warranty.RequestRecord]](Spec{
		Name:    "tokens.requests",
		Method:  http.MethodGet,
		Base:    Host,
		Path:    "/integration-tokens/{id}/requests",
		Auth:    SessionOnly,
		Summary: "List the requests made with a token, newest first. We keep 30 days and at most 10,000 requests per user.",
	})
)

// tokenOperations are the rows of this file in the operation table.
var tokenOperations = []*Spec{
	CreateToken.Spec,
	ListTokens.Spec,
	GetToken.Spec,
	RotateToken.Spec,
	RevokeToken.Spec,
	ListTokenHistory.Spec,
	ListTokenRequests.Spec,
}
