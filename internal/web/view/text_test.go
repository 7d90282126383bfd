package view

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"warranty.example/svc/internal/sheet"
	"warranty.example/svc/warranty"
)

var (
	literalKey = regexp.MustCompile(`\bt "([^"]+)"`)
	codeKey    = regexp.MustCompile(`\.(?:t\(r, |Text\()"([^"]+)"[,)]`)
	builtKey   = regexp.MustCompile(`printf "([a-z_.]+\.)%s"`)
)

// built maps the prefixes of keys that templates build with printf to the names they append.
var built = map[string][]string{
	"action.":           warranty.Action("").Values(),
	"bulk.":             {"open_claim", "gone"}, // the reasons of jobs
	"claim_move.":       moveKeys(),
	"claim_move_help.":  moveKeys(),
	"claim_status.":     warranty.ClaimStatus("").Values(),
	"claim_type.":       warranty.ClaimType("").Values(),
	"document_type.":    warranty.DocumentType("").Values(),
	"domains.status.":   warranty.DomainStatus("").Values(),
	"door.":             warranty.Door("").Values(),
	"import_field.":     sheet.Fields(),
	"member_role.":      warranty.MemberRole("").Values(),
	"member_role_help.": warranty.MemberRole("").Values(),
	"resolution.":       warranty.Resolution("").Values(),
	"scope.":            scopes(),
	"status.":           warranty.Status("").Values(),
	"token_status.":     warranty.TokenStatus("").Values(),
}

func scopes() (names []string) {
	for _, s := range warranty.AllScopes {
		names = append(names, string(s))
	}
	return names
}

// moveKeys returns the keys of all status changes that a claim can make.
func moveKeys() (keys []string) {
	for _, from := range warranty.ClaimStatus("").Values() {
		for _, to := range warranty.ClaimStatus("").Values() {
			if to != warranty.Submitted.String() {
				keys = append(keys, MoveKey(warranty.ClaimStatus(from), warranty.ClaimStatus(to)))
			}
		}
	}
	return keys
}

// TestTextsExist looks up every key that the templates and the code use.
func TestTextsExist(t *testing.T) {
	texts, err := newTexts("en")
	if err != nil {
		t.Fatal(err)
	}
	need := func(where, key string) {
		t.Helper()
		if !texts.has(key) && !texts.has(key+".other") {
			t.Errorf("%s: missing text %q", where, key)
		}
	}
	names, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		raw, err := templateFiles.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range literalKey.FindAllStringSubmatch(string(raw), -1) {
			need(name, m[1])
		}
		for _, m := range builtKey.FindAllStringSubmatch(string(raw), -1) {
			for _, value := range built[m[1]] {
				need(name, m[1]+value)
			}
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	handlers, err := filepath.Glob("../*.go")
	if err != nil || len(handlers) == 0 {
		t.Fatalf("%d files of handlers, %v", len(handlers), err)
	}
	for _, name := range append(files, handlers...) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range codeKey.FindAllStringSubmatch(string(raw), -1) {
			need(name, m[1])
		}
	}
	for _, role := range warranty.Role("").Values() {
		need("texts.roles", "role."+role)
	}
	for done := range flashes {
		need("flashes", "done."+done)
	}
}

// TestTimeLeft checks the texts for the time left.
func TestTimeLeft(t *testing.T) {
	texts, err := newTexts("en")
	if err != nil {
		t.Fatal(err)
	}
	today := warranty.NewDate(2026, 3, 1)
	for end, want := range map[warranty.Date]string{
		today:        "ends today",
		today + 1:    "1 day left",
		today + 90:   "90 days left",
		today + 91:   "2 months left",
		today + 366:  "12 months left",
		today + 1096: "3 years left",
		today - 1:    "ended yesterday",
		today - 90:   "ended 90 days ago",
		today - 91:   "",
	} {
		w := warranty.Warranty{StartDate: today - 1000, EndDate: end, Standing: warranty.Active}
		w.Show(today)
		if got := texts.left(w, today); got != want {
			t.Errorf("end date %s: got %q, want %q", end, got, want)
		}
	}
}

// TestNumbers checks how numbers, lists and history values are formatted.
func TestNumbers(t *testing.T) {
	words, err := newTexts("en")
	if err != nil {
		t.Fatal(err)
	}
	for got, want := range map[string]string{
		words.Figure(999):                                  "999",
		words.Figure(1_234_567):                            "1,234,567",
		words.Count(2):                                     "Two",
		words.Count(5846):                                  "5,846",
		words.Text("overview.records", 200_000):            "200,000 records",
		words.Text("pager.of", 1000, 4000, 200_000):        "Page 1,000 of 4,000, 200,000 records",
		words.roles([]string{"owner"}):                     "owner",
		words.roles([]string{"owner", "issuer"}):           "owner and issuer",
		words.roles([]string{"owner", "seller", "issuer"}): "owner, seller and issuer",
		words.changed("end_date", new("2026-11-30")):       "30 Nov 2026",
		words.changed("end_date", new("9999-12-31")):       "Lifetime",
		words.changed("status", new("info_requested")):     "information requested",
		words.changed("status", new("active")):             "in force",
		words.changed("product_name", new("USB_C hub")):    "USB_C hub",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestSpark draws usage on the first and last of the 30 days, and outside of them.
func TestSpark(t *testing.T) {
	today := warranty.NewDate(2026, 3, 1)
	flat := string(spark(nil, today))
	if strings.Count(flat, "L") != 2*29 || !strings.Contains(flat, "M0.0 26.0") || !strings.Contains(flat, "L120.0 26.0") {
		t.Errorf("no usage is drawn as %s", flat)
	}
	for day, point := range map[warranty.Date]string{today: "L120.0 2.0", today - 29: "M0.0 2.0"} {
		if got := string(spark([]warranty.DayUsage{{Date: day, Requests: 7}}, today)); !strings.Contains(got, point) {
			t.Errorf("%s is drawn as %s", day, got)
		}
	}
	for _, day := range []warranty.Date{today - 30, today + 1} {
		if got := string(spark([]warranty.DayUsage{{Date: day, Requests: 7}}, today)); got != flat {
			t.Errorf("%s is drawn as %s", day, got)
		}
	}
}

// TestTextsFormat looks for texts with arguments that have a percent sign of their own: unless it is doubled, it swallows
// the letters after it.
func TestTextsFormat(t *testing.T) {
	verb := regexp.MustCompile(`%(\[\d+\])?[sdvq]`)
	for _, lang := range warranty.Languages() {
		texts, err := newTexts(lang)
		if err != nil {
			t.Fatal(err)
		}
		for key, text := range texts.words {
			rest := strings.ReplaceAll(verb.ReplaceAllString(text, ""), "%%", "")
			if rest != text && strings.Contains(rest, "%") {
				t.Errorf("%s: %s is %q", lang, key, text)
			}
		}
	}
}
