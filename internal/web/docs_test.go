package web_test

import "testing"

// TestDocsAreRenderedOnce: visitors get a kept page of their language; signed-in users get their own. Finding S13.
func TestDocsAreRenderedOnce(t *testing.T) {
	w := webWorld(t)
	for range 2 {
		w.Browser(t).Get("/docs").Says(t, "a visitor", 200, "API reference", "Sign in")
		w.Browser(t).Send("GET", "/docs", nil, "Accept-Language", "de").Says(t, "in German", 200, "API-Referenz", "Anmelden")
	}
	b := w.SignedIn(t, w.Verified("Olga"))
	b.Get("/docs").Says(t, "a signed-in user", 200, "Olga")
	w.Browser(t).Get("/docs").Hides(t, "a visitor after that", "Olga")
}
