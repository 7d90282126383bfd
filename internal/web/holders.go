package web

import (
	"context"
	"net/http"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

const (
	addressPath = "/settings/security/address"
	deletePath  = "/settings/profile/delete"
	// restoreForm is where a person who signs in takes back the deletion of the account.
	restoreForm = "/sign-in/restore"
)

// addressPage is the page of a new address: first the address, then the code.
type addressPage struct {
	form
	Code form
	Sent bool
}

func (web *Web) changeAddress(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.showAddress(w, r, who, http.StatusOK, view.Flash(r), addressPage{Sent: r.URL.Query().Has("code")})
}

func (web *Web) showAddress(
	w http.ResponseWriter, r *http.Request, who warranty.Principal, status int, flash string, p addressPage,
) error {
	v := view.Page{Title: web.t(r, "address.title"), Nav: "settings", Who: who, Flash: flash, Body: p}
	return web.show(w, r, status, "account-address", v)
}

// mailAddressCode emails a code to the new address.
func (web *Web) mailAddressCode(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.ChangeEmail, warranty.None]{
		op: api.ChangeEmail,
		do: web.Service.ChangeEmail,
		again: func(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
			return web.showAddress(w, r, who, f.status, "", addressPage{form: f})
		},
		next: func(form, warranty.None) string { return addressPath + "?code&done=code_sent" },
	})
}

// confirmAddress changes the address, which ends all other sessions and gives this browser's another secret.
func (web *Web) confirmAddress(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.ConfirmEmail, warranty.Session]{
		op: api.ConfirmEmail,
		do: web.Service.ConfirmEmail,
		again: func(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
			return web.showAddress(w, r, who, f.status, "", addressPage{Code: f, Sent: true})
		},
		done: func(_ form, session warranty.Session) error {
			web.setCookie(w, session.AccessToken, session.ExpiresAt)
			return redirect(w, r, securityPath+"?done=address")
		},
	})
}

// deleteAccount is the page before an account is deleted.
func (web *Web) deleteAccount(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.showDelete(w, r, who, form{status: http.StatusOK})
}

func (web *Web) showDelete(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
	v := view.Page{Title: web.t(r, "delete_account.title"), Nav: "settings", Who: who, Body: f}
	return web.show(w, r, f.status, "account-delete", v)
}

// doDeleteAccount deletes the account and signs out.
func (web *Web) doDeleteAccount(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.DeleteAccount, warranty.DeletedAccount]{
		op:    api.DeleteAccount,
		do:    web.Service.DeleteAccount,
		again: web.showDelete,
		done: func(form, warranty.DeletedAccount) error {
			web.clearCookie(w)
			web.clearAccount(w)
			return redirect(w, r, "/sign-in?done=account_deleted")
		},
	})
}

// restorePage offers a person who signed in to a deleted account to restore it.
type restorePage struct {
	signInPage
	Flow string // what continues the sign-in in this browser
}

// askToRestore shows that page.
func (web *Web) askToRestore(
	w http.ResponseWriter, r *http.Request, who warranty.Principal, step *warranty.SecondStep, body signInPage,
) error {
	web.setBrowser(w, who)
	body.form = form{Values: body.Values, Wrong: body.Wrong, status: http.StatusForbidden}
	return web.showRestore(w, r, restorePage{signInPage: body, Flow: step.Flow})
}

func (web *Web) showRestore(w http.ResponseWriter, r *http.Request, body restorePage) error {
	v := view.Page{Title: web.t(r, "restore.title"), Holds: body.Draft != nil, NoIndex: true, Body: body}
	return web.show(w, r, body.status, "restore", v)
}

// restoreAccount takes back the deletion of an account and signs in.
func (web *Web) restoreAccount(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	who = withDevice(who)
	return submit(web, w, r, who, action[warranty.RestoreAccount, warranty.Session]{
		op: api.RestoreAccount,
		do: web.Service.RestoreAccount,
		again: func(w http.ResponseWriter, r *http.Request, _ warranty.Principal, f form) error {
			body := sentSignIn(f, false)
			if warranty.AsError(f.err).Code == warranty.InvalidCredential { // it has ended: begin again
				return web.showSignIn(w, r, "", body)
			}
			return web.showRestore(w, r, restorePage{signInPage: body, Flow: f.Value("flow")})
		},
		done: func(f form, session warranty.Session) error { return web.begin(w, r, who, f, session) },
	})
}

// notMe asks before it ends what someone else may use, because programs that scan emails follow links.
func (web *Web) notMe(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.showNotMe(w, r, who, http.StatusOK, stopPage{})
}

func (web *Web) showNotMe(w http.ResponseWriter, r *http.Request, who warranty.Principal, status int, p stopPage) error {
	p.Token = r.PathValue("token")
	v := view.Page{Title: web.t(r, "not_me.title"), Who: who, NoIndex: true, Body: p}
	return web.show(w, r, status, "not-me", v)
}

// doNotMe needs no session: the token in the path says whose account it is.
func (web *Web) doNotMe(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.NotMe, warranty.None]{
		op: api.NotMe,
		do: func(ctx context.Context, who warranty.Principal, in warranty.NotMe) (warranty.None, error) {
			in.Code = r.PathValue("token")
			return web.Service.NotMe(ctx, who, in)
		},
		again: func(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
			if f.Errors["code"] != "" {
				f.Wrong = web.t(r, "not_me.used")
			}
			return web.showNotMe(w, r, who, f.status, stopPage{form: f})
		},
		done: func(form, warranty.None) error { return web.showNotMe(w, r, who, http.StatusOK, stopPage{Done: true}) },
	})
}
