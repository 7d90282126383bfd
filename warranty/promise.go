package warranty

import (
	"slices"
	"time"
)

// promiseFields are the fields of a promise, in the order in which changes are told.
var promiseFields = []string{
	"status", "start_date", "end_date", "product_name", "brand", "model", "gtin", "serial_number", "supplier",
}

// PromiseChanges returns what events changed in a promise, from the first value to the last one. What was changed
// back is left out. The events are in order.
func PromiseChanges(events []Event) (list []Change) {
	for _, field := range promiseFields {
		var net *Change
		for _, e := range events {
			for _, c := range e.Changes {
				switch {
				case c.Field != field:
				case net == nil:
					net = &c
				default:
					net.To = c.To
				}
			}
		}
		if net != nil && !same(net.From, net.To) {
			list = append(list, *net)
		}
	}
	return list
}

// ReasonOf returns the last reason in events, or "".
func ReasonOf(events []Event) (reason string) {
	for _, e := range events {
		for _, c := range e.Changes {
			if (c.Field == "status_reason" || c.Field == "reason") && c.To != nil {
				reason = *c.To
			}
		}
	}
	return reason
}

// By returns who did something: the organization, or else the person.
func (e Event) By() string {
	if e.Account != nil {
		return *e.Account
	}
	return e.Actor
}

// Reduction is a change that took something away from a promise.
type Reduction struct {
	Change
	At time.Time
	By string
}

// Reductions returns the changes of start, end and status that took something away from the promise of a warranty
// and were not taken back. The events are in order.
func Reductions(w Warranty, events []Event) (list []Reduction) {
	for _, e := range events {
		for _, c := range e.Changes {
			if c.From != nil && c.To != nil && takesAway(w, c) {
				list = append(list, Reduction{Change: c, At: e.At, By: e.By()})
			}
		}
	}
	slices.Reverse(list)
	return list
}

// takesAway reports whether a change took something away that the warranty still lacks.
func takesAway(w Warranty, c Change) bool {
	if c.Field == "status" {
		return *c.From == Active.String() && *c.To == w.Standing.String() && w.Standing != Active
	}
	from, err := ParseDate(*c.From)
	if err != nil {
		return false
	}
	to, err := ParseDate(*c.To)
	if err != nil {
		return false
	}
	switch c.Field {
	case "start_date":
		return to > from && w.StartDate > from
	case "end_date":
		return to < from && w.EndDate < from
	}
	return false
}
