package api

import (
	"net/http"

	"warranty.example/svc/warranty"
)

// The operations on the metadata of documents. Files are uploaded and downloaded by
// internal/upload.
var (
	ListDocuments = define[warranty.ListDocuments, warranty.Page[warranty.Document]](Spec{
		Name:    "documents.list",
		Method:  http.MethodGet,
		Base:    V1,
		Path:    "/documents",
		Auth:    Credential,
		Scope:   warranty.DocumentsRead,
		Tool:    "list_documents",
		Summary: "List the metadata of the documents of your warranties, newest first.",
		ToolDoc: "Find receipts, invoices, manuals and other documents of the user's warranties, newest first. " +
			"Tools return metadata: a person opens and uploads files on the page (web_url).",
		ToolFields: []string{"id", "warranty", "file_name", "type", "created_at", "web_url"},
	})
	GetDocument = define[warranty.GetDocument, warranty.Document](Spec{
		Name:    "documents.get",
		Method:  http.MethodGet,
		Base:    V1,
		Path:    "/documents/{id}",
		Auth:    Credential,
		Scope:   warranty.DocumentsRead,
		Tool:    "get_document",
		Summary: "Get the metadata of a document.",
	})
	DeleteDocument = define[warranty.DeleteDocument, warranty.None](Spec{
		Name:    "documents.delete",
		Method:  http.MethodDelete,
		Base:    Host,
		Path:    "/documents/{id}",
		Auth:    SessionOnly,
		Summary: "Delete a document that you uploaded or that belongs to a warranty you own.",
		Errors:  []warranty.Code{warranty.RoleNotAllowed},
	})
)

// documentOperations are the rows of this file in the operation table.
var documentOperations = []*Spec{
	ListDocuments.Spec,
	GetDocument.Spec,
	DeleteDocument.Spec,
}
