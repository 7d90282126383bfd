package web

import (
	"net/http"
	"net/url"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// profilePage is the page /settings/profile.
type profilePage struct {
	warranty.Account
	Details   form
	SetAside  int64 // warranties recorded before the address was verified
	Languages []view.LanguageChoice
	Zones     []string
	Automatic string // the time zone of the browser, or UTC
}

func (web *Web) profile(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.showProfile(w, r, who, http.StatusOK, profilePage{})
}

// showProfile shows the account. A form without values is filled from it.
func (web *Web) showProfile(
	w http.ResponseWriter, r *http.Request, who warranty.Principal, status int, p profilePage,
) error {
	var err error
	if p.Account, err = web.Service.GetAccount(r.Context(), who, warranty.GetAccount{}); err != nil {
		return err
	}
	if p.SetAside, err = web.Service.SetAside(r.Context(), who); err != nil {
		return err
	}
	p.Languages, p.Zones = web.views.Languages(), view.CommonZones
	p.Automatic = web.chooseReader(r, warranty.Locale{}).Zone.String()
	if p.Details.Values == nil {
		p.Details.Values = url.Values{
			"name":      {p.Name},
			"language":  {p.Locale().Language},
			"time_zone": {p.Locale().Zone},
		}
	}
	v := view.Page{Title: web.t(r, "profile.title"), Nav: "settings", Who: who, Flash: view.Flash(r), Body: p}
	return web.show(w, r, status, "profile", v)
}

func (web *Web) updateProfile(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.UpdateAccount, warranty.Account]{
		op: api.UpdateAccount,
		do: web.Service.UpdateAccount,
		again: func(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
			return web.showProfile(w, r, who, f.status, profilePage{Details: f})
		},
		next: func(form, warranty.Account) string { return "/settings/profile?done=saved" },
	})
}

// restoreSetAside restores the warranties recorded before the address was verified.
func (web *Web) restoreSetAside(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	if _, err := web.Service.RestoreSetAside(r.Context(), who); err != nil {
		return err
	}
	return redirect(w, r, "/warranties?done=restored")
}
