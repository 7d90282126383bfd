package mail

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/language"

	"warranty.example/svc/internal/locales"
	"warranty.example/svc/internal/plural"
	"warranty.example/svc/warranty"
)

// Texts writes emails in a language, with times in a time zone.
type Texts struct {
	catalogue
	language, zone string
	notMe          string
}

// NotMe returns the texts with the code that notices have, with which their reader says that it was not them.
func (t Texts) NotMe(code string) Texts {
	t.notMe = code
	return t
}

// In returns the texts for a reader. Empty and unknown values mean English and UTC.
func In(reader warranty.Locale) Texts {
	lang := reader.Language
	if !warranty.KnownLanguage(lang) {
		lang = warranty.Languages()[0]
	}
	return Texts{catalogue: catalogues()[lang], language: lang, zone: reader.Zone}
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
		raw, err := locales.Mails.ReadFile(lang + "/mails.json")
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

// message returns the email with a name in the catalogue. Arguments that are blocks are put where they have a line of their
// own.
func (t Texts) message(name, to, code string, args ...any) Message {
	list := compose(string(t.texts[plural.Key(t.tag, name+".text", args, t.has)]), args)
	return Message{
		To:       to,
		Code:     code,
		Subject:  t.get(name + ".subject"),
		Text:     list.text(t.get("colon")),
		HTML:     list.html(),
		Language: t.language,
	}
}

// part returns the blocks of a text of the catalogue.
func (t Texts) part(key string, args ...any) blocks {
	return compose(string(t.texts[plural.Key(t.tag, key, args, t.has)]), args)
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

// Service is the name of the program, which emails have until the service has one of its own.
const Service = "Warranty Records"

// Links are the addresses in the last lines of an email; empty for those that it does not have.
type Links struct {
	Unsubscribe string // turns emails like it off, also in the headers
	Mute        string // turns the emails about its claim off
}

// Finish adds what is below an email, and the page around its HTML. Both are added when the email is sent: the links are
// not stored with it.
func (t Texts) Finish(m Message, l Links) Message {
	m.Unsubscribe = l.Unsubscribe
	var foot blocks
	if m.HTML != "" {
		note := t.say("footer.unread")
		if m.ReplyTo != "" {
			note = t.say("footer.reply_to", m.ReplyTo)
		}
		foot = append(foot, block{kind: paragraph, text: note})
	}
	if l.Mute != "" {
		foot = append(foot, block{kind: link, text: t.say("footer.mute"), url: l.Mute})
	}
	if l.Unsubscribe != "" {
		foot = append(foot, block{kind: link, text: t.say("footer.unsubscribe"), url: l.Unsubscribe})
	}
	if len(foot) == 0 {
		return m
	}
	m.Text += "\n" + foot.text(t.get("colon"))
	if m.HTML != "" {
		m.HTML = t.page(m, foot.html())
	}
	return m
}
