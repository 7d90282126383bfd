package warranty

import "fmt"

// MaxLookups is the maximum number of items in one lookup.
const MaxLookups = 500

// LookupWarranties is the input of warranties.lookup.
type LookupWarranties struct {
	Items []LookupItem `json:"items" required:"true" max:"500" doc:"Records to look up, 1 to 500." tool:"1 to 500, each with one key."`
}

// LookupItem describes one record. The first of these keys that is given is used:
// reference number; external ID; serial number; product name with dates and supplier.
type LookupItem struct {
	ReferenceNumber string `json:"reference_number,omitzero" doc:"Reference number of a record that you can see. If it is not found, the other fields are used." tool:"Reference number."`
	ExternalID      string `json:"external_id,omitzero" doc:"External ID of a record that you issued." tool:"The user's own ID of what they issued."`
	SerialNumber    string `json:"serial_number,omitzero" doc:"Serial number of a record that you can see; case, spaces and dashes do not matter. If product_name is given, only of one that you issued. If product_name, start_date or end_date are given, they must match too." tool:"Serial number."`
	ProductName     string `json:"product_name,omitzero" doc:"Product name, exactly as stored. Without a serial number, send start_date, end_date and supplier with it: it finds a record that you issued and that has no serial number and no external ID." tool:"-"`
	StartDate       Date   `json:"start_date,omitzero" doc:"First day of coverage." tool:"-"`
	EndDate         Date   `json:"end_date,omitzero" doc:"Last day of coverage." tool:"-"`
	Supplier        string `json:"supplier,omitzero" doc:"Supplier, exactly as stored." tool:"-"`
	Nth             int    `json:"nth,omitzero" doc:"Which match to return if several records match, starting at 1. Defaults to 1." tool:"-"`
}

// Check validates the input.
func (in *LookupWarranties) Check() error {
	var c Checks
	switch n := len(in.Items); {
	case n == 0:
		c.Add("items", "required", "This field is required.")
	case n > MaxLookups:
		c.Add("items", "out_of_range", "Must have between 1 and %d items.", MaxLookups)
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
			c.Add(field+"nth", "out_of_range", "Must be between 1 and %d.", maxNth)
		}
	}
	return c.Err()
}

const maxNth = 1_000_000

// Lookups is the result of warranties.lookup.
type Lookups struct {
	Results []Lookup `json:"results" doc:"One result for each item, in the same order."`
}

// Lookup is the result for one item.
type Lookup struct {
	MatchedBy *MatchedBy `json:"matched_by" doc:"How the record was matched; null if none was found."`
	// MatchedFields are those of the item that the record has.
	MatchedFields   []string   `json:"matched_fields" doc:"Fields of the item by which the record was found; empty if none was found."`
	WarrantyID      *ID        `json:"warranty_id" doc:"Identifier of the record; null if none was found."`
	ReferenceNumber *Reference `json:"reference_number" doc:"Reference number of the record; null if none was found."`
	ProductName     *string    `json:"product_name" doc:"What the record covers; null if none was found."`
	Status          *Status    `json:"status" doc:"Current status of the record; null if none was found."`
	StartDate       *Date      `json:"start_date" doc:"First day of the record's coverage; null if none was found."`
	EndDate         *Date      `json:"end_date" doc:"Last day of the record's coverage; null if none was found."`
}

// MatchedBy is how a record was matched.
type MatchedBy string

// The ways to match a record, most reliable first.
const (
	ByReference    MatchedBy = "reference_number"
	ByExternalID   MatchedBy = "external_id"
	BySerialNumber MatchedBy = "serial_number"
	ByContent      MatchedBy = "content"
)

var matchNames = namesOf(ByReference, ByExternalID, BySerialNumber, ByContent)

// Values lists the known ways to match.
func (MatchedBy) Values() []string { return matchNames }

// String returns the name.
func (m MatchedBy) String() string { return string(m) }

// Matched returns the fields of the item by which a record was found.
func (item LookupItem) Matched(by MatchedBy) (fields []string) {
	add := func(name string, given bool) {
		if given {
			fields = append(fields, name)
		}
	}
	if by == ByReference || by == ByExternalID {
		return []string{by.String()}
	}
	add("serial_number", by == BySerialNumber)
	add("product_name", item.ProductName != "")
	add("start_date", !item.StartDate.IsZero())
	add("end_date", !item.EndDate.IsZero())
	add("supplier", by == ByContent && item.Supplier != "")
	return fields
}
