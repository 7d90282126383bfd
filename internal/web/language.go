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

// locale returns the language and the time zone of the reader, for mails. UTC stands for an unknown zone.
func (r reader) locale() warranty.Locale {
	l := warranty.Locale{Language: r.Lang}
	if r.zone != time.UTC {
		l.Zone = r.zone.String()
	}
	return l
}

// languageChoice is a language with its own name.
type languageChoice struct{ Code, Name string }

func (web *Web) languageChoices() (list []languageChoice) {
	for _, e := range web.views.editions {
		list = append(list, languageChoice{e.Lang, e.get("language.name")})
	}
	return list
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

// commonZones are suggested in the profile. Any other one can be typed.
var commonZones = []string{
	"Africa/Cairo", "Africa/Johannesburg", "Africa/Lagos", "Africa/Nairobi", "America/Argentina/Buenos_Aires",
	"America/Bogota", "America/Chicago", "America/Denver", "America/Halifax", "America/Lima", "America/Los_Angeles",
	"America/Mexico_City", "America/New_York", "America/Phoenix", "America/Santiago", "America/Sao_Paulo",
	"America/Toronto", "America/Vancouver", "Asia/Bangkok", "Asia/Dhaka", "Asia/Dubai", "Asia/Ho_Chi_Minh",
	"Asia/Hong_Kong", "Asia/Istanbul", "Asia/Jakarta", "Asia/Jerusalem", "Asia/Karachi", "Asia/Kolkata", "Asia/Manila",
	"Asia/Riyadh", "Asia/Seoul", "Asia/Shanghai", "Asia/Singapore", "Asia/Taipei", "Asia/Tokyo", "Atlantic/Azores",
	"Australia/Adelaide", "Australia/Brisbane", "Australia/Perth", "Australia/Sydney", "Europe/Amsterdam",
	"Europe/Athens", "Europe/Berlin", "Europe/Brussels", "Europe/Bucharest", "Europe/Budapest", "Europe/Copenhagen",
	"Europe/Dublin", "Europe/Helsinki", "Europe/Istanbul", "Europe/Kyiv", "Europe/Lisbon", "Europe/London",
	"Europe/Luxembourg", "Europe/Madrid", "Europe/Oslo", "Europe/Paris", "Europe/Prague", "Europe/Rome",
	"Europe/Sofia", "Europe/Stockholm", "Europe/Vienna", "Europe/Warsaw", "Europe/Zurich", "Pacific/Auckland",
	"Pacific/Honolulu", "UTC",
}

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
