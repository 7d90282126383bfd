package warranty

import "testing"

// TestWebsite: a website is a link on pages of customers, so it has a host and no other scheme than http.
func TestWebsite(t *testing.T) {
	for typed, want := range map[string]string{
		"":                        "",
		"halden.example":          "https://halden.example",
		"HTTP://halden.example/a": "HTTP://halden.example/a",
	} {
		in := CreateOrganization{Name: "Halden", Website: typed}
		if err := in.Check(); err != nil || in.Website != want {
			t.Errorf("%q: %q, %v", typed, in.Website, err)
		}
	}
	for _, typed := range []string{
		"javascript:alert(1)", "javascript://halden.example/%0aalert(1)", "data:text/html,x", "ftp://halden.example",
		"https://mara:secret@halden.example", "https://", "//", "not a site", "https://localhost", "https://halden.example\x00",
	} {
		in := CreateOrganization{Name: "Halden", Website: typed}
		if err := in.Check(); err == nil {
			t.Errorf("%q is accepted as %q", typed, in.Website)
		}
	}
}
