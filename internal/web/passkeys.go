package web

import (
	"net/http"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// The forms that take the answers of passkeys. The script passkey.js sends them.
const (
	passkeySignIn     = "/sign-in/passkey"
	passkeySecondStep = secondStepForm + "/passkey"
	passkeyConfirm    = confirmPath + "/passkey"
	passkeysPath      = securityPath + "/passkeys"
)

// passkeyUse is a button that uses a passkey.
type passkeyUse struct {
	Options string // for the browser, in JSON
	Action  string // where the answer is sent
	// Conditional means that the browser can offer passkeys in a field of the page.
	Conditional bool
}

// useOf returns a button, or nil without options.
func useOf(options, action string) *passkeyUse {
	if options == "" {
		return nil
	}
	return &passkeyUse{Options: options, Action: action}
}

// keepBrowser returns who with an id of the browser, to which what is begun on this page is bound, and keeps it in its
// cookie.
func (web *Web) keepBrowser(w http.ResponseWriter, who warranty.Principal) warranty.Principal {
	if web.Service.Passkeys == nil {
		return who
	}
	who = withDevice(who)
	web.setBrowser(w, who)
	return who
}

// signInPasskey returns the button of the sign-in page.
func (web *Web) signInPasskey(w http.ResponseWriter, r *http.Request) (*passkeyUse, error) {
	who, err := web.sessionPrincipal(r, "")
	if err != nil {
		return nil, err
	}
	options, err := web.Service.PasskeySignIn(web.keepBrowser(w, who))
	use := useOf(options, passkeySignIn)
	if use != nil {
		use.Conditional = true
	}
	return use, err
}

// doPasskeySignIn signs a person in with a passkey.
func (web *Web) doPasskeySignIn(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	who = withDevice(who)
	session, err := web.Service.SignInByPasskey(r.Context(), who, f.Value("passkey"))
	if err == nil {
		return web.begin(w, r, who, f, session)
	}
	if !web.setPasskeyError(w, r, &f, err) {
		return err
	}
	if step := secondStepOf(err); step != nil {
		return web.continueSignIn(w, r, who, step, sentSignIn(f, false))
	}
	return web.showSignIn(w, r, "", sentSignIn(f, false))
}

// setPasskeyError is setErrors. A form with the answer of a passkey has the status of its error.
func (web *Web) setPasskeyError(w http.ResponseWriter, r *http.Request, f *form, err error) bool {
	again := web.setErrors(w, r, f, err)
	if code := warranty.AsError(err).Code; code == warranty.InvalidCredential {
		f.status = code.Info().Status
	}
	return again
}

// doPasskeySecondStep completes a sign-in with a passkey, or shows its page again.
func (web *Web) doPasskeySecondStep(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	who = withDevice(who)
	session, err := web.Service.SecondStepByPasskey(r.Context(), who, f.Value("flow"), f.Value("passkey"))
	if err == nil {
		return web.begin(w, r, who, f, session)
	}
	if !web.setPasskeyError(w, r, &f, err) {
		return err
	}
	if step := secondStepOf(err); step != nil {
		return web.continueSignIn(w, r, who, step, sentSignIn(f, false))
	}
	return web.againSecondStep(w, r, who, f)
}

// doPasskeyConfirm confirms the session with a passkey, and performs the form that asked for it.
func (web *Web) doPasskeyConfirm(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	session, err := web.Service.ConfirmByPasskey(r.Context(), who, f.Value("passkey"))
	if err == nil {
		return web.goOn(w, r, f, session)
	}
	if !web.setPasskeyError(w, r, &f, err) {
		return err
	}
	return web.showConfirm(w, r, who, f.status, "", sentConfirm(f))
}

// passkeyRow is a passkey as it is shown.
type passkeyRow struct {
	warranty.AccountPasskey
	Added string // the date
	Used  string // time since the last use, or ""
}

func (web *Web) passkeyRows(r *http.Request, who warranty.Principal) (rows []passkeyRow, err error) {
	list, err := web.Service.ListPasskeys(r.Context(), who, warranty.ListPasskeys{})
	words := web.reader(r)
	for _, p := range list.Passkeys {
		row := passkeyRow{AccountPasskey: p, Added: words.Day(words.Zone, p.CreatedAt)}
		if p.LastUsedAt != nil {
			row.Used = web.ago(words, *p.LastUsedAt)
		}
		rows = append(rows, row)
	}
	return rows, err
}

// newPasskeyPage adds a passkey.
type newPasskeyPage struct {
	form
	Options, Handle string
}

func (web *Web) newPasskey(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.showNewPasskey(w, r, who, form{})
}

func (web *Web) showNewPasskey(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
	made, err := web.Service.NewPasskey(r.Context(), web.keepBrowser(w, who))
	if err != nil {
		return err
	}
	if f.Values == nil {
		f.Values = map[string][]string{"name": {made.Name}}
	}
	return web.show(w, r, f.status, "passkey-new", view.Page{
		Title: web.t(r, "passkeys.add"), Nav: "settings", Who: who, Body: newPasskeyPage{f, made.Options, made.Handle},
	})
}

// addPasskey adds the passkey that the browser made.
func (web *Web) addPasskey(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	err = web.Service.AddPasskey(r.Context(), who, warranty.AddPasskey{
		Answer: f.Value("passkey"), Handle: f.Value("handle"), Name: f.Value("name"), EndOthers: f.Has("end_others", "true"),
	})
	if err == nil {
		return redirect(w, r, securityPath+"?done=passkey_added")
	}
	if !web.setPasskeyError(w, r, &f, err) {
		return err
	}
	return web.showNewPasskey(w, r, who, f)
}

// passkeyPage renames or removes a passkey.
type passkeyPage struct {
	form
	passkeyRow
}

func (web *Web) passkey(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.showPasskey(w, r, who, form{})
}

func (web *Web) showPasskey(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
	rows, err := web.passkeyRows(r, who)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.ID.String() != r.PathValue("id") {
			continue
		}
		if f.Values == nil {
			f.Values = map[string][]string{"name": {row.Name}}
		}
		v := view.Page{Title: web.t(r, "passkeys.title"), Nav: "settings", Who: who, Body: passkeyPage{f, row}}
		return web.show(w, r, f.status, "passkey", v)
	}
	return warranty.ErrNotFound
}

func (web *Web) renamePasskey(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.RenamePasskey, warranty.AccountPasskey]{
		op:    api.RenamePasskey,
		do:    web.Service.RenamePasskey,
		again: web.showPasskey,
		next: func(form, warranty.AccountPasskey) string {
			return securityPath + "?done=passkey_renamed"
		},
	})
}

func (web *Web) removePasskey(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.RemovePasskey, warranty.None]{
		op: api.RemovePasskey,
		do: web.Service.RemovePasskey,
		again: func(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
			f.Values = nil
			return web.showPasskey(w, r, who, f)
		},
		next: func(form, warranty.None) string { return securityPath + "?done=passkey_removed" },
	})
}
