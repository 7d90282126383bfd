package warranty

import (
	"bytes"
	"encoding/json"
)

// Limits of a batch.
const (
	MaxBatch = 500
	// BatchPerRequest is the number of items that count as one request.
	BatchPerRequest = 50
)

// CreateBatch is the input of warranties.batch.
type CreateBatch struct {
	Items          []BatchItem `json:"items" required:"true" max:"500" doc:"Warranties to create, 1 to 500."`
	Existing       Existing    `json:"existing,omitzero" in:"query" doc:"What happens to items whose external_id is known: update changes the records; keep changes nothing, and their status is unchanged or differs." default:"update"`
	IdempotencyKey *string     `json:"idempotency_key,omitempty" in:"header" max:"200" doc:"A unique string that you generate. It applies to each item without an external_id by its position: repeating a batch with the same key within 24 hours creates nothing twice. An item can have its own idempotency_key instead."`
}

// Check validates the batch, not its items.
func (in *CreateBatch) Check() error {
	var c Checks
	switch n := len(in.Items); {
	case n == 0:
		c.Add("items", "required", "This field is required.")
	case n > MaxBatch:
		c.Add("items", "out_of_range", "Must have between 1 and %d items.", MaxBatch)
	}
	in.IdempotencyKey = c.idempotencyKey(in.IdempotencyKey)
	if in.IdempotencyKey != nil && len(*in.IdempotencyKey) > MaxKey-55 {
		c.Add("idempotency_key", "too_long", "Must be at most 200 characters.")
	}
	return c.Err()
}

// Existing is what a batch does with items whose external id is known.
type Existing string

// What a batch does with known items. The zero value is UpdateExisting.
const (
	UpdateExisting Existing = "update"
	KeepExisting   Existing = "keep"
)

var existingNames = namesOf(UpdateExisting, KeepExisting)

// Values lists the known choices.
func (Existing) Values() []string { return existingNames }

// String returns the choice's name.
func (e Existing) String() string { return string(e) }

// BatchItem is an item of a batch as it was sent: the fields of a warranty to create, and idempotency_key. It is
// decoded on its own, so that an invalid item does not fail the others.
type BatchItem struct{ Text []byte }

// Split returns the idempotency key of the item, if it has one, and the other fields.
func (i BatchItem) Split() (key *string, fields []byte, err error) {
	const name = "idempotency_key"
	var all map[string]json.RawMessage
	if !bytes.Contains(i.Text, []byte(name)) || json.Unmarshal(i.Text, &all) != nil || all[name] == nil {
		return nil, i.Text, nil //nolint:nilerr // whoever decodes the fields finds what is wrong
	}
	if json.Unmarshal(all[name], &key) != nil {
		var c Checks
		c.Add(name, "invalid", "Must be a string.")
		return nil, nil, c.Err()
	}
	delete(all, name)
	fields, err = json.Marshal(all)
	return key, fields, err
}

// MarshalJSON returns the item as it was sent.
func (i BatchItem) MarshalJSON() ([]byte, error) { return i.Text, nil }

// UnmarshalJSON keeps the item.
func (i *BatchItem) UnmarshalJSON(b []byte) error {
	i.Text = append([]byte(nil), b...)
	return nil
}

// BatchStatus is the result of an item.
type BatchStatus string

// The results of items.
const (
	BatchCreated   BatchStatus = "created"
	BatchUnchanged BatchStatus = "unchanged"
	BatchUpdated   BatchStatus = "updated"
	BatchDiffers   BatchStatus = "differs"
	BatchFailed    BatchStatus = "failed"
)

var batchStatusNames = namesOf(BatchCreated, BatchUnchanged, BatchUpdated, BatchDiffers, BatchFailed)

// Values lists the known results.
func (BatchStatus) Values() []string { return batchStatusNames }

// String returns the result's name.
func (s BatchStatus) String() string { return string(s) }

// BatchResults is the result of a batch.
type BatchResults struct {
	Results []BatchResult `json:"results" doc:"One result for each item, in the same order."`
}

// BatchResult is the result of one item.
type BatchResult struct {
	Status          BatchStatus `json:"status" doc:"created; unchanged, updated or (with existing=keep) differs, by external_id; or failed."`
	ID              *ID         `json:"id" doc:"Identifier of the warranty; null if the item failed."`
	ReferenceNumber *Reference  `json:"reference_number" doc:"Reference number of the warranty; null if the item failed."`
	ExternalID      *string     `json:"external_id" doc:"External ID of the item."`
	Replayed        bool        `json:"replayed,omitzero" doc:"Whether an earlier request with the same idempotency key created the warranty."`
	Differs         []string    `json:"differs,omitempty" doc:"With differs: the fields in which the item and the record differ."`
	Problem         *Problem    `json:"problem" doc:"Why the item failed; null if it did not."`
	NotEmailed      *string     `json:"not_emailed" doc:"Why the record was created without emailing its offer, and what to do; null otherwise."`
}

// UpdateOf returns the update that gives an existing record the fields of a batch item. Fields that the item
// leaves out stay as they are, and so do those that belong to a customer who has taken the record. It is an
// error if the item has another value of a field that updates do not accept.
func (in CreateWarranty) UpdateOf(w Warranty) (UpdateWarranty, error) {
	var u UpdateWarranty
	var c Checks
	for _, f := range []struct {
		name  string
		value string
		now   *string
	}{
		{"description", in.Description, w.Description},
		{"serial_number", in.SerialNumber, w.SerialNumber},
		{"seller_name", in.SellerName, w.SellerName},
		{"seller_email", in.SellerEmail, w.SellerEmail},
	} {
		if f.value != "" && !same(&f.value, f.now) {
			c.Add(f.name, "not_accepted", "The record with this external_id has another value, which only a person can correct.")
		}
	}
	taken := !w.Roles.Has(Owner)
	if in.CustomerEmail != "" && !taken && !same(&in.CustomerEmail, w.Offer.Email) {
		c.Add("customer_email", "not_accepted",
			"The record with this external_id is not offered to this address. Offer it with POST /warranties/{id}/handover.")
	}
	if in.ProductName != w.ProductName {
		u.ProductName = &in.ProductName
	}
	if in.StartDate != w.StartDate {
		u.StartDate = &in.StartDate
	}
	if in.EndDate != w.EndDate {
		u.EndDate = &in.EndDate
	}
	for _, f := range []struct {
		value  string
		now    *string
		update **string
	}{
		{in.Supplier, w.Supplier, &u.Supplier},
		{in.Brand, w.Brand, &u.Brand},
		{in.Model, w.Model, &u.Model},
		{in.GTIN, w.GTIN, &u.GTIN},
		{in.Category, w.Category, &u.Category},
		{in.Price, w.Price, &u.Price},
		{in.Currency, w.Currency, &u.Currency},
		{in.CustomerName, w.CustomerName, &u.CustomerName},
	} {
		owners := f.update == &u.Category || f.update == &u.Price || f.update == &u.Currency
		if f.value != "" && !same(&f.value, f.now) && !(owners && taken) {
			*f.update = &f.value
		}
	}
	if u.Price != nil || u.Currency != nil {
		u.Price, u.Currency = &in.Price, &in.Currency
	}
	if !taken && !in.PurchaseDate.IsZero() && (w.PurchaseDate == nil || *w.PurchaseDate != in.PurchaseDate) {
		u.PurchaseDate = &in.PurchaseDate
	}
	return u, c.Err()
}
