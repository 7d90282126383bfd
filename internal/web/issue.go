package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// typedProduct is the value of the field "product" if the product is typed and not chosen.
const typedProduct = "typed"

// issueForm is the page /issue: it chooses a product, or issues it.
type issueForm struct {
	form
	Product  *warranty.Product // the product that is kept, if any
	Typed    bool              // the product is typed
	Ends     warranty.Date     // of the kept product, if it is sold today
	Products []warranty.Product
	More     bool // there are more products than these
	None     bool // the organization has no products
	Lengths  []length
	// Before is a warranty that was issued for the same serial number.
	Before *warranty.Warranty
	// Again are the fields of the form that issues it nevertheless, as it was sent.
	Again  []view.Field
	Recent []warranty.Warranty       // issued today
	Known  []warranty.CustomerRecord // suggested for the fields of the customer
}

// Open reports whether the fields under "More" have values or errors to show.
func (f issueForm) Open() bool {
	return slices.ContainsFunc([]string{"customer_name", "price", "currency", "external_id"},
		func(name string) bool { return f.Value(name) != "" || f.Error(name) != "" }) || f.Error("start_date") != ""
}

// With returns the address of the form with a product, for the same customer.
func (f issueForm) With(product string) string {
	query := url.Values{"product": {product}}
	if customer := f.Value("customer"); customer != "" {
		query.Set("customer", customer)
	}
	return "/issue?" + query.Encode()
}

// Focus returns "true" for the field that has the focus when the form is opened.
func (f issueForm) Focus(name string) string {
	first := "serial_number"
	if f.Product == nil {
		first = "product_name"
	}
	return strconv.FormatBool(name == first && len(f.Errors) == 0 && f.Wrong == "" && f.Before == nil)
}

// length is a choice of the length of a warranty.
type length struct{ Value, Text string }

// lengths are the choices of the length of a typed product, in months.
var lengths = []int{6, 12, 24, 36, 60, 120}

const lifetime = "lifetime"

// shownProducts is the number of products that the page lists; a search finds the others.
const shownProducts = 20

// productCookie returns the name of the cookie with the product that was issued last. It grants nothing.
func (web *Web) productCookie() string {
	return strings.Replace(web.cookieName(), "session", "product", 1)
}

// issuing returns a page for organizations. A personal account gets advice.
func issuing(p page) page {
	return func(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
		if !who.ActsForOrganization() {
			return redirect(w, r, "/issue")
		}
		return p(w, r, who)
	}
}

// issue shows the form with the product of the query, or the one that was issued last.
func (web *Web) issue(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	query := r.URL.Query()
	values := url.Values{
		"once":       {web.Service.NewID().String()},
		"start_date": {warranty.DateOf(web.Service.Now()).String()},
		"length":     {"24"},
		"q":          {query.Get("q")},
	}
	if query.Has("product") {
		values.Set("product", query.Get("product"))
	} else if cookie, err := r.Cookie(web.productCookie()); err == nil && !query.Has("q") {
		values.Set("product", cookie.Value)
	}
	if err := web.fillCustomer(r, who, values); err != nil {
		return err
	}
	return web.showIssue(w, r, who, form{Values: values}, nil)
}

// fillCustomer fills the form for the customer of the query, if there is one.
func (web *Web) fillCustomer(r *http.Request, who warranty.Principal, values url.Values) error {
	id, chosen := customerIn(r)
	if !chosen || !who.ActsForOrganization() {
		return nil
	}
	c, err := web.Service.GetCustomer(r.Context(), who, warranty.GetCustomer{ID: id})
	if err != nil {
		return err
	}
	values.Set("customer", id.String())
	values.Set("customer_name", view.Deref(c.Name))
	values.Set("customer_email", view.Deref(c.Email))
	return nil
}

func (web *Web) showIssue(
	w http.ResponseWriter, r *http.Request, who warranty.Principal, f form, before *warranty.Warranty,
) error {
	v := view.Page{Title: web.t(r, "issue.title"), Nav: "issue", Who: who, Flash: view.Flash(r)}
	if !who.ActsForOrganization() {
		v.Body = issueForm{form: f}
		return web.show(w, r, f.status, "issue-advice", v)
	}
	body := issueForm{form: f, Before: before, Typed: f.Value("product") == typedProduct}
	if before != nil {
		body.Again = append(hiddenFields("", f.Values), view.Field{Name: "again", Value: "true"})
	}
	product, err := web.productOf(r.Context(), who, f.Value("product"))
	if err == nil {
		today := warranty.DateOf(web.Service.Now())
		body.Product, body.Ends = &product, product.EndDate(today)
	} else if !errors.Is(err, warranty.ErrNotFound) {
		return err
	}
	if body.Product == nil {
		if err := web.chooseProduct(r.Context(), who, &body); err != nil {
			return err
		}
	}
	body.Lengths = web.lengthChoices(web.reader(r), lengths)
	if body.Recent, err = web.issuedToday(r.Context(), who); err != nil {
		return err
	}
	if body.Known, err = web.knownCustomers(r, who, ""); err != nil {
		return err
	}
	v.Body = body
	return web.show(w, r, f.status, "issue", v)
}

// productOf returns the product with an id. Other values are not found.
func (web *Web) productOf(ctx context.Context, who warranty.Principal, id string) (warranty.Product, error) {
	product, err := warranty.ParseID(id)
	if err != nil {
		return warranty.Product{}, warranty.ErrNotFound
	}
	return web.Service.GetProduct(ctx, who, warranty.GetProduct{ID: product})
}

// chooseProduct sets the products to choose from. Without any, the product is typed.
func (web *Web) chooseProduct(ctx context.Context, who warranty.Principal, body *issueForm) error {
	in := warranty.ListProducts{Q: body.Value("q"), Paging: warranty.Paging{Page: 1, Limit: shownProducts}}
	list, err := web.Service.ListProducts(ctx, who, in)
	if err != nil {
		return err
	}
	body.Products, body.More = list.Data, list.Pagination.TotalPages > 1
	if list.Pagination.Total == 0 && in.Q == "" {
		body.None, body.Typed = true, true
	}
	return nil
}

// issuedToday lists a few warranties that the organization issued today.
func (web *Web) issuedToday(ctx context.Context, who warranty.Principal) ([]warranty.Warranty, error) {
	in := warranty.ListWarranties{Paging: warranty.Paging{Page: 1, Limit: 5}}
	in.Role = warranty.Issuer
	list, err := web.Service.ListWarranties(ctx, who, in)
	today := warranty.DateOf(web.Service.Now())
	return slices.DeleteFunc(list.Data, func(w warranty.Warranty) bool {
		return warranty.DateOf(w.CreatedAt) != today || w.Handover == nil || w.Handover.Status == warranty.HandoverNone
	}), err
}

// doIssue issues a warranty to a customer, by email or on a slip. A form that is sent twice issues once.
func (web *Web) doIssue(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	if !who.ActsForOrganization() {
		f.status = http.StatusUnprocessableEntity
		return web.showIssue(w, r, who, f, nil)
	}
	in, product, err := web.issueInput(r.Context(), web.reader(r), who, f)
	if err == nil && !f.Has("again", "true") {
		var before *warranty.Warranty
		if before, err = web.issuedBefore(r.Context(), who, in, product, f.once()); before != nil {
			f.status = http.StatusConflict
			return web.showIssue(w, r, who, f, before)
		}
	}
	var made issued
	if err == nil {
		made, err = web.perform(r.Context(), web.reader(r), who, in, f)
	}
	if err != nil {
		if !web.setErrors(w, r, &f, err) {
			return err
		}
		return web.showIssue(w, r, who, f, nil)
	}
	kept := typedProduct
	if product != nil {
		kept = product.ID.String()
	}
	web.setHostCookie(w, web.productCookie(), kept, web.Service.Now().Add(warranty.DeviceLifetime))
	return web.showIssued(w, r, who, made)
}

// lengthChoices returns choices of a length: months, and the whole lifetime.
func (web *Web) lengthChoices(words view.Reader, months []int) (list []length) {
	for _, n := range months {
		list = append(list, length{strconv.Itoa(n), words.Length(n)})
	}
	return append(list, length{lifetime, words.Text("verify.lifetime")})
}

// productLength returns a product with the length of a choice.
func (web *Web) productLength(words view.Reader, chosen string) (p warranty.Product, err error) {
	if months, err := strconv.Atoi(chosen); err == nil && months >= 1 && months <= warranty.MaxLength {
		p.LengthMonths = &months
	} else if chosen != lifetime {
		var c warranty.Checks
		c.Add("length", "required", "%s", words.Text("issue.length_missing"))
		return p, c.Err()
	}
	return p, nil
}

// errProductGone is the error for a product that was deleted after the form was opened.
var errProductGone = warranty.Refuse(warranty.NotFound, "This product was deleted. Choose another product, or type it.")

// issueInput returns what a form issues, and its product unless it was typed. Without an address, a slip is printed.
func (web *Web) issueInput(
	ctx context.Context, words view.Reader, who warranty.Principal, f form,
) (in warranty.IssueWarranty, product *warranty.Product, err error) {
	if f.resumed {
		return in, nil, errResumed
	}
	values := url.Values{"print": {strconv.FormatBool(strings.TrimSpace(f.Value("customer_email")) == "")}}
	for _, name := range []string{"serial_number", "customer_email", "customer_name", "price", "currency", "external_id"} {
		values.Set(name, f.Value(name))
	}
	var c warranty.Checks
	c.Merge(web.readPrice(words, values))
	start, dateErr := warranty.ParseDate(f.Value("start_date"))
	if f.Value("product") == typedProduct {
		typed, err := web.productLength(words, f.Value("length"))
		c.Merge(err)
		for _, name := range []string{"product_name", "brand", "model", "gtin", "category", "description"} {
			values.Set(name, f.Value(name))
		}
		values.Set("end_date", typed.EndDate(max(start, 1)).String())
	} else {
		found, err := web.productOf(ctx, who, f.Value("product"))
		if errors.Is(err, warranty.ErrNotFound) {
			f.Values.Set("product", typedProduct)
			return in, nil, warranty.Refuse(warranty.ValidationFailed, "%s", errProductGone.Text())
		} else if err != nil {
			return in, nil, err
		}
		product = &found
		values.Set("product_id", found.ID.String())
	}
	if dateErr != nil {
		c.Add("start_date", "invalid_date", "%s", words.Text("issue.date_missing"))
		start = warranty.DateOf(web.Service.Now()) // to check the other fields
	}
	values.Set("start_date", start.String())
	values.Set("purchase_date", start.String())
	decoded, err := api.IssueWarranty.DecodeForm(values)
	if err == nil {
		in = *decoded.(*warranty.IssueWarranty)
	}
	return in, product, allFaults(c.Err(), err, &in)
}

// issuedBefore returns the warranty that the organization issued for the same product and serial number, or
// nil. A form that was already performed is not in its own way.
func (web *Web) issuedBefore(
	ctx context.Context, who warranty.Principal, in warranty.IssueWarranty, product *warranty.Product, key *string,
) (*warranty.Warranty, error) {
	valid := in.Check() == nil // invalid fields are reported when the warranty is issued
	if in.SerialNumber == "" || !valid {
		return nil, nil
	}
	item := warranty.LookupItem{SerialNumber: in.SerialNumber, ProductName: in.ProductName}
	if product != nil {
		item.ProductName = product.Name
	}
	found, err := web.Service.LookupWarranties(ctx, who, warranty.LookupWarranties{Items: []warranty.LookupItem{item}})
	if err != nil || found.Results[0].WarrantyID == nil {
		return nil, err
	}
	if sent, err := web.Service.WasIssued(ctx, who, key); err != nil || sent {
		return nil, err
	}
	before, err := web.Service.GetWarranty(ctx, who,
		warranty.GetWarranty{ID: warranty.WarrantyKey{ID: *found.Results[0].WarrantyID}})
	if errors.Is(err, warranty.ErrNotFound) {
		return nil, nil
	}
	return &before, err
}

// perform issues a warranty. If its offer is not emailed because of a limit, it is printed.
func (web *Web) perform(
	ctx context.Context, words view.Reader, who warranty.Principal, in warranty.IssueWarranty, f form,
) (made issued, err error) {
	in.IdempotencyKey = f.once()
	out, err := web.Service.IssueWarranty(ctx, who, in)
	if err != nil {
		return made, err
	}
	made.Offer = warranty.HandoverOffer{Code: out.Code, TakeURL: out.TakeURL}
	if out.ExpiresAt != nil {
		made.Offer.ExpiresAt = *out.ExpiresAt
	}
	made.Again, made.NotEmailed = out.Replayed(), out.Warranty.Handover.NotEmailed != nil
	key := warranty.WarrantyKey{ID: out.Warranty.ID}
	made.Warranty, err = web.Service.GetWarranty(ctx, who, warranty.GetWarranty{ID: key})
	if made.Again && errors.Is(err, warranty.ErrNotFound) {
		f.Values.Set("once", web.Service.NewID().String())
		return made, warranty.Refuse(warranty.AlreadyExists, "%s", words.Text("warranty.sent_before"))
	}
	if h := made.Warranty.Handover; err != nil || !made.NotEmailed || h != nil && h.Status == warranty.HandoverTaken {
		return made, err
	}
	made.Offer, err = web.Service.OfferHandover(ctx, who, warranty.OfferHandover{
		ID: key, CustomerName: in.CustomerName, IdempotencyKey: in.IdempotencyKey,
	})
	if err == nil {
		made.Warranty, err = web.Service.GetWarranty(ctx, who, warranty.GetWarranty{ID: key})
	}
	return made, err
}
