package web

import (
	"net/http"
	"net/url"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// profilePage is the page /settings/profile with its two forms.
type profilePage struct {
	warranty.Account
	Details, Password form
	SetAside          int64 // warranties recorded before the address was verified
	HasPassword       bool
	Languages         []view.LanguageChoice
	Zones             []string
	Automatic         string // the time zone of the browser, or UTC
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
	if p.HasPassword, err = web.Service.HasPassword(r.Context(), who); err != nil {
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

// toPassword redirects password managers to the form that changes the password.
func (web *Web) toPassword(w http.ResponseWriter, r *http.Request, _ warranty.Principal) error {
	return redirect(w, r, "/settings/profile#password")
}

// changePassword ends all sessions and gives this browser a new one.
func (web *Web) changePassword(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.ChangePassword, warranty.Session]{
		op: api.ChangePassword,
		do: web.Service.ChangePassword,
		again: func(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
			if warranty.AsError(f.err).Code == warranty.InvalidCredential {
				f.Errors, f.Wrong = map[string]string{"current_password": f.Wrong}, ""
			}
			return web.showProfile(w, r, who, f.status, profilePage{Password: f})
		},
		done: func(_ form, session warranty.Session) error {
			web.setCookie(w, session.AccessToken, session.ExpiresAt)
			return redirect(w, r, "/settings/profile?done=password")
		},
	})
}

func (web *Web) signOutEverywhere(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	if err := web.Service.SignOutEverywhere(r.Context(), who); err != nil {
		return err
	}
	web.clearCookie(w)
	web.clearAccount(w)
	return redirect(w, r, "/sign-in")
}
