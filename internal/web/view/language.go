package view

import (
	"slices"
	"sync"
	"time"

	"golang.org/x/text/language"

	"warranty.example/svc/warranty"
)

// Reader is the language and the time zone in which a person reads a page.
type Reader struct {
	*Edition
	Zone *time.Location
}

// Locale returns the language and the time zone of the reader, for mails. UTC stands for an unknown zone.
func (r Reader) Locale() warranty.Locale {
	l := warranty.Locale{Language: r.Lang}
	if r.Zone != time.UTC {
		l.Zone = r.Zone.String()
	}
	return l
}

// LanguageChoice is a language with its own name.
type LanguageChoice struct{ Code, Name string }

// Languages returns the languages to choose from.
func (v *Views) Languages() (list []LanguageChoice) {
	for _, e := range v.editions {
		list = append(list, LanguageChoice{e.Lang, e.Text("language.name")})
	}
	return list
}

// CommonZones are suggested in the profile. Any other one can be typed.
var CommonZones = []string{
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

// ZoneOf returns the time zone with a name, or nil.
func ZoneOf(name string) *time.Location {
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

// Edition returns the web app in a language, or nil.
func (v *Views) Edition(lang string) *Edition {
	for _, e := range v.editions {
		if e.Lang == lang {
			return e
		}
	}
	return nil
}

// maxAcceptLanguage is the length up to which an Accept-Language header is read.
const maxAcceptLanguage = 256

// Accepted returns the edition that an Accept-Language header prefers.
func (v *Views) Accepted(header string) *Edition {
	if len(header) > maxAcceptLanguage {
		header = ""
	}
	wanted, _, _ := language.ParseAcceptLanguage(header) // none, if it is malformed
	_, index, _ := v.matcher.Match(wanted...)
	return v.editions[index]
}

// newMatcher returns a matcher whose indexes are those of the editions.
func newMatcher(editions []*Edition) language.Matcher {
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
