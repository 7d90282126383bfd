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

// value is the first cell of a field that is not empty.
func (m mapping) value(cells []string, field string) string {
	for _, i := range m.columns[field] {
		if v := cell(cells, i); v != "" {
			return v
		}
	}
	return ""
}

// cell is a cell as its writer meant it.
func cell(cells []string, i int) string { return strings.TrimSpace(fuse(cells[i])) }

// read makes a warranty of a row. Every field that is wrong is in the error.
func (r *Reader) read(row *Row) {
	var c warranty.Checks
	cells := row.cells
	if r.isInventory() && !r.hasCover(cells) {
		row.Skip = NoCover
		return
	}
	row.Input = warranty.CreateWarranty{
		SerialNumber: r.value(cells, "serial_number"), ExternalID: r.value(cells, "external_id"), Category: r.value(cells, "category"),
		Supplier: r.value(cells, "supplier"), SellerName: r.value(cells, "seller_name"), SellerEmail: r.value(cells, "seller_email"),
	}
	row.Input.ProductName, row.Input.Description = r.texts(cells)
	row.Input.StartDate = r.date(&c, cells, "start_date")
	row.Input.EndDate = r.end(&c, cells, row.Input.StartDate)
	row.Status = r.status(&c, cells)
	row.Reference, _ = warranty.ParseReference(r.value(cells, "reference_number")) // another text is another program's number
	c.Merge(row.Input.Check())
	row.Err = c.Err()
}

// hasCover tells whether a row says anything about a warranty.
func (r *Reader) hasCover(cells []string) bool {
	if truthy(r.value(cells, "lifetime")) || r.day(cells, "end_date") != "" {
		return true
	}
	for _, field := range lengthFields {
		if v := r.value(cells, field); v != "" && !isZero(v) {
			return true
		}
	}
	// What is written about it may be its only trace: a person should look at that.
	return slices.ContainsFunc(r.columns["description"], func(i int) bool {
		return strings.Contains(bare(r.header[i]), "warranty") && cell(cells, i) != ""
	})
}

// texts are the name and the description, which keep the brand and the model: a
// warranty has no fields for them.
func (r *Reader) texts(cells []string) (name, description string) {
	name = r.value(cells, "product_name")
	brand, models := r.value(cells, "brand"), r.values(cells, "model")
	if name == "" && len(models) > 0 {
		name, models = models[0], models[1:]
		if brand != "" && !mentions(name, brand) {
			name = brand + " " + name
		}
	}
	var kept []string
	if brand != "" && !mentions(name, brand) {
		kept = append(kept, "Brand: "+brand)
	}
	for _, model := range models {
		if !mentions(name, model) {
			kept = append(kept, "Model: "+model)
		}
	}
	parts := r.values(cells, "description")
	if len(kept) > 0 {
		parts = append([]string{strings.Join(kept, "\n")}, parts...)
	}
	return name, strings.Join(parts, "\n\n")
}

func mentions(text, word string) bool {
	return strings.Contains(warranty.Fold(text), warranty.Fold(word))
}

// status is what the row was set to: void, cancelled, or else active, because
// upcoming and expired follow from the dates.
func (r *Reader) status(c *warranty.Checks, cells []string) warranty.Status {
	v := strings.ToLower(r.value(cells, "status"))
	if v == "" {
		return warranty.Active
	}
	s, err := warranty.ParseEnum[warranty.Status](v)
	if err != nil {
		c.Add("status", "invalid", "This is not a status of a warranty; write active, void or cancelled, or leave the column out.")
		return warranty.Active
	}
	if s == warranty.Void || s == warranty.Cancelled {
		return s
	}
	return warranty.Active
}

// values are the cells of a field that may come from several columns.
func (m mapping) values(cells []string, field string) []string {
	var parts []string
	for _, i := range m.columns[field] {
		if v := cell(cells, i); v != "" && !slices.Contains(parts, v) {
			parts = append(parts, v)
		}
	}
	return parts
}

// day is the first cell of a field that has a day. Homebox writes 0001-01-01 for none.
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
		c.Add(field, "invalid", sentence(err))
	}
	return d
}

// end is the last day of cover: for life, as it is given, or after a length from
// the start.
func (r *Reader) end(c *warranty.Checks, cells []string, start warranty.Date) warranty.Date {
	if truthy(r.value(cells, "lifetime")) {
		return warranty.Lifetime
	}
	if r.day(cells, "end_date") != "" {
		return r.date(c, cells, "end_date")
	}
	if truthyLifetime(r.value(cells, "duration")) {
		return warranty.Lifetime
	}
	l, err := r.length(cells)
	switch {
	case err != nil:
		c.Add("end_date", "invalid", "The length of the warranty is unclear: "+err.Error()+".")
	case l.isZero():
		c.Add("end_date", "required", "This field is required; the row has neither an end date nor a length.")
	case start.IsZero():
		c.Add("end_date", "required", "The end date cannot be worked out without a start date.")
	default:
		if end := l.lastDay(start); end < warranty.Lifetime {
			return end
		}
		return warranty.Lifetime
	}
	return 0
}

var (
	errDiffer = errors.New("two columns give different lengths; correct one, or leave a column out")
	errParts  = errors.New("the columns of years and of months both give a length of a year or more; leave one out")
)

// length is what the columns of a row say together: one length, or the years,
// months and days of one. Columns that disagree are refused.
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

// sentence makes a sentence of an error.
func sentence(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

func truthy(s string) bool {
	switch strings.ToLower(s) {
	case "true", "yes", "y", "1", "x", "ja", "oui":
		return true
	}
	return false
}

// identify gives a row its idempotency key, made of its content, so that a second
// run at the same time makes no second record. A row that stands in the file twice
// is two things: the second has another key, and is looked for as the second.
func (r *Reader) identify(row *Row) error {
	in := row.Input
	if first, again := r.external[in.ExternalID]; again {
		var c warranty.Checks
		c.Add("external_id", "duplicate", fmt.Sprintf("Line %d has the same external id; each must be unique.", first))
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
	row.item = r.itemOf(*row)
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

// serial is what tells a product from all others, when it has a serial number.
func (r Row) serial() string { return r.Input.SerialNumber + "\n" + r.Input.ProductName }

// identifies tells a serial number from what people write when there is none.
func identifies(serial string) bool {
	switch strings.ToLower(strings.Trim(serial, " .-–—_/?*#0")) {
	case "", "na", "n/a", "n.a", "none", "unknown", "no", "nil", "null", "keine", "ohne", "unbekannt", "tbd", "x", "xx", "xxx":
		return false
	}
	return true
}

// itemOf is what a row is looked for by. The dates of a product with a serial
// number matter only when the sheet has several covers of it.
func (r *Reader) itemOf(row Row) warranty.LookupItem {
	in := row.Input
	switch {
	case in.ExternalID != "":
		return warranty.LookupItem{ExternalID: in.ExternalID}
	case identifies(in.SerialNumber) && r.several[row.serial()]:
		return warranty.LookupItem{SerialNumber: in.SerialNumber, ProductName: in.ProductName, StartDate: in.StartDate, EndDate: in.EndDate}
	case identifies(in.SerialNumber):
		return warranty.LookupItem{SerialNumber: in.SerialNumber, ProductName: in.ProductName}
	}
	return warranty.LookupItem{ProductName: in.ProductName, StartDate: in.StartDate, EndDate: in.EndDate, Supplier: in.Supplier}
}

// count counts how often a text was met.
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

// rekey gives the row another key, for a record beside the one that its key made.
func (r *Row) rekey(why, id string) {
	r.setKey(sha256.Sum256([]byte(*r.Input.IdempotencyKey + "\n" + why + "\n" + id)))
}
