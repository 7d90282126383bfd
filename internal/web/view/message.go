package view

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"warranty.example/svc/warranty"
)

// The service reports errors in English, as the API does. A page shows them in the language of its reader: the file
// of a language maps the English messages, with %s and %d for their variable parts, to its own.

//go:embed messages/*.json
var messageFiles embed.FS

// translation is an English message with variable parts, and its translation.
type translation struct {
	english *regexp.Regexp
	own     string
}

var variable = regexp.MustCompile("%[sd]")

// readMessages reads the messages of a language. English has those with dates and statuses, which are shown as its
// readers write them.
func (t *Texts) readMessages() error {
	raw, err := messageFiles.ReadFile("messages/" + t.Lang + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, &t.messages); err != nil {
		return fmt.Errorf("messages/%s.json: %w", t.Lang, err)
	}
	// Longer ones first: some begin like others.
	for _, english := range slices.SortedFunc(maps.Keys(t.messages), func(a, b string) int { return len(b) - len(a) }) {
		if !strings.Contains(english, "%") {
			continue
		}
		pattern := strings.NewReplacer("%s", "(.*)", "%d", `(\d+)`).Replace(regexp.QuoteMeta(english))
		compiled, err := regexp.Compile("^" + pattern + "$")
		if err != nil {
			return err
		}
		t.patterns = append(t.patterns, translation{compiled, t.messages[english]})
	}
	return nil
}

// Message returns an English message of the service in the language, or as it is if it has no translation.
func (t *Texts) Message(english string) string {
	if own, ok := t.messages[english]; ok {
		return own
	}
	for _, m := range t.patterns {
		found := m.english.FindStringSubmatch(english)
		if found == nil {
			continue
		}
		// Pieces of the translation and the parts between them. A translation may leave parts out.
		pieces := variable.Split(m.own, -1)
		own := pieces[0]
		for i, piece := range pieces[1:] {
			own += t.part(found[i+1]) + piece
		}
		return own
	}
	return english
}

// part returns a variable part of a message in the language: a status, a date or another message.
func (t *Texts) part(text string) string {
	for _, space := range []string{"claim_status.", "status."} {
		if own, ok := t.words[space+strings.ReplaceAll(text, " ", "_")]; ok {
			return own
		}
	}
	if d, err := warranty.ParseDate(text); err == nil {
		return t.Date(d)
	}
	return t.Message(text)
}
