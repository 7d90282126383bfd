package web

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/language"

	"warranty.example/svc/warranty"
)

// reader is the language and the time zone in which a person reads a page.
type reader struct {
	*edition
	zone *time.Location
}

type readerKey struct{}

// reader returns the reader of a request.
func (web *Web) reader(r *http.Request) reader {
	if known, ok := r.Context().Value(readerKey{}).(reader); ok {
		return known
	}
	return web.chooseReader(r, warranty.Locale{})
}

// read stores the reader of a request in its context, and in the principal for the mails that the request causes.
func (web *Web) read(r *http.Request, who warranty.Principal) (*http.Request, warranty.Principal) {
	reader := web.chooseReader(r, who.Locale)
	who.Locale = reader.locale()
	return r.WithContext(context.WithValue(r.Context(), readerKey{}, reader)), who
}

// t returns the text of a key in the language of the request's reader.
func (web *Web) t(r *http.Request, key string, args ...any) string {
	return web.reader(r).get(key, args...)
}

// chooseReader returns the reader of a request by a person with a choice. Without a choice, the language is
// that of the cookie or else the one that the browser prefers, and the time zone is that of the browser, which a
// script keeps in a cookie, or else UTC.
func (web *Web) chooseReader(r *http.Request, choice warranty.Locale) reader {
	name := choice.Language
	if cookie, err := r.Cookie(web.languageCookie()); name == "" && err == nil {
		name = cookie.Value
	}
	in := web.views.edition(name)
	if in == nil {
		in = web.views.accepted(r.Header.Get("Accept-Language"))
	}
	zone := zoneOf(choice.Zone)
	if cookie, err := r.Cookie(zoneCookie); zone == nil && err == nil {
		zone = zoneOf(cookie.Value)
	}
	if zone == nil {
		zone = time.UTC
	}
	return reader{in, zone}
}

// readerIn returns a reader of a language, for jobs. Their results name no times of day.
func (web *Web) readerIn(lang string) reader {
	in := web.views.edition(lang)
	if in == nil {
		in = web.views.editions[0]
	}
	return reader{in, time.UTC}
}

// locale returns the language and the time zone of the reader, for mails. UTC stands for an unknown zone.
func (r reader) locale() warranty.Locale {
	l := warranty.Locale{Language: r.Lang}
	if r.zone != time.UTC {
		l.Zone = r.zone.String()
	}
	return l
}

// languageCookie returns the name of the cookie with the language that was chosen without an account.
func (web *Web) languageCookie() string {
	return strings.Replace(web.cookieName(), "session", "language", 1)
}

// zoneCookie is the name of the cookie with the browser's time zone. A script sets it.
const zoneCookie = "svc_zone"

// zones caches time zones by name. Only existing ones are kept.
var zones sync.Map

// zoneOf returns the time zone with a name, or nil.
func zoneOf(name string) *time.Location {
	if known, ok := zones.Load(name); ok {
		return known.(*time.Location)
	}
	if warranty.CheckZone(name) != nil {
		return nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	zones.Store(name, zone)
	return zone
}

// edition returns the web app in a language, or nil.
func (v *views) edition(lang string) *edition {
	for _, e := range v.editions {
		if e.Lang == lang {
			return e
		}
	}
	return nil
}

// maxAcceptLanguage is the length up to which an Accept-Language header is read.
const maxAcceptLanguage = 256

// accepted returns the edition that an Accept-Language header prefers.
func (v *views) accepted(header string) *edition {
	if len(header) > maxAcceptLanguage {
		header = ""
	}
	wanted, _, _ := language.ParseAcceptLanguage(header) // none, if it is malformed
	_, index, _ := v.matcher.Match(wanted...)
	return v.editions[index]
}

// newMatcher returns a matcher whose indexes are those of the editions.
func newMatcher(editions []*edition) language.Matcher {
	tags := make([]language.Tag, len(editions))
	for i, e := range editions {
		tags[i] = e.tag
	}
	return language.NewMatcher(tags)
}

// directions of the languages that are written from right to left.
var rightToLeft = []string{"ar", "fa", "he", "ur"}

// direction returns the value of the attribute dir for a language.
func direction(lang string) string {
	if slices.Contains(rightToLeft, lang) {
		return "rtl"
	}
	return "ltr"
}
