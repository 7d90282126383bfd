package mail

import (
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
	var all blocks
	for _, c := range list {
		all = append(all, block{kind: paragraph, text: t.say("promise_changed.entry", t.plain(c.By, "promise_changed.by"),
			t.plain(c.Warranty.ProductName, "promise_changed.product"), c.Warranty.ReferenceNumber)})
		var changes blocks
		for _, change := range c.Changes {
			changes = t.facts(changes, "promise_field."+change.Field,
				t.get("promise_changed.value", t.promised(change.Field, change.To), t.promised(change.Field, change.From)))
		}
		if c.Reason != "" {
			changes = t.facts(changes, "promise_changed.reason", shortened(c.Reason, maxShown))
		}
		all = append(all, changes...)
		all = append(all, t.part("promise_changed.open", publicURL, c.Warranty.ID)...)
	}
	if more > 0 {
		all = append(all, block{kind: paragraph, text: t.say("more", more)})
	}
	m := t.message("promise_changed", to, "", t.greeting(name), all, publicURL)
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
	all := t.listed(list, more, func(l Listed) words {
		return t.say("to_confirm.detail", l.Reference, t.plain(l.By, "to_confirm.by"))
	})
	m := t.message("to_confirm", to, "", t.greeting(name), all, publicURL)
	if n := len(list) + more; n > 1 {
		m.Subject = t.get("to_confirm.subject_many", n)
	}
	return m
}

// Confirmed tells owners that sellers confirmed their warranties.
func (t Texts) Confirmed(to, name string, list []Listed, more int, publicURL string) Message {
	all := t.listed(list, more, func(l Listed) words {
		return t.say("confirmed.detail", l.Reference, t.plain(l.By, "confirmed.by"))
	})
	m := t.message("confirmed", to, "", t.greeting(name), all, publicURL)
	if n := len(list) + more; n > 1 {
		m.Subject = t.get("confirmed.subject_many", n)
	}
	return m
}

// Registered tells businesses that customers registered warranties.
func (t Texts) Registered(to, name string, list []Listed, more int, publicURL string) Message {
	all := t.listed(list, more, func(l Listed) words {
		return t.say("registered.detail", l.Reference, t.plain(l.By, "registered.by"))
	})
	m := t.message("registered", to, "", t.greeting(name), all, publicURL)
	if n := len(list) + more; n > 1 {
		m.Subject = t.get("registered.subject_many", n)
	}
	return m
}

// Moved tells businesses that warranties which they issued have new owners.
func (t Texts) Moved(to, name string, list []Listed, more int, publicURL string) Message {
	all := t.listed(list, more, func(l Listed) words {
		return t.say("moved.detail", l.Reference, t.plain(l.By, "moved.by"))
	})
	m := t.message("moved", to, "", t.greeting(name), all, publicURL)
	if n := len(list) + more; n > 1 {
		m.Subject = t.get("moved.subject_many", n)
	}
	return m
}

// listed lists warranties by their products, and says how many are not listed.
func (t Texts) listed(list []Listed, more int, detail func(l Listed) words) blocks {
	rows := make([]row, len(list))
	for i, l := range list {
		rows[i] = row{typed(t.plain(l.Product, "promise_changed.product")), detail(l)}
	}
	return t.records(rows, more)
}
