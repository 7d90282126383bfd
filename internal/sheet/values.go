package sheet

import (
	"maps"
	"regexp"
	"strings"

	"warranty.example/svc/warranty"
)

// optional returns the value of a field that may be empty. Words that mean "none" are empty.
func (r *Reader) optional(cells record, field string) string {
	v := r.value(cells, field)
	if r.isNone(field, v) {
		return ""
	}
	return v
}

// isNone reports whether a value means "none", and notes it. Our own exports have no such words.
func (r *Reader) isNone(field, value string) bool {
	if r.source == ours || !isNoneWord(value) {
		return false
	}
	r.readings.add(ReadNone, field, value, "")
	return true
}

// isNoneWord reports whether a text means "none".
func isNoneWord(text string) bool {
	switch strings.ToLower(strings.Trim(text, " .-–—_/")) {
	case "":
		return text != ""
	case "keine", "keiner", "kein", "keine angabe", "k.a", "k. a", "ka", "ohne", "nicht vorhanden", "unbekannt", "entfällt",
		"none", "n/a", "n.a", "na", "nil", "null", "unknown", "#n/a", "#nv":
		return true
	}
	return false
}

var (
	// scientific is a long number as a spreadsheet shows it, such as 4,23E+12.
	scientific = regexp.MustCompile(`^\d(?:[.,]\d+)?[eE]\+\d{1,3}$|^\d[.,]\d+[eE]\d{1,3}$`)
	// rounded is a long number that was shown so and then written out: its last digits are lost.
	rounded = regexp.MustCompile(`^[1-9]\d{5,}000000$`)
	// asDay is a number such as 3-4 that a spreadsheet took for a date.
	asDay = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$|^\d{2}\.\d{2}\.\d{4}$`)
	// errorCell is what a cell shows whose formula failed.
	errorCell = regexp.MustCompile(`^#(?:N/A|NV|REF!|BEZUG!|VALUE!|WERT!|DIV/0!|NAME\?|NUM!|ZAHL!|NULL!)$`)
	// narrow is what a text has that was copied from a spreadsheet whose column was too narrow for a number or a date.
	narrow = regexp.MustCompile(`^#{3,}$`)
)

// isRuined reports whether a spreadsheet changed a serial number or an id, so that it is not what was typed.
func isRuined(text string) bool {
	return scientific.MatchString(text) || rounded.MatchString(text) || asDay.MatchString(text) || errorCell.MatchString(text) ||
		narrow.MatchString(text)
}

// ruined refuses numbers that a spreadsheet changed, and cells whose formula failed. In our own exports everything is
// as it was typed.
func (r *Reader) ruined(c *warranty.Checks, cells record) {
	if r.source == ours {
		return
	}
	for _, field := range []string{"serial_number", "external_id"} {
		if v := r.value(cells, field); isRuined(v) && !isNoneWord(v) {
			c.Add(field, "cut_off", "The spreadsheet changed this number. Enter it as it is on the product.")
		}
	}
	for _, g := range guesses {
		if v := r.value(cells, g.field); errorCell.MatchString(v) && !isNoneWord(v) && !has(c, g.field) {
			c.Add(g.field, "invalid", "The spreadsheet could not compute this cell.")
		}
	}
}

func has(c *warranty.Checks, field string) bool {
	for _, f := range c.Fields {
		if f.Field == field {
			return true
		}
	}
	return false
}

// price reads the price and its currency.
func (r *Reader) price(c *warranty.Checks, cells record, in *warranty.CreateWarranty) {
	text, code := r.optional(cells, "price"), r.optional(cells, "currency")
	if text == "" && code != "" && r.source != ours {
		code = "" // the currency of all rows, and no price in this one
	}
	fallback := ""
	for _, i := range r.columns["price"] {
		if code := headerCurrency(r.header[i]); code != "" && fallback == "" {
			fallback = code
		}
	}
	if fallback == "" {
		fallback = r.style.currency
	}
	amount, code := importPrice(strings.Trim(text, "$ "), code) // a dollar sign does not say which dollar
	if m := thousands.FindStringSubmatch(amount); m != nil && r.style.comma {
		amount = m[1] + m[2]
	}
	if code == "" && amount != "" {
		code = fallback
	}
	if in.Price, in.Currency = amount, code; amount == "" {
		return
	}
	if code == "" && decimal.MatchString(amount) {
		c.Add("currency", "no_currency", "The price has no currency.")
		return
	}
	plain := text == amount && r.value(cells, "currency") != ""
	if as := amount + " " + code; as != text && !plain && decimal.MatchString(amount) && r.source != ours {
		r.readings.add(ReadPrice, "price", text, as)
	}
}

// decimal is a number that is a valid price.
var decimal = regexp.MustCompile(`^\d{1,12}(?:\.\d{1,4})?$`)

// thousands is a number that is a thousand in files with decimal commas.
var thousands = regexp.MustCompile(`^(\d{1,3})\.(\d{3})$`)

// fixesOf returns the values that take the place of the cells of a row: what was typed, and in exports of Shopify what the
// first row of an order says, because the rows of its other items have only their item.
func (r *Reader) fixesOf(row Row) map[string]string {
	typed := r.options.Fixes[row.Line]
	if r.source != shopify {
		return typed
	}
	order := columnOf(r.header, "Name")
	number := cell(row.cells, order)
	if r.day(row.record, "start_date") != "" {
		r.first = row.cells
		return typed
	}
	if r.first == nil || number == "" || number != cell(r.first, order) {
		return typed
	}
	fixed := map[string]string{}
	for _, field := range []string{"start_date", "customer_email", "customer_name", "currency"} {
		if v := r.value(record{cells: r.first}, field); v != "" && r.value(row.record, field) == "" {
			fixed[field] = v
			r.readings.add(ReadAbove, field, number, v)
		}
	}
	maps.Copy(fixed, typed)
	return fixed
}
