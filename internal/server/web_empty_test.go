package server_test

import (
	"strings"
	"testing"

	"golang.org/x/net/html"

	"warranty.example/svc/internal/servertest"
)

// buttons are where the links lead that look like buttons in a page's own part.
func (p page) buttons() (paths []string) {
	for n := range p.node.Descendants() {
		if n.Data == "a" && within(n, "main") && !within(n, "dialog") && strings.HasPrefix(attr(n, "class"), "btn") {
			paths = append(paths, attr(n, "href"))
		}
	}
	return paths
}

// has tells whether there is such an element in the page's own part.
func (p page) has(tag string) bool {
	for n := range p.node.Descendants() {
		if n.Type == html.ElementNode && n.Data == tag && within(n, "main") && !within(n, "dialog") {
			return true
		}
	}
	return false
}

// TestWebEmptyListsAreATask looks at every list while nothing is on it: it says
// what to do next, and what can not be done yet is not offered.
func TestWebEmptyListsAreATask(t *testing.T) {
	w := webWorld(t)
	newcomer, keeper, integrator := w.Verified("Nina"), w.Verified("Kim"), w.Verified("Iris")
	key, _ := w.Token(keeper)
	w.Warranty(key, nil)
	w.Token(integrator)
	for _, c := range []struct {
		who, path, says string
		buttons         []string
		filters         bool // there is something to filter
	}{
		{"Nina", "/warranties", "Get started", []string{"/warranties/new", "/warranties/import", "/warranties/import/samples"}, false},
		{"Nina", "/claims", "No claim yet", []string{"/warranties/new", "/warranties/import"}, false},
		{"Nina", "/documents", "No document yet", []string{"/warranties/new", "/warranties/import"}, false},
		{"Nina", "/settings/api/requests", "No request yet", []string{"/settings/api/new"}, false},
		{"Kim", "/claims", "No claim yet", []string{"/claims/new", "/warranties"}, false},
		{"Kim", "/claims?status=rejected", "No claim matches", []string{"/claims/new", "/claims"}, true},
		{"Kim", "/documents", "No document yet", []string{"/documents/new", "/warranties"}, false},
		{"Kim", "/documents?q=receipt", "No document matches", []string{"/documents/new", "/documents"}, true},
		{"Kim", "/warranties?status=void", "No warranty matches", []string{"/warranties/import", "/warranties/new", "/warranties", "/warranties/new"}, true},
		{"Iris", "/settings/api/requests", "No request yet", []string{"/settings/api#connect", "/docs"}, false},
	} {
		p := w.signedIn(t, map[string]servertest.Person{"Nina": newcomer, "Kim": keeper, "Iris": integrator}[c.who]).get(c.path)
		p.says(t, c.path, 200, c.says)
		equal(t, c.who+" at "+c.path+": the buttons", p.buttons(), c.buttons)
		equal(t, c.who+" at "+c.path+": filters", p.has("form"), c.filters)
	}
	p := w.signedIn(t, newcomer).get("/settings/api")
	p.says(t, "tokens", 200, "No token yet", "No request yet")
	equal(t, "tokens: the buttons", p.buttons(), []string{"/docs", "/settings/api/new", "/settings/api/new", "/settings/api#h-requests"})
}
