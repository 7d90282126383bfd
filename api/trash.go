package api

import (
	"net/http"

	"warranty.example/svc/warranty"
)

// The operations on the trash.
var (
	ListTrash = define[warranty.ListTrash, warranty.Page[warranty.Trashed]](Spec{
		Name:    "trash.list",
		Method:  http.MethodGet,
		Base:    Host,
		Path:    "/trash",
		Auth:    SessionOnly,
		Summary: "List the warranties that you deleted in the last 30 days.",
	})
	RestoreWarranty = define[warranty.RestoreWarranty, warranty.Warranty](Spec{
		Name:   "warranties.restore",
		Method: http.MethodPost,
		Base:   Host,
		Path:   "/warranties/{id}/restore",
		Auth:   SessionOnly,
		Summary: "Restore a warranty from the trash, with its documents and claims. Codes of open transfers and " +
			"hand-overs work again.",
		Errors: []warranty.Code{warranty.AlreadyExists},
	})
)

// trashOperations are the rows of this file in the operation table.
var trashOperations = []*Spec{
	ListTrash.Spec,
	RestoreWarranty.Spec,
}
