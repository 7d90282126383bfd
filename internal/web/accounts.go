package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// signInPage is the sign-in or registration form.
type signInPage struct {
	form
	Next   string // where to go afterwards
	Draft  *draft // the form to show again afterwards, if any
	ByCode bool   // sign in with an emailed code instead of a password
	// Passkey is the button that signs in with a passkey, if there are passkeys.
	Passkey *passkeyUse
}

// Invited reports whether the person came to accept an invitation.
func (p signInPage) Invited() bool { return p.Next == invitationPage }

// Taking reports whether the person came to register a hand-over.
func (p signInPage) Taking() bool { return p.Draft != nil && p.Draft.Action == takeConfirm }

// showSignIn shows the sign-in form. flash is the key of the message above it.
func (web *Web) showSignIn(w http.ResponseWriter, r *http.Request, flash string, body signInPage) error {
	page := "sign-in-code"
	if !body.ByCode {
		passkey, err := web.signInPasskey(w, r)
		if err != nil {
			return err
		}
		page, body.Passkey = "sign-in", passkey
	}
	v := view.Page{Title: web.t(r, "sign_in.title"), Flash: flash, Holds: body.Draft != nil, Body: body}
	return web.show(w, r, body.status, page, v)
}

// sentSignIn returns the page of a sign-in form that was sent.
func sentSignIn(f form, byCode bool) signInPage {
	return signInPage{form: f, Next: nextOf(f.Value("next")), Draft: draftIn(f), ByCode: byCode}
}

func (web *Web) signIn(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	next := nextOf(r.URL.Query().Get("next"))
	if who.Credential == warranty.BySession {
		return redirect(w, r, next)
	}
	return web.showSignIn(w, r, view.Flash(r), signInPage{Next: next})
}

func (web *Web) doSignIn(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	who = withDevice(who)
	byCode := r.URL.Path == "/sign-in/code"
	return submit(web, w, r, who, action[warranty.SignIn, warranty.Session]{
		op: api.SignIn,
		do: func(ctx context.Context, who warranty.Principal, in warranty.SignIn) (warranty.Session, error) {
			if byCode && in.Code == "" {
				var c warranty.Checks
				c.Add("code", "required", "%s", web.t(r, "sign_in.code_missing"))
				return warranty.Session{}, c.Err()
			}
			return web.Service.SignIn(ctx, who, in)
		},
		again: func(w http.ResponseWriter, r *http.Request, _ warranty.Principal, f form) error {
			if step := secondStepOf(f.err); step != nil {
				return web.continueSignIn(w, r, who, step, sentSignIn(f, byCode))
			}
			return web.showSignIn(w, r, "", sentSignIn(f, byCode))
		},
		done: func(f form, session warranty.Session) error { return web.begin(w, r, who, f, session) },
	})
}

// begin starts the session of a complete sign-in in the browser, and leads to where the form leads.
func (web *Web) begin(
	w http.ResponseWriter, r *http.Request, who warranty.Principal, f form, session warranty.Session,
) error {
	web.startSession(w, r, who, session)
	if err := web.keepAccount(w, r, session); err != nil {
		return err
	}
	if d := draftIn(f); d != nil {
		return web.resume(w, r, session.AccessToken, d)
	}
	next := nextOf(f.Value("next"))
	if next == "/" {
		if err := web.startAtWork(w, r); err != nil {
			return err
		}
	}
	return redirect(w, r, next)
}

func (web *Web) startSession(w http.ResponseWriter, r *http.Request, who warranty.Principal, session warranty.Session) {
	web.setCookie(w, session.AccessToken, session.ExpiresAt)
	web.setDevice(w, who)
	web.clearBrowser(w, r)
}

// keepAccount forgets the account that the browser acts for unless the person who signed in can act for
// it: another person may have chosen it.
func (web *Web) keepAccount(w http.ResponseWriter, r *http.Request, session warranty.Session) error {
	who, err := web.sessionPrincipal(r, session.AccessToken)
	if err != nil {
		return err
	}
	api.CallerOf(r.Context()).Principal = who // for the log
	if _, err = web.act(w, r, who); errors.Is(err, errAccountLost) {
		return nil
	}
	return err
}

// startAtWork makes the browser act for the organization of a person who signed in and has no warranties of their own.
func (web *Web) startAtWork(w http.ResponseWriter, r *http.Request) error {
	if _, err := r.Cookie(web.accountCookie()); err == nil {
		return nil // they chose an account before
	}
	who := api.CallerOf(r.Context()).Principal
	own, err := web.Service.ListWarranties(r.Context(), who, warranty.ListWarranties{Paging: warranty.Paging{Page: 1, Limit: 1}})
	if err != nil || own.Pagination.Total > 0 {
		return err
	}
	accounts, err := web.Service.Accounts(r.Context(), who)
	if err != nil {
		return err
	}
	for _, a := range accounts {
		if a.Kind == warranty.OrganizationKind {
			web.setAccount(w, warranty.Principal{User: who.User, Account: a.Acting})
			return nil
		}
	}
	return nil
}

// mailSignInCode emails a sign-in code. The response does not reveal whether the address
// has an account.
func (web *Web) mailSignInCode(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.RequestSignInCode, warranty.None]{
		op: api.RequestSignInCode,
		do: web.Service.RequestSignInCode,
		again: func(w http.ResponseWriter, r *http.Request, _ warranty.Principal, f form) error {
			return web.showSignIn(w, r, "", sentSignIn(f, false))
		},
		done: func(f form, _ warranty.None) error {
			f.removePasswords()
			return web.showSignIn(w, r, "sign_in.mailed", sentSignIn(f, true))
		},
	})
}

// signInCode shows the sign-in form for an emailed code.
func (web *Web) signInCode(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	next := nextOf(r.URL.Query().Get("next"))
	if who.Credential == warranty.BySession {
		return redirect(w, r, next)
	}
	return web.showSignIn(w, r, "", signInPage{Next: next, ByCode: true})
}

// signInByPassword shows the sign-in form for a password instead of a code. It keeps the form that the person sent
// before.
func (web *Web) signInByPassword(w http.ResponseWriter, r *http.Request, _ warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	f.removePasswords()
	return web.showSignIn(w, r, "", sentSignIn(f, false))
}

func (web *Web) doSignOut(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	_, err := web.Service.SignOut(r.Context(), who, warranty.SignOut{})
	web.clearCookie(w)
	web.clearAccount(w)
	if err != nil {
		return err
	}
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	return redirect(w, r, "/sign-in"+withNext(nextOf(f.Value("next"))))
}

func (web *Web) register(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	next := nextOf(r.URL.Query().Get("next"))
	if who.Credential == warranty.BySession {
		return redirect(w, r, next)
	}
	return web.showRegister(w, r, who, form{Values: url.Values{"next": {next}}})
}

func (web *Web) showRegister(w http.ResponseWriter, r *http.Request, _ warranty.Principal, f form) error {
	body := signInPage{form: f, Next: nextOf(f.Value("next"))}
	return web.show(w, r, f.status, "register", view.Page{Title: web.t(r, "register.title"), Body: body})
}

// doRegister creates an account, signs in and leads to the verification of the address.
func (web *Web) doRegister(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	who = withDevice(who)
	return submit(web, w, r, who, action[warranty.Register, warranty.Session]{
		op:    api.Register,
		do:    web.Service.Register,
		again: web.showRegister,
		done: func(f form, session warranty.Session) error {
			web.startSession(w, r, who, session)
			if err := web.keepAccount(w, r, session); err != nil {
				return err
			}
			return redirect(w, r, "/verify-email"+withNext(nextOf(f.Value("next"))))
		},
	})
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
	return web.showVerifyEmail(w, r, who, form{Values: url.Values{"next": {r.URL.Query().Get("next")}}})
}

func (web *Web) showVerifyEmail(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
	return web.show(w, r, f.status, "verify-email", view.Page{
		Title: web.t(r, "verify_email.title"),
		Nav:   "settings",
		Who:   who,
		Flash: view.Flash(r),
		Body:  signInPage{form: f, Next: nextOf(f.Value("next"))},
	})
}

func (web *Web) doVerifyEmail(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.VerifyEmail, warranty.User]{
		op:    api.VerifyEmail,
		do:    web.Service.VerifyEmail,
		again: web.showVerifyEmail,
		next: func(f form, _ warranty.User) string {
			if next := nextOf(f.Value("next")); next != "/" {
				return next
			}
			return "/?done=verified"
		},
	})
}

func (web *Web) resendVerification(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.SendVerification, warranty.None]{
		op:    api.SendVerification,
		do:    web.Service.SendVerification,
		again: web.showVerifyEmail,
		next: func(f form, _ warranty.None) string {
			return doneWithNext("/verify-email", "mailed", nextOf(f.Value("next")))
		},
	})
}

// resetKept is how long the browser remembers where a person came from, like the code in the email.
const resetKept = warranty.ResetLifetime

// nextCookie returns the name of the cookie with the page that the person who resets a password came for. The link in the
// email does not have it: whoever asks for the reset would choose a part of an email to someone else.
func (web *Web) nextCookie() string {
	return strings.Replace(web.cookieName(), "session", "next", 1)
}

// keepNext remembers where the person goes after the reset, or forgets an earlier one.
func (web *Web) keepNext(w http.ResponseWriter, r *http.Request, next string) {
	const most = 3000 // browsers drop cookies of 4 KiB
	value := url.QueryEscape(next)
	_, err := r.Cookie(web.nextCookie())
	switch {
	case next != "/" && len(value) <= most:
		web.setHostCookie(w, web.nextCookie(), value, web.Service.Now().Add(resetKept))
	case err == nil:
		web.setHostCookie(w, web.nextCookie(), "", time.Unix(1, 0))
	}
}

// keptNext returns where the person goes after the reset: what the link says, or what the browser remembers.
func (web *Web) keptNext(r *http.Request) string {
	next := r.URL.Query().Get("next")
	if cookie, err := r.Cookie(web.nextCookie()); next == "" && err == nil {
		next, _ = url.QueryUnescape(cookie.Value) // what is not valid leads to the overview
	}
	return nextOf(next)
}

// reset shows the form that asks for a reset code.
func (web *Web) reset(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.showReset(w, r, who, form{Values: url.Values{"next": {r.URL.Query().Get("next")}}})
}

func (web *Web) showReset(w http.ResponseWriter, r *http.Request, _ warranty.Principal, f form) error {
	body := signInPage{form: f, Next: nextOf(f.Value("next"))}
	return web.show(w, r, f.status, "reset-password", view.Page{Title: web.t(r, "reset.title"), Body: body})
}

// resetPassword emails a reset code. The response does not reveal whether the address
// has an account.
func (web *Web) resetPassword(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.RequestPasswordReset, warranty.None]{
		op:    api.RequestPasswordReset,
		do:    web.Service.RequestPasswordReset,
		again: web.showReset,
		next: func(f form, _ warranty.None) string {
			next := nextOf(f.Value("next"))
			web.keepNext(w, r, next)
			return doneWithNext("/reset-password/confirm", "mailed", next)
		},
	})
}

// doneWithNext returns the address of a page with a message that carries next.
func doneWithNext(path, done, next string) string {
	query := url.Values{"done": {done}}
	if next != "/" {
		query.Set("next", next)
	}
	return path + "?" + query.Encode()
}

// newPassword shows the form for the emailed reset code.
func (web *Web) newPassword(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.showConfirmReset(w, r, who, form{Values: url.Values{"next": {web.keptNext(r)}}})
}

func (web *Web) showConfirmReset(w http.ResponseWriter, r *http.Request, _ warranty.Principal, f form) error {
	body := signInPage{form: f, Next: nextOf(f.Value("next"))}
	v := view.Page{Title: web.t(r, "reset.confirm"), Flash: view.Flash(r), Body: body}
	return web.show(w, r, f.status, "reset-password-confirm", v)
}

func (web *Web) confirmReset(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.ResetPassword, warranty.None]{
		op:    api.ResetPassword,
		do:    web.Service.ResetPassword,
		again: web.showConfirmReset,
		done: func(f form, _ warranty.None) error {
			web.clearCookie(w) // the reset has ended all sessions
			web.clearAccount(w)
			web.keepNext(w, r, "/")
			return redirect(w, r, doneWithNext("/sign-in", "password", nextOf(f.Value("next"))))
		},
	})
}
