package api

import (
	"net/http"

	"warranty.example/svc/warranty"
)

// ListHistory lists what was done to a warranty and all that belongs to it.
var ListHistory = define[warranty.ListHistory, warranty.Page[warranty.Event]](Spec{
	Name: "warranties.history", Method: http.MethodGet, Base: Host, Path: "/warranties/{id}/history", Auth: SessionOnly,
	Summary: "List who did what to a warranty, its claims, documents and transfers, newest first.",
})
