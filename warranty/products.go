package warranty

import (
	"strings"
	"time"
)

// Limits of products.
const (
	MaxProducts = 2000 // of an organization
	MaxLength   = 1200 // months
)

// Product is a template for the warranties that an organization issues.
type Product struct {
	ID           ID        `json:"id" doc:"Identifier of the product."`
	Name         string    `json:"name" doc:"Name of the product, unique in the organization."`
	Brand        *string   `json:"brand" doc:"Brand of the product."`
	Model        *string   `json:"model" doc:"Model of the product."`
	GTIN         *string   `json:"gtin" doc:"Global Trade Item Number of the product."`
	Category     *string   `json:"category" doc:"Product category, free text."`
	LengthMonths *int      `json:"length_months" doc:"Length of the warranty in months; null for a lifetime warranty."`
	Lifetime     bool      `json:"lifetime" doc:"Whether the warranty never ends."`
	Terms        *string   `json:"terms" doc:"Terms of the warranty. They become the description of the records."`
	CreatedAt    time.Time `json:"created_at" doc:"When the product was added."`
	UpdatedAt    time.Time `json:"updated_at" doc:"When the product last changed."`
	Replay       bool      `json:"-"` // a stored response to an earlier request
}

// RecordID returns the ID used in the Location header of a created record.
func (p Product) RecordID() ID { return p.ID }

// Replayed reports whether this is the stored result of an earlier request.
func (p Product) Replayed() bool { return p.Replay }

// SetReplayed sets Replay.
func (p *Product) SetReplayed(replayed bool) { p.Replay = replayed }

// EndDate returns the last day of a warranty that starts on a day.
func (p Product) EndDate(start Date) Date {
	if p.Lifetime || p.LengthMonths == nil {
		return Lifetime
	}
	return min(start.LastDay(*p.LengthMonths, 0), Lifetime)
}

// Matches reports whether every word of q is in the name, brand, model or GTIN of the product, ignoring case.
func (p Product) Matches(q string) bool {
	text := p.Name
	for _, s := range []*string{p.Brand, p.Model, p.GTIN} {
		if s != nil {
			text += "\n" + *s
		}
	}
	text = Fold(text)
	for word := range strings.FieldsSeq(Fold(q)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// ListProducts is the input of products.list.
type ListProducts struct {
	Paging
	Q string `json:"q,omitzero" in:"query" max:"200" doc:"Words that the name, brand, model or GTIN contain. Case-insensitive."`
}

// Check validates the input.
func (in *ListProducts) Check() error {
	var c Checks
	in.Paging.Check(&c)
	in.Q = c.query(in.Q)
	return c.Err()
}

// GetProduct is the input of products.get.
type GetProduct struct {
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the product."`
}

// CreateProduct is the input of products.create.
type CreateProduct struct {
	Name           string  `json:"name,omitzero" required:"true" max:"200" doc:"Name of the product, unique in the organization." example:"Tessel induction hob T64"`
	Brand          string  `json:"brand,omitzero" max:"120" doc:"Brand of the product." example:"Tessel"`
	Model          string  `json:"model,omitzero" max:"120" doc:"Model of the product." example:"T64"`
	GTIN           string  `json:"gtin,omitzero" max:"14" doc:"Global Trade Item Number: 8, 12, 13 or 14 digits with a valid check digit." example:"2000000064116"`
	Category       string  `json:"category,omitzero" max:"80" doc:"Product category, free text." example:"Appliances"`
	LengthMonths   *int    `json:"length_months,omitempty" min:"1" max:"1200" doc:"Length of the warranty in months, 1 to 1200. Required unless lifetime is true." example:"24"`
	Lifetime       *bool   `json:"lifetime,omitempty" doc:"Whether the warranty never ends."`
	Terms          string  `json:"terms,omitzero" max:"5000" doc:"Terms of the warranty. They become the description of the records."`
	IdempotencyKey *string `json:"idempotency_key,omitempty" in:"header" max:"255" doc:"A unique string that you generate. Repeating a request with the same key and body within 24 hours returns the same response and does not create a second record."`
}

// Check trims and validates the input.
func (in *CreateProduct) Check() error {
	var c Checks
	in.Name = c.text("name", in.Name, 1, MaxProductName)
	in.Brand = c.text("brand", in.Brand, 0, MaxBrand)
	in.Model = c.text("model", in.Model, 0, MaxModel)
	in.GTIN = c.gtin(in.GTIN)
	in.Category = c.text("category", in.Category, 0, MaxCategory)
	in.Terms = c.lines("terms", in.Terms, 0, MaxDescription)
	lifetime := in.Lifetime != nil && *in.Lifetime
	if in.LengthMonths == nil && !lifetime {
		c.Add("length_months", "required", "This field is required, unless lifetime is true.")
	}
	c.length(in.LengthMonths, lifetime)
	in.IdempotencyKey = c.idempotencyKey(in.IdempotencyKey)
	return c.Err()
}

// length validates the length of a warranty in months.
func (c *Checks) length(months *int, lifetime bool) {
	switch {
	case months == nil:
	case lifetime:
		c.Add("length_months", "not_accepted", "A lifetime warranty has no length. Leave this field out.")
	case *months < 1 || *months > MaxLength:
		c.Add("length_months", "out_of_range", "Must be between 1 and %d.", MaxLength)
	}
}

// UpdateProduct is the input of products.update. Fields that are nil stay as they are. Records that were
// issued do not change.
type UpdateProduct struct {
	ID           ID      `json:"id" in:"path" required:"true" doc:"Identifier of the product."`
	Name         *string `json:"name,omitempty" max:"200" doc:"Name of the product, unique in the organization."`
	Brand        *string `json:"brand,omitempty" null:"true" max:"120" doc:"Brand of the product. An empty string removes it."`
	Model        *string `json:"model,omitempty" null:"true" max:"120" doc:"Model of the product. An empty string removes it."`
	GTIN         *string `json:"gtin,omitempty" null:"true" max:"14" doc:"Global Trade Item Number with a valid check digit. An empty string removes it."`
	Category     *string `json:"category,omitempty" null:"true" max:"80" doc:"Product category. An empty string removes it."`
	LengthMonths *int    `json:"length_months,omitempty" min:"1" max:"1200" doc:"Length of the warranty in months, 1 to 1200. The warranty is then not a lifetime one."`
	Lifetime     *bool   `json:"lifetime,omitempty" doc:"Whether the warranty never ends. Send length_months to give it an end."`
	Terms        *string `json:"terms,omitempty" null:"true" max:"5000" doc:"Terms of the warranty. An empty string removes them."`
}

// Check trims and validates the input.
func (in *UpdateProduct) Check() error {
	var c Checks
	for _, f := range []struct {
		name        string
		value       *string
		least, most int
	}{
		{"name", in.Name, 1, MaxProductName},
		{"brand", in.Brand, 0, MaxBrand},
		{"model", in.Model, 0, MaxModel},
		{"category", in.Category, 0, MaxCategory},
	} {
		if f.value != nil {
			*f.value = c.text(f.name, *f.value, f.least, f.most)
		}
	}
	if in.GTIN != nil {
		*in.GTIN = c.gtin(*in.GTIN)
	}
	if in.Terms != nil {
		*in.Terms = c.lines("terms", *in.Terms, 0, MaxDescription)
	}
	c.length(in.LengthMonths, in.Lifetime != nil && *in.Lifetime)
	return c.Err()
}

// Apply returns the updated product.
func (in UpdateProduct) Apply(p Product) (Product, error) {
	set(&p.Name, in.Name)
	for _, f := range []struct {
		to   **string
		from *string
	}{{&p.Brand, in.Brand}, {&p.Model, in.Model}, {&p.GTIN, in.GTIN}, {&p.Category, in.Category}, {&p.Terms, in.Terms}} {
		if f.from != nil {
			*f.to = Optional(*f.from)
		}
	}
	if in.Lifetime != nil {
		if p.Lifetime = *in.Lifetime; p.Lifetime {
			p.LengthMonths = nil
		}
	}
	if in.LengthMonths != nil {
		p.LengthMonths, p.Lifetime = in.LengthMonths, false
	}
	if !p.Lifetime && p.LengthMonths == nil {
		var c Checks
		c.Add("length_months", "required", "This field is required, unless lifetime is true.")
		return p, c.Err()
	}
	return p, nil
}

// DeleteProduct is the input of products.delete.
type DeleteProduct struct {
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the product."`
}
