package api

import (
	"net/http"

	"warranty.example/svc/warranty"
)

// The operations on the printed codes of an organization, whoever made them.
var (
	ListPrintedCodes = define[warranty.ListPrintedCodes, warranty.Page[warranty.PrintedCode]](Spec{
		Name:    "printed_codes.list",
		Method:  http.MethodGet,
		Base:    Host,
		Path:    "/organizations/{id}/printed-codes",
		Auth:    SessionOnly,
		Summary: "List the printed hand-over codes of an organization that customers can still use, newest first.",
	})
	EndPrintedCodes = define[warranty.EndPrintedCodes, warranty.None](Spec{
		Name:   "printed_codes.end",
		Method: http.MethodDelete,
		Base:   Host,
		Path:   "/organizations/{id}/printed-codes/{made_by}",
		Auth:   SessionOnly,
		Summary: "End all printed hand-over codes of an organization that a person made. To end one, cancel the hand-over " +
			"of its warranty.",
	})
)

// printedCodeOperations are the rows of this file in the operation table.
var printedCodeOperations = []*Spec{
	ListPrintedCodes.Spec,
	EndPrintedCodes.Spec,
}
