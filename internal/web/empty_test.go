package web_test

import (
	"strings"
	"testing"

	"golang.org/x/net/html"

	"warranty.example/svc/internal/servertest"
)

// buttons returns the targets of the links in main that look like buttons.
func buttons(p page) (paths []string) {
	for n := range p.Node.Descendants() {
		if n.Data == "a" && within(n, "main") && !within(n, "dialog") && strings.HasPrefix(attr(n, "class"), "btn") {
			paths = append(paths, attr(n, "href"))
		}
	}
	return paths
}

// has reports whether main has such an element.
func has(p page, tag string) bool {
	for n := range p.Node.Descendants() {
		if n.Type == html.ElementNode && n.Data == tag && within(n, "main") && !within(n, "dialog") {
			return true
		}
	}
	return false
}

// TestWebEmptyListsAreATask checks the empty lists: they offer the next step, and no step that is not
// possible yet.
func TestWebEmptyListsAreATask(t *testing.T) {
	w := webWorld(t)
	newcomer, keeper, integrator := w.Verified("Nina"), w.Verified("Kim"), w.Verified("Iris")
	key, _ := w.Token(keeper)
	w.Warranty(key, nil)
	w.Token(integrator)
	for _, c := range []struct {
		who, path, says string
		buttons         []string
		filters         bool // the page has a filter form
	}{
		{"Nina", "/warranties", "Get started", []string{"/warranties/new", "/warranties/import", "/warranties/import/samples"}, false},
		{"Nina", "/claims", "No claims yet", []string{"/warranties/new", "/warranties/import"}, false},
		{"Nina", "/documents", "No documents yet", []string{"/warranties/new", "/warranties/import"}, false},
		{"Nina", "/settings/api/requests", "No requests yet", []string{"/settings/api/new"}, false},
		{"Kim", "/claims", "No claims yet", []string{"/claims/new", "/warranties"}, false},
		{"Kim", "/claims?status=rejected", "No claims match", []string{"/claims/new", "/claims"}, true},
		{"Kim", "/documents", "No documents yet", []string{"/documents/new", "/warranties"}, false},
		{"Kim", "/documents?q=receipt", "No documents match", []string{"/documents/new", "/documents"}, true},
		{"Kim", "/warranties?status=void", "No warranties match", []string{"/warranties/import", "/warranties/new", "/warranties", "/warranties"}, true},
		{"Iris", "/settings/api/requests", "No requests yet", []string{"/settings/api#connect", "/docs"}, false},
	} {
		p := w.SignedIn(t, map[string]servertest.Person{"Nina": newcomer, "Kim": keeper, "Iris": integrator}[c.who]).Get(c.path)
		p.Says(t, c.path, 200, c.says)
		equal(t, c.who+" at "+c.path+": the buttons", buttons(p), c.buttons)
		equal(t, c.who+" at "+c.path+": filters", has(p, "form"), c.filters)
	}
	p := w.SignedIn(t, newcomer).Get("/settings/api")
	p.Says(t, "tokens", 200, "No tokens yet", "No requests yet")
	equal(t, "tokens: the buttons", buttons(p), []string{"/docs", "/settings/api/new", "/settings/api/new", "/settings/api#h-requests"})
}
