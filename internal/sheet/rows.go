package sheet

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// value returns the first cell of a field that is not empty.
func (m mapping) value(cells []string, field string) string {
	for _, i := range m.columns[field] {
		if v := cell(cells, i); v != "" {
			return v
		}
	}
	return ""
}

// cell returns a cell, trimmed and with formula escaping removed.
func cell(cells []string, i int) string { return strings.TrimSpace(unescapeFormula(cells[i])) }

// read parses a row as a warranty. The error lists every invalid field.
func (r *Reader) read(row *Row) {
	var c warranty.Checks
	cells := row.cells
	if r.isInventory() && !r.hasWarranty(cells) {
		row.Skip = NoCover
		return
	}
	row.Input = warranty.CreateWarranty{
		SerialNumber: r.value(cells, "serial_number"),
		ExternalID:   r.value(cells, "external_id"),
		Category:     r.value(cells, "category"),
		Supplier:     r.value(cells, "supplier"),
		SellerName:   r.value(cells, "seller_name"),
		SellerEmail:  r.value(cells, "seller_email"),

		Brand:         r.value(cells, "brand"),
		GTIN:          r.value(cells, "gtin"),
		CustomerEmail: r.value(cells, "customer_email"),
		CustomerName:  r.value(cells, "customer_name"),
	}
	r.texts(cells, &row.Input)
	row.Input.Price, row.Input.Currency = importPrice(r.value(cells, "price"), r.value(cells, "currency"))
	row.Input.StartDate = r.date(&c, cells, "start_date")
	row.Input.EndDate = r.end(&c, cells, row.Input.StartDate)
	if r.value(cells, "purchase_date") != "" {
		row.Input.PurchaseDate = r.date(&c, cells, "purchase_date")
	}
	row.Status = r.status(&c, cells)
	row.Reference, _ = warranty.ParseReference(r.value(cells, "reference_number")) // ignore other programs' numbers
	c.Merge(row.Input.Check())
	row.Err = c.Err()
}

// hasWarranty reports whether a row has any information about a warranty.
func (r *Reader) hasWarranty(cells []string) bool {
	if truthy(r.value(cells, "lifetime")) || r.day(cells, "end_date") != "" {
		return true
	}
	for _, field := range lengthFields {
		if v := r.value(cells, field); v != "" && !isZero(v) {
			return true
		}
	}
	// With warranty details only, the row fails, so that a person looks at it.
	return slices.ContainsFunc(r.columns["description"], func(i int) bool {
		return strings.Contains(normalize(r.header[i]), "warranty") && cell(cells, i) != ""
	})
}

// texts sets the name, the model and the description. A model can stand for a missing name; further models
// are kept in the description.
func (r *Reader) texts(cells []string, in *warranty.CreateWarranty) {
	in.ProductName = r.value(cells, "product_name")
	models := r.values(cells, "model")
	if in.ProductName == "" && len(models) > 0 {
		in.ProductName = models[0]
		if in.Brand != "" && !containsFold(in.ProductName, in.Brand) {
			in.ProductName = in.Brand + " " + in.ProductName
		}
	}
	var kept []string
	for i, model := range models {
		if i == 0 {
			in.Model = model
		} else if !containsFold(in.ProductName, model) {
			kept = append(kept, "Model: "+model)
		}
	}
	parts := r.values(cells, "description")
	if len(kept) > 0 {
		parts = append([]string{strings.Join(kept, "\n")}, parts...)
	}
	in.Description = strings.Join(parts, "\n\n")
}

func containsFold(text, word string) bool {
	return strings.Contains(warranty.Fold(text), warranty.Fold(word))
}

// status returns void, cancelled or active. Upcoming and expired are active: they
// follow from the dates.
func (r *Reader) status(c *warranty.Checks, cells []string) warranty.Status {
	v := strings.ToLower(r.value(cells, "status"))
	if v == "" {
		return warranty.Active
	}
	s, err := warranty.ParseEnum[warranty.Status](v)
	if err != nil {
		c.Add("status", "invalid", "Unknown status. Use active, void or cancelled, or leave the column out.")
		return warranty.Active
	}
	if s == warranty.Void || s == warranty.Cancelled {
		return s
	}
	return warranty.Active
}

// values returns the distinct cells of a field that may have several columns.
func (m mapping) values(cells []string, field string) []string {
	var parts []string
	for _, i := range m.columns[field] {
		if v := cell(cells, i); v != "" && !slices.Contains(parts, v) {
			parts = append(parts, v)
		}
	}
	return parts
}

// day returns the first cell of a field that has a date. Homebox writes 0001-01-01
// for none.
func (m mapping) day(cells []string, field string) string {
	for _, i := range m.columns[field] {
		if v := cell(cells, i); v != "" && !strings.HasPrefix(v, "0001-01-01") {
			return v
		}
	}
	return ""
}

func (r *Reader) date(c *warranty.Checks, cells []string, field string) warranty.Date {
	v := r.day(cells, field)
	if v == "" {
		return 0
	}
	d, err := importDate(v, r.order)
	r.serials = r.serials || err == nil && isSerial(v)
	if err != nil {
		c.Add(field, "invalid", "%s", warranty.Sentence(err))
	}
	return d
}

// end returns the last day of coverage: lifetime, the given end date, or the start
// date plus a length.
func (r *Reader) end(c *warranty.Checks, cells []string, start warranty.Date) warranty.Date {
	if truthy(r.value(cells, "lifetime")) {
		return warranty.Lifetime
	}
	if r.day(cells, "end_date") != "" {
		return r.date(c, cells, "end_date")
	}
	if isLifetimeWord(r.value(cells, "duration")) {
		return warranty.Lifetime
	}
	l, err := r.length(cells)
	switch {
	case err != nil:
		c.Add("end_date", "invalid", "The warranty length is invalid: %s.", warranty.Text{Format: err.Error()})
	case l.isZero():
		c.Add("end_date", "required", "This field is required. Add an end date or a warranty length.")
	case start.IsZero():
		c.Add("end_date", "required", "The end date cannot be computed without a start date.")
	default:
		if end := l.lastDay(start); end < warranty.Lifetime {
			return end
		}
		return warranty.Lifetime
	}
	return 0
}

var (
	errDiffer = errors.New("two columns have different lengths; correct one, or leave a column out")
	errParts  = errors.New("both the years and the months column have a year or more; leave one out")
)

// length combines the length columns of a row: one length, or years, months and
// days to add up. Columns that contradict each other are an error.
func (r *Reader) length(cells []string) (length, error) {
	var whole, parts length
	for _, v := range r.values(cells, "duration") {
		l, err := importLength(v, r.lengthUnit())
		if err != nil {
			return l, err
		}
		if !whole.isZero() && whole != l {
			return l, errDiffer
		}
		whole = l
	}
	for _, u := range []unit{years, months, days} {
		list := r.values(cells, unitFields[u])
		for i, v := range list {
			l, err := importLength(v, u)
			switch {
			case err != nil:
				return l, err
			case i > 0:
				return l, errDiffer
			case u == months && l.months >= 12 && parts.months > 0:
				return l, errParts
			}
			parts = parts.plus(l)
		}
	}
	switch {
	case whole.isZero():
		return parts, nil
	case parts.isZero() || parts == whole:
		return whole, nil
	}
	return whole, errDiffer
}

func truthy(s string) bool {
	switch strings.ToLower(s) {
	case "true", "yes", "y", "1", "x", "ja", "oui":
		return true
	}
	return false
}

// identify derives the idempotency key of a row from its content, so that concurrent
// runs create one record. Equal rows of a file are separate records: each has its
// own key, and the nth row matches the nth existing record.
func (r *Reader) identify(row *Row) error {
	in := row.Input
	if first, again := r.external[in.ExternalID]; again {
		var c warranty.Checks
		c.Add("external_id", "duplicate",
			"Line %d has the same external id. External ids must be unique.", first)
		row.Err = c.Err()
		return nil
	}
	if in.ExternalID != "" {
		r.external[in.ExternalID] = row.Line
	}
	content, err := api.AppendJSON(nil, in)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	if n := r.count(content); n > 1 {
		sum = sha256.Sum256(fmt.Appendf(content, "\n%d", n))
		row.Repeat = true
	}
	row.setKey(sum)
	row.item = r.lookupItem(*row)
	if in.ExternalID == "" {
		mark, err := api.AppendJSON(nil, row.item)
		if err != nil {
			return err
		}
		row.item.Nth = int(r.count(append([]byte("row "), mark...)))
	}
	row.item.ReferenceNumber = string(row.Reference)
	return nil
}

// serial identifies a product that has a serial number.
func (r Row) serial() string { return r.Input.SerialNumber + "\n" + r.Input.ProductName }

// isSerialNumber reports whether text is a serial number and not a placeholder.
func isSerialNumber(serial string) bool {
	switch strings.ToLower(strings.Trim(serial, " .-–—_/?*#0")) {
	case "", "na", "n/a", "n.a", "none", "unknown", "no", "nil", "null", "keine", "ohne", "unbekannt", "tbd",
		"x", "xx", "xxx":
		return false
	}
	return true
}

// lookupItem returns the fields that identify an existing record of the row. The
// dates of a product with a serial number are included only if the sheet has
// several coverage periods for it.
func (r *Reader) lookupItem(row Row) warranty.LookupItem {
	in := row.Input
	switch {
	case in.ExternalID != "":
		return warranty.LookupItem{ExternalID: in.ExternalID}
	case isSerialNumber(in.SerialNumber) && r.repeatedSerials[row.serial()]:
		return warranty.LookupItem{
			SerialNumber: in.SerialNumber,
			ProductName:  in.ProductName,
			StartDate:    in.StartDate,
			EndDate:      in.EndDate,
		}
	case isSerialNumber(in.SerialNumber):
		return warranty.LookupItem{SerialNumber: in.SerialNumber, ProductName: in.ProductName}
	}
	return warranty.LookupItem{
		ProductName: in.ProductName,
		StartDate:   in.StartDate,
		EndDate:     in.EndDate,
		Supplier:    in.Supplier,
	}
}

// count returns how often text was seen, including this time.
func (r *Reader) count(text []byte) uint32 {
	sum := sha256.Sum256(text)
	short := [8]byte(sum[:8])
	r.seen[short]++
	return r.seen[short]
}

func (r *Row) setKey(sum [sha256.Size]byte) {
	key := "svc-import-" + hex.EncodeToString(sum[:])
	r.Input.IdempotencyKey = &key
}

// changeKey derives another idempotency key, to create a second record of the row.
func (r *Row) changeKey(why, id string) {
	r.setKey(sha256.Sum256([]byte(*r.Input.IdempotencyKey + "\n" + why + "\n" + id)))
}
