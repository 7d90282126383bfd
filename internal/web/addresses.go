package web

import (
	"net/http"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// addressList is the page /settings/addresses with its forms.
type addressList struct {
	Addresses []warranty.Address
	Add, Code form
	Sent      bool // show the form for the code
}

func (web *Web) addresses(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.showAddresses(w, r, who, http.StatusOK, addressList{Sent: r.URL.Query().Has("code")})
}

func (web *Web) showAddresses(
	w http.ResponseWriter, r *http.Request, who warranty.Principal, status int, p addressList,
) error {
	in := warranty.ListAddresses{Paging: warranty.Paging{Page: 1, Limit: warranty.MaxLimit}, ID: who.Account.ID}
	list, err := web.Service.ListAddresses(r.Context(), who, in)
	if err != nil {
		return err
	}
	p.Addresses = list.Data
	v := view.Page{Title: web.t(r, "addresses.title"), Nav: "settings", Who: who, Flash: view.Flash(r), Body: p}
	return web.show(w, r, status, "addresses", v)
}

// addAddress emails the code that verifies an address.
func (web *Web) addAddress(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.AddAddress, warranty.None]{
		op: api.AddAddress,
		do: web.Service.AddAddress,
		again: func(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
			return web.showAddresses(w, r, who, f.status, addressList{Add: f})
		},
		next: func(form, warranty.None) string { return "/settings/addresses?code&done=code_sent" },
	})
}

func (web *Web) verifyAddress(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.VerifyAddress, warranty.Address]{
		op: api.VerifyAddress,
		do: web.Service.VerifyAddress,
		again: func(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
			return web.showAddresses(w, r, who, f.status, addressList{Code: f, Sent: true})
		},
		next: func(form, warranty.Address) string { return "/settings/addresses?done=address_verified" },
	})
}

func (web *Web) removeAddress(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.RemoveAddress, warranty.None]{
		op:   api.RemoveAddress,
		do:   web.Service.RemoveAddress,
		next: func(form, warranty.None) string { return "/settings/addresses?done=address_removed" },
	})
}
