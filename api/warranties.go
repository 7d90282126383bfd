package api

import (
	"net/http"

	"warranty.example/svc/warranty"
)

// The operations on warranties.
var (
	ListWarranties = define[warranty.ListWarranties, warranty.Page[warranty.Warranty]](Spec{
		Name:    "warranties.list",
		Method:  http.MethodGet,
		Base:    V1,
		Path:    "/warranties",
		Auth:    Credential,
		Scope:   warranty.WarrantiesRead,
		Tool:    "list_warranties",
		Summary: "List the warranties that you own, sold or issued.",
		ToolDoc: "Find the user's warranties by words, dates, status and more. Start here for questions about a product. " +
			"A shop finds its customers with q or customer. For all fields of a record use get_warranty, for counts summarize_warranties, for a reference number of " +
			"someone else verify_warranty.",
		ToolFields: []string{
			"id", "reference_number", "product_name", "category", "end_date", "status", "days_remaining",
		},
	})
	SummarizeWarranties = define[warranty.SummarizeWarranties, warranty.Summary](Spec{
		Name:    "warranties.summarize",
		Method:  http.MethodGet,
		Base:    V1,
		Path:    "/warranties/summary",
		Auth:    Credential,
		Scope:   warranty.WarrantiesRead,
		Tool:    "summarize_warranties",
		Summary: "Count the warranties that match the filters, by status, category, supplier, brand or month of the end date.",
		ToolDoc: "Count the user's warranties by status, category, supplier, brand or month of the end date, with the filters " +
			"of list_warranties. Use it instead of counting a list.",
	})
	CreateWarranty = define[warranty.CreateWarranty, warranty.Warranty](Spec{
		Name:    "warranties.create",
		Method:  http.MethodPost,
		Base:    V1,
		Path:    "/warranties",
		Auth:    Credential,
		Scope:   warranty.WarrantiesWrite,
		Tool:    "create_warranty",
		Emails:  true,
		Summary: "Create a warranty. You become its owner and issuer.",
		ToolDoc: "Create a warranty, for example from a receipt. Ask the user for missing dates instead of guessing. " +
			"seller_email and customer_email are emailed: ask before you give them. Tools cannot change serial_number, description and seller_* later: people do at web_url/correct.",
		Status:   http.StatusCreated,
		Location: "/warranties/{id}",
		Errors:   []warranty.Code{warranty.AlreadyExists, warranty.IdempotencyKeyReused},
	})
	IssueWarranty = define[warranty.IssueWarranty, warranty.IssuedWarranty](Spec{
		Name:   "warranties.issue",
		Method: http.MethodPost,
		Base:   V1,
		Path:   "/warranties/issue",
		Auth:   Credential,
		Scope:  warranty.WarrantiesWrite,
		Tool:   "issue_warranty",
		Emails: true,
		Summary: "Issue a warranty of your organization to a customer: create it and offer it, by email or with a code to " +
			"print. product_id gives the fields that you leave out.",
		ToolDoc: "Issue a warranty of the user's organization: create it and offer it to the customer. With customer_email " +
			"it emails a stranger: ask first. With print the result has a one-time code and the take_url for a QR code. " +
			"For the user's own purchases use create_warranty.",
		Status:   http.StatusCreated,
		Location: "/warranties/{id}",
		Errors:   []warranty.Code{warranty.AlreadyExists, warranty.IdempotencyKeyReused},
	})
	GetWarranty = define[warranty.GetWarranty, warranty.Warranty](Spec{
		Name:    "warranties.get",
		Method:  http.MethodGet,
		Base:    V1,
		Path:    "/warranties/{id}",
		Auth:    Credential,
		Scope:   warranty.WarrantiesRead,
		Tool:    "get_warranty",
		Summary: "Get a warranty.",
		ToolDoc: "Get all fields of one warranty, the etag for update_warranty and delete_warranty, and pages for people: " +
			"web_url, upload_url for documents, and claim_url, to which you can append &type=, &description= and " +
			"&incident_date= to fill in the claim.",
	})
	UpdateWarranty = define[warranty.UpdateWarranty, warranty.Warranty](Spec{
		Name:    "warranties.update",
		Method:  http.MethodPut,
		Base:    V1,
		Path:    "/warranties/{id}",
		Auth:    Credential,
		Scope:   warranty.WarrantiesWrite,
		Tool:    "update_warranty",
		Summary: "Update the given fields of a warranty.",
		ToolDoc: "Change the given fields of a warranty; an empty string removes a text. For example, end_date extends it, " +
			"and status active reinstates a void one. A cancelled warranty stays cancelled. People correct " +
			"serial_number, description and seller_* at web_url/correct.",
		ByPerson: []string{"serial_number", "description", "seller_name", "seller_email"},
		Errors: []warranty.Code{
			warranty.RoleNotAllowed,
			warranty.InvalidTransition,
			warranty.AlreadyExists,
			warranty.PreconditionFailed,
		},
	})
	DeleteWarranty = define[warranty.DeleteWarranty, warranty.None](Spec{
		Name:    "warranties.delete",
		Method:  http.MethodDelete,
		Base:    V1,
		Path:    "/warranties/{id}",
		Auth:    Credential,
		Scope:   warranty.WarrantiesWrite,
		Tool:    "delete_warranty",
		Summary: "Delete a warranty. It can no longer be read or verified; its owner can restore it for 30 days.",
		ToolDoc: "Delete a warranty. The user can restore it for 30 days on the website. Ask first. To end coverage, " +
			"set status void or cancelled instead.",
		Errors: []warranty.Code{warranty.RoleNotAllowed, warranty.InUse, warranty.PreconditionFailed},
	})
)

// CorrectWarranty corrects what UpdateWarranty does not accept. Only people can.
var CorrectWarranty = define[warranty.CorrectWarranty, warranty.Warranty](Spec{
	Name:   "warranties.correct",
	Method: http.MethodPost,
	Base:   Host,
	Path:   "/warranties/{id}/corrections",
	Auth:   SessionOnly,
	Summary: "Correct a typing error in a warranty, with a reason. Whoever may change the promise may correct it. The " +
		"history keeps the old and the new values. A seller who has confirmed the record must confirm it again if the " +
		"product or its serial number changes.",
	Errors: []warranty.Code{warranty.RoleNotAllowed, warranty.PreconditionFailed},
})

// CreateBatch creates many warranties at once. It has no tool: agents create one after the other.
var CreateBatch = define[warranty.CreateBatch, warranty.BatchResults](Spec{
	Name:   "warranties.batch",
	Method: http.MethodPost,
	Base:   V1,
	Path:   "/warranties/batch",
	Auth:   Credential,
	Scope:  warranty.WarrantiesWrite,
	Items:  true,
	Summary: "Create up to 500 warranties, or update those with a known external_id. The body is a JSON array, newline-" +
		"delimited JSON (application/x-ndjson), or an object with items. Items are independent: each has its own result. " +
		"It counts as one request per 50 items.",
	Errors: []warranty.Code{warranty.RateLimited},
})

// ListDeleted lists what left the account, for programs that keep a copy of its records.
var ListDeleted = define[warranty.ListDeleted, warranty.Page[warranty.Deletion]](Spec{
	Name:    "warranties.deleted",
	Method:  http.MethodGet,
	Base:    V1,
	Path:    "/warranties/deleted",
	Auth:    Credential,
	Scope:   warranty.WarrantiesRead,
	Summary: "List the warranties that left your account: deleted, transferred, or no longer shared with you.",
})

// ListChanges lists what changed and what left the account, with one cursor for both.
var ListChanges = define[warranty.ListChanges, warranty.Changes](Spec{
	Name:    "warranties.changes",
	Method:  http.MethodGet,
	Base:    V1,
	Path:    "/warranties/changes",
	Auth:    Credential,
	Scope:   warranty.WarrantiesRead,
	Tool:    "list_changes",
	Summary: "List the warranties that changed for you and those that left your account since a cursor or a time.",
	ToolDoc: "List which warranties changed and which left the account since a cursor or a time. Keep the cursor for the " +
		"next time.",
})

// LookupWarranties finds many records at once. Imports use it before they create
// records. It is a POST because the items do not fit in a URL.
var LookupWarranties = define[warranty.LookupWarranties, warranty.Lookups](Spec{
	Name:    "warranties.lookup",
	Method:  http.MethodPost,
	Base:    V1,
	Path:    "/warranties/lookup",
	Auth:    Credential,
	Scope:   warranty.WarrantiesRead,
	Tool:    "lookup_warranties",
	Summary: "Look up as many as 500 records by serial number, reference number or external ID, or by what they say.",
	ToolDoc: "Look up many warranties at once, each by its exact serial number, reference number or external ID. Results " +
		"are in the order of items; those without warranty_id were not found.",
	ReadOnly: true,
})

// VerifyWarranty checks the reference number of any warranty.
var VerifyWarranty = define[warranty.VerifyWarranty, warranty.Verification](Spec{
	Name:    "warranties.verify",
	Method:  http.MethodGet,
	Base:    V1,
	Path:    "/verify/{reference}",
	Auth:    Credential,
	Scope:   warranty.WarrantiesRead,
	Tool:    "verify_warranty",
	Summary: "Verify any warranty by its reference number.",
	ToolDoc: "Check whether a reference number is genuine and in force, also for warranties of others. Case, spaces and " +
		"hyphens do not matter.",
})

// VerifyPublicly is VerifyWarranty at the public URL, without a credential. It is not
// in the table because the verification page serves it.
var VerifyPublicly = define[warranty.VerifyWarranty, warranty.Verification](Spec{
	Name:    "verification.get",
	Method:  http.MethodGet,
	Base:    "",
	Path:    "/verify/{reference}",
	Auth:    Public,
	Summary: "Verify any warranty by its reference number, without a credential.",
})

// VerifyProduct is VerifyPublicly by GTIN and serial number, at the path of a GS1 Digital Link.
var VerifyProduct = define[warranty.VerifyProduct, warranty.ProductVerification](Spec{
	Name:   "verification.product",
	Method: http.MethodGet,
	Path:   "/01/{gtin}/21/{number}",
	Auth:   Public,
	Summary: "Verify a product by its GS1 Digital Link: the newest warranty in force of each organization that issued " +
		"one, or its newest. Issuers with a verified domain are listed by domain, others separately.",
})

// warrantyOperations are the rows of this file in the operation table.
var warrantyOperations = []*Spec{
	ListWarranties.Spec,
	SummarizeWarranties.Spec,
	CreateWarranty.Spec,
	IssueWarranty.Spec,
	CreateBatch.Spec,
	GetWarranty.Spec,
	UpdateWarranty.Spec,
	CorrectWarranty.Spec,
	DeleteWarranty.Spec,
	ListDeleted.Spec,
	ListChanges.Spec,
	LookupWarranties.Spec,
	VerifyWarranty.Spec,
}
