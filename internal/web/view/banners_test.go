package view

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

// otherKinds are the messages that do not report success.
var otherKinds = map[string]BannerKind{
	"account_lost":      Info,
	"domain_checked":    Failure, // "The DNS record was not found."
	"duplicate":         Info,
	"kept":              Info,
	"mail_gone":         Info,
	"mails_none":        Info,
	"sign_in_again":     Info,
	"two_step_required": Info,
	"signed_out":        Failure, // nothing was changed
	"unchanged":         Info,
	"undo_kept":         Failure,
	"undo_late":         Failure,
}

// refuses finds texts that do not report success.
var refuses = regexp.MustCompile(`(?i)\b(not|nothing|no emails|missing|failed|already|again|can no longer)\b`)

// TestEveryBannerHasItsKind walks the messages about what was just done: each has a kind, only success is green and
// has a tick, and no text of a success says that something was not done.
func TestEveryBannerHasItsKind(t *testing.T) {
	for _, lang := range warranty.Languages() {
		texts, err := newTexts(lang)
		if err != nil {
			t.Fatal(err)
		}
		for key := range texts.words {
			done, ok := strings.CutPrefix(key, "done.")
			if !ok {
				continue
			}
			want, other := otherKinds[done]
			if !other {
				want = Success
			}
			b := Page{Flash: key, In: texts}.Banner()
			if b.Kind != want || b.Text != texts.Text(key) {
				t.Errorf("%s: %s is %+v, want %s", lang, key, b, want)
			}
			if (b.Icon() == "check") != (b.Kind == Success) || (b.Role() == "alert") != (b.Kind == Failure) {
				t.Errorf("%s: %s has the icon %q and the role %q", lang, key, b.Icon(), b.Role())
			}
			if lang == "en" && b.Kind == Success && refuses.MatchString(b.Text) {
				t.Errorf("%s reports %q as a success", key, b.Text)
			}
		}
	}
	for done := range ownFlashes {
		if flashes[done] == "" {
			t.Errorf("%s has no kind", done)
		}
	}
}

// TestBannersAreMadeInOnePlace: templates take the class, the icon and the role of a banner from its kind.
func TestBannersAreMadeInOnePlace(t *testing.T) {
	names, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		t.Fatal(err)
	}
	class := regexp.MustCompile(`class="[^"]*\bflash\b[^"]*"`)
	for _, name := range names {
		text, err := templateFiles.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range class.FindAllString(string(text), -1) {
			if found != `class="flash {{.Kind}}"` && found != `class="flash {{$banner.Kind}}"` {
				t.Errorf("%s has a banner without a kind: %s", name, found)
			}
		}
	}
}
