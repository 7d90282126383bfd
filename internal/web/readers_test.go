package web_test

import (
	"encoding/json"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

// catalogue returns the texts of a language.
func catalogue(t *testing.T, lang string) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../locales/" + lang + "/pages/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	all := map[string]string{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &all); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// englishOnly returns the pieces between the arguments of English texts that are phrases and in no text of a language.
func englishOnly(t *testing.T, lang string) (phrases []string) {
	t.Helper()
	own := strings.Builder{}
	for _, text := range catalogue(t, lang) {
		own.WriteString(text + "\n")
	}
	argument := regexp.MustCompile(`%(\[\d\])?[sd]`)
	for _, text := range catalogue(t, "en") {
		for _, phrase := range argument.Split(text, -1) {
			phrase = strings.TrimSpace(phrase)
			if len(phrase) >= 12 && strings.Contains(phrase, " ") && !strings.Contains(own.String(), phrase) {
				phrases = append(phrases, phrase)
			}
		}
	}
	return phrases
}

// TestWebInEveryLanguage opens the main pages as a reader of each language. None of them has an English phrase.
func TestWebInEveryLanguage(t *testing.T) {
	for _, lang := range warranty.Languages()[1:] {
		t.Run(lang, func(t *testing.T) { pagesInLanguage(t, lang) })
	}
}

func pagesInLanguage(t *testing.T, lang string) {
	w := webWorld(t)
	person, phrases := w.Verified("Nora"), englishOnly(t, lang)
	key, _ := w.Token(person)
	record := w.Warranty(key, nil)
	b := w.SignedIn(t, person)
	b.Accept = lang + "-CH, en;q=0.8"
	for _, path := range []string{
		"/", "/warranties", "/warranties/new", "/warranties/import", "/warranties/" + record.ID, "/warranties/" + record.ID + "/edit",
		"/claims", "/claims/new?warranty_id=" + record.ID, "/documents", "/documents/new", "/trash", "/confirmations", "/labels", "/issue",
		"/settings/profile", "/settings/email", "/settings/api", "/settings/api/new", "/settings/api/requests", "/settings/organizations", "/settings/replies",
		"/settings/organizations/new", "/settings/calendar", "/settings/convert", "/invitations/accept",
		"/verify", "/verify/" + record.ReferenceNumber, "/take", "/unknown",
	} {
		inLanguage(t, lang, b.Get(path), path, phrases)
	}
	stranger := w.Browser(t)
	stranger.Accept = b.Accept
	for _, path := range []string{"/sign-in", "/register", "/reset-password", "/verify", "/verify/" + record.ReferenceNumber, "/take", "/verify/WR-0000"} {
		inLanguage(t, lang, stranger.Get(path), path, phrases)
	}
}

func inLanguage(t *testing.T, lang string, p page, path string, phrases []string) {
	t.Helper()
	if p.Header.Get("Content-Language") != lang || !strings.Contains(p.Body, `<html lang="`+lang+`" dir="ltr"`) {
		t.Errorf("%s is not in %s", path, lang)
	}
	text := html.UnescapeString(p.Body)
	for _, phrase := range phrases {
		if strings.Contains(text, phrase) {
			t.Errorf("%s says %q", path, phrase)
		}
	}
}

// TestWebLanguage chooses a language: by the browser, by a cookie, and in the profile, each before the ones named
// before it.
func TestWebLanguage(t *testing.T) {
	w := webWorld(t)
	b := w.Browser(t)
	says := func(what, want string, page page) {
		t.Helper()
		equal(t, what, page.Header.Get("Content-Language"), want)
	}
	says("no preference", "en", b.Get("/verify"))
	for accepted, want := range map[string]string{
		"de": "de", "de-AT,de;q=0.9": "de", "nl, de;q=0.5, en;q=0.4": "de", "nl": "en", "en-GB, de;q=0.9": "en", "es-MX": "es", "fr-CA, en": "fr",
		"de, " + strings.Repeat("x", 300): "en", ";;;": "en",
	} {
		says(accepted, want, b.Get("/verify", "Accept-Language", accepted))
	}
	if vary := strings.Join(b.Get("/verify").Header.Values("Vary"), ", "); !strings.Contains(vary, "Accept-Language") {
		t.Errorf("Vary is %q", vary)
	}
	b.Post("/language", "language", "xx", "next", "/verify").Says(t, "an unknown language", 400)
	b.Post("/language", "language", "de", "next", "//evil.example").Leads(t, "another site", "/")
	b.Post("/language", "language", "de", "next", "/verify").Leads(t, "German", "/verify")
	b.Accept = "en"
	says("the cookie", "de", b.Get("/verify"))

	person := w.Verified("Nora")
	b = w.SignedIn(t, person)
	b.Accept = "de"
	wrong := b.Post("/settings/profile", "name", "Nora", "language", "xx", "time_zone", "Mars/Base")
	wrong.Says(t, "an unknown choice", 422)
	if wrong.Error("time_zone") == "" {
		t.Error("an unknown time zone is accepted")
	}
	b.Post("/settings/profile", "name", "Nora", "language", "en", "time_zone", "Asia/Tokyo").Leads(t, "saved", "/settings/profile?done=saved")
	says("the profile", "en", b.Get("/"))
	profile := b.Get("/settings/profile")
	profile.Says(t, "the profile", 200, `value="en" lang="en" selected`)
	equal(t, "the zone", profile.Value("time_zone"), "Asia/Tokyo")
	b.Post("/language", "language", "de", "next", "/verify").Leads(t, "a public page", "/verify")
	says("a public page changes the profile", "de", b.Get("/"))
	b.Post("/settings/profile", "name", "Nora", "language", "", "time_zone", "").Leads(t, "automatic", "/settings/profile?done=saved")
	b.Language = ""
	says("automatic", "de", b.Get("/"))
	says("automatic in another browser", "en", b.Get("/", "Accept-Language", "en"))
}

// TestWebZone shows times in the zone that the browser's script stored, or that the person chose.
func TestWebZone(t *testing.T) {
	w := webWorld(t)
	person := w.Verified("Nora")
	w.Token(person)
	b := w.SignedIn(t, person)
	cookie := b.Cookie
	for zone, want := range map[string]string{"Asia/Tokyo": "Asia/Tokyo", "Mars/Base": "UTC", "Local": "UTC", "../../etc/passwd": "UTC"} {
		b.Cookie = cookie + "; svc_zone=" + zone
		b.Get("/settings/profile").Says(t, zone, 200, "now "+want)
		b.Get("/settings/api").Says(t, zone, 200)
	}
}
