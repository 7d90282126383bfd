package web

import (
	"context"
	"net/http"
	"strings"
	"time"

	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

type readerKey struct{}

// reader returns the reader of a request.
func (web *Web) reader(r *http.Request) view.Reader {
	if known, ok := r.Context().Value(readerKey{}).(view.Reader); ok {
		return known
	}
	return web.chooseReader(r, warranty.Locale{})
}

// read stores the reader of a request in its context, and in the principal for the mails that the request causes.
func (web *Web) read(r *http.Request, who warranty.Principal) (*http.Request, warranty.Principal) {
	reader := web.chooseReader(r, who.Locale)
	who.Locale = reader.Locale()
	return r.WithContext(context.WithValue(r.Context(), readerKey{}, reader)), who
}

// t returns the text of a key in the language of the request's reader.
func (web *Web) t(r *http.Request, key string, args ...any) string {
	return web.reader(r).Text(key, args...)
}

// chooseReader returns the reader of a request by a person with a choice. Without a choice, the language is
// that of the cookie or else the one that the browser prefers, and the time zone is that of the browser, which a
// script keeps in a cookie, or else UTC.
func (web *Web) chooseReader(r *http.Request, choice warranty.Locale) view.Reader {
	name := choice.Language
	if cookie, err := r.Cookie(web.languageCookie()); name == "" && err == nil {
		name = cookie.Value
	}
	in := web.views.Edition(name)
	if in == nil {
		in = web.views.Accepted(r.Header.Get("Accept-Language"))
	}
	zone := view.ZoneOf(choice.Zone)
	if cookie, err := r.Cookie(zoneCookie); zone == nil && err == nil {
		zone = view.ZoneOf(cookie.Value)
	}
	if zone == nil {
		zone = time.UTC
	}
	return view.Reader{Edition: in, Zone: zone}
}

// setLanguage remembers the language that was chosen on a public page: in a cookie, and in the profile of a person
// who is signed in.
func (web *Web) setLanguage(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	lang := f.Value("language")
	if !warranty.KnownLanguage(lang) {
		return errForm
	}
	if who.Credential == warranty.BySession {
		if _, err := web.Service.UpdateAccount(r.Context(), who, warranty.UpdateAccount{Language: &lang}); err != nil {
			return err
		}
	}
	web.setHostCookie(w, web.languageCookie(), lang, web.Service.Now().Add(warranty.DeviceLifetime))
	return redirect(w, r, nextOf(f.Value("next")))
}

// languageCookie returns the name of the cookie with the language that was chosen without an account.
func (web *Web) languageCookie() string {
	return strings.Replace(web.cookieName(), "session", "language", 1)
}

// zoneCookie is the name of the cookie with the browser's time zone. A script sets it.
const zoneCookie = "svc_zone"
