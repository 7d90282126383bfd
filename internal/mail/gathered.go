package mail

import (
	"fmt"
	"strings"

	"warranty.example/svc/warranty"
)

// Changed is a warranty whose promise a business changed.
type Changed struct {
	Warranty warranty.Warranty
	By       string
	Changes  []warranty.Change
	Reason   string // may be empty
}

// PromiseChanged tells the owner of warranties what their issuers and sellers changed. more counts the warranties that
// are not listed.
func (t Texts) PromiseChanged(to, name string, list []Changed, more int, publicURL string) Message {
	var b strings.Builder
	for _, c := range list {
		b.WriteString(t.get("promise_changed.entry", t.plain(c.By, "promise_changed.by"),
			t.plain(c.Warranty.ProductName, "promise_changed.product"), c.Warranty.ReferenceNumber) + "\n\n")
		for _, change := range c.Changes {
			b.WriteString(t.get("promise_changed.line", t.get("promise_field."+change.Field),
				t.promised(change.Field, change.To), t.promised(change.Field, change.From)) + "\n")
		}
		if c.Reason != "" {
			b.WriteString(t.get("promise_changed.reason", strings.ReplaceAll(c.Reason, "\n", "\n    ")) + "\n")
		}
		fmt.Fprintf(&b, "\n    %s/warranties/%s\n\n", publicURL, c.Warranty.ID)
	}
	if more > 0 {
		b.WriteString(t.get("more", more) + "\n\n")
	}
	m := t.message("promise_changed", to, "", t.greeting(name), b.String(), publicURL)
	product := plainOr(list[0].Warranty.ProductName, "")
	switch {
	case len(list)+more > 1:
		m.Subject = t.get("promise_changed.subject_many", len(list)+more)
	case product != "":
		m.Subject = t.get("promise_changed.subject_one", product)
	}
	return m
}

// promised formats a value of a promise.
func (t Texts) promised(field string, value *string) string {
	if value == nil {
		return t.get("promise_changed.none")
	}
	switch field {
	case "status":
		return t.get("warranty_state." + *value)
	case "start_date", "end_date":
		day, err := warranty.ParseDate(*value)
		switch {
		case err != nil:
			return *value
		case day == warranty.Lifetime:
			return t.get("promise_changed.lifetime")
		}
		return t.date(day.Time())
	}
	return t.plain(*value, "promise_changed.hidden")
}

// Listed is a warranty in an email with several.
type Listed struct {
	Product   string
	Reference warranty.Reference
	By        string // who recorded it or who confirmed it; may be empty
}

// ToConfirm asks sellers to confirm warranties that name them.
func (t Texts) ToConfirm(to, name string, list []Listed, more int, publicURL string) Message {
	lines := t.lines(list, more, func(l Listed, product string) string {
		return t.get("to_confirm.entry", product, l.Reference, t.plain(l.By, "to_confirm.by"))
	})
	m := t.message("to_confirm", to, "", t.greeting(name), lines, publicURL)
	if n := len(list) + more; n > 1 {
		m.Subject = t.get("to_confirm.subject_many", n)
	}
	return m
}

// Confirmed tells owners that sellers confirmed their warranties.
func (t Texts) Confirmed(to, name string, list []Listed, more int, publicURL string) Message {
	lines := t.lines(list, more, func(l Listed, product string) string {
		return t.get("confirmed.entry", product, l.Reference, t.plain(l.By, "confirmed.by"))
	})
	m := t.message("confirmed", to, "", t.greeting(name), lines, publicURL)
	if n := len(list) + more; n > 1 {
		m.Subject = t.get("confirmed.subject_many", n)
	}
	return m
}

// lines returns a line for each warranty, and one for those that are not listed.
func (t Texts) lines(list []Listed, more int, line func(l Listed, product string) string) string {
	var b strings.Builder
	for _, l := range list {
		b.WriteString(line(l, t.plain(l.Product, "promise_changed.product")) + "\n")
	}
	if more > 0 {
		b.WriteString(t.get("claim_digest.more", more) + "\n")
	}
	return b.String()
}
