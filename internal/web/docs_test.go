package web_test

import (
	"strings"
	"testing"

	"warranty.example/svc/api"
)

// TestDocsAreRenderedOnce: visitors get a kept page of their language; signed-in users get their own. Finding S13.
func TestDocsAreRenderedOnce(t *testing.T) {
	w := webWorld(t)
	b := w.SignedIn(t, w.Verified("Olga"))
	for path, says := range map[string][2]string{
		"/docs": {"API reference", "API-Referenz"}, "/docs/claims": {"<h1>Claims", "<h1>Garantiefälle"},
	} {
		for range 2 {
			w.Browser(t).Get(path).Says(t, "a visitor", 200, says[0], "Sign in")
			w.Browser(t).Send("GET", path, nil, "Accept-Language", "de").Says(t, "in German", 200, says[1], "Anmelden")
		}
		b.Get(path).Says(t, "a signed-in user", 200, says[0], "Olga")
		w.Browser(t).Get(path).Hides(t, "a visitor after that", "Olga")
	}
	w.Browser(t).Get("/docs/nowhere").Says(t, "an unknown group", 404)
}

// TestDocsHaveEveryOperation: the contents of the reference lead to every operation, and the page of its group has it.
func TestDocsHaveEveryOperation(t *testing.T) {
	w := webWorld(t)
	visitor, pages := w.Browser(t), map[string]page{}
	contents := visitor.Get("/docs")
	for _, op := range api.Operations() {
		group, _, _ := strings.Cut(op.Name, ".")
		path, anchor := "/docs/"+group, strings.ReplaceAll(op.Name, ".", "-")
		contents.Says(t, op.Name, 200, `id="`+anchor+`"`, `href="`+path+"#"+anchor+`"`)
		if _, ok := pages[path]; !ok {
			pages[path] = visitor.Get(path)
		}
		pages[path].Says(t, op.Name, 200, `<article class="card" id="`+anchor+`"`, `data-op="`+op.Name+`"`)
	}
}
