package api

import (
	"net/http"

	"warranty.example/svc/warranty"
)

// The operations on warranties.
var (
	ListWarranties = define[warranty.ListWarranties, warranty.Page[warranty.Warranty]](Spec{
		Name: "warranties.list", Method: http.MethodGet, Base: V1, Path: "/warranties", Auth: Credential, Scope: warranty.WarrantiesRead,
		Tool: "list_warranties", Summary: "List the warranties that you own, sold or issued, newest first.",
	})
	CreateWarranty = define[warranty.CreateWarranty, warranty.Warranty](Spec{
		Name: "warranties.create", Method: http.MethodPost, Base: V1, Path: "/warranties", Auth: Credential, Scope: warranty.WarrantiesWrite,
		Tool: "create_warranty", Summary: "Create a warranty of which you are owner and issuer.",
		Status: http.StatusCreated, Location: "/warranties/{id}", Errors: []warranty.Code{warranty.AlreadyExists, warranty.IdempotencyKeyReused},
	})
	GetWarranty = define[warranty.GetWarranty, warranty.Warranty](Spec{
		Name: "warranties.get", Method: http.MethodGet, Base: V1, Path: "/warranties/{id}", Auth: Credential, Scope: warranty.WarrantiesRead,
		Tool: "get_warranty", Summary: "Get one warranty.",
	})
	UpdateWarranty = define[warranty.UpdateWarranty, warranty.Warranty](Spec{
		Name: "warranties.update", Method: http.MethodPut, Base: V1, Path: "/warranties/{id}", Auth: Credential, Scope: warranty.WarrantiesWrite,
		Tool: "update_warranty", Summary: "Change the fields of a warranty that are given; the others stay.",
		Errors: []warranty.Code{warranty.RoleNotAllowed, warranty.InvalidTransition, warranty.AlreadyExists, warranty.PreconditionFailed},
	})
	DeleteWarranty = define[warranty.DeleteWarranty, warranty.None](Spec{
		Name: "warranties.delete", Method: http.MethodDelete, Base: V1, Path: "/warranties/{id}", Auth: Credential, Scope: warranty.WarrantiesWrite,
		Tool: "delete_warranty", Summary: "Delete a warranty; it can not be read or verified any more.",
		Errors: []warranty.Code{warranty.RoleNotAllowed, warranty.PreconditionFailed},
	})
)

// LookupWarranties finds many records at once: what an import asks before it
// creates any. It is a POST because the question does not fit into an address.
var LookupWarranties = define[warranty.LookupWarranties, warranty.Lookups](Spec{
	Name: "warranties.lookup", Method: http.MethodPost, Base: V1, Path: "/warranties/lookup", Auth: Credential, Scope: warranty.WarrantiesRead,
	Summary: "Find out which of up to 500 records you have already.", ReadOnly: true,
})

// VerifyWarranty checks a reference number, whoever the warranty belongs to.
var VerifyWarranty = define[warranty.VerifyWarranty, warranty.Verification](Spec{
	Name: "warranties.verify", Method: http.MethodGet, Base: V1, Path: "/verify/{reference}", Auth: Credential, Scope: warranty.WarrantiesRead,
	Tool: "verify_warranty", Summary: "Verify a warranty by its reference number, whoever it belongs to.",
})

// VerifyPublicly is VerifyWarranty at the public address, for callers without a
// credential. The server's page answers there, so it is no row of the table.
var VerifyPublicly = define[warranty.VerifyWarranty, warranty.Verification](Spec{
	Name: "verification.get", Method: http.MethodGet, Base: "", Path: "/verify/{reference}", Auth: Public,
	Summary: "Verify a warranty by its reference number, without a credential.",
})
