package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"warranty.example/svc/internal/locales"
	"warranty.example/svc/internal/plural"
	"warranty.example/svc/warranty"
)

// The service reports errors in English, as the API does. A page shows them in the language of its reader: the file
// of a language maps the English formats to its own. A translation that leaves arguments out numbers the others, as
// in %[2]s. The forms of a message for some numbers are under its English format followed by ".one" and so on (see package
// plural).

// readMessages reads the messages of a language. English has those that are shown differently to people.
func (t *Texts) readMessages() error {
	raw, err := locales.Messages.ReadFile(t.Lang + "/messages.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, &t.messages); err != nil {
		return fmt.Errorf("messages of %s: %w", t.Lang, err)
	}
	return nil
}

// Message returns a text of the service in the language, or in English if it has no translation.
func (t *Texts) Message(text warranty.Text) string {
	format, ok := t.messages[plural.Key(t.tag, text.Format, text.Args, t.hasMessage)]
	if !ok {
		format = text.Format
	}
	if len(text.Args) == 0 || !strings.Contains(format, "%") {
		return format
	}
	args := make([]any, len(text.Args))
	for i, arg := range text.Args {
		args[i] = t.argument(arg)
	}
	return fmt.Sprintf(format, args...)
}

func (t *Texts) hasMessage(key string) bool {
	_, ok := t.messages[key]
	return ok
}

// argument returns an argument of a message in the language.
func (t *Texts) argument(arg any) any {
	switch arg := arg.(type) {
	case warranty.Text:
		return t.Message(arg)
	case warranty.Date:
		return t.Date(arg)
	case warranty.ClaimStatus:
		return t.Text("claim_status." + arg.String())
	case warranty.Status:
		return t.Text("status." + arg.String())
	case warranty.JobState:
		return t.Text("jobs." + arg.String())
	}
	return arg
}
