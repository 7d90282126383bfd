package web

import (
	"net/http"
	"net/url"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// adminSettings is the page /admin/settings with its form.
type adminSettings struct {
	form
	Stored                  service.ServiceSettings
	SignupSet, SignupClosed bool // the operator set who can register, and to what
}

// signupOf returns the value of the choice who can register.
func signupOf(set service.ServiceSettings) string {
	if set.SignupClosed {
		return "closed"
	}
	return "open"
}

// Signup is who can register as it is stored.
func (p adminSettings) Signup() string { return signupOf(p.Stored) }

func (web *Web) adminSettings(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.showAdminSettings(w, r, who, form{})
}

// showAdminSettings shows the form. What it says was shown is what is stored, also after it was refused because someone else
// changed it.
func (web *Web) showAdminSettings(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
	stored, err := web.Service.AdminSettings(r.Context(), who)
	if err != nil {
		return err
	}
	if f.Values == nil {
		f.Values = url.Values{"service_name": {stored.Name}, "signup": {signupOf(stored)}}
	}
	body := adminSettings{form: f, Stored: stored}
	body.SignupSet = web.Service.SignupSet || web.Service.SignupClosed
	body.SignupClosed = web.Service.SignupClosed
	v := view.Page{Title: web.t(r, "admin.settings"), Nav: "admin", Who: who, Flash: view.Flash(r), Body: body}
	return web.show(w, r, f.status, "admin-settings", v)
}

// settingsOf returns the settings in two fields of a form. Fields that were not sent are as stored.
func settingsOf(f form, name, signup string, stored service.ServiceSettings) service.ServiceSettings {
	if f.Values.Has(name) {
		stored.Name = f.Value(name)
	}
	if f.Values.Has(signup) {
		stored.SignupClosed = f.Value(signup) != "open"
	}
	return stored
}

func (web *Web) changeAdminSettings(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	stored, err := web.Service.AdminSettings(r.Context(), who)
	if err != nil {
		return err
	}
	shown := settingsOf(f, "shown_name", "shown_signup", stored)
	chosen := settingsOf(f, "service_name", "signup", stored)
	if err := web.Service.AdminChangeSettings(r.Context(), who, shown, chosen); err != nil {
		if !web.setErrors(w, r, &f, err) {
			return err
		}
		return web.showAdminSettings(w, r, who, f)
	}
	return redirect(w, r, "/admin/settings?done=settings_saved")
}
