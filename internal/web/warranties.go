package web

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// warrantyList is the page /warranties. Its filters are query parameters.
type warrantyList struct {
	form
	Page              warranty.Page[warranty.Warranty]
	Today             warranty.Date
	Filters           []filter
	Sorts, Assurances []filter
	Roles, OpenClaims []filter
	Columns           map[string]column
	Pager             pager
	First             bool // there are no warranties at all
	// Job is what was just done to many warranties, and Query the filters, to select everything that matches.
	Job   *jobPage
	Query url.Values
	Chips []chip
	// Customers is whether the account issues to customers, so that it can search for them.
	Customers bool
	Customer  string          // the name of the customer that the list is about, if it is chosen by its id
	More      bool            // one of the less common filters is set
	Shown     map[string]bool // the columns
	Views     []warranty.SavedView
	// Saving is the form that saves a view, if it was refused.
	Saving form
}

// AllColumns returns the columns that can be hidden.
func (l warrantyList) AllColumns() []string { return listColumns }

// column is the heading of a column that sorts the list.
type column struct {
	Href string
	Sort string // the value of aria-sort: ascending, descending or none
}

// sorts are the choices of the order.
var sorts = []filter{
	{Value: "", Key: "sort.newest"},
	{Value: "end_date", Key: "sort.ends_first"},
	{Value: "-end_date", Key: "sort.ends_last"},
	{Value: "product_name", Key: "sort.product"},
	{Value: "-updated_at", Key: "sort.updated"},
}

// newColumn returns the heading of a column that sorts by the first order, and by the second if the
// list is in the first.
func newColumn(u *url.URL, orders ...string) column {
	now := u.Query().Get("sort")
	c := column{Sort: "none"}
	next := orders[0]
	if now == orders[0] {
		next = orders[len(orders)-1]
	}
	switch now {
	case "":
	case orders[0]:
		c.Sort = "ascending"
	case orders[len(orders)-1]:
		c.Sort = "descending"
	}
	c.Href = withQuery(u, "sort", next)
	return c
}

// withQuery returns a URL with another value of a parameter, at the first page.
func withQuery(u *url.URL, name, value string) string {
	query := u.Query()
	query.Del("page")
	forgetDone(query)
	query.Set(name, value)
	return u.Path + "?" + query.Encode()
}

// Records per page.
const (
	listPage    = 50
	settingPage = 20
)

func (web *Web) warranties(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.showWarranties(w, r, who, form{})
}

// showWarranties shows the list of the query. saving is the form that saves a view, if it was refused.
func (web *Web) showWarranties(w http.ResponseWriter, r *http.Request, who warranty.Principal, saving form) error {
	query := r.URL.Query()
	list := warrantyList{form: form{Values: query}, Today: warranty.DateOf(web.Service.Now()), Saving: saving}
	list.Filters = chosen(statusFilters, query.Get("status"))
	list.Sorts = chosen(sorts, query.Get("sort"))
	list.Assurances = chosen(assurances, query.Get("assurance"))
	list.Roles, list.OpenClaims = chosen(roleFilters, query.Get("role")), chosen(claimFilters, query.Get("has_open_claim"))
	list.Columns = map[string]column{
		"product": newColumn(r.URL, "product_name"),
		"ends":    newColumn(r.URL, "end_date", "-end_date"),
	}
	in := sorted(query)
	in.Paging = pagingOf(query, listPage)
	var err error
	if list.Page, err = web.Service.ListWarranties(r.Context(), who, in); err != nil {
		return err
	}
	list.Pager = newPager(r.URL, list.Page.Pagination)
	list.First = list.Page.Pagination.Total == 0 && filterOf(query) == warranty.ListWarranties{}
	if query.Has("job") {
		if list.Job, err = web.bulkOf(r, who, query.Get("job")); err != nil {
			return err
		}
	}
	list.Customers = who.ActsForOrganization()
	if list.Customer, err = web.chosenCustomer(r, who); err != nil {
		return err
	}
	list.Query, list.Chips, list.Shown = queryOf(query), chipsOf(web.reader(r), r.URL, list.Customer), web.columnsOf(r)
	list.More = slices.ContainsFunc(moreFilters, func(name string) bool { return list.Query.Has(name) })
	if list.Views, err = web.Service.Views(r.Context(), who); err != nil {
		return err
	}
	v := view.Page{Title: web.t(r, "nav.warranties"), Nav: "warranties", Who: who, Flash: view.Flash(r), Undo: undoOf(r), Body: list}
	if isPart(r) {
		return web.part(w, r, "warranties", "rows", v)
	}
	return web.show(w, r, saving.status, "warranties", v)
}

// pagingOf returns the page of a query, by default the first.
func pagingOf(query url.Values, limit int) warranty.Paging {
	page, err := strconv.Atoi(query.Get("page"))
	if err != nil || page < 1 || page > warranty.MaxPage {
		page = 1
	}
	return warranty.Paging{Page: page, Limit: limit}
}

// pager holds the links to other pages of a list. A link that leads nowhere is empty.
type pager struct {
	First, Prev, Next, Last string
	warranty.Pagination
	// Path and Query are those of the form that goes to any page.
	Path  string
	Query url.Values
}

func newPager(u *url.URL, p warranty.Pagination) pager {
	query := u.Query()
	forgetDone(query)
	at := func(page int64) string {
		query := u.Query()
		forgetDone(query)
		query.Set("page", strconv.FormatInt(page, 10))
		return u.Path + "?" + query.Encode()
	}
	query.Del("page")
	out := pager{Pagination: p, Path: u.Path, Query: query}
	if p.Page > 1 {
		out.First, out.Prev = at(1), at(min(int64(p.Page-1), max(p.TotalPages, 1)))
	}
	if int64(p.Page) < p.TotalPages {
		out.Next, out.Last = at(int64(p.Page)+1), at(p.TotalPages)
	}
	return out
}

// forgetDone removes what a redirect added to a query about what was just done.
func forgetDone(query url.Values) {
	query.Del("done")
	query.Del("undo")
	query.Del("job")
}

// warrantyPage returns the page of a warranty with a message.
func warrantyPage(record warranty.Warranty, done string) string {
	return "/warranties/" + record.ID.String() + "?done=" + done
}

// warrantyOf returns the warranty with the id or reference number of the path.
func (web *Web) warrantyOf(r *http.Request, who warranty.Principal) (warranty.Warranty, error) {
	key, err := warranty.ParseWarrantyKey(r.PathValue("id"))
	if err != nil {
		return warranty.Warranty{}, warranty.ErrNotFound
	}
	return web.Service.GetWarranty(r.Context(), who, warranty.GetWarranty{ID: key})
}

// warrantyDetail is the page of a warranty.
type warrantyDetail struct {
	warranty.Warranty
	Today     warranty.Date
	Tone      string
	Claims    []warranty.Claim
	Documents []warranty.Document
	History   []warranty.Event
	Issuer    *warranty.Profile // of the organization that issued it, unless it is the reader's
	By        warranty.Standing // who stands behind it
	// Reductions are what was taken away from the promise since the customer took the warranty.
	Reductions []warranty.Reduction

	// HandsOver means that the organization of the reader issued it.
	HandsOver bool
	Customer  *warranty.CustomerRecord // of the reader's organization, if it has one
	Once      string                   // the idempotency key of a new slip
	Fresh     bool                     // the reader has just created it

	Offered bool                // it has an open transfer
	Give    []warranty.Document // the documents that can go along with a transfer

	MayEdit, MayVoid, MayCancel, MayDelete, MayTransfer, MayClaim, MayLeave bool

	// Delete is the form that deletes it, and OpenClaim whether the reference has to be typed.
	Delete    form
	OpenClaim bool

	// Remind has the reminders of the account; nil if the warranty needs none. Owns means that it owns the
	// warranty.
	Remind *remindPart
	Owns   bool
}

// Confirmed returns the seller who confirmed the record, or nil.
func (d warrantyDetail) Confirmed() *warranty.Backing {
	if seller, ok := d.By.Confirmed(); ok {
		return &seller
	}
	return nil
}

// warrantyForms are the forms on the page of a warranty that are shown again with their errors.
type warrantyForms struct{ del, remind form }

func (web *Web) warranty(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.showWarranty(w, r, who, warrantyForms{})
}

// showWarranty shows the page of a warranty with its forms.
func (web *Web) showWarranty(w http.ResponseWriter, r *http.Request, who warranty.Principal, forms warrantyForms) error {
	d, err := web.detail(r, who)
	if err != nil {
		return err
	}
	d.Delete, d.OpenClaim = forms.del, d.OpenClaim || forms.del.Error("reference") != ""
	d.Owns = d.Roles.Has(warranty.Owner)
	if d.Remind, err = web.reminders(r, who, d.Warranty, forms.remind); err != nil {
		return err
	}
	v := view.Page{Title: d.ProductName, Nav: "warranties", Who: who, Flash: view.Flash(r), Body: d}
	return web.show(w, r, max(forms.del.status, forms.remind.status), "warranty", v)
}

func (web *Web) detail(r *http.Request, who warranty.Principal) (warrantyDetail, error) {
	record, err := web.warrantyOf(r, who)
	if err != nil {
		return warrantyDetail{}, err
	}
	may := func(v warranty.Verb) bool {
		return record.Roles.May(v) == nil && who.Account.Role.Includes(warranty.Member)
	}
	d := warrantyDetail{
		Warranty:    record,
		Today:       warranty.DateOf(web.Service.Now()),
		Tone:        view.Tone(record.Status, record.DaysRemaining),
		MayEdit:     may(warranty.ChangePromise) || may(warranty.ChangeNotes),
		MayVoid:     may(warranty.VoidOrReinstate),
		MayCancel:   may(warranty.Cancel),
		MayDelete:   may(warranty.Delete),
		MayTransfer: may(warranty.Transfer) && record.Standing == warranty.Active,
		MayClaim:    may(warranty.FileAClaim) && record.Standing == warranty.Active && record.Status != warranty.Upcoming,
		MayLeave:    may(warranty.LeaveSeller),
		HandsOver:   record.Handover != nil && who.ActsForOrganization(),
		Once:        web.Service.NewID().String(),
		Fresh:       r.URL.Query().Get("done") == "created",
	}
	ctx, key, all := r.Context(), warranty.WarrantyKey{ID: record.ID}, warranty.Paging{Page: 1, Limit: warranty.MaxLimit}
	claims, err := web.Service.ListClaims(ctx, who, warranty.ListClaims{Paging: all, WarrantyID: key})
	if err != nil {
		return d, err
	}
	documents, err := web.Service.ListDocuments(ctx, who, warranty.ListDocuments{Paging: all, WarrantyID: key})
	if err != nil {
		return d, err
	}
	recent := warranty.Paging{Page: 1, Limit: 30}
	history, err := web.Service.ListHistory(ctx, who, warranty.ListHistory{Paging: recent, ID: key})
	if err != nil {
		return d, err
	}
	if d.By, err = web.Service.Standing(ctx, who, record); err != nil {
		return d, err
	}
	d.OpenClaim = slices.ContainsFunc(claims.Data, func(c warranty.Claim) bool { return slices.Contains(warranty.OpenClaimStatuses, c.Status) })
	d.Claims, d.Documents, d.History = claims.Data, documents.Data, history.Data
	if d.MayTransfer {
		if d.Offered, err = web.Service.IsOffered(ctx, who, record.ID); err != nil {
			return d, err
		}
		if d.Give, err = web.Service.DocumentsToGive(ctx, who, record.ID); err != nil {
			return d, err
		}
	}
	if d.Reductions, err = web.Service.Reductions(ctx, who, record); err != nil {
		return d, err
	}
	if d.Customer, err = web.buyerOf(r, who, record); err != nil {
		return d, err
	}
	if !record.Roles.Has(warranty.Issuer) {
		d.Issuer, err = web.Service.Issuer(ctx, who, key)
	}
	return d, err
}

// offerTransfer offers a transfer and shows its code once.
func (web *Web) offerTransfer(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.OfferTransfer, warranty.TransferOffer]{
		op: api.OfferTransfer,
		do: web.Service.OfferTransfer,
		done: func(_ form, offer warranty.TransferOffer) error {
			v := view.Page{Title: web.t(r, "transfer.offered"), Nav: "warranties", Who: who, Body: offer}
			return web.show(w, r, http.StatusOK, "transfer-offered", v)
		},
	})
}

func (web *Web) cancelTransfer(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	next := "/warranties/%s?done=called_off"
	return press(w, r, next, warranty.ParseWarrantyKey, func(key warranty.WarrantyKey) error {
		_, err := web.Service.CancelTransfer(r.Context(), who, warranty.CancelTransfer{ID: key})
		return err
	})
}
