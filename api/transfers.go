package api

import (
	"net/http"

	"warranty.example/svc/warranty"
)

// The operations on transfers of ownership.
var (
	OfferTransfer = define[warranty.OfferTransfer, warranty.TransferOffer](Spec{
		Name:    "transfers.offer",
		Method:  http.MethodPost,
		Base:    Host,
		Path:    "/warranties/{id}/transfer",
		Auth:    SessionOnly,
		Summary: "Offer a warranty that you own to a new owner. The code is returned, and they are emailed a link.",
		Status:  http.StatusCreated,
		Errors:  []warranty.Code{warranty.RoleNotAllowed, warranty.InvalidTransition},
	})
	CancelTransfer = define[warranty.CancelTransfer, warranty.None](Spec{
		Name:    "transfers.cancel",
		Method:  http.MethodDelete,
		Base:    Host,
		Path:    "/warranties/{id}/transfer",
		Auth:    SessionOnly,
		Summary: "Cancel a transfer. Its code no longer works.",
		Errors:  []warranty.Code{warranty.RoleNotAllowed},
	})
	AcceptTransfer = define[warranty.TakeHandover, warranty.Warranty](Spec{
		Name:    "transfers.accept",
		Method:  http.MethodPost,
		Base:    Host,
		Path:    "/transfers/accept",
		Auth:    SessionOnly,
		Summary: "Accept a transfer with its code. You become the owner of the warranty. The same as handovers.take.",
		Errors:  []warranty.Code{warranty.RoleNotAllowed, warranty.EmailNotVerified},
	})
)

// transferOperations are the rows of this file in the operation table.
var transferOperations = []*Spec{
	OfferTransfer.Spec,
	CancelTransfer.Spec,
	AcceptTransfer.Spec,
}
