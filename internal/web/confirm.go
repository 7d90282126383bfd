package web

import (
	"net/http"
	"net/url"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// confirmPath is where a person confirms that it is them.
const confirmPath = "/confirm"

// confirmPage asks a person who signed in a while ago to confirm that it is them. It carries the form that was
// refused, which is performed afterwards.
type confirmPage struct {
	form
	Next  string // where to go afterwards, without a form
	Draft *draft
	// HasPassword means that the person confirms with the password, and otherwise with an emailed code.
	HasPassword, TwoStep bool
	Security             warranty.Security
	// Passkey is the button that confirms with a passkey, if the person has one.
	Passkey *passkeyUse
}

// Offers reports whether a second step of the person can be entered on the page.
func (p confirmPage) Offers(factor string) bool {
	switch warranty.SecondFactor(factor) {
	case warranty.SecondTOTP:
		return p.Security.TOTP != nil
	case warranty.SecondRecoveryCode:
		return p.Security.RecoveryCodesLeft > 0
	}
	return false
}

// sentConfirm returns the page of a confirmation that was sent.
func sentConfirm(f form) confirmPage {
	return confirmPage{form: f, Next: nextOf(f.Value("next")), Draft: draftIn(f)}
}

func (web *Web) confirm(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	next := nextOf(r.URL.Query().Get("next"))
	return web.showConfirm(w, r, who, http.StatusOK, view.Flash(r), confirmPage{Next: next})
}

func (web *Web) showConfirm(
	w http.ResponseWriter, r *http.Request, who warranty.Principal, status int, flash string, p confirmPage,
) (err error) {
	if p.HasPassword, err = web.Service.HasPassword(r.Context(), who); err != nil {
		return err
	}
	if p.Security, err = web.Service.GetSecurity(r.Context(), who, warranty.GetSecurity{}); err != nil {
		return err
	}
	p.TwoStep = p.Security.TwoStep
	options, err := web.Service.PasskeyConfirmation(r.Context(), web.keepBrowser(w, who))
	if err != nil {
		return err
	}
	p.Passkey = useOf(options, passkeyConfirm)
	v := view.Page{
		Title: web.t(r, "second_step.title"), Who: who, Flash: flash, Holds: p.Draft != nil, NoIndex: true, Body: p,
	}
	return web.show(w, r, status, "confirm", v)
}

// askToConfirm shows the page that asks to confirm, with the form that was refused.
func (web *Web) askToConfirm(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	page := confirmPage{Next: web.pageOf(r.URL.Path)}
	if isPart(r) {
		w.Header().Set("HX-Redirect", confirmPath+"?"+url.Values{"next": {page.Next}}.Encode())
		return nil
	}
	if r.Method == http.MethodPost {
		f, err := readForm(w, r)
		if err != nil {
			return err
		}
		f.removePasswords()
		page.Draft = &draft{Action: r.URL.Path, Values: f.Values}
	}
	return web.showConfirm(w, r, who, http.StatusForbidden, "", page)
}

// mailConfirmCode emails a code to a person without a password. The page keeps the form that it carries.
func (web *Web) mailConfirmCode(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	f.removePasswords()
	in := warranty.RequestSignInCode{Email: who.User.Email}
	if _, err := web.Service.RequestSignInCode(r.Context(), who, in); err != nil {
		if !web.setErrors(w, r, &f, err) {
			return err
		}
		return web.showConfirm(w, r, who, f.status, "", sentConfirm(f))
	}
	return web.showConfirm(w, r, who, http.StatusOK, "done.code_sent", sentConfirm(f))
}

// doConfirm confirms the session, which gets a new secret, and performs the form that asked for it.
func (web *Web) doConfirm(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.ConfirmSession, warranty.Session]{
		op: api.ConfirmSession,
		do: web.Service.ConfirmSession,
		again: func(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
			if warranty.AsError(f.err).Code == warranty.InvalidCredential {
				f.Errors, f.Wrong = map[string]string{"password": f.Wrong}, ""
			}
			return web.showConfirm(w, r, who, f.status, "", sentConfirm(f))
		},
		done: func(f form, session warranty.Session) error { return web.goOn(w, r, f, session) },
	})
}

// goOn performs the form that asked to confirm with the new secret of the session, or leads to where the form leads.
func (web *Web) goOn(w http.ResponseWriter, r *http.Request, f form, session warranty.Session) error {
	web.setCookie(w, session.AccessToken, session.ExpiresAt)
	if d := draftIn(f); d != nil {
		web.performAgain(w, r, session.AccessToken, d)
		return nil
	}
	return redirect(w, r, nextOf(f.Value("next")))
}

// performAgain sends a form again with the new secret of its session. A form of another site does not get here: it
// has no password, and is refused for its origin.
func (web *Web) performAgain(w http.ResponseWriter, r *http.Request, secret string, d *draft) {
	again := r.Clone(r.Context())
	again.URL = &url.URL{Path: d.Action}
	again.PostForm, again.Form = d.Values, d.Values
	again.Header.Del("Cookie")
	for _, cookie := range r.Cookies() {
		if cookie.Name == web.cookieName() {
			cookie.Value = secret
		}
		again.AddCookie(cookie)
	}
	if _, pattern := web.confirmed.Handler(again); pattern == "" {
		_ = redirect(w, r, web.pageOf(d.Action))
		return
	}
	web.confirmed.ServeHTTP(w, again)
}
