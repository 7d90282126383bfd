package web

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"warranty.example/svc/warranty"
)

//go:embed text/*/*.json
var textFiles embed.FS

// texts holds the texts of the pages in one language, by key.
type texts struct {
	Lang, Dir string // the values of the attributes lang and dir
	tag       language.Tag
	words     map[string]string
	printer   *message.Printer // formats numbers for the language
	// The names of the months: in dates, and standing alone.
	months, monthsAlone []string
	// messages are those of the service by their English text; see message.go.
	messages map[string]string
	patterns []translation
}

// newTexts reads the texts of a language.
func newTexts(lang string) (*texts, error) {
	tag, err := language.Parse(lang)
	if err != nil {
		return nil, err
	}
	t := &texts{Lang: lang, Dir: direction(lang), tag: tag, words: map[string]string{}, printer: message.NewPrinter(tag)}
	names, err := fs.Glob(textFiles, "text/"+lang+"/*.json")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		raw, err := textFiles.ReadFile(name)
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
	t.months, t.monthsAlone = strings.Fields(t.get("format.months")), strings.Fields(t.get("format.months_alone"))
	return t, t.readMessages()
}

// get returns the text of a key, formatted with args. If the text is missing, it returns the
// key.
func (t *texts) get(key string, args ...any) string {
	text, ok := t.words[key]
	if !ok {
		return key
	}
	if len(args) == 0 {
		return text
	}
	return t.printer.Sprintf(text, args...)
}

// fieldName returns the name of a field of a sheet, or the name of a column as it is.
func (t *texts) fieldName(field string) string {
	if text, ok := t.words["import_field."+field]; ok {
		return text
	}
	return field
}

// figure formats a number.
func (t *texts) figure(n int64) string { return t.printer.Sprint(n) }

// waiting formats a number of claims that wait, which are counted up to warranty.MaxWaiting.
func (t *texts) waiting(n int64) string {
	if n >= warranty.MaxWaiting {
		return t.figure(warranty.MaxWaiting-1) + "+"
	}
	return t.figure(n)
}

// days returns the text for n days left.
func (t *texts) days(n *int) string {
	switch {
	case n == nil:
		return ""
	case *n == 0:
		return t.get("days.last")
	case *n > 3*365:
		return t.get("days.years", *n/365)
	case *n > 90:
		return t.get("days.months", *n*12/365)
	}
	return t.number("days", int64(*n))
}

// ago returns the text for a period that ended n days ago.
func (t *texts) ago(n int) string {
	switch {
	case n == 1:
		return t.get("ago.day")
	case n > 3*365:
		return t.get("ago.years", n/365)
	case n > 90:
		return t.get("ago.months", n*12/365)
	}
	return t.get("ago.days", n)
}

// number returns the singular or plural text of a key.
func (t *texts) number(key string, n int64) string {
	if n == 1 {
		return t.get(key + ".one")
	}
	return t.get(key+".many", n)
}

// left returns the text for the days left of a warranty, or since it ended.
func (t *texts) left(w warranty.Warranty, today warranty.Date) string {
	switch ended := int(today - w.EndDate); {
	case w.Status != warranty.Expired:
		return t.days(w.DaysRemaining)
	case ended == 1:
		return t.get("days.ended_yesterday")
	case ended <= 90:
		return t.get("days.ended", ended)
	}
	return ""
}

// count returns a number for the beginning of a sentence: small numbers as words.
func (t *texts) count(n int64) string {
	if word, ok := t.words[fmt.Sprint("number.", n)]; ok {
		return word
	}
	return t.figure(n)
}

// roles lists roles as "owner, seller and issuer".
func (t *texts) roles(names []string) string {
	list := ""
	for i, name := range names {
		switch role := t.get("role." + name); {
		case i == 0:
			list = role
		case i == len(names)-1:
			list = t.get("list.and", list, role)
		default:
			list += ", " + role
		}
	}
	return list
}

// changed formats the value of a field in the history.
func (t *texts) changed(field string, value *string) string {
	text := derefText(value)
	switch field {
	case "start_date", "end_date", "erase_at":
		if d, err := warranty.ParseDate(text); err == nil && d != warranty.Lifetime {
			return t.date(d)
		}
		return t.get("verify.lifetime")
	case "role":
		return t.get("member_role." + text)
	case "seller_confirmed":
		if text == "true" {
			return t.get("change.yes")
		}
		return t.get("change.no")
	case "status":
		for _, space := range []string{"claim_status.", "status."} {
			status, ok := t.words[space+text]
			switch {
			case ok && t.Lang == "en": // German nouns keep their capitals
				return strings.ToLower(status)
			case ok:
				return status
			}
		}
	}
	return text
}
