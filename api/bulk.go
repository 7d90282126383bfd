package api

import (
	"net/http"

	"warranty.example/svc/warranty"
)

// The operations on actions that can be undone.
var (
	BulkClaims = define[warranty.BulkClaims, warranty.ClaimBulk](Spec{
		Name:   "bulk.claims",
		Method: http.MethodPost,
		Base:   Host,
		Path:   "/claims/bulk",
		Auth:   SessionOnly,
		Summary: "Assign, ask, approve, reject or resolve up to 100 claims that you decide. " +
			"It can be undone for 10 minutes, and its emails wait until then.",
		Errors: []warranty.Code{warranty.RoleNotAllowed, warranty.IdempotencyKeyReused},
	})
	GetBulk = define[warranty.GetBulk, warranty.ClaimBulk](Spec{
		Name:    "bulk.get",
		Method:  http.MethodGet,
		Base:    Host,
		Path:    "/bulk/{id}",
		Auth:    SessionOnly,
		Summary: "Get the results of an action on many claims.",
	})
	UndoBulk = define[warranty.UndoBulk, warranty.ClaimBulk](Spec{
		Name:    "bulk.undo",
		Method:  http.MethodPost,
		Base:    Host,
		Path:    "/bulk/{id}/undo",
		Auth:    SessionOnly,
		Summary: "Undo an action on many claims. Claims that were changed since keep their state, and the results name them.",
		Errors:  []warranty.Code{warranty.RoleNotAllowed, warranty.InvalidTransition},
	})
)

// bulkOperations are the rows of this file in the operation table.
var bulkOperations = []*Spec{
	BulkClaims.Spec,
	GetBulk.Spec,
	UndoBulk.Spec,
}
