package sheet

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
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

// warranty makes the input of a row. Every field that is wrong is in the error.
func (r *Reader) warranty(cells []string) (warranty.CreateWarranty, error) {
	var c warranty.Checks
	in := warranty.CreateWarranty{
		ProductName: r.value(cells, "product_name"), SerialNumber: r.value(cells, "serial_number"), Category: r.value(cells, "category"),
		Supplier: r.value(cells, "supplier"), SellerName: r.value(cells, "seller_name"), SellerEmail: r.value(cells, "seller_email"),
		Description: r.joined(cells, "description"),
	}
	in.StartDate = r.date(&c, cells, "start_date")
	in.EndDate = r.end(&c, cells, in.StartDate)
	c.Merge(in.Check())
	return in, c.Err()
}

// joined is the cells of a field that may come from several columns, one below the other.
func (m mapping) joined(cells []string, field string) string {
	var parts []string
	for _, i := range m.columns[field] {
		if v := cell(cells, i); v != "" {
			parts = append(parts, v)
		}
	}
	return strings.Join(parts, "\n\n")
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
	l, err := importLength(r.value(cells, "duration"))
	if truthyLifetime(r.value(cells, "duration")) {
		return warranty.Lifetime
	}
	parts := []struct {
		field string
		into  *int
	}{{"years", &l.years}, {"months", &l.months}, {"days", &l.days}}
	for _, p := range parts {
		n, wrong := importNumber(r.value(cells, p.field))
		err = errors.Join(err, wrong)
		*p.into += n
	}
	switch {
	case err != nil:
		c.Add("end_date", "invalid", "The length of the warranty can not be read: "+strings.ReplaceAll(err.Error(), "\n", " ")+".")
	case l.isZero():
		c.Add("end_date", "required", "This field is required; there is neither a last day nor a length.")
	case start.IsZero():
		c.Add("end_date", "required", "The last day can not be worked out without a first day.")
	default:
		if end := l.lastDay(start); end < warranty.Lifetime {
			return end
		}
		return warranty.Lifetime
	}
	return 0
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

func truthyLifetime(s string) bool {
	switch strings.ToLower(s) {
	case "lifetime", "for life", "life":
		return true
	}
	return false
}

// key is an idempotency key made of the row's content, so that a second run makes
// no second record. A row that stands in the file twice is two things, so the
// second has another key.
func (r *Reader) key(in warranty.CreateWarranty) (key string, repeat bool, err error) {
	content, err := api.AppendJSON(nil, in)
	if err != nil {
		return "", false, err
	}
	sum := sha256.Sum256(content)
	short := [8]byte(sum[:8])
	r.seen[short]++
	if n := r.seen[short]; n > 1 {
		sum = sha256.Sum256(fmt.Appendf(content, "\n%d", n))
		repeat = true
	}
	return "svc-import-" + hex.EncodeToString(sum[:]), repeat, nil
}
