package web

import (
	"slices"
	"strings"
	"testing"

	"warranty.example/svc/internal/web/view"
)

// TestTextsOfSettingsExist looks up the keys of the choices on the pages of tokens.
func TestTextsOfSettingsExist(t *testing.T) {
	views, err := view.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	keys := []string{"token_form.ends", "token_form.ends_soon"}
	for _, p := range presets {
		keys = append(keys, p.Key)
	}
	for _, o := range overlaps {
		keys = append(keys, o.Key)
	}
	for _, s := range connect("https://warranty.example.com") {
		keys = append(keys, s.Where)
	}
	for _, key := range keys {
		if _, ok := views.Edition("en").Find(key); !ok {
			t.Errorf("missing text %q", key)
		}
	}
}

// TestConnect checks that every example names this service.
func TestConnect(t *testing.T) {
	var names []string
	for _, s := range connect("https://warranty.example.com") {
		names = append(names, s.Name)
		if !strings.Contains(s.Code, "https://warranty.example.com/api/") {
			t.Errorf("%s does not name this service: %s", s.Name, s.Code)
		}
	}
	want := []string{"curl", "CLI", "Claude Code", "Claude Desktop", "Cursor", "VS Code", "Codex"}
	if !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
}
