package web

import (
	"net/http"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

const securityPath = "/settings/security"

// securityPage is the page /settings/security: how the person signs in, and where they are signed in.
type securityPage struct {
	Email       string
	Verified    bool
	HasPassword bool
	Password    form
	Sessions    []sessionRow
	// Passkeys are those of the person, and CanAddPasskey means that there can be more.
	Passkeys      []passkeyRow
	CanAddPasskey bool
	warranty.Security
}

// sessionRow is a session as it is shown.
type sessionRow struct {
	warranty.AccountSession
	Device string // its program and system
	How    string // the person signed in
	Seen   string // time since the last use
}

func (web *Web) security(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return web.showSecurity(w, r, who, http.StatusOK, form{})
}

func (web *Web) showSecurity(
	w http.ResponseWriter, r *http.Request, who warranty.Principal, status int, password form,
) error {
	p := securityPage{Email: who.User.Email, Verified: who.User.EmailVerified, Password: password}
	var err error
	if p.HasPassword, err = web.Service.HasPassword(r.Context(), who); err != nil {
		return err
	}
	if p.Passkeys, err = web.passkeyRows(r, who); err != nil {
		return err
	}
	p.CanAddPasskey = web.Service.Passkeys != nil && len(p.Passkeys) < warranty.MaxPasskeys
	if p.Security, err = web.Service.GetSecurity(r.Context(), who, warranty.GetSecurity{}); err != nil {
		return err
	}
	list, err := web.Service.ListSessions(r.Context(), who, warranty.ListSessions{})
	if err != nil {
		return err
	}
	words := web.reader(r)
	for _, s := range list.Sessions {
		row := sessionRow{AccountSession: s, Device: words.Text("security.unknown"), Seen: web.ago(words, s.LastSeenAt)}
		switch {
		case s.Program != "" && s.System != "":
			row.Device = words.Text("security.on", s.Program, s.System)
		case s.Program != "":
			row.Device = s.Program
		}
		if s.Method != nil {
			row.How = words.Text("security.method." + string(*s.Method))
		}
		p.Sessions = append(p.Sessions, row)
	}
	v := view.Page{Title: words.Text("security.title"), Nav: "settings", Who: who, Flash: view.Flash(r), Body: p}
	return web.show(w, r, status, "security", v)
}

// toPassword redirects password managers to the form that changes the password.
func (web *Web) toPassword(w http.ResponseWriter, r *http.Request, _ warranty.Principal) error {
	return redirect(w, r, securityPath+"#password")
}

// changePassword ends all other sessions and gives this browser's another secret.
func (web *Web) changePassword(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.ChangePassword, warranty.Session]{
		op: api.ChangePassword,
		do: web.Service.ChangePassword,
		again: func(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
			if warranty.AsError(f.err).Code == warranty.InvalidCredential {
				f.Errors, f.Wrong = map[string]string{"current_password": f.Wrong}, ""
			}
			return web.showSecurity(w, r, who, f.status, f)
		},
		done: func(_ form, session warranty.Session) error {
			web.setCookie(w, session.AccessToken, session.ExpiresAt)
			return redirect(w, r, securityPath+"?done=password")
		},
	})
}

// endSession signs another device out.
func (web *Web) endSession(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return press(w, r, securityPath+"?done=session_ended", warranty.ParseID, func(id warranty.ID) error {
		if id == who.CredentialID {
			return warranty.ErrNotFound // the page has "Sign out" for this one, which also clears the cookies
		}
		_, err := web.Service.EndSession(r.Context(), who, warranty.EndSession{ID: id})
		return err
	})
}

// endOtherSessions signs all other devices out.
func (web *Web) endOtherSessions(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	if _, err := web.Service.EndOtherSessions(r.Context(), who, warranty.EndOtherSessions{Others: true}); err != nil {
		return err
	}
	return redirect(w, r, securityPath+"?done=sessions_ended")
}

func (web *Web) signOutEverywhere(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	if err := web.Service.SignOutEverywhere(r.Context(), who); err != nil {
		return err
	}
	web.clearCookie(w)
	web.clearAccount(w)
	return redirect(w, r, "/sign-in")
}
