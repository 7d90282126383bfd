package view

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"warranty.example/svc/internal/locales"
	"warranty.example/svc/internal/plural"
	"warranty.example/svc/warranty"
)

// Texts holds the texts of the pages in one language, by key.
type Texts struct {
	Lang, Dir string // the values of the attributes lang and dir
	tag       language.Tag
	words     map[string]string
	printer   *message.Printer // formats numbers for the language
	// The names of the months: in dates, and standing alone.
	months, monthsAlone []string
	// messages are those of the service by their English format; see message.go.
	messages map[string]string
}

// newTexts reads the texts of a language.
func newTexts(lang string) (*Texts, error) {
	tag, err := language.Parse(lang)
	if err != nil {
		return nil, err
	}
	t := &Texts{Lang: lang, Dir: direction(lang), tag: tag, words: map[string]string{}, printer: message.NewPrinter(tag)}
	names, err := fs.Glob(locales.Pages, lang+"/pages/*.json")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		raw, err := locales.Pages.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var words map[string]string
		if err := json.Unmarshal(raw, &words); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for key, text := range words {
			if _, twice := t.words[key]; twice {
				return nil, fmt.Errorf("%s: duplicate text %q", name, key)
			}
			t.words[key] = text
		}
	}
	t.months, t.monthsAlone = strings.Fields(t.Text("format.months")), strings.Fields(t.Text("format.months_alone"))
	return t, t.readMessages()
}

// Text returns the text of a key, formatted with args, in the form for the first number among them. If the text is
// missing, it returns the key.
func (t *Texts) Text(key string, args ...any) string {
	text, ok := t.words[plural.Key(t.tag, key, args, t.has)]
	if !ok {
		return key
	}
	if len(args) == 0 {
		return text
	}
	return t.printer.Sprintf(text, args...)
}

func (t *Texts) has(key string) bool {
	_, ok := t.words[key]
	return ok
}

// Find returns the text of a key, if there is one.
func (t *Texts) Find(key string) (string, bool) {
	text, ok := t.words[key]
	return text, ok
}

// FieldName returns the name of a field of a sheet, or the name of a column as it is.
func (t *Texts) FieldName(field string) string {
	if text, ok := t.words["import_field."+field]; ok {
		return text
	}
	return field
}

// fieldLabel returns the label of a field in a form.
func (t *Texts) fieldLabel(field string) string {
	switch field {
	case "length":
		return t.Text("warranty.length")
	case "reason":
		return t.Text("warranty.reason")
	case "name":
		return t.Text("customers.name")
	case "email":
		return t.Text("account.email")
	case "phone":
		return t.Text("customer.phone")
	case "note":
		return t.Text("customer.note")
	case "color", "sender_name", "postal_address":
		return t.Text("change." + field)
	}
	return t.FieldName(field)
}

// Figure formats a number.
func (t *Texts) Figure(n int64) string { return t.printer.Sprint(n) }

// waiting formats a number of claims that wait, which are counted up to warranty.MaxWaiting.
func (t *Texts) waiting(n int64) string {
	if n >= warranty.MaxWaiting {
		return t.Figure(warranty.MaxWaiting-1) + "+"
	}
	return t.Figure(n)
}

// Span returns how long something took, in days, hours or minutes.
func (t *Texts) Span(d *time.Duration) string {
	switch days, hours := int(*d/(24*time.Hour)), int(*d/time.Hour); {
	case days > 0:
		return t.Text("span.days", days)
	case hours > 0:
		return t.Text("span.hours", hours)
	}
	return t.Text("span.minutes", max(1, int(*d/time.Minute)))
}

// Days returns the text for n days left.
func (t *Texts) Days(n *int) string {
	switch {
	case n == nil:
		return ""
	case *n == 0:
		return t.Text("days.last")
	case *n > 3*365:
		return t.Text("days.years", *n/365)
	case *n > 90:
		return t.Text("days.months", *n*12/365)
	}
	return t.Text("days", *n)
}

// Ago returns the text for a period that ended n days ago.
func (t *Texts) Ago(n int) string {
	switch {
	case n == 1:
		return t.Text("ago.day")
	case n > 3*365:
		return t.Text("ago.years", n/365)
	case n > 90:
		return t.Text("ago.months", n*12/365)
	}
	return t.Text("ago.days", n)
}

// left returns the text for the days left of a warranty, or since it ended.
func (t *Texts) left(w warranty.Warranty, today warranty.Date) string {
	switch ended := int(today - w.EndDate); {
	case w.Status != warranty.Expired:
		return t.Days(w.DaysRemaining)
	case ended == 1:
		return t.Text("days.ended_yesterday")
	case ended <= 90:
		return t.Text("days.ended", ended)
	}
	return ""
}

// Count returns a number for the beginning of a sentence: small numbers as words.
func (t *Texts) Count(n int64) string {
	if word, ok := t.words[fmt.Sprint("number.", n)]; ok {
		return word
	}
	return t.Figure(n)
}

// roles lists roles as "owner, seller and issuer".
func (t *Texts) roles(names []string) string {
	list := ""
	for i, name := range names {
		switch role := t.Text("role." + name); {
		case i == 0:
			list = role
		case i == len(names)-1:
			list = t.Text("list.and", list, role)
		default:
			list += ", " + role
		}
	}
	return list
}

// changed formats the value of a field in the history.
func (t *Texts) changed(field string, value *string) string {
	text := Deref(value)
	switch field {
	case "start_date", "end_date", "erase_at":
		if d, err := warranty.ParseDate(text); err == nil && d != warranty.Lifetime {
			return t.Date(d)
		}
		return t.Text("verify.lifetime")
	case "role":
		return t.Text("member_role." + text)
	case "signup":
		return t.Text("setup.signup_" + text)
	case "seller_confirmed":
		if text == "true" {
			return t.Text("change.yes")
		}
		return t.Text("change.no")
	case "status":
		for _, space := range []string{"claim_status.", "status."} {
			status, ok := t.words[space+text]
			switch {
			case ok && t.Lang != "de": // German nouns keep their capitals
				return strings.ToLower(status)
			case ok:
				return status
			}
		}
	}
	return text
}
