package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/find"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// newCustomer shows the form, filled with what was searched for in vain.
func (web *Web) newCustomer(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	if !who.ActsForOrganization() {
		return redirect(w, r, "/")
	}
	field, q := "name", strings.TrimSpace(r.URL.Query().Get("q"))
	switch {
	case strings.Contains(q, "@"):
		field = "email"
	case len(find.PhoneDigits(q)) > len(q)/2:
		field = "phone"
	}
	return web.showNewCustomer(w, r, who, form{Values: url.Values{field: {q}}})
}

func (web *Web) showNewCustomer(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
	body := customerForm{form: f}
	if f.err != nil && warranty.AsError(f.err).Code == warranty.AlreadyExists {
		known, err := web.knownCustomers(r, who, addedAs(f.Value("name"), f.Value("email")))
		if err != nil {
			return err
		}
		body.Known = known
	}
	v := view.Page{Title: web.t(r, "customers.add"), Nav: "customers", Who: who, Body: body}
	return web.show(w, r, f.status, "customer-form", v)
}

// addedAs returns what identifies a customer: the address, or the name if there is none.
func addedAs(name, email string) string {
	if email = strings.TrimSpace(email); email != "" {
		return email
	}
	return strings.TrimSpace(name)
}

// addCustomer adds a customer. A form that is sent twice leads to the customer that the first one added.
func (web *Web) addCustomer(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.AddCustomer, warranty.CustomerCard]{
		op: api.AddCustomer,
		do: func(ctx context.Context, who warranty.Principal, in warranty.AddCustomer) (warranty.CustomerCard, error) {
			c, err := web.Service.AddCustomer(ctx, who, in)
			if err == nil || warranty.AsError(err).Code != warranty.AlreadyExists {
				return c, err
			}
			known, failed := web.knownCustomers(r, who, addedAs(in.Name, in.Email))
			if failed != nil {
				return c, failed
			}
			for _, k := range known {
				card, failed := web.Service.GetCustomerCard(ctx, who, warranty.GetCustomerCard{ID: k.ID})
				if failed == nil && sameAs(card, in) {
					return card, nil
				}
			}
			return c, err
		},
		again: web.showNewCustomer,
		next:  func(_ form, c warranty.CustomerCard) string { return customerLink(c.ID) + "?done=customer_added" },
	})
}

// sameAs reports whether a customer is as a form says.
func sameAs(c warranty.CustomerCard, in warranty.AddCustomer) bool {
	return in.Check() == nil && view.Deref(c.Name) == in.Name && view.Deref(c.Email) == in.Email &&
		view.Deref(c.Phone) == in.Phone && view.Deref(c.Note) == in.Note
}
