package warranty

import (
	"errors"
	"slices"
	"time"
)

// Locale is the language and the time zone in which a person reads pages. An empty field means
// automatic: that of the browser.
type Locale struct {
	Language string // one of Languages
	Zone     string // a name of the IANA time zone database
}

// Or returns the locale with empty fields taken from another one.
func (l Locale) Or(other Locale) Locale {
	if l.Language == "" {
		l.Language = other.Language
	}
	if l.Zone == "" {
		l.Zone = other.Zone
	}
	return l
}

// Languages returns the languages of pages. The first one is for readers of other languages.
func Languages() []string { return []string{"en", "de", "es", "fr"} }

// maxZoneName is longer than any name in the IANA time zone database.
const maxZoneName = 64

var errZone = errors.New("unknown time zone")

// CheckZone returns an error unless name is in the IANA time zone database.
func CheckZone(name string) error {
	if name == "" || name == "Local" || len(name) > maxZoneName {
		return errZone
	}
	_, err := time.LoadLocation(name)
	return err
}

// KnownLanguage reports whether pages exist in a language.
func KnownLanguage(name string) bool { return slices.Contains(Languages(), name) }
