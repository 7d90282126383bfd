package web

import (
	"net/http"
	"net/url"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// signInPage is the sign-in or registration form.
type signInPage struct {
	form
	Next   string    // where to go afterwards
	Kept   *keptForm // the form to show again afterwards, if any
	ByCode bool      // sign in with an emailed code instead of a password
}

// showSignIn shows the sign-in form. flash is the key of the message above it.
func (web *Web) showSignIn(w http.ResponseWriter, r *http.Request, status int, flash string, body signInPage) {
	page := "sign-in"
	if body.ByCode {
		page = "sign-in-code"
	}
	web.show(w, r, status, page, view{Title: web.t("sign_in.title"), Flash: flash, Body: body})
}

func (web *Web) signIn(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	next := nextOf(r.URL.Query().Get("next"))
	if who.Credential == warranty.BySession {
		http.Redirect(w, r, next, http.StatusSeeOther)
		return nil
	}
	web.showSignIn(w, r, http.StatusOK, flash(r), signInPage{Next: next})
	return nil
}

func (web *Web) doSignIn(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	in, err := input(api.SignIn, f, nil)
	byCode := r.URL.Path == "/sign-in/code"
	if err == nil && byCode && in.Code == "" {
		var c warranty.Checks
		c.Add("code", "required", web.t("sign_in.code_missing"))
		err = c.Err()
	}
	who = withDevice(who)
	var session warranty.Session
	if err == nil {
		session, err = web.Service.SignIn(r.Context(), who, in)
	}
	if err != nil {
		if !web.setErrors(w, r, &f, err) {
			return err
		}
		f.Values.Del("password")
		web.showSignIn(w, r, f.status, "", signInPage{form: f, Next: nextOf(f.Value("next")), Kept: keptIn(f), ByCode: byCode})
		return nil
	}
	web.setCookie(w, session.AccessToken, session.ExpiresAt)
	web.setDevice(w, who)
	if kept := keptIn(f); kept != nil {
		return web.resume(w, r, session.AccessToken, kept)
	}
	http.Redirect(w, r, nextOf(f.Value("next")), http.StatusSeeOther)
	return nil
}

// mailSignInCode emails a sign-in code. The response does not reveal whether the address
// has an account.
func (web *Web) mailSignInCode(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	in, err := input(api.RequestSignInCode, f, nil)
	if err == nil {
		_, err = web.Service.RequestSignInCode(r.Context(), who, in)
	}
	page := signInPage{Next: nextOf(f.Value("next")), Kept: keptIn(f)}
	f.Values.Del("password")
	if err != nil {
		if !web.setErrors(w, r, &f, err) {
			return err
		}
		page.form = f
		web.showSignIn(w, r, f.status, "", page)
		return nil
	}
	page.form, page.ByCode = f, true
	web.showSignIn(w, r, http.StatusOK, "reset.mailed", page)
	return nil
}

// signInCode shows the sign-in form for an emailed code.
func (web *Web) signInCode(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	next := nextOf(r.URL.Query().Get("next"))
	if who.Credential == warranty.BySession {
		http.Redirect(w, r, next, http.StatusSeeOther)
		return nil
	}
	web.showSignIn(w, r, http.StatusOK, "", signInPage{Next: next, ByCode: true})
	return nil
}

func (web *Web) doSignOut(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	_, err := web.Service.SignOut(r.Context(), who, warranty.SignOut{})
	web.clearCookie(w)
	if err != nil {
		return err
	}
	http.Redirect(w, r, "/sign-in", http.StatusSeeOther)
	return nil
}

func (web *Web) register(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	next := nextOf(r.URL.Query().Get("next"))
	if who.Credential == warranty.BySession {
		http.Redirect(w, r, next, http.StatusSeeOther)
		return nil
	}
	web.show(w, r, http.StatusOK, "register", view{Title: web.t("register.title"), Body: signInPage{Next: next}})
	return nil
}

// doRegister creates an account, signs in and leads to the verification of the address.
func (web *Web) doRegister(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	in, err := input(api.Register, f, nil)
	who = withDevice(who)
	var session warranty.Session
	if err == nil {
		session, err = web.Service.Register(r.Context(), who, in)
	}
	if err != nil {
		if !web.setErrors(w, r, &f, err) {
			return err
		}
		f.Values.Del("password")
		web.show(w, r, f.status, "register", view{Title: web.t("register.title"), Body: signInPage{form: f, Next: nextOf(f.Value("next"))}})
		return nil
	}
	web.setCookie(w, session.AccessToken, session.ExpiresAt)
	web.setDevice(w, who)
	http.Redirect(w, r, "/verify-email"+withNext(nextOf(f.Value("next"))), http.StatusSeeOther)
	return nil
}

// withNext returns the query that carries next. The default, the overview, needs none.
func withNext(next string) string {
	if next == "/" {
		return ""
	}
	return "?" + url.Values{"next": {next}}.Encode()
}

// verifyEmail shows the form for the emailed verification code.
func (web *Web) verifyEmail(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.showVerifyEmail(w, r, who, http.StatusOK, signInPage{Next: nextOf(r.URL.Query().Get("next"))})
}

func (web *Web) showVerifyEmail(w http.ResponseWriter, r *http.Request, who warranty.Principal, status int, body signInPage) error {
	web.show(w, r, status, "verify-email", view{Title: web.t("verify_email.title"), Nav: "settings", Who: who, Flash: flash(r), Body: body})
	return nil
}

func (web *Web) doVerifyEmail(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	in, err := input(api.VerifyEmail, f, nil)
	if err == nil {
		_, err = web.Service.VerifyEmail(r.Context(), who, in)
	}
	next := nextOf(f.Value("next"))
	if err != nil {
		if !web.setErrors(w, r, &f, err) {
			return err
		}
		return web.showVerifyEmail(w, r, who, f.status, signInPage{form: f, Next: next})
	}
	if next == "/" {
		next = "/?done=verified"
	}
	http.Redirect(w, r, next, http.StatusSeeOther)
	return nil
}

func (web *Web) resendVerification(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	next := nextOf(f.Value("next"))
	if _, err := web.Service.SendVerification(r.Context(), who, warranty.SendVerification{}); err != nil {
		if !web.setErrors(w, r, &f, err) {
			return err
		}
		return web.showVerifyEmail(w, r, who, f.status, signInPage{form: f, Next: next})
	}
	query := url.Values{"done": {"mailed"}}
	if next != "/" {
		query.Set("next", next)
	}
	http.Redirect(w, r, "/verify-email?"+query.Encode(), http.StatusSeeOther)
	return nil
}

func (web *Web) resetPassword(w http.ResponseWriter, r *http.Request, _ warranty.Principal) error {
	web.show(w, r, http.StatusOK, "reset-password", view{Title: web.t("reset.title"), Body: form{}})
	return nil
}

// doResetPassword emails a reset code. The response does not reveal whether the address
// has an account.
func (web *Web) doResetPassword(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	in, err := input(api.RequestPasswordReset, f, nil)
	if err == nil {
		_, err = web.Service.RequestPasswordReset(r.Context(), who, in)
	}
	if err != nil {
		if !web.setErrors(w, r, &f, err) {
			return err
		}
		web.show(w, r, f.status, "reset-password", view{Title: web.t("reset.title"), Body: f})
		return nil
	}
	http.Redirect(w, r, "/reset-password/confirm?done=mailed", http.StatusSeeOther)
	return nil
}

func (web *Web) confirmReset(w http.ResponseWriter, r *http.Request, _ warranty.Principal) error {
	web.show(w, r, http.StatusOK, "reset-password-confirm", view{Title: web.t("reset.confirm"), Flash: flash(r), Body: form{}})
	return nil
}

func (web *Web) doConfirmReset(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	in, err := input(api.ResetPassword, f, nil)
	if err == nil {
		_, err = web.Service.ResetPassword(r.Context(), who, in)
	}
	if err != nil {
		if !web.setErrors(w, r, &f, err) {
			return err
		}
		f.Values.Del("password")
		web.show(w, r, f.status, "reset-password-confirm", view{Title: web.t("reset.confirm"), Body: f})
		return nil
	}
	web.clearCookie(w) // the reset has ended all sessions
	http.Redirect(w, r, "/sign-in?done=password", http.StatusSeeOther)
	return nil
}

// t returns the text of a key.
func (web *Web) t(key string, args ...any) string { return web.views.texts.get(key, args...) }
