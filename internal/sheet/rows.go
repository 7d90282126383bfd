package sheet

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// value returns the first cell of a field that is not empty, or the value that takes the place of its cells.
func (m mapping) value(row record, field string) string {
	if v, ok := row.fixed[field]; ok {
		return strings.TrimSpace(v)
	}
	for _, i := range m.columns[field] {
		if v := cell(row.cells, i); v != "" {
			return v
		}
	}
	return ""
}

// cell returns a cell, trimmed and with formula escaping removed. It is empty if the row is shorter, as invalid rows may be.
func cell(cells []string, i int) string {
	if i >= len(cells) {
		return ""
	}
	return strings.TrimSpace(unescapeFormula(cells[i]))
}

// readFixed parses a row. Invalid values of the fields that are left empty are removed, and the row is parsed again.
func (r *Reader) readFixed(row *Row) {
	var was Readings
	if len(r.options.Empty) > 0 {
		was = r.readings.clone()
	}
	r.read(row)
	emptied := map[string]string{}
	for _, f := range row.Faults() {
		if slices.Contains(r.options.Empty, f.Field) && CanBeEmpty(f.Field) && f.Code != required {
			emptied[f.Field] = f.Value
		}
	}
	if len(emptied) == 0 {
		return
	}
	fixed := maps.Clone(row.fixed)
	if fixed == nil {
		fixed = map[string]string{}
	}
	for field := range emptied {
		if fixed[field] = ""; field == "currency" || field == "price" {
			fixed["price"], fixed["currency"] = "", ""
		}
	}
	r.readings = was
	row.Skip, row.Err, row.fixed = "", nil, fixed
	r.read(row)
	for field, value := range emptied {
		r.readings.add(ReadEmptied, field, value, "")
	}
}

// required is the code of a field without a value.
const required = "required"

// CanBeEmpty reports whether a warranty can be without a field.
func CanBeEmpty(field string) bool {
	return field != "" && field != "product_name" && field != "start_date" && field != "end_date" && field != "external_id"
}

// read parses a row as a warranty. The error lists every invalid field.
func (r *Reader) read(row *Row) {
	var c warranty.Checks
	cells := row.record
	if (r.isInventory() && !r.hasWarranty(cells)) || r.saysNone(cells) {
		row.Skip = NoCover
		return
	}
	row.Input = warranty.CreateWarranty{
		SerialNumber: r.optional(cells, "serial_number"),
		ExternalID:   r.value(cells, "external_id"),
		Category:     r.optional(cells, "category"),
		Supplier:     r.optional(cells, "supplier"),
		SellerName:   r.optional(cells, "seller_name"),
		SellerEmail:  r.optional(cells, "seller_email"),

		Brand:         r.optional(cells, "brand"),
		GTIN:          r.optional(cells, "gtin"),
		CustomerEmail: r.optional(cells, "customer_email"),
		CustomerName:  r.optional(cells, "customer_name"),
	}
	r.texts(cells, &row.Input)
	r.price(&c, cells, &row.Input)
	row.Input.StartDate = r.date(&c, cells, "start_date")
	row.Input.EndDate = r.end(&c, cells, row.Input.StartDate)
	if r.value(cells, "purchase_date") != "" {
		row.Input.PurchaseDate = r.date(&c, cells, "purchase_date")
	}
	row.Status = r.status(&c, cells)
	row.Reference, _ = warranty.ParseReference(r.value(cells, "reference_number")) // ignore other programs' numbers
	r.ruined(&c, cells)
	c.Merge(row.Input.Check())
	row.Err = c.Err()
}

// hasWarranty reports whether a row has any information about a warranty.
func (r *Reader) hasWarranty(cells record) bool {
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
		return strings.Contains(normalize(r.header[i]), "warranty") && cell(cells.cells, i) != ""
	})
}

// texts sets the name, the model and the description. A model can stand for a missing name; further models
// are kept in the description.
func (r *Reader) texts(cells record, in *warranty.CreateWarranty) {
	in.ProductName = r.productName(cells)
	models := r.values(cells, "model")
	var kept []string
	for i, model := range models {
		if i == 0 {
			in.Model = model
		} else if !containsFold(in.ProductName, model) {
			kept = append(kept, "Model: "+model)
		}
	}
	parts := r.values(cells, "description")
	if len(parts) == 1 && r.isNone("description", parts[0]) {
		parts = nil
	}
	if len(kept) > 0 {
		parts = append([]string{strings.Join(kept, "\n")}, parts...)
	}
	in.Description = strings.Join(parts, "\n\n")
}

// productName returns the name of the product, or else its brand and model.
func (r *Reader) productName(cells record) string {
	name := r.value(cells, "product_name")
	models := r.values(cells, "model")
	if name != "" || len(models) == 0 {
		return name
	}
	if brand := r.value(cells, "brand"); brand != "" && !containsFold(models[0], brand) {
		return brand + " " + models[0]
	}
	return models[0]
}

func containsFold(text, word string) bool {
	return strings.Contains(warranty.Fold(text), warranty.Fold(word))
}

// status returns void, cancelled or active. Upcoming and expired are active: they
// follow from the dates.
func (r *Reader) status(c *warranty.Checks, cells record) warranty.Status {
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
func (m mapping) values(row record, field string) []string {
	if v, ok := row.fixed[field]; ok {
		return strings.FieldsFunc(v, func(rune) bool { return false }) // one, or none
	}
	var parts []string
	for _, i := range m.columns[field] {
		if v := cell(row.cells, i); v != "" && !slices.Contains(parts, v) {
			parts = append(parts, v)
		}
	}
	return parts
}

// day returns the first cell of a field that has a date. Homebox writes 0001-01-01
// for none.
func (m mapping) day(row record, field string) string {
	if v, ok := row.fixed[field]; ok {
		return strings.TrimSpace(v)
	}
	for _, i := range m.columns[field] {
		if v := cell(row.cells, i); v != "" && !strings.HasPrefix(v, "0001-01-01") {
			return v
		}
	}
	return ""
}

func (r *Reader) date(c *warranty.Checks, cells record, field string) warranty.Date {
	v := r.day(cells, field)
	if v == "" || field != "start_date" && r.isNone(field, v) {
		return 0
	}
	order := r.order(field)
	d, err := importDate(v, order)
	switch {
	case errors.Is(err, errAmbiguous):
		c.Add(field, "ambiguous", "%s", warranty.Sentence(err))
	case err != nil:
		c.Add(field, "invalid", "%s", warranty.Sentence(err))
	case isSerial(v):
		r.readings.add(ReadDayNumber, field, v, d.String())
	case order != UnknownOrder && needsOrder(v):
		r.readings.add(ReadOrder, field, v, d.String())
	}
	return d
}

// needsOrder reports whether a date can be read with the day or with the month first.
func needsOrder(text string) bool {
	_, err := importDate(text, UnknownOrder)
	return errors.Is(err, errAmbiguous)
}

// end returns the last day of coverage: lifetime, the given end date, or the start
// date plus a length.
func (r *Reader) end(c *warranty.Checks, cells record, start warranty.Date) warranty.Date {
	if truthy(r.value(cells, "lifetime")) {
		return warranty.Lifetime
	}
	if v := r.day(cells, "end_date"); v != "" && !r.isNone("end_date", v) {
		if isLifetimeWord(v) {
			return warranty.Lifetime
		}
		return r.date(c, cells, "end_date")
	}
	if isLifetimeWord(r.value(cells, "duration")) {
		return warranty.Lifetime
	}
	l, err := r.length(cells)
	if err == nil && l.isZero() && !r.style.length.isZero() && r.value(cells, "duration") == "" {
		l = r.style.length
		r.readings.add(ReadLength, "end_date", "", l.String())
	}
	switch {
	case errors.Is(err, errBare):
		c.Add("end_date", "no_unit", "The warranty length is invalid: %s.", warranty.Text{Format: err.Error()})
	case err != nil:
		c.Add("end_date", "invalid", "The warranty length is invalid: %s.", warranty.Text{Format: err.Error()})
	case l.isZero():
		c.Add("end_date", required, "This field is required. Add an end date or a warranty length.")
	case start.IsZero():
		return warranty.Lifetime // the start is missing; the end follows from it
	default:
		if end := l.lastDay(start); end < warranty.Lifetime {
			return end
		}
		return warranty.Lifetime
	}
	return 0
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
	if r.isDouble(row) {
		row.Skip = Double
		return nil
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

// isDouble reports whether an earlier row has the same product, serial number and dates. Equal rows without a serial
// number may be several products.
func (r *Reader) isDouble(row *Row) bool {
	in := row.Input
	if in.ExternalID != "" || !isSerialNumber(in.SerialNumber) || r.source == ours {
		return false
	}
	key := row.serial() + "\n" + in.StartDate.String() + in.EndDate.String()
	if r.periods[key] > 0 {
		return true
	}
	r.periods[key] = row.Line
	return false
}

// serial identifies a product that has a serial number.
func (r Row) serial() string { return serialOf(r.Input.SerialNumber, r.Input.ProductName) }

// serialOf identifies a product by its serial number, compared as the service does.
func serialOf(serial, product string) string { return warranty.SerialKey(serial) + "\n" + product }

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
