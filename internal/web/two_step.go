package web

import (
	"net/http"
	"strings"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// The pages of two-step sign-in, below /settings/security.

// addAppPage shows the secret of an authenticator app that is being added, once, and asks for its first code.
type addAppPage struct {
	form
	// App has the secret. It is empty when the form is shown again.
	App warranty.NewTOTP
	// Groups are the secret in groups of four, for people who type it.
	Groups string
	// TwoStep means that two-step sign-in is on already.
	TwoStep bool
}

// recoveryCodesPage shows recovery codes once.
type recoveryCodesPage struct {
	Codes []string
	// TurnedOn means that two-step sign-in was just turned on.
	TurnedOn bool
}

// addApp makes the secret of an authenticator app.
func (web *Web) addApp(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	app, err := web.Service.AddTOTP(r.Context(), who, warranty.AddTOTP{})
	if err != nil {
		return err
	}
	return web.showAddApp(w, r, who, addAppPage{App: app})
}

func (web *Web) showAddApp(w http.ResponseWriter, r *http.Request, who warranty.Principal, p addAppPage) error {
	sec, err := web.Service.GetSecurity(r.Context(), who, warranty.GetSecurity{})
	if err != nil {
		return err
	}
	p.TwoStep = sec.TwoStep
	for i := 0; i < len(p.App.Secret); i += 4 {
		p.Groups += " " + p.App.Secret[i:min(i+4, len(p.App.Secret))]
	}
	p.Groups = strings.TrimSpace(p.Groups)
	v := view.Page{Title: web.t(r, "add_app.title"), Nav: "settings", Who: who, NoIndex: true, Body: p}
	return web.show(w, r, max(p.status, http.StatusOK), "add-app", v)
}

// confirmApp adds the authenticator app with its first code, and turns two-step sign-in on if it is off.
func (web *Web) confirmApp(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.ConfirmTOTP, warranty.Security]{
		op: api.ConfirmTOTP,
		do: web.Service.ConfirmTOTP,
		again: func(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
			return web.showAddApp(w, r, who, addAppPage{form: f})
		},
		done: func(_ form, sec warranty.Security) error {
			if sec.TwoStep {
				return redirect(w, r, securityPath+"?done=app_added")
			}
			return web.turnOnTwoStep(w, r, who)
		},
	})
}

// turnOnTwoStep turns two-step sign-in on, and shows the recovery codes.
func (web *Web) turnOnTwoStep(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	on, err := web.Service.UpdateSecurity(r.Context(), who, warranty.UpdateSecurity{TwoStep: new(true)})
	if err != nil {
		return err
	}
	if len(on.Codes) == 0 { // it was on
		return redirect(w, r, securityPath)
	}
	return web.showRecoveryCodes(w, r, who, recoveryCodesPage{Codes: on.Codes, TurnedOn: true})
}

// turnOffTwoStep turns two-step sign-in off, with the authenticator app and the recovery codes.
func (web *Web) turnOffTwoStep(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	if _, err := web.Service.UpdateSecurity(r.Context(), who, warranty.UpdateSecurity{TwoStep: new(false)}); err != nil {
		return err
	}
	return redirect(w, r, securityPath+"?done=two_step_off")
}

// removeApp removes the authenticator app.
func (web *Web) removeApp(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	if _, err := web.Service.RemoveTOTP(r.Context(), who, warranty.RemoveTOTP{}); err != nil {
		return err
	}
	return redirect(w, r, securityPath+"?done=app_removed")
}

// newRecoveryCodes makes new recovery codes.
func (web *Web) newRecoveryCodes(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	made, err := web.Service.CreateRecoveryCodes(r.Context(), who, warranty.CreateRecoveryCodes{})
	if err != nil {
		return err
	}
	return web.showRecoveryCodes(w, r, who, recoveryCodesPage{Codes: made.Codes})
}

func (web *Web) showRecoveryCodes(w http.ResponseWriter, r *http.Request, who warranty.Principal, p recoveryCodesPage) error {
	v := view.Page{Title: web.t(r, "recovery.title"), Nav: "settings", Who: who, NoIndex: true, Body: p}
	return web.show(w, r, http.StatusOK, "recovery-codes", v)
}

// recoveryCodesFile returns the recovery codes that a page shows as a file. The page sends them, because they are not
// stored; nothing else is accepted.
func (web *Web) recoveryCodesFile(w http.ResponseWriter, r *http.Request, _ warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	codes := f.Values["code"]
	if len(codes) == 0 || len(codes) > 10 {
		return warranty.ErrNotFound
	}
	for _, code := range codes {
		if !warranty.IsRecoveryCode(code) {
			return warranty.ErrNotFound
		}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="recovery-codes.txt"`)
	_, _ = w.Write([]byte(strings.Join(codes, "\r\n") + "\r\n")) // fails only if the client disconnected
	return nil
}

// mayLackTwoStep reports whether a page can be used by people who still have to turn on two-step sign-in: it is for
// everyone, or needed to turn it on.
func mayLackTwoStep(r route, path string) bool {
	if r.open {
		return path != "/oauth/authorize" // it asks for the person's consent
	}
	if strings.HasPrefix(path, addressPath) {
		return false
	}
	for _, allowed := range []string{securityPath, confirmPath, "/verify-email"} {
		if path == allowed || strings.HasPrefix(path, allowed+"/") {
			return true
		}
	}
	return path == "/sign-out"
}

// askForTwoStep leads to the page that turns two-step sign-in on.
func (web *Web) askForTwoStep(w http.ResponseWriter, r *http.Request) error {
	target := securityPath + "?done=two_step_required"
	if isPart(r) {
		w.Header().Set("HX-Redirect", target)
		return nil
	}
	return redirect(w, r, target)
}
