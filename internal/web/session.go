package web

import (
	"crypto/rand"
	"net/http"
	"strings"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// cookieName returns the name of the session cookie. Over https it has the __Host-
// prefix, which binds the cookie to this host.
func (web *Web) cookieName() string {
	if strings.HasPrefix(web.PublicURL, "https://") {
		return "__Host-svc_session"
	}
	return "svc_session"
}

// setCookie sets the session cookie. It outlives the session by a day, so that the files of a form that is sent too late
// are kept for its person; see readLate.
func (web *Web) setCookie(w http.ResponseWriter, secret string, expires time.Time) {
	web.setHostCookie(w, web.cookieName(), secret, expires.Add(24*time.Hour))
}

func (web *Web) clearCookie(w http.ResponseWriter) {
	web.setHostCookie(w, web.cookieName(), "", time.Unix(1, 0))
}

// principal returns the person of the session cookie, acting for the account that they chose, or an
// anonymous principal without a valid session.
func (web *Web) principal(w http.ResponseWriter, r *http.Request) (warranty.Principal, error) {
	cookie, err := r.Cookie(web.cookieName())
	if err != nil {
		return web.sessionPrincipal(r, "")
	}
	who, err := web.sessionPrincipal(r, cookie.Value)
	if err != nil || who.Credential == warranty.Anonymous {
		return who, err
	}
	return web.act(w, r, who)
}

// sessionPrincipal returns the user of a session, or an anonymous principal if the
// session is not valid.
func (web *Web) sessionPrincipal(r *http.Request, secret string) (warranty.Principal, error) {
	anonymous := warranty.Principal{
		Address:   api.CallerOf(r.Context()).Address,
		Door:      warranty.DoorWeb,
		UserAgent: r.UserAgent(),
	}
	if cookie, err := r.Cookie(web.deviceCookie()); err == nil && len(cookie.Value) <= 64 {
		anonymous.Device = cookie.Value
	}
	if cookie, err := r.Cookie(web.browserCookie()); err == nil && len(cookie.Value) <= 64 {
		anonymous.Browser = cookie.Value
	}
	if secret == "" {
		return anonymous, nil
	}
	who, err := web.Service.Authenticate(r.Context(), secret, false)
	if err != nil && warranty.AsError(err).Code.Info().Status == http.StatusUnauthorized {
		return anonymous, nil
	}
	if who.Credential != warranty.BySession {
		return anonymous, err
	}
	who.Address, who.Door = anonymous.Address, anonymous.Door
	who.UserAgent, who.Device, who.Browser = anonymous.UserAgent, anonymous.Device, anonymous.Browser
	return who, err
}

// deviceCookie returns the name of the cookie that identifies a known browser. It
// outlives sessions and grants no access.
func (web *Web) deviceCookie() string {
	return strings.Replace(web.cookieName(), "session", "device", 1)
}

// withDevice returns who with a new device id, and a new id of the browser for its flows, if it has none.
func withDevice(who warranty.Principal) warranty.Principal {
	if who.Device == "" {
		who.Device = rand.Text()
	}
	if who.Browser == "" {
		who.Browser = rand.Text()
	}
	return who
}

// browserCookie returns the name of the cookie to which sign-ins that are not complete are bound.
func (web *Web) browserCookie() string {
	return strings.Replace(web.cookieName(), "session", "flow", 1)
}

// setBrowser binds what is begun now to the browser. The cookie outlives every flow.
func (web *Web) setBrowser(w http.ResponseWriter, who warranty.Principal) {
	web.setHostCookie(w, web.browserCookie(), who.Browser, web.Service.Now().Add(time.Hour))
}

// clearBrowser forgets what the browser began.
func (web *Web) clearBrowser(w http.ResponseWriter, r *http.Request) {
	if _, err := r.Cookie(web.browserCookie()); err == nil {
		web.setHostCookie(w, web.browserCookie(), "", time.Unix(1, 0))
	}
}

// setDevice sets the device cookie.
func (web *Web) setDevice(w http.ResponseWriter, who warranty.Principal) {
	web.setHostCookie(w, web.deviceCookie(), who.Device, web.Service.Now().Add(warranty.DeviceLifetime))
}

func (web *Web) setHostCookie(w http.ResponseWriter, name, value string, expires time.Time) {
	http.SetCookie(w, &http.Cookie{
		Name:     name,
		Value:    value,
		Path:     "/",
		Expires:  expires,
		HttpOnly: true,
		SameSite: http.SameSiteLaxMode,
		Secure:   strings.HasPrefix(web.PublicURL, "https://"),
	})
}
