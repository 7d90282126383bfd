package web

import (
	"net/http"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// confirmationList is the page /confirmations.
type confirmationList struct {
	Page  warranty.Page[warranty.Confirmation]
	Pager pager
}

func (web *Web) confirmations(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	in := warranty.ListConfirmations{Paging: pagingOf(r.URL.Query(), listPage)}
	page, err := web.Service.ListConfirmations(r.Context(), who, in)
	if err != nil {
		return err
	}
	body := confirmationList{Page: page, Pager: newPager(r.URL, page.Pagination)}
	v := view{Title: web.t("confirmations.title"), Nav: "warranties", Who: who, Flash: flash(r), Body: body}
	return web.show(w, r, http.StatusOK, "confirmations", v)
}

func (web *Web) decideConfirmation(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.DecideConfirmation, warranty.Confirmation]{
		op: api.DecideConfirmation,
		do: web.Service.DecideConfirmation,
		next: func(_ form, c warranty.Confirmation) string {
			return "/confirmations?done=" + c.Status.String()
		},
	})
}

func (web *Web) leaveWarranty(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return press(w, r, "/warranties?done=seller_left", warranty.ParseWarrantyKey, func(key warranty.WarrantyKey) error {
		_, err := web.Service.LeaveWarranty(r.Context(), who, warranty.LeaveWarranty{ID: key})
		return err
	})
}
