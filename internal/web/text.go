package web

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
)

//go:embed text/en/*.json
var textFiles embed.FS

// texts are all words of the pages in one language, by their key. A second
// language is a second folder with the same keys.
type texts struct{ words map[string]string }

func newTexts() (*texts, error) {
	t := &texts{words: map[string]string{}}
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
	return fmt.Sprintf(text, args...)
}

// days says how many days are left.
func (t *texts) days(n *int) string {
	switch {
	case n == nil:
		return ""
	case *n == 0:
		return t.get("days.last")
	case *n == 1:
		return t.get("days.one")
	}
	return t.get("days.many", *n)
}
