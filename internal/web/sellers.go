package web

import (
	"net/http"
	"strings"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// confirmationList is the page /confirmations.
type confirmationList struct {
	form
	Page  warranty.Page[warranty.Confirmation]
	Pager pager
}

// More reports whether older ones wait that are not in the list.
func (l confirmationList) More() bool { return l.Page.Pagination.Total >= warranty.MaxConfirmations }

func (web *Web) confirmations(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.showConfirmations(w, r, who, form{})
}

// showConfirmations shows what waits for the account, with the errors of a form.
func (web *Web) showConfirmations(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
	in := warranty.ListConfirmations{Paging: pagingOf(r.URL.Query(), listPage)}
	page, err := web.Service.ListConfirmations(r.Context(), who, in)
	if err != nil {
		return err
	}
	at := *r.URL
	at.Path = "/confirmations"
	body := confirmationList{form: f, Page: page, Pager: newPager(&at, page.Pagination)}
	v := view.Page{Title: web.t(r, "confirmations.title"), Nav: "warranties", Who: who, Flash: view.Flash(r), Body: body}
	return web.show(w, r, f.status, "confirmations", v)
}

func (web *Web) decideConfirmation(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.DecideConfirmation, warranty.Confirmation]{
		op: api.DecideConfirmation,
		do: web.Service.DecideConfirmation,
		again: func(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
			if warranty.AsError(f.err).Code == warranty.PreconditionFailed {
				f.Wrong = web.t(r, "confirmations.changed")
			}
			return web.showConfirmations(w, r, who, f)
		},
		next: func(_ form, c warranty.Confirmation) string {
			return "/confirmations?done=" + c.Status.String()
		},
	})
}

// confirmSeveral confirms the selected warranties, or all of the page. A value is the id and the version that the
// page showed: what has changed since is not confirmed, and is shown again.
func (web *Web) confirmSeveral(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	chosen := f.Values["selected"]
	if f.Value("which") == "page" {
		chosen = f.Values["shown"]
	}
	if len(chosen) == 0 {
		f.status, f.Wrong = http.StatusUnprocessableEntity, web.t(r, "confirmations.choose")
		return web.showConfirmations(w, r, who, f)
	}
	confirmed, changed := 0, 0
	for _, value := range chosen[:min(len(chosen), listPage)] {
		id, tag, _ := strings.Cut(value, " ")
		key, err := warranty.ParseWarrantyKey(id)
		if err != nil || tag == "" {
			return errForm
		}
		in := warranty.DecideConfirmation{ID: key, Decision: warranty.Confirm, IfMatch: tag}
		_, err = web.Service.DecideConfirmation(r.Context(), who, in)
		switch code := warranty.AsError(err).Code; {
		case err == nil:
			confirmed++
		case code == warranty.PreconditionFailed || code == warranty.NotFound:
			changed++
		default:
			return err
		}
	}
	if changed == 0 {
		return redirect(w, r, "/confirmations?done=confirmed_several")
	}
	f.status, f.Wrong = http.StatusConflict, web.t(r, "confirmations.several_changed", confirmed, changed)
	return web.showConfirmations(w, r, who, f)
}

func (web *Web) leaveWarranty(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return press(w, r, "/warranties?done=seller_left", warranty.ParseWarrantyKey, func(key warranty.WarrantyKey) error {
		_, err := web.Service.LeaveWarranty(r.Context(), who, warranty.LeaveWarranty{ID: key})
		return err
	})
}
