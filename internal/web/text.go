package web

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"warranty.example/svc/warranty"
)

//go:embed text/en/*.json
var textFiles embed.FS

// texts are all words of the pages in one language, by their key. A second
// language is a second folder with the same keys.
type texts struct {
	words   map[string]string
	printer *message.Printer // writes numbers as the language does
}

func newTexts() (*texts, error) {
	t := &texts{words: map[string]string{}, printer: message.NewPrinter(language.English)}
	names, err := fs.Glob(textFiles, "text/en/*.json")
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
				return nil, fmt.Errorf("%s: the text %q is there twice", name, key)
			}
			t.words[key] = text
		}
	}
	return t, nil
}

// get is the text of a key, with its verbs filled in. A missing one shows its
// key, which a test finds.
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

// figure is a number that stands alone.
func (t *texts) figure(n int64) string { return t.printer.Sprint(n) }

// days says how many days are left.
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

// number is a number of something, which has a text for one and a text for more.
func (t *texts) number(key string, n int64) string {
	if n == 1 {
		return t.get(key + ".one")
	}
	return t.get(key+".many", n)
}

// left says how many days are left of a cover, or how long ago it ended.
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

// count is a number as a sentence begins with it: as a word, while it is small.
func (t *texts) count(n int64) string {
	if word, ok := t.words[fmt.Sprint("number.", n)]; ok {
		return word
	}
	return t.figure(n)
}
