package warranty

import "fmt"

// MaxLookups is how many records one request looks for.
const MaxLookups = 500

// LookupWarranties asks which records an account has already, many at a time.
type LookupWarranties struct {
	Items []LookupItem `json:"items" required:"true" max:"500" doc:"What to look for, 1 to 500 items."`
}

// LookupItem describes one record. The first of these that is given decides:
// reference number, external id, serial number with product name, or product name
// with dates and supplier.
type LookupItem struct {
	ReferenceNumber string `json:"reference_number,omitzero" doc:"Reference number of a record that you can see. When it is not found the other fields decide."`
	ExternalID      string `json:"external_id,omitzero" doc:"External id of a record that you issued."`
	SerialNumber    string `json:"serial_number,omitzero" doc:"Serial number, together with product_name. With start_date and end_date these must match, too."`
	ProductName     string `json:"product_name,omitzero" doc:"Product name, exactly as stored."`
	StartDate       Date   `json:"start_date,omitzero" doc:"First day of cover."`
	EndDate         Date   `json:"end_date,omitzero" doc:"Last day of cover."`
	Supplier        string `json:"supplier,omitzero" doc:"Supplier, exactly as stored."`
	Nth             int    `json:"nth,omitzero" doc:"Which of several records that match alike, counted from 1; the first by default."`
}

// Check refuses what cannot be looked for.
func (in *LookupWarranties) Check() error {
	var c Checks
	switch n := len(in.Items); {
	case n == 0:
		c.Add("items", "required", "This field is required.")
	case n > MaxLookups:
		c.Add("items", "out_of_range", fmt.Sprintf("Write 1 to %d items.", MaxLookups))
		return c.Err()
	}
	for i := range in.Items {
		item, field := &in.Items[i], fmt.Sprintf("items[%d].", i)
		item.ReferenceNumber = c.text(field+"reference_number", item.ReferenceNumber, 0, MaxSerialNumber)
		item.ExternalID = c.text(field+"external_id", item.ExternalID, 0, MaxExternalID)
		item.SerialNumber = c.text(field+"serial_number", item.SerialNumber, 0, MaxSerialNumber)
		item.ProductName = c.text(field+"product_name", item.ProductName, 0, MaxProductName)
		item.Supplier = c.text(field+"supplier", item.Supplier, 0, MaxSupplier)
		if item.Nth == 0 {
			item.Nth = 1
		}
		if item.Nth < 1 || item.Nth > maxNth {
			c.Add(field+"nth", "out_of_range", fmt.Sprintf("Write a number from 1 to %d.", maxNth))
		}
	}
	return c.Err()
}

const maxNth = 1_000_000

// Lookups are the answers to LookupWarranties, one for each item in its order.
type Lookups struct {
	Results []Lookup `json:"results" doc:"One result for each item, in the same order."`
}

// Lookup is what was found for one item.
type Lookup struct {
	MatchedBy  *MatchedBy `json:"matched_by" doc:"What the record was found by; null when there is none."`
	WarrantyID *ID        `json:"warranty_id" doc:"The record; null when there is none."`
	Status     *Status    `json:"status" doc:"The status that it shows; null when there is none."`
}

// MatchedBy is what a record was found by.
type MatchedBy string

// The ways to find a record, from the surest on.
const (
	ByReference    MatchedBy = "reference_number"
	ByExternalID   MatchedBy = "external_id"
	BySerialNumber MatchedBy = "serial_number"
	ByContent      MatchedBy = "content"
)

var matchNames = namesOf(ByReference, ByExternalID, BySerialNumber, ByContent)

// Values lists the names a MatchedBy may have.
func (MatchedBy) Values() []string { return matchNames }

// String is its name.
func (m MatchedBy) String() string { return string(m) }
