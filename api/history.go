package api

import (
	"net/http"

	"warranty.example/svc/warranty"
)

// ListHistory lists the changes to a warranty and its related records.
var ListHistory = define[warranty.ListHistory, warranty.Page[warranty.Event]](Spec{
	Name:    "warranties.history",
	Method:  http.MethodGet,
	Base:    Host,
	Path:    "/warranties/{id}/history",
	Auth:    SessionOnly,
	Summary: "List the changes to a warranty and its claims, documents and transfers, newest first.",
})

// historyOperations are the rows of this file in the operation table.
var historyOperations = []*Spec{
	ListHistory.Spec,
}
