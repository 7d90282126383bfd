package api

import (
	"net/http"

	"warranty.example/svc/warranty"
)

// The operations on integration tokens: a token can not manage tokens, so they need a session.
var (
	CreateToken = define[warranty.CreateToken, warranty.NewToken](Spec{
		Name: "tokens.create", Method: http.MethodPost, Base: Host, Path: "/integration-tokens", Auth: SessionOnly,
		Summary: "Create an integration token; its secret is in this answer and never again.",
		Status:  http.StatusCreated, Location: "/integration-tokens/{id}", Errors: []warranty.Code{warranty.TokenLimitReached, warranty.AlreadyExists, warranty.EmailNotVerified},
	})
	ListTokens = define[warranty.ListTokens, warranty.Page[warranty.Token]](Spec{
		Name: "tokens.list", Method: http.MethodGet, Base: Host, Path: "/integration-tokens", Auth: SessionOnly,
		Summary: "List your integration tokens with their usage, newest first.",
	})
	GetToken = define[warranty.GetToken, warranty.Token](Spec{
		Name: "tokens.get", Method: http.MethodGet, Base: Host, Path: "/integration-tokens/{id}", Auth: SessionOnly,
		Summary: "Get one integration token with its usage.",
	})
	RotateToken = define[warranty.RotateToken, warranty.NewToken](Spec{
		Name: "tokens.rotate", Method: http.MethodPost, Base: Host, Path: "/integration-tokens/{id}/rotate", Auth: SessionOnly, BodyOptional: true,
		Summary: "Give a token a new secret; the old one can go on working for a while.",
		Errors:  []warranty.Code{warranty.InvalidTransition},
	})
	RevokeToken = define[warranty.RevokeToken, warranty.None](Spec{
		Name: "tokens.revoke", Method: http.MethodDelete, Base: Host, Path: "/integration-tokens/{id}", Auth: SessionOnly,
		Summary: "Revoke a token; it stops working at once, everywhere.",
	})
	ListTokenHistory = define[warranty.ListTokenHistory, warranty.Page[warranty.Event]](Spec{
		Name: "tokens.history", Method: http.MethodGet, Base: Host, Path: "/integration-tokens/{id}/history", Auth: SessionOnly,
		Summary: "List what was done to a token, newest first.",
	})
	ListTokenRequests = define[warranty.ListTokenRequests, warranty.Page[warranty.RequestRecord]](Spec{
		Name: "tokens.requests", Method: http.MethodGet, Base: Host, Path: "/integration-tokens/{id}/requests", Auth: SessionOnly,
		Summary: "List the latest requests made with a token, newest first: at most 30 days and 10,000 of all your tokens.",
	})
)
