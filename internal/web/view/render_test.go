package view

import "testing"

// TestEveryPageIsValid parses all pages, which a running service does only when they are shown.
func TestEveryPageIsValid(t *testing.T) {
	views, err := newViews()
	if err != nil {
		t.Fatal(err)
	}
	for _, edition := range views.editions {
		for name, parse := range edition.pages {
			if _, err := parse(); err != nil {
				t.Errorf("%s in %s: %v", name, edition.Lang, err)
			}
		}
	}
}
