package warranty

import "time"

// PrintedCode is a code to print that an organization made and that a customer can still use. The code itself is shown
// only once.
type PrintedCode struct {
	WarrantyID      ID         `json:"warranty_id" doc:"Identifier of the warranty."`
	ReferenceNumber Reference  `json:"reference_number" doc:"Reference number of the warranty."`
	ProductName     string     `json:"product_name" doc:"What is covered."`
	MadeByID        ID         `json:"made_by_id" doc:"Identifier of the person who made the code, or the token that made it."`
	MadeBy          string     `json:"made_by" doc:"Name of that person."`
	Member          bool       `json:"member" doc:"Whether that person is still a member of the organization."`
	OfferedAt       *time.Time `json:"offered_at" doc:"When the code was made."`
	ExpiresAt       time.Time  `json:"expires_at" doc:"When the code expires."`
}

// ListPrintedCodes is the input of printed_codes.list.
type ListPrintedCodes struct {
	Paging
	ID     ID  `json:"id" in:"path" required:"true" doc:"Identifier of the organization."`
	MadeBy *ID `json:"made_by,omitempty" in:"query" doc:"Identifier of a person: only codes that they, or tokens of theirs, made."`
}

// Check validates the input.
func (in *ListPrintedCodes) Check() error {
	var c Checks
	in.Paging.Check(&c)
	return c.Err()
}

// EndPrintedCodes is the input of printed_codes.end.
type EndPrintedCodes struct {
	ID     ID `json:"id" in:"path" required:"true" doc:"Identifier of the organization."`
	MadeBy ID `json:"made_by" in:"path" required:"true" doc:"Identifier of the person whose codes end."`
}
