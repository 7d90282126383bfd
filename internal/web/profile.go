package web

import (
	"net/http"
	"net/url"
	"strconv"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// profilePage is the page /settings/profile with its two forms.
type profilePage struct {
	warranty.Account
	Details, Password form
	SetAside          int64 // warranties recorded before the address was verified
}

func (web *Web) profile(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.showProfile(w, r, who, http.StatusOK, profilePage{})
}

// showProfile shows the account. A form without values is filled from it.
func (web *Web) showProfile(w http.ResponseWriter, r *http.Request, who warranty.Principal, status int, p profilePage) error {
	var err error
	if p.Account, err = web.Service.GetAccount(r.Context(), who, warranty.GetAccount{}); err != nil {
		return err
	}
	if p.SetAside, err = web.Service.SetAside(r.Context(), who); err != nil {
		return err
	}
	if p.Details.Values == nil {
		p.Details.Values = url.Values{
			"name":              {p.Name},
			"mail_warranty_end": {strconv.FormatBool(p.Mails.WarrantyEnd)},
			"mail_claims":       {strconv.FormatBool(p.Mails.Claims)},
			"mail_token_expiry": {strconv.FormatBool(p.Mails.TokenExpiry)},
		}
	}
	web.show(w, r, status, "profile", view{Title: web.t("profile.title"), Nav: "settings", Who: who, Flash: flash(r), Body: p})
	return nil
}

func (web *Web) updateProfile(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	in, err := input(api.UpdateAccount, f, nil)
	if err == nil {
		_, err = web.Service.UpdateAccount(r.Context(), who, in)
	}
	if err != nil {
		if !web.setErrors(w, r, &f, err) {
			return err
		}
		return web.showProfile(w, r, who, f.status, profilePage{Details: f})
	}
	http.Redirect(w, r, "/settings/profile?done=saved", http.StatusSeeOther)
	return nil
}

// restoreSetAside restores the warranties recorded before the address was verified.
func (web *Web) restoreSetAside(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	if _, err := web.Service.RestoreSetAside(r.Context(), who); err != nil {
		return err
	}
	http.Redirect(w, r, "/warranties?done=restored", http.StatusSeeOther)
	return nil
}

// toPassword redirects password managers to the form that changes the password.
func (web *Web) toPassword(w http.ResponseWriter, r *http.Request, _ warranty.Principal) error {
	http.Redirect(w, r, "/settings/profile#password", http.StatusSeeOther)
	return nil
}

// changePassword ends all sessions and gives this browser a new one.
func (web *Web) changePassword(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	in, err := input(api.ChangePassword, f, nil)
	var session warranty.Session
	if err == nil {
		session, err = web.Service.ChangePassword(r.Context(), who, in)
	}
	if err != nil {
		if !web.setErrors(w, r, &f, err) {
			return err
		}
		if warranty.AsError(err).Code == warranty.InvalidCredential {
			f.Errors, f.Wrong = map[string]string{"current_password": f.Wrong}, ""
		}
		f.Values.Del("current_password") // passwords are never sent back
		f.Values.Del("new_password")
		return web.showProfile(w, r, who, f.status, profilePage{Password: f})
	}
	web.setCookie(w, session.AccessToken, session.ExpiresAt)
	http.Redirect(w, r, "/settings/profile?done=password", http.StatusSeeOther)
	return nil
}

func (web *Web) signOutEverywhere(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	if err := web.Service.SignOutEverywhere(r.Context(), who); err != nil {
		return err
	}
	web.clearCookie(w)
	http.Redirect(w, r, "/sign-in", http.StatusSeeOther)
	return nil
}
