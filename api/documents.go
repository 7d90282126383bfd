package api

import (
	"net/http"

	"warranty.example/svc/warranty"
)

// The operations on documents: metadata alone, never an address of the file.
var (
	ListDocuments = define[warranty.ListDocuments, warranty.Page[warranty.Document]](Spec{
		Name: "documents.list", Method: http.MethodGet, Base: V1, Path: "/documents", Auth: Credential, Scope: warranty.DocumentsRead,
		Tool: "list_documents", Summary: "List the metadata of your warranties' documents, newest first.",
	})
	GetDocument = define[warranty.GetDocument, warranty.Document](Spec{
		Name: "documents.get", Method: http.MethodGet, Base: V1, Path: "/documents/{id}", Auth: Credential, Scope: warranty.DocumentsRead,
		Tool: "get_document", Summary: "Get the metadata of one document.",
	})
	DeleteDocument = define[warranty.DeleteDocument, warranty.None](Spec{
		Name: "documents.delete", Method: http.MethodDelete, Base: Host, Path: "/documents/{id}", Auth: SessionOnly,
		Summary: "Remove a document that you uploaded, or one of a warranty that you own.",
		Errors:  []warranty.Code{warranty.RoleNotAllowed},
	})
)
