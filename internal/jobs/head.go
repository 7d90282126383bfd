package jobs

import (
	"encoding/json"
	"strings"
)

// Head is what the beginning of a result says.
type Head struct {
	Name             string // of the imported file
	Created, Updated int64  // by an import
	Action           string // of a change of many warranties
	Changed          int64
}

// HeadOf reads the beginning of a result, which may end anywhere.
func HeadOf(result string) (h Head) {
	d := json.NewDecoder(strings.NewReader(result))
	if _, err := d.Token(); err != nil {
		return h
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return h
		}
		into := map[any]any{"name": &h.Name, "created": &h.Created, "updated": &h.Updated, "action": &h.Action, "changed": &h.Changed}[key]
		if into == nil {
			into = new(json.RawMessage)
		}
		if d.Decode(into) != nil {
			return h
		}
	}
	return h
}
