package web

import (
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/sheet"
	"warranty.example/svc/internal/upload"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// This file has the customers of an organization: the list, the page of one, and what members write about it.

// customerList is the page /customers.
type customerList struct {
	form
	Page              warranty.Page[warranty.CustomerRecord]
	Rows              []customerRow
	All               int64 // the customers, whatever is searched
	Sorts             []filter
	ByName, ByContact column
	Pager             pager
}

// customerRow is a customer in the list, with what was searched for marked.
type customerRow struct {
	warranty.CustomerRecord
	Title, Address []piece
}

var customerSorts = []filter{
	{Value: "", Key: "customers.by_contact"},
	{Value: warranty.CustomersByName.String(), Key: "customers.by_name"},
}

func (web *Web) customers(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	if !who.ActsForOrganization() {
		return redirect(w, r, "/")
	}
	query := r.URL.Query()
	if query.Has("claim") || query.Has("warranty") {
		return web.toCustomer(w, r, who)
	}
	in := customersOf(query)
	page, err := web.Service.ListCustomers(r.Context(), who, in)
	if err != nil {
		return err
	}
	list := customerList{
		form: form{Values: query}, Page: page, All: page.Pagination.Total,
		Sorts: chosen(customerSorts, query.Get("sort")), Pager: newPager(r.URL, page.Pagination),
		ByName:    column{withQuery(r.URL, "sort", warranty.CustomersByName.String()), "none"},
		ByContact: column{withQuery(r.URL, "sort", ""), "descending"},
	}
	if in.Sort == warranty.CustomersByName {
		list.ByName.Sort, list.ByContact.Sort = "ascending", "none"
	}
	if strings.TrimSpace(in.Q) != "" {
		all, err := web.Service.ListCustomers(r.Context(), who, warranty.ListCustomers{Paging: warranty.Paging{Page: 1, Limit: 1}})
		if err != nil {
			return err
		}
		list.All = all.Pagination.Total
	}
	words := web.reader(r)
	for _, c := range page.Data {
		row := customerRow{CustomerRecord: c, Title: marked(words.Called(c.Name, c.Email), in.Q)}
		if c.Email != nil {
			row.Address = marked(*c.Email, in.Q)
		}
		list.Rows = append(list.Rows, row)
	}
	v := view.Page{Title: web.t(r, "nav.customers"), Nav: "customers", Who: who, Flash: view.Flash(r), Body: list}
	if isPart(r) {
		return web.part(w, r, "customers", "found", v)
	}
	return web.show(w, r, http.StatusOK, "customers", v)
}

// customersOf returns which customers a query asks for. Values that mean nothing are left out.
func customersOf(query url.Values) warranty.ListCustomers {
	in := warranty.ListCustomers{Paging: pagingOf(query, listPage), Q: query.Get("q")}
	if sort, err := warranty.ParseEnum[warranty.CustomerSort](query.Get("sort")); err == nil {
		in.Sort = sort
	}
	return in
}

// Export returns the address of the customers of the list as CSV.
func (l customerList) Export() string {
	query := url.Values{}
	for _, name := range []string{"q", "sort"} {
		if value := l.Value(name); value != "" {
			query.Set(name, value)
		}
	}
	return "/customers/export.csv?" + query.Encode()
}

// exportCustomers sends the customers that the list finds as CSV.
func (web *Web) exportCustomers(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	if !who.ActsForOrganization() {
		return redirect(w, r, "/")
	}
	list, err := web.Service.ExportCustomers(r.Context(), who, customersOf(r.URL.Query()))
	if err != nil {
		return err
	}
	if err := upload.ExtendDeadlines(w); err != nil {
		return err
	}
	attachCSV(w.Header(), "customers-"+warranty.DateOf(web.Service.Now()).String()+".csv")
	out := sheet.NewWriter(w)
	out.Write(sheet.Columns(reflect.TypeFor[warranty.CustomerRecord]()))
	for _, c := range list {
		out.Write(sheet.Values(reflect.ValueOf(c)))
	}
	return out.Flush()
}

// toCustomer leads from a claim or a warranty in a list to its customer.
func (web *Web) toCustomer(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	lookUp, of := web.Service.CustomerOfClaim, r.URL.Query().Get("claim")
	if of == "" {
		lookUp, of = web.Service.CustomerOfWarranty, r.URL.Query().Get("warranty")
	}
	id, err := warranty.ParseID(of)
	if err != nil {
		return warranty.ErrNotFound
	}
	if id, err = lookUp(r.Context(), who, id); err != nil {
		return err
	}
	return redirect(w, r, customerLink(id))
}

// suggested is the number of customers that the till suggests.
const suggested = 8

// suggestCustomers is a part with the customers that fit what is typed at the till.
func (web *Web) suggestCustomers(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	list, err := web.knownCustomers(r, who, r.URL.Query().Get("q"))
	if err != nil {
		return err
	}
	return web.part(w, r, "issue", "suggestions", view.Page{Who: who, Body: list})
}

// knownCustomers lists a few customers of an organization that match a search, those of the latest contact first.
func (web *Web) knownCustomers(r *http.Request, who warranty.Principal, q string) ([]warranty.CustomerRecord, error) {
	list, err := web.Service.ListCustomers(r.Context(), who, warranty.ListCustomers{
		Paging: warranty.Paging{Page: 1, Limit: suggested}, Q: q,
	})
	return list.Data, err
}

// customerPage is the page of a customer.
type customerPage struct {
	warranty.CustomerCard
	Called     string
	Today      warranty.Date
	Waiting    []warranty.Claim // those that wait for the organization
	Warranties []issuedProduct
	Offered    []warranty.Warranty // those that the customer has not registered
	Claims     []warranty.Claim    // the others
	// Totals; only the newest are shown.
	AllWarranties, AllClaims int64
	Once                     string // the idempotency key of a new slip or email
	now                      time.Time
}

// issuedProduct is a warranty of a customer. Transferred is when someone else became its owner, if they did.
type issuedProduct struct {
	warranty.Warranty
	Transferred *time.Time
}

// More reports whether the customer has more warranties than the page shows.
func (p customerPage) More() bool { return p.AllWarranties > int64(len(p.Warranties)+len(p.Offered)) }

// MoreClaims reports whether the customer has more claims than the page shows.
func (p customerPage) MoreClaims() bool { return p.AllClaims > int64(len(p.Waiting)+len(p.Claims)) }

// Waited returns how long a claim waits.
func (p customerPage) Waited(c warranty.Claim) *time.Duration {
	if c.WaitingSince == nil {
		return nil
	}
	waited := p.now.Sub(*c.WaitingSince)
	return &waited
}

// ofCustomer is the number of warranties and claims that the page of a customer shows.
const ofCustomer = 30

// customerKey returns the id of the path.
func customerKey(r *http.Request) (warranty.ID, error) {
	id, err := warranty.ParseID(r.PathValue("id"))
	if err != nil {
		return id, warranty.ErrNotFound
	}
	return id, nil
}

// cardOf returns the customer of the path.
func (web *Web) cardOf(r *http.Request, who warranty.Principal) (warranty.CustomerCard, error) {
	id, err := customerKey(r)
	if err != nil {
		return warranty.CustomerCard{}, err
	}
	return web.Service.GetCustomerCard(r.Context(), who, warranty.GetCustomerCard{ID: id})
}

func (web *Web) customer(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	card, err := web.cardOf(r, who)
	if err != nil {
		return err
	}
	if card.ID.String() != r.PathValue("id") { // it was merged
		return redirect(w, r, customerLink(card.ID))
	}
	p := customerPage{
		CustomerCard: card, Called: web.reader(r).Called(card.Name, card.Email), Once: web.Service.NewID().String(),
		now: web.Service.Now(), Today: warranty.DateOf(web.Service.Now()),
	}
	if err := web.productsOf(r, who, &p); err != nil {
		return err
	}
	if err := web.claimsOf(r, who, &p); err != nil {
		return err
	}
	v := view.Page{Title: p.Called, Nav: "customers", Who: who, Flash: view.Flash(r), Body: p}
	if v.Flash == "done.merged" && len(p.Merged) > 0 && p.Merged[0].UndoUntil != nil {
		v.Undo = "/customers/" + p.Merged[0].ID.String() + "/unmerge"
	}
	return web.show(w, r, http.StatusOK, "customer", v)
}

func customerLink(id warranty.ID) string { return "/customers/" + id.String() }

// productsOf adds the newest warranties of a customer.
func (web *Web) productsOf(r *http.Request, who warranty.Principal, p *customerPage) error {
	in := warranty.ListWarranties{Paging: warranty.Paging{Page: 1, Limit: ofCustomer}}
	in.Customer = p.ID.String()
	list, err := web.Service.ListWarranties(r.Context(), who, in)
	if err != nil {
		return err
	}
	transferred, err := web.Service.Transferred(r.Context(), who, list.Data)
	if err != nil {
		return err
	}
	p.AllWarranties = list.Pagination.Total
	for _, w := range list.Data {
		if h := w.Handover; h != nil && h.Status == warranty.HandoverOffered {
			p.Offered = append(p.Offered, w)
			continue
		}
		product := issuedProduct{Warranty: w}
		if at, ok := transferred[w.ID]; ok {
			product.Transferred = &at
		}
		p.Warranties = append(p.Warranties, product)
	}
	return nil
}

// claimsOf adds the newest claims of a customer. Those that wait for the organization come first.
func (web *Web) claimsOf(r *http.Request, who warranty.Principal, p *customerPage) error {
	in := warranty.ListClaims{Paging: warranty.Paging{Page: 1, Limit: ofCustomer}, Customer: p.ID.String()}
	list, err := web.Service.ListClaims(r.Context(), who, in)
	if err != nil {
		return err
	}
	p.AllClaims = list.Pagination.Total
	for _, c := range list.Data {
		if c.Queue == warranty.WaitingForUs {
			p.Waiting = append(p.Waiting, c)
		} else {
			p.Claims = append(p.Claims, c)
		}
	}
	return nil
}

// customerForm is the form with what members write about a customer.
type customerForm struct {
	form
	Customer *warranty.CustomerCard    // nil for a new one
	Changed  []warranty.Change         // by others, since the form was opened
	Known    []warranty.CustomerRecord // those with the address or the name of a new one, if it is taken
}

// Self returns the page of the customer, or the list for a new one.
func (f customerForm) Self() string {
	if f.Customer == nil {
		return "/customers"
	}
	return customerLink(f.Customer.ID)
}

func customerValues(c warranty.CustomerCard) url.Values {
	return url.Values{"name": {view.Deref(c.Name)}, "phone": {view.Deref(c.Phone)}, "note": {view.Deref(c.Note)}}
}

func (web *Web) editCustomer(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	card, err := web.cardOf(r, who)
	if err != nil {
		return err
	}
	return web.showCustomerForm(w, r, who, form{Values: editedValues(customerValues(card), card.ETag())})
}

func (web *Web) showCustomerForm(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
	card, err := web.cardOf(r, who)
	if err != nil {
		return err
	}
	body := customerForm{form: f, Customer: &card}
	if f.err != nil && warranty.AsError(f.err).Code == warranty.PreconditionFailed {
		body.Changed = mergeChanged(&body.form, customerValues(card), card.ETag())
		body.Wrong = web.t(r, "customer.changed_meanwhile")
	}
	v := view.Page{Title: web.t(r, "customer.edit"), Nav: "customers", Who: who, Body: body}
	return web.show(w, r, f.status, "customer-form", v)
}

func (web *Web) updateCustomer(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.UpdateCustomer, warranty.CustomerCard]{
		op:    api.UpdateCustomer,
		do:    web.Service.UpdateCustomer,
		again: web.showCustomerForm,
		next:  func(_ form, c warranty.CustomerCard) string { return customerLink(c.ID) + "?done=saved" },
	})
}

// customerMerge is the page that merges a customer into another one.
type customerMerge struct {
	form
	Into  warranty.CustomerRecord
	From  *warranty.CustomerRecord // nil until it is chosen
	Found []warranty.CustomerRecord
}

// mergeCustomer shows what a merge does, or the customers to choose from.
func (web *Web) mergeCustomer(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	query := r.URL.Query()
	return web.showMerge(w, r, who, form{Values: url.Values{"from_id": {query.Get("from")}, "q": {query.Get("q")}}})
}

func (web *Web) showMerge(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
	card, err := web.cardOf(r, who)
	if err != nil {
		return err
	}
	body := customerMerge{form: f, Into: card.CustomerRecord}
	if id, err := warranty.ParseID(f.Value("from_id")); err == nil {
		from, err := web.Service.GetCustomer(r.Context(), who, warranty.GetCustomer{ID: id})
		if err != nil {
			return err
		}
		if from.ID == card.ID {
			return redirect(w, r, customerLink(card.ID))
		}
		body.From = &from
	} else {
		body.Found = card.Duplicates
		if f.Value("q") != "" {
			if body.Found, err = web.knownCustomers(r, who, f.Value("q")); err != nil {
				return err
			}
		}
	}
	v := view.Page{Title: web.t(r, "customer.merge"), Nav: "customers", Who: who, Body: body}
	return web.show(w, r, f.status, "customer-merge", v)
}

func (web *Web) mergeCustomers(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	id, err := customerKey(r)
	if err != nil {
		return err
	}
	return submit(web, w, r, who, action[warranty.MergeCustomers, warranty.CustomerCard]{
		op:      api.MergeCustomers,
		prepare: func(f form) error { f.Values.Set("into_id", id.String()); return nil },
		do:      web.Service.MergeCustomers,
		again:   web.showMerge,
		next:    func(_ form, c warranty.CustomerCard) string { return customerLink(c.ID) + "?done=merged" },
	})
}

// unmergeCustomer undoes a merge and shows the customer that is one of its own again.
func (web *Web) unmergeCustomer(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return press(w, r, "/customers/%s?done=unmerged", warranty.ParseID, func(id warranty.ID) error {
		_, err := web.Service.UnmergeCustomer(r.Context(), who, warranty.UnmergeCustomer{ID: id})
		return err
	})
}

// customerIn returns the id of the customer in the query, if there is one.
func customerIn(r *http.Request) (warranty.ID, bool) {
	id, err := warranty.ParseID(r.URL.Query().Get("customer"))
	return id, err == nil
}

// chosenCustomer returns the name of the customer whose id is in the query, or "".
func (web *Web) chosenCustomer(r *http.Request, who warranty.Principal) (string, error) {
	id, chosen := customerIn(r)
	if !chosen || !who.ActsForOrganization() {
		return "", nil
	}
	c, err := web.Service.GetCustomer(r.Context(), who, warranty.GetCustomer{ID: id})
	if isMissing(err) {
		return "", nil
	}
	return web.reader(r).Called(c.Name, c.Email), err
}

// isMissing reports whether a record does not exist for the reader.
func isMissing(err error) bool { return errors.Is(err, warranty.ErrNotFound) }

// buyerOf returns the customer of a warranty, or nil if the reader's organization has none.
func (web *Web) buyerOf(r *http.Request, who warranty.Principal, w warranty.Warranty) (*warranty.CustomerRecord, error) {
	if !who.ActsForOrganization() || !w.Roles.Has(warranty.Issuer) {
		return nil, nil
	}
	id, err := web.Service.CustomerOfWarranty(r.Context(), who, w.ID)
	return web.knownCustomer(r, who, id, err)
}

// knownCustomer returns the customer with an id that was looked up, or nil if there is none.
func (web *Web) knownCustomer(
	r *http.Request, who warranty.Principal, id warranty.ID, err error,
) (*warranty.CustomerRecord, error) {
	if isMissing(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	c, err := web.Service.GetCustomer(r.Context(), who, warranty.GetCustomer{ID: id})
	return &c, err
}

// customerHits is the group of customers in the results of a search.
func (web *Web) customerHits(r *http.Request, who warranty.Principal, q string, limit int) (hitGroup, error) {
	group := hitGroup{Name: "customers", Key: "nav.customers", Icon: "person"}
	if !who.ActsForOrganization() {
		return group, nil
	}
	list, err := web.Service.ListCustomers(r.Context(), who, warranty.ListCustomers{
		Paging: warranty.Paging{Page: 1, Limit: limit}, Q: q,
	})
	if err != nil {
		return group, err
	}
	group.Total = list.Pagination.Total
	words := web.reader(r)
	for i, c := range list.Data {
		var sub []string
		for _, text := range []*string{c.Email, c.Phone} {
			if text != nil && *text != words.Called(c.Name, c.Email) {
				sub = append(sub, *text)
			}
		}
		sub = append(sub, words.Text("customer.products", c.Warranties))
		group.Hits = append(group.Hits, hit{
			Href: customerLink(c.ID), Title: marked(words.Called(c.Name, c.Email), q), Sub: joined(sub, q), Customer: &list.Data[i],
		})
	}
	return group, nil
}

// claimant is the customer of a claim, for the organization that decides it.
type claimant struct {
	warranty.CustomerRecord
	Buyer       *warranty.CustomerRecord // whom the warranty was issued to, if that is another customer
	Others      []warranty.Warranty      // what else they bought, newest first
	Earlier     []warranty.Claim         // their other claims, newest first
	MoreOthers  int64                    // how many warranties are not among Others
	MoreEarlier int64
}

// besideClaim is how many other products and claims of its customer the page of a claim shows.
const besideClaim = 3

// claimantOf returns the customer of a claim on a warranty, or nil if they are not known.
func (web *Web) claimantOf(
	r *http.Request, who warranty.Principal, c warranty.Claim, w warranty.Warranty,
) (*claimant, error) {
	if !who.ActsForOrganization() {
		return nil, nil
	}
	id, err := web.Service.CustomerOfClaim(r.Context(), who, c.ID)
	record, err := web.knownCustomer(r, who, id, err)
	if err != nil || record == nil {
		return nil, err
	}
	out := claimant{CustomerRecord: *record}
	if out.Buyer, err = web.buyerOf(r, who, w); err != nil {
		return nil, err
	} else if out.Buyer != nil && out.Buyer.ID == record.ID {
		out.Buyer = nil
	}
	few := warranty.Paging{Page: 1, Limit: besideClaim + 1} // this one may be among them
	in := warranty.ListWarranties{Paging: few}
	in.Customer = record.ID.String()
	products, err := web.Service.ListWarranties(r.Context(), who, in)
	if err != nil {
		return nil, err
	}
	claims, err := web.Service.ListClaims(r.Context(), who, warranty.ListClaims{Paging: few, Customer: in.Customer})
	if err != nil {
		return nil, err
	}
	rest := products.Pagination.Total
	for _, other := range products.Data {
		if other.ID == w.ID {
			rest--
		} else if len(out.Others) < besideClaim {
			out.Others = append(out.Others, other)
		}
	}
	out.MoreOthers = rest - int64(len(out.Others))
	for _, other := range claims.Data {
		if other.ID != c.ID && len(out.Earlier) < besideClaim {
			out.Earlier = append(out.Earlier, other)
		}
	}
	out.MoreEarlier = claims.Pagination.Total - 1 - int64(len(out.Earlier))
	return &out, nil
}
