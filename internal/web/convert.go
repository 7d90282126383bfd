package web

import (
	"context"
	"net/http"
	"net/url"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// convertPage is the page /settings/convert: first the names, the address and the password, then the code.
type convertPage struct {
	form
	Code form
	Sent bool
	// HasPassword means that the person proves who they are with the password, and otherwise with an emailed code.
	HasPassword bool
}

func (web *Web) convert(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	p := convertPage{Sent: r.URL.Query().Has("code"), form: form{Values: url.Values{"organization_name": {who.User.Name}}}}
	return web.showConvert(w, r, who, http.StatusOK, view.Flash(r), p)
}

func (web *Web) showConvert(
	w http.ResponseWriter, r *http.Request, who warranty.Principal, status int, flash string, p convertPage,
) (err error) {
	if p.HasPassword, err = web.Service.HasPassword(r.Context(), who); err != nil {
		return err
	}
	v := view.Page{Title: web.t(r, "convert.title"), Nav: "settings", Who: who, Flash: flash, Body: p}
	return web.show(w, r, status, "convert", v)
}

// convertAccount emails the code that makes the person's account an organization.
func (web *Web) convertAccount(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.ConvertAccount, warranty.None]{
		op: api.ConvertAccount,
		do: web.Service.ConvertAccount,
		again: func(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
			if warranty.AsError(f.err).Code == warranty.InvalidCredential {
				f.Errors, f.Wrong = map[string]string{"password": f.Wrong}, ""
			}
			return web.showConvert(w, r, who, f.status, "", convertPage{form: f})
		},
		next: func(form, warranty.None) string { return "/settings/convert?code&done=code_sent" },
	})
}

// mailConvertCode emails a code to a person without a password. The form keeps what was typed.
func (web *Web) mailConvertCode(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	f.removePasswords()
	in := warranty.RequestSignInCode{Email: who.User.Email}
	if _, err := web.Service.RequestSignInCode(r.Context(), who, in); err != nil {
		return err
	}
	return web.showConvert(w, r, who, http.StatusOK, "done.code_sent", convertPage{form: f})
}

// confirmConversion makes the account an organization. The session continues as that of its admin.
func (web *Web) confirmConversion(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.ConfirmConversion, warranty.Organization]{
		op: api.ConfirmConversion,
		do: web.Service.ConfirmConversion,
		again: func(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
			return web.showConvert(w, r, who, f.status, "", convertPage{Code: f, Sent: true})
		},
		done: func(_ form, o warranty.Organization) error {
			acting := warranty.Acting{ID: o.ID, Name: o.Name, Kind: warranty.OrganizationKind, Role: o.Role}
			web.setAccount(w, warranty.Principal{Account: acting})
			return redirect(w, r, "/settings/members?done=converted")
		},
	})
}

// stopPage is the page of the link that stops a conversion.
type stopPage struct {
	form
	Token string // from the link
	Done  bool
}

// stopConversion asks before it stops a conversion, because programs that scan emails follow links.
func (web *Web) stopConversion(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.showStop(w, r, who, http.StatusOK, stopPage{})
}

func (web *Web) showStop(w http.ResponseWriter, r *http.Request, who warranty.Principal, status int, p stopPage) error {
	p.Token = r.PathValue("token")
	v := view.Page{Title: web.t(r, "stop.title"), Who: who, NoIndex: true, Body: p}
	return web.show(w, r, status, "stop-conversion", v)
}

// doStopConversion stops a conversion. It needs no session: the token in the path says which.
func (web *Web) doStopConversion(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.CancelConversion, warranty.None]{
		op: api.CancelConversion,
		do: func(ctx context.Context, who warranty.Principal, in warranty.CancelConversion) (warranty.None, error) {
			in.Code = r.PathValue("token")
			return web.Service.CancelConversion(ctx, who, in)
		},
		again: func(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
			if wrong := f.Errors["code"]; wrong != "" {
				f.Wrong = wrong
			}
			return web.showStop(w, r, who, f.status, stopPage{form: f})
		},
		done: func(form, warranty.None) error { return web.showStop(w, r, who, http.StatusOK, stopPage{Done: true}) },
	})
}
