package view

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"warranty.example/svc/internal/locales"
	"warranty.example/svc/internal/plural"
	"warranty.example/svc/warranty"
)

// TestEveryTextIsTranslated compares the languages: each has every text, with the same arguments.
func TestEveryTextIsTranslated(t *testing.T) {
	first, err := newTexts(warranty.Languages()[0])
	if err != nil {
		t.Fatal(err)
	}
	folders, err := fs.ReadDir(locales.Pages, ".")
	if err != nil || len(folders) != len(warranty.Languages()) {
		t.Errorf("there are %d folders of texts for %v (%v)", len(folders), warranty.Languages(), err)
	}
	for _, lang := range warranty.Languages()[1:] {
		other, err := newTexts(lang)
		if err != nil {
			t.Fatal(err)
		}
		if len(other.months) != 12 || len(other.monthsAlone) != 12 {
			t.Errorf("%s: the months are %v and %v", lang, other.months, other.monthsAlone)
		}
		for key, text := range first.words {
			base, form := formOf(first, key)
			switch translated, ok := other.words[key]; {
			case form == "other":
				other.checkForms(t, base, verbs(text))
			case form != "":
			case !ok:
				t.Errorf("%s: missing text %q: %s", lang, key, text)
			case strings.TrimSpace(translated) == "":
				t.Errorf("%s: %q is empty", lang, key)
			case !slices.Equal(verbs(text), verbs(translated)):
				t.Errorf("%s: %q has the arguments %v, want %v", lang, key, verbs(translated), verbs(text))
			}
		}
		for key := range other.words {
			base, _ := formOf(other, key)
			if !first.has(key) && !first.has(base) && !first.has(base+".other") {
				t.Errorf("%s: %q is not in %s", lang, key, first.Lang)
			}
		}
	}
}

// TestEveryTextIsThereOnce finds keys that a language has twice: only the last one would be shown.
func TestEveryTextIsThereOnce(t *testing.T) {
	key := regexp.MustCompile(`(?m)^\s*("(?:[^"\\]|\\.)*"):`)
	for _, lang := range warranty.Languages() {
		files, err := fs.Glob(locales.Pages, lang+"/pages/*.json")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: the texts are %v (%v)", lang, files, err)
		}
		seen := map[string]string{}
		for _, file := range files {
			content, err := fs.ReadFile(locales.Pages, file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range key.FindAllSubmatch(content, -1) {
				if name := string(m[1]); seen[name] != "" {
					t.Errorf("%s is in %s and in %s", name, seen[name], file)
				} else {
					seen[name] = file
				}
			}
		}
	}
}

// formOf splits the key of a plural form. The form of other keys is empty.
func formOf(texts *Texts, key string) (base, form string) {
	if i := strings.LastIndexByte(key, '.'); i > 0 && texts.has(key[:i]+".one") && texts.has(key[:i]+".other") {
		return key[:i], key[i+1:]
	}
	return key, ""
}

// checkForms checks that a text has every form of the language, with no other arguments than want.
func (t *Texts) checkForms(test *testing.T, base string, want []string) {
	test.Helper()
	for n := range int64(1000) {
		key := base + "." + plural.Form(t.tag, n)
		text, ok := t.words[key]
		if !ok || strings.TrimSpace(text) == "" {
			test.Fatalf("%s: missing text %q for %d", t.Lang, key, n)
		}
		for _, v := range verbs(text) {
			if !slices.Contains(want, v) {
				test.Fatalf("%s: %q has the argument %s, want one of %v", t.Lang, key, v, want)
			}
		}
	}
}

var verb = regexp.MustCompile(`%(?:\[(\d)\])?([a-z%])`)

// verbs returns the arguments of a text with their numbers, in order.
func verbs(text string) (list []string) {
	for i, m := range verb.FindAllStringSubmatch(text, -1) {
		number := m[1]
		if number == "" {
			number = fmt.Sprint(i + 1)
		}
		list = append(list, number+m[2])
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// TestEveryTextIsUsed looks for texts whose key neither a template nor the code names, as a whole or by its beginning.
func TestEveryTextIsUsed(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	handlers, err := filepath.Glob("../*.go")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("templates/*.html")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	literal := regexp.MustCompile("[\"`]([a-z][a-z_0-9]*\\.[^\"` ]*|[a-z_]+)[\"`]")
	for _, name := range slices.Concat(files, handlers, pages) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range literal.FindAllStringSubmatch(string(raw), -1) {
			named[strings.TrimSuffix(m[1], "%s")] = true
		}
	}
	texts, err := newTexts("en")
	if err != nil {
		t.Fatal(err)
	}
	for key := range texts.words {
		space, rest, _ := strings.Cut(key, ".")
		base, _ := formOf(texts, key)
		used := named[key] || named[base] || named[space+"."] || named[strings.TrimSuffix(key, "_help")]
		for i, r := range rest {
			used = used || (r == '.' || r == '_') && named[space+"."+rest[:i+1]]
		}
		if space == "done" {
			_, used = flashes[rest]
			used = used || named[key]
		}
		if !used {
			t.Errorf("%q is not used", key)
		}
	}
}

var (
	actions = regexp.MustCompile(`(?s)\{\{.*?\}\}`)
	wordy   = regexp.MustCompile(`[A-Za-z]{2,}`)
)

// notWords are texts of templates that are the same in every language.
var notWords = []string{"Esc", "OpenAPI 3.1", "curl", "curl,", "MCP", "MCP,", "XXXX-XXXX-XXXX-XXXX-XXXX", "export SVC_API_KEY=' '\nsvc auth status"}

// TestTemplatesHaveNoTexts looks for words in the templates that are not in the catalogue.
func TestTemplatesHaveNoTexts(t *testing.T) {
	names, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		raw, err := templateFiles.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		check := func(where, text string) {
			if text = strings.TrimSpace(text); wordy.MatchString(text) && !slices.Contains(notWords, text) {
				t.Errorf("%s: %s has the text %q", name, where, text)
			}
		}
		// Actions in attributes would end them.
		page := html.NewTokenizer(strings.NewReader(actions.ReplaceAllString(string(raw), " ")))
		inside := ""
		for page.Next() != html.ErrorToken {
			token := page.Token()
			switch token.Type {
			case html.StartTagToken, html.SelfClosingTagToken:
				inside = token.Data
				for _, a := range token.Attr {
					if slices.Contains([]string{"aria-label", "title", "placeholder", "alt", "data-label", "data-copied"}, a.Key) {
						check("<"+token.Data+" "+a.Key+">", a.Val)
					}
				}
			case html.TextToken:
				if inside != "code" && inside != "noscript" { // the tokenizer takes what is in noscript as text
					check("<"+inside+">", token.Data)
				}
			}
		}
	}
}

// TestFormats formats the same values for readers of each language.
func TestFormats(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	winter := time.Date(2028, 11, 14, 23, 4, 5, 0, time.UTC)
	summer := winter.AddDate(0, 8, 0)
	price, currency := "12999.90", "EUR"
	for lang, want := range map[string][]string{
		"en": {"14 Nov 2028", "14 Nov 2028, 23:04 UTC", "15 Nov 2028, 00:04 CET", "15 Jul 2029, 01:04 CEST", "15 Nov, 00:04:05",
			"Jan ’29", "2 years", "1 month", "1.5 MiB", "12,999.90 EUR", "1,234,567", "90 days left", "1 day left"},
		"de": {"14. Nov. 2028", "14. Nov. 2028, 23:04 UTC", "15. Nov. 2028, 00:04 MEZ", "15. Juli 2029, 01:04 MESZ", "15. Nov., 00:04:05",
			"Jan ’29", "2 Jahre", "1 Monat", "1,5 MiB", "12.999,90 EUR", "1.234.567", "noch 90 Tage", "noch 1 Tag"},
		"es": {"14 nov 2028", "14 nov 2028, 23:04 UTC", "15 nov 2028, 00:04 CET", "15 jul 2029, 01:04 CEST", "15 nov, 00:04:05",
			"ene ’29", "2 años", "1 mes", "1,5 MiB", "12.999,90 EUR", "1.234.567", "quedan 90 días", "queda 1 día"},
		"fr": {"14 nov. 2028", "14 nov. 2028 à 23:04 UTC", "15 nov. 2028 à 00:04 CET", "15 juil. 2029 à 01:04 CEST", "15 nov., 00:04:05",
			"janv. ’29", "2 ans", "1 mois", "1,5 MiB", "12\u00a0999,90 EUR", "1\u00a0234\u00a0567", "90 jours restants", "1 jour restant"},
	} {
		texts, err := newTexts(lang)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{texts.Date(warranty.NewDate(2028, 11, 14)), texts.When(time.UTC, winter), texts.When(berlin, winter),
			texts.When(berlin, &summer), texts.moment(berlin, winter), texts.Month(winter.AddDate(0, 2, 0)),
			texts.Length(24), texts.Length(1), texts.Size(3 << 19), texts.money(&price, &currency), texts.Figure(1_234_567),
			texts.Text("days", 90), texts.Text("days", 1)}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\ngot  %q\nwant %q", lang, got, want)
		}
	}
}
