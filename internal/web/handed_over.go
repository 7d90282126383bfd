package web

import (
	"net/http"

	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// handedOver lists the warranties that the account transferred to others.
func (web *Web) handedOver(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	list, err := web.Service.HandedOver(r.Context(), who)
	if err != nil {
		return err
	}
	v := view.Page{Title: web.t(r, "handed_over.title"), Nav: "warranties", Who: who, Body: list}
	return web.show(w, r, http.StatusOK, "handed-over", v)
}
