package web

import (
	"errors"
	"net/http"

	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// errSettingUp is why a page is not shown: the service is not set up yet.
var errSettingUp = errors.New("the service is being set up")

// setupPage is the form that makes the first administrator.
type setupPage struct {
	form
	PublicURL    string
	SendsMail    bool
	SignupClosed bool
}

// checkSetUp returns errSettingUp until the service is set up.
func (web *Web) checkSetUp(r *http.Request) error {
	done, err := web.Service.IsSetUp(r.Context())
	if err == nil && !done {
		err = errSettingUp
	}
	return err
}

// showSettingUp shows visitors that the service is being set up.
func (web *Web) showSettingUp(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Retry-After", "60")
	v := view.Page{Title: web.t(r, "setup.pending"), NoIndex: true, Body: form{}}
	return web.show(w, r, http.StatusServiceUnavailable, "setup-pending", v)
}

// setup shows the form. The code of the link is after #, so that only the form sends it.
func (web *Web) setup(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	if err := web.checkSetUp(r); !errors.Is(err, errSettingUp) {
		if err == nil {
			err = redirect(w, r, "/")
		}
		return err
	}
	return web.showSetup(w, r, who, form{})
}

func (web *Web) showSetup(w http.ResponseWriter, r *http.Request, _ warranty.Principal, f form) error {
	body := setupPage{
		form:         f,
		PublicURL:    web.PublicURL,
		SendsMail:    web.Service.RequireVerified,
		SignupClosed: web.Service.SignupClosed,
	}
	return web.show(w, r, f.status, "setup", view.Page{Title: web.t(r, "setup.title"), NoIndex: true, Body: body})
}

// doSetup makes the first administrator and signs in.
func (web *Web) doSetup(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	who = withDevice(who)
	in := warranty.Register{Name: f.Value("name"), Email: f.Value("email"), Password: f.Value("password")}
	session, err := web.Service.SetUp(r.Context(), who, f.Value("code"), in)
	if err != nil {
		if !web.setErrors(w, r, &f, err) {
			return err
		}
		return web.showSetup(w, r, who, f)
	}
	web.startSession(w, who, session)
	return redirect(w, r, "/admin?done=set_up")
}
