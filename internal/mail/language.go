package mail

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/language"

	"warranty.example/svc/internal/plural"
	"warranty.example/svc/warranty"
)

//go:embed text/*.json
var textFiles embed.FS

// Texts writes emails in a language, with times in a time zone.
type Texts struct {
	catalogue
	language, zone string
}

// In returns the texts for a reader. Empty and unknown values mean English and UTC.
func In(reader warranty.Locale) Texts {
	lang := reader.Language
	if !warranty.KnownLanguage(lang) {
		lang = warranty.Languages()[0]
	}
	return Texts{catalogues()[lang], lang, reader.Zone}
}

// local returns a time in the reader's zone.
func (t Texts) local(at time.Time) time.Time {
	if warranty.CheckZone(t.zone) == nil {
		if zone, err := time.LoadLocation(t.zone); err == nil {
			return at.In(zone)
		}
	}
	return at.UTC()
}

// catalogue has the texts of a language by key.
type catalogue struct {
	tag   language.Tag
	texts map[string]text
}

// text is written as a string or as a list of lines.
type text string

// UnmarshalJSON decodes either form.
func (t *text) UnmarshalJSON(b []byte) error {
	var lines []string
	if err := json.Unmarshal(b, &lines); err == nil {
		*t = text(strings.Join(lines, "\n"))
		return nil
	}
	return json.Unmarshal(b, (*string)(t))
}

// catalogues reads the texts of all languages, which are part of the program.
var catalogues = sync.OnceValue(func() map[string]catalogue {
	all := map[string]catalogue{}
	for _, lang := range warranty.Languages() {
		c := catalogue{tag: language.Make(lang)}
		raw, err := textFiles.ReadFile("text/" + lang + ".json")
		if err == nil {
			err = json.Unmarshal(raw, &c.texts)
		}
		if err != nil {
			panic(fmt.Sprintf("mail: texts of %s: %v", lang, err))
		}
		all[lang] = c
	}
	return all
})

func (c catalogue) has(key string) bool {
	_, ok := c.texts[key]
	return ok
}

// get returns the text of a key, formatted with args, in the form for the first number among them.
func (c catalogue) get(key string, args ...any) string {
	text := string(c.texts[plural.Key(c.tag, key, args, c.has)])
	if len(args) == 0 {
		return text
	}
	return fmt.Sprintf(text, args...)
}

// message returns the email with a name in the catalogue.
func (t Texts) message(name, to, code string, args ...any) Message {
	return Message{
		To:       to,
		Code:     code,
		Subject:  t.get(name + ".subject"),
		Text:     t.get(name+".text", args...),
		Language: t.language,
	}
}

// greeting addresses the reader by name, unless the name looks like a message or a
// link. Anyone can register any address under any name, and the service must not
// deliver their advertising.
func (t Texts) greeting(name string) string {
	if name = plainOr(name, ""); name == "" {
		return t.get("hello")
	}
	return t.get("hello_name", name)
}

// plain returns a text of a user if it is safe to put into an email, and otherwise the text of a key.
func (t Texts) plain(text, key string) string { return plainOr(text, t.get(key)) }

// date formats a day as "30 Nov 2026".
func (t Texts) date(day time.Time) string { return t.dateIn("format.date", day, day.Year()) }

// shortDate formats a day as "30 Nov", for subjects.
func (t Texts) shortDate(day time.Time) string { return t.dateIn("format.short_date", day) }

func (t Texts) dateIn(key string, day time.Time, year ...any) string {
	months := strings.Fields(t.get("format.months"))
	return t.get(key, append([]any{day.Day(), months[day.Month()-1]}, year...)...)
}

// clock formats the time of day of a time in the reader's zone as "14:05 UTC".
func (t Texts) clock(at time.Time) string {
	at = t.local(at)
	name := at.Format("MST")
	if own := t.get("zone." + name); own != "" {
		name = own
	}
	return at.Format("15:04 ") + name
}

// WithUnsubscribe returns a message with an address that turns emails like it off, in the headers and in the last
// lines of the text.
func (t Texts) WithUnsubscribe(m Message, address string) Message {
	m.Unsubscribe = address
	m.Text += t.get("unsubscribe", address)
	return m
}
