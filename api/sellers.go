package api

import (
	"net/http"

	"warranty.example/svc/warranty"
)

// The operations of sellers. A shop's system can confirm what it sold.
var (
	ListConfirmations = define[warranty.ListConfirmations, warranty.Page[warranty.Confirmation]](Spec{
		Name:   "confirmations.list",
		Method: http.MethodGet,
		Base:   V1,
		Path:   "/confirmations",
		Auth:   Credential,
		Scope:  warranty.WarrantiesWrite,
		Tool:   "list_confirmations",
		Summary: "List the warranties that name you as the seller and wait for your confirmation. " +
			"The list has the newest 1,000; older ones follow as you decide.",
		ToolDoc: "List the warranties that name the user's shop as the seller and wait for its confirmation, with the " +
			"etag for confirm_warranty.",
	})
	DecideConfirmation = define[warranty.DecideConfirmation, warranty.Confirmation](Spec{
		Name:   "confirmations.decide",
		Method: http.MethodPost,
		Base:   V1,
		Path:   "/confirmations/{id}",
		Auth:   Credential,
		Scope:  warranty.WarrantiesWrite,
		Tool:   "confirm_warranty",
		// Declining everything from an account also declines what it sends later.
		Destructive: true,
		Idempotent:  true,
		Summary: "Confirm that you sold a warranty that names you, or decline. " +
			"Confirming needs the etag of the list in If-Match. Confirmed warranties are in your lists, and you decide claims " +
			"on them.",
		ToolDoc: "Confirm that the user's shop sold a warranty of list_confirmations, or decline. A confirmation needs " +
			"the etag of the list as if_match, and makes the shop decide claims on it. Ask the user first.",
		Errors: []warranty.Code{warranty.PreconditionFailed, warranty.PreconditionRequired},
	})
	LeaveWarranty = define[warranty.LeaveWarranty, warranty.None](Spec{
		Name:    "sellers.leave",
		Method:  http.MethodDelete,
		Base:    V1,
		Path:    "/warranties/{id}/seller",
		Auth:    Credential,
		Scope:   warranty.WarrantiesWrite,
		Summary: "Leave a warranty that you confirmed as its seller.",
		Errors:  []warranty.Code{warranty.RoleNotAllowed},
	})
)

// sellerOperations are the rows of this file in the operation table.
var sellerOperations = []*Spec{
	ListConfirmations.Spec,
	DecideConfirmation.Spec,
	LeaveWarranty.Spec,
}
