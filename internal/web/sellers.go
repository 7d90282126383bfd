package web

import (
	"crypto/sha256"
	"net/http"
	"strings"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/jobs"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// confirmationList is the page /confirmations.
type confirmationList struct {
	form
	Page  warranty.Page[warranty.Confirmation]
	Pager pager
	Once  warranty.ID
	Job   *jobPage // what was confirmed or declined at once, or nil
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
	body := confirmationList{form: f, Page: page, Pager: newPager(&at, page.Pagination), Once: web.Service.NewID()}
	if r.URL.Query().Has("job") {
		if body.Job, err = web.bulkOf(r, who, r.URL.Query().Get("job")); err != nil {
			return err
		}
	}
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

// decideSeveral confirms or declines the selected warranties, or confirms all of the page. A value is the id and the
// version that the page showed: what has changed since is not decided, and is shown again.
func (web *Web) decideSeveral(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	in, chosen := jobs.Bulk{Action: jobs.Confirm}, f.Values["selected"]
	switch f.Value("which") {
	case "page":
		chosen = f.Values["shown"]
	case "decline":
		in.Action = jobs.Decline
	}
	if len(chosen) == 0 {
		f.status, f.Wrong = http.StatusUnprocessableEntity, web.t(r, "confirmations.choose")
		return web.showConfirmations(w, r, who, f)
	}
	for _, value := range chosen[:min(len(chosen), listPage)] {
		text, tag, _ := strings.Cut(value, " ")
		id, err := warranty.ParseID(text)
		if err != nil || tag == "" {
			return errForm
		}
		in.IDs, in.Tags = append(in.IDs, id), append(in.Tags, tag)
	}
	var once warranty.ID // of the form with what is selected in it
	if key := f.once(); key != nil {
		sum := sha256.Sum256([]byte(who.Account.ID.String() + *key))
		once = warranty.ID(sum[:len(once)])
	}
	return web.startBulk(w, r, who, once, in)
}

func (web *Web) leaveWarranty(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return press(w, r, "/warranties?done=seller_left", warranty.ParseWarrantyKey, func(key warranty.WarrantyKey) error {
		_, err := web.Service.LeaveWarranty(r.Context(), who, warranty.LeaveWarranty{ID: key})
		return err
	})
}
