package web

import (
	"errors"
	"net/http"
	"strings"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// errSettingUp is why a page is not shown: the service is not set up yet.
var errSettingUp = errors.New("the service is being set up")

// setupPage is the form that makes the first administrator.
type setupPage struct {
	form
	PublicURL string
	// Seen is the address of the request, without a scheme. A script replaces it by the one in the browser.
	Seen string
	Same bool // Seen fits PublicURL
	// Tested is an address that an email was sent to, and Refused what the mail server said instead.
	Tested, Refused         string
	SendsMail               bool
	SignupSet, SignupClosed bool // the operator set who can register, and to what
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
	return web.showSetup(w, r, setupPage{})
}

func (web *Web) showSetup(w http.ResponseWriter, r *http.Request, p setupPage) error {
	p.PublicURL, p.Seen = web.PublicURL, r.Host
	_, host, _ := strings.Cut(p.PublicURL, "://")
	p.Same = strings.EqualFold(host, p.Seen)
	p.SendsMail = web.Service.RequireVerified
	p.SignupSet, p.SignupClosed = web.Service.SignupSet || web.Service.SignupClosed, web.Service.SignupClosed
	return web.show(w, r, p.status, "setup", view.Page{Title: web.t(r, "setup.title"), NoIndex: true, Body: p})
}

// testSetupMail sends an email to the address of the form, and shows what the mail server said.
func (web *Web) testSetupMail(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	f.removePasswords()
	refused, err := web.Service.TestMail(r.Context(), who, f.Value("code"), f.Value("email"), f.Value("service_name"))
	if err != nil {
		if !web.setErrors(w, r, &f, err) {
			return err
		}
		return web.showSetup(w, r, setupPage{form: f})
	}
	return web.showSetup(w, r, setupPage{form: f, Tested: f.Value("email"), Refused: refused})
}

// doSetup makes the first administrator and signs in.
func (web *Web) doSetup(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	who = withDevice(who)
	session, err := web.Service.SetUp(r.Context(), who, service.SetUp{
		Code:     f.Value("code"),
		Register: warranty.Register{Name: f.Value("name"), Email: f.Value("email"), Password: f.Value("password")},
		Settings: service.ServiceSettings{Name: f.Value("service_name"), SignupClosed: f.Value("signup") != "open"},
	})
	if err != nil {
		if !web.setErrors(w, r, &f, err) {
			return err
		}
		return web.showSetup(w, r, setupPage{form: f})
	}
	web.startSession(w, r, who, session)
	return redirect(w, r, "/admin?done=set_up")
}
