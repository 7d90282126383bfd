package web

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// warrantyList is the page /warranties. Its filters are query parameters.
type warrantyList struct {
	form
	Page    warranty.Page[warranty.Warranty]
	Today   warranty.Date
	Filters []filter
	Pager   pager
	First   bool // there are no warranties at all
}

// filter is a choice of the status filter.
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

const webPage = 20

func (web *Web) warranties(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	query := r.URL.Query()
	list := warrantyList{form: form{Values: query}, Today: warranty.DateOf(web.Service.Now())}
	for _, f := range statusFilters {
		f.On = f.Value == query.Get("status")
		list.Filters = append(list.Filters, f)
	}
	in := filterOf(query)
	in.Paging = pagingOf(query)
	var err error
	if list.Page, err = web.Service.ListWarranties(r.Context(), who, in); err != nil {
		return err
	}
	list.Pager = newPager(r.URL, list.Page.Pagination)
	list.First = list.Page.Pagination.Total == 0 && filterOf(query) == warranty.ListWarranties{}
	v := view{Title: web.t("nav.warranties"), Nav: "warranties", Who: who, Flash: flash(r), Body: list}
	if isPart(r) {
		web.part(w, r, "warranties", "rows", v)
		return nil
	}
	web.show(w, r, http.StatusOK, "warranties", v)
	return nil
}

// filterOf returns the filter of a query. It ignores unknown values.
func filterOf(query url.Values) warranty.ListWarranties {
	in := warranty.ListWarranties{Q: query.Get("q"), Category: query.Get("category")}
	if status := query.Get("status"); status == "ending" {
		days := endingSoon
		in.ExpiringWithinDays = &days
	} else if known, err := warranty.ParseEnum[warranty.Status](status); err == nil {
		in.Status = known
	}
	return in
}

// pagingOf returns the page of a query, by default the first.
func pagingOf(query url.Values) warranty.Paging {
	page, err := strconv.Atoi(query.Get("page"))
	if err != nil || page < 1 || page > warranty.MaxPage {
		page = 1
	}
	return warranty.Paging{Page: page, Limit: webPage}
}

// pager holds the links to the previous and the next page of a list.
type pager struct {
	Prev, Next string
	warranty.Pagination
}

func newPager(u *url.URL, p warranty.Pagination) pager {
	at := func(page int) string {
		query := u.Query()
		query.Set("page", strconv.Itoa(page))
		return u.Path + "?" + query.Encode()
	}
	out := pager{Pagination: p}
	if p.Page > 1 {
		out.Prev = at(p.Page - 1)
	}
	if int64(p.Page) < p.TotalPages {
		out.Next = at(p.Page + 1)
	}
	return out
}

// flash returns the key of the message for the done parameter of a redirect. Unknown values
// are ignored, so a link cannot put text on a page.
func flash(r *http.Request) string {
	if done := r.URL.Query().Get("done"); flashes[done] {
		return "done." + done
	}
	return ""
}

var flashes = map[string]bool{
	"created": true, "updated": true, "deleted": true, "uploaded": true, "removed": true, "filed": true,
	"moved": true, "called_off": true, "accepted": true, "saved": true, "verified": true, "mailed": true,
	"revoked": true, "password": true, "signed_out": true, "restored": true,
}

// warrantyForm is the form that creates or edits a warranty.
type warrantyForm struct {
	form
	ID string // empty for a new warranty
}

// Issuer reports whether the form has the external_id field, which only the issuer may
// set.
func (f warrantyForm) Issuer() bool { return f.ID == "" || f.Values.Has("external_id") }

func (web *Web) newWarranty(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	values := r.URL.Query()
	values.Set("once", web.Service.NewID().String())
	return web.showWarrantyForm(w, r, who, http.StatusOK, warrantyForm{form: form{Values: values}})
}

func (web *Web) showWarrantyForm(w http.ResponseWriter, r *http.Request, who warranty.Principal, status int, f warrantyForm) error {
	title := web.t("warranty.new")
	if f.ID != "" {
		title = web.t("warranty.edit")
	}
	web.show(w, r, status, "warranty-form", view{Title: title, Nav: "warranties", Who: who, Body: f})
	return nil
}

func (web *Web) createWarranty(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	in, err := input(api.CreateWarranty, f, nil)
	var created warranty.Warranty
	if err == nil {
		in.IdempotencyKey = f.once()
		created, err = web.Service.CreateWarranty(r.Context(), who, in)
	}
	if err == nil && created.Replay {
		_, gone := web.Service.GetWarranty(r.Context(), who, warranty.GetWarranty{ID: created.ID})
		if errors.Is(gone, warranty.ErrNotFound) {
			f.Values.Set("once", web.Service.NewID().String())
			err = warranty.Refuse(warranty.AlreadyExists, web.t("warranty.sent_before"))
		}
	}
	if err != nil {
		if !web.setErrors(w, r, &f, err) {
			return err
		}
		return web.showWarrantyForm(w, r, who, f.status, warrantyForm{form: f})
	}
	http.Redirect(w, r, "/warranties/"+created.ID.String()+"?done=created", http.StatusSeeOther)
	return nil
}

func (web *Web) editWarranty(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	record, err := web.warrantyOf(r, who)
	if err != nil {
		return err
	}
	if err := record.Roles.May(warranty.UpdateFields); err != nil {
		return err
	}
	values := url.Values{
		"product_name": {record.ProductName},
		"start_date":   {record.StartDate.String()},
		"end_date":     {record.EndDate.String()},
		"category":     {derefText(record.Category)},
		"supplier":     {derefText(record.Supplier)},
		"if_match":     {record.ETag()},
	}
	if record.Roles.Has(warranty.Issuer) {
		values.Set("external_id", derefText(record.ExternalID))
	}
	return web.showWarrantyForm(w, r, who, http.StatusOK, warrantyForm{form: form{Values: values}, ID: record.ID.String()})
}

// warrantyOf returns the warranty with the id of the path.
func (web *Web) warrantyOf(r *http.Request, who warranty.Principal) (warranty.Warranty, error) {
	id, err := warranty.ParseID(r.PathValue("id"))
	if err != nil {
		return warranty.Warranty{}, warranty.ErrNotFound
	}
	return web.Service.GetWarranty(r.Context(), who, warranty.GetWarranty{ID: id})
}

func (web *Web) updateWarranty(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	in, err := input(api.UpdateWarranty, f, map[string]string{"id": r.PathValue("id")})
	if err == nil {
		_, err = web.Service.UpdateWarranty(r.Context(), who, in)
	}
	if err != nil {
		if f.Value("product_name") == "" && f.Value("status") != "" || !web.setErrors(w, r, &f, err) {
			return err // a button without a form to show again
		}
		return web.showWarrantyForm(w, r, who, f.status, warrantyForm{form: f, ID: r.PathValue("id")})
	}
	http.Redirect(w, r, "/warranties/"+in.ID.String()+"?done=updated", http.StatusSeeOther)
	return nil
}

func (web *Web) deleteWarranty(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	id, err := warranty.ParseID(r.PathValue("id"))
	if err != nil {
		return warranty.ErrNotFound
	}
	if _, err := web.Service.DeleteWarranty(r.Context(), who, warranty.DeleteWarranty{ID: id}); err != nil {
		return err
	}
	http.Redirect(w, r, "/warranties?done=deleted", http.StatusSeeOther)
	return nil
}

// warrantyDetail is the page of a warranty.
type warrantyDetail struct {
	warranty.Warranty
	Today     warranty.Date
	Tone      string
	Claims    []warranty.Claim
	Documents []warranty.Document
	History   []warranty.Event

	MayEdit, MayVoid, MayCancel, MayDelete, MayTransfer, MayClaim bool
}

func (web *Web) warranty(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	d, err := web.detail(r, who)
	if err != nil {
		return err
	}
	web.show(w, r, http.StatusOK, "warranty", view{Title: d.ProductName, Nav: "warranties", Who: who, Flash: flash(r), Body: d})
	return nil
}

func (web *Web) detail(r *http.Request, who warranty.Principal) (warrantyDetail, error) {
	record, err := web.warrantyOf(r, who)
	if err != nil {
		return warrantyDetail{}, err
	}
	may := func(v warranty.Verb) bool { return record.Roles.May(v) == nil }
	d := warrantyDetail{
		Warranty:    record,
		Today:       warranty.DateOf(web.Service.Now()),
		Tone:        tone(record.Status, record.DaysRemaining),
		MayEdit:     may(warranty.UpdateFields),
		MayVoid:     may(warranty.VoidOrReinstate),
		MayCancel:   may(warranty.Cancel),
		MayDelete:   may(warranty.Delete),
		MayTransfer: may(warranty.Transfer),
		MayClaim:    may(warranty.FileAClaim),
	}
	all := warranty.Paging{Page: 1, Limit: warranty.MaxLimit}
	claims, err := web.Service.ListClaims(r.Context(), who, warranty.ListClaims{Paging: all, WarrantyID: record.ID})
	if err != nil {
		return d, err
	}
	documents, err := web.Service.ListDocuments(r.Context(), who, warranty.ListDocuments{Paging: all, WarrantyID: record.ID})
	if err != nil {
		return d, err
	}
	history, err := web.Service.ListHistory(r.Context(), who, warranty.ListHistory{Paging: warranty.Paging{Page: 1, Limit: 30}, ID: record.ID})
	d.Claims, d.Documents, d.History = claims.Data, documents.Data, history.Data
	return d, err
}

// label shows the label to print: reference, QR code and seal.
func (web *Web) label(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	record, err := web.warrantyOf(r, who)
	if err != nil {
		return err
	}
	web.showBare(w, r, http.StatusOK, "label", view{Title: web.t("warranty.label"), Who: who, NoIndex: true, Body: record})
	return nil
}

// offerTransfer offers a transfer and shows its code once.
func (web *Web) offerTransfer(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	in, err := input(api.OfferTransfer, f, map[string]string{"id": r.PathValue("id")})
	if err != nil {
		return err
	}
	offer, err := web.Service.OfferTransfer(r.Context(), who, in)
	if err != nil {
		return err
	}
	web.show(w, r, http.StatusOK, "transfer-offered", view{Title: web.t("transfer.offered"), Nav: "warranties", Who: who, Body: offer})
	return nil
}

func (web *Web) cancelTransfer(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	id, err := warranty.ParseID(r.PathValue("id"))
	if err != nil {
		return warranty.ErrNotFound
	}
	if _, err := web.Service.CancelTransfer(r.Context(), who, warranty.CancelTransfer{ID: id}); err != nil {
		return err
	}
	http.Redirect(w, r, "/warranties/"+id.String()+"?done=called_off", http.StatusSeeOther)
	return nil
}

func (web *Web) acceptTransfer(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	web.show(w, r, http.StatusOK, "transfer-accept", view{Title: web.t("transfer.accept"), Nav: "warranties", Who: who, Body: form{}})
	return nil
}

func (web *Web) doAcceptTransfer(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	in, err := input(api.AcceptTransfer, f, nil)
	var accepted warranty.Warranty
	if err == nil {
		accepted, err = web.Service.AcceptTransfer(r.Context(), who, in)
	}
	if err != nil {
		if !web.setErrors(w, r, &f, err) {
			return err
		}
		web.show(w, r, f.status, "transfer-accept", view{Title: web.t("transfer.accept"), Nav: "warranties", Who: who, Body: f})
		return nil
	}
	http.Redirect(w, r, "/warranties/"+accepted.ID.String()+"?done=accepted", http.StatusSeeOther)
	return nil
}
