package web_test

import "testing"

// TestWebHelp: it is there signed in and signed out, in both languages, and every answer leads to a page.
func TestWebHelp(t *testing.T) {
	w := webWorld(t)
	stranger := w.Browser(t)
	page := stranger.Get("/help")
	page.Says(t, "signed out", 200, "What is a reference number?", "How do we print labels?", `href="/sign-in"`)
	stranger.Send("GET", "/help", nil, "Accept-Language", "de").
		Says(t, "in German", 200, "Was ist eine Referenznummer?", `lang="de"`)
	stranger.Get("/nothing-here").Says(t, "an error page", 404, `href="/help"`)
	b := w.SignedIn(t, w.Verified("Kim"))
	b.Get("/help").Says(t, "signed in", 200, "What is a reference number?", "Sign out")
	b.Get("/settings/profile").Says(t, "the settings", 200, `href="/help"`)
	topics := 0
	for n := range page.Node.Descendants() {
		if n.Data == "details" {
			topics++
		}
		if href := attr(n, "href"); n.Data == "a" && within(n, "details") && b.Get(href).Status >= 400 {
			t.Errorf("%s is no page", href)
		}
	}
	if topics < 10 {
		t.Errorf("%d questions", topics)
	}
}
