package web

import (
	"net/url"
	"slices"
	"strings"

	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// moreFilters are the filters of the list that are folded away unless one of them is set.
var moreFilters = []string{
	"assurance", "supplier", "seller", "customer", "role", "purchased_from", "purchased_to", "ends_from", "ends_to",
	"covered_on", "has_open_claim",
}

// filterNames are the parameters that filter the list.
var filterNames = append([]string{"q", "category", "status"}, moreFilters...)

// filter is a choice of a filter.
type filter struct {
	Value, Key string
	On         bool
}

// statusFilters are the choices of the status filter. "ending" is not a status of a
// record: it selects by end date.
var statusFilters = []filter{
	{Value: "", Key: "warranties.all"},
	{Value: "active", Key: "status.active"},
	{Value: "ending", Key: "status.ending"},
	{Value: "upcoming", Key: "status.upcoming"},
	{Value: "expired", Key: "status.expired"},
	{Value: "void", Key: "status.void"},
	{Value: "cancelled", Key: "status.cancelled"},
}

// assurances are the choices of the filter by who stands behind a record.
var assurances = []filter{
	{Value: "", Key: "assurance.any"},
	{Value: "issuer_verified", Key: "assurance.issuer_verified"},
	{Value: "seller_confirmed", Key: "assurance.seller_confirmed"},
	{Value: "unverified", Key: "assurance.unverified"},
}

// roleFilters are the choices of the filter by the account's role.
var roleFilters = []filter{
	{Value: "", Key: "filter.any_role"},
	{Value: "owner", Key: "filter.owner"},
	{Value: "issuer", Key: "filter.issuer"},
	{Value: "seller", Key: "filter.seller_role"},
}

// claimFilters are the choices of the filter by open claims.
var claimFilters = []filter{
	{Value: "", Key: "filter.any_claim"},
	{Value: "true", Key: "filter.open_claim"},
	{Value: "false", Key: "filter.no_open_claim"},
}

// chosen returns choices with the one that has a value marked.
func chosen(choices []filter, value string) []filter {
	list := slices.Clone(choices)
	for i := range list {
		list[i].On = list[i].Value == value
	}
	return list
}

// queryOf returns the filters and the order of a list.
func queryOf(values url.Values) url.Values {
	query := url.Values{}
	for _, name := range append([]string{"sort"}, filterNames...) {
		if value := strings.TrimSpace(values.Get(name)); value != "" {
			query.Set(name, value)
		}
	}
	return query
}

// sorted returns the filter and the order of a query.
func sorted(query url.Values) warranty.ListWarranties {
	in := filterOf(query)
	if order, err := warranty.ParseEnum[warranty.WarrantySort](query.Get("sort")); err == nil {
		in.Sort = order
	}
	return in
}

// filterOf returns the filter of a query. It ignores unknown values.
func filterOf(query url.Values) warranty.ListWarranties {
	in := warranty.ListWarranties{WarrantyFilter: warranty.WarrantyFilter{
		Q:         query.Get("q"),
		Category:  query.Get("category"),
		Supplier:  query.Get("supplier"),
		Seller:    query.Get("seller"),
		Customer:  query.Get("customer"),
		EndsFrom:  dateOf(query, "ends_from"),
		EndsTo:    dateOf(query, "ends_to"),
		CoveredOn: dateOf(query, "covered_on"),

		PurchasedFrom: dateOf(query, "purchased_from"),
		PurchasedTo:   dateOf(query, "purchased_to"),
	}}
	if status := query.Get("status"); status == "ending" {
		days := view.EndingSoon
		in.ExpiringWithinDays = &days
	} else if known, err := warranty.ParseEnum[warranty.Status](status); err == nil {
		in.Status = known
	}
	if known, err := warranty.ParseEnum[warranty.Assurance](query.Get("assurance")); err == nil {
		in.Assurance = known
	}
	if known, err := warranty.ParseEnum[warranty.Role](query.Get("role")); err == nil {
		in.Role = known
	}
	if open := query.Get("has_open_claim"); open == "true" || open == "false" {
		yes := open == "true"
		in.HasOpenClaim = &yes
	}
	return in
}

// dateOf returns a date of a query, or none if it cannot be read.
func dateOf(query url.Values, name string) warranty.Date {
	d, err := warranty.ParseDate(strings.TrimSpace(query.Get(name)))
	if err != nil {
		return 0
	}
	return d
}

// chip is a filter of the list, with a link that removes it.
type chip struct{ Text, Href string }

// chipsOf returns the filters of the list. Values that the list ignores have no chip.
// The customer has a name if it is chosen by its id.
func chipsOf(words view.Reader, u *url.URL, customer string) (list []chip) {
	query := queryOf(u.Query())
	for _, name := range filterNames {
		text := chipText(words, query, name)
		if name == "customer" && customer != "" {
			text = words.Text("chip.customer", customer)
		}
		if text == "" {
			continue
		}
		rest := queryOf(query)
		rest.Del(name)
		list = append(list, chip{text, strings.TrimSuffix(u.Path+"?"+rest.Encode(), "?")})
	}
	return list
}

// chipText returns the text of a filter of the list, or "".
func chipText(words view.Reader, query url.Values, name string) string {
	value := query.Get(name)
	if value == "" {
		return ""
	}
	choices := map[string][]filter{
		"status": statusFilters, "assurance": assurances, "role": roleFilters, "has_open_claim": claimFilters,
	}
	switch name {
	case "q", "category", "supplier", "seller", "customer":
		return words.Text("chip."+name, value)
	case "ends_from", "ends_to", "covered_on", "purchased_from", "purchased_to":
		if d := dateOf(query, name); !d.IsZero() {
			return words.Text("chip."+name, words.Date(d))
		}
		return ""
	}
	i := slices.IndexFunc(choices[name], func(f filter) bool { return f.Value == value })
	if i < 0 {
		return ""
	}
	return words.Text(choices[name][i].Key)
}
