package api

import (
	"net/http"

	"warranty.example/svc/warranty"
)

// The operations that give a warranty to a new owner.
var (
	OfferTransfer = define[warranty.OfferTransfer, warranty.TransferOffer](Spec{
		Name: "transfers.offer", Method: http.MethodPost, Base: Host, Path: "/warranties/{id}/transfer", Auth: SessionOnly,
		Summary: "Offer a warranty that you own to somebody; the code is in this answer and in a mail to them.",
		Status:  http.StatusCreated, Errors: []warranty.Code{warranty.RoleNotAllowed},
	})
	CancelTransfer = define[warranty.CancelTransfer, warranty.None](Spec{
		Name: "transfers.cancel", Method: http.MethodDelete, Base: Host, Path: "/warranties/{id}/transfer", Auth: SessionOnly,
		Summary: "Call an offer off; its code stops working.", Errors: []warranty.Code{warranty.RoleNotAllowed},
	})
	AcceptTransfer = define[warranty.AcceptTransfer, warranty.Warranty](Spec{
		Name: "transfers.accept", Method: http.MethodPost, Base: Host, Path: "/transfers/accept", Auth: SessionOnly,
		Summary: "Become the owner of a warranty by the code of its offer.",
	})
)
