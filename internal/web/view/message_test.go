package view

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

// TestEveryFieldErrorIsTranslated looks up every field error of the packages warranty and sheet, in every language
// but English.
func TestEveryFieldErrorIsTranslated(t *testing.T) {
	samples := fieldErrors(t)
	if len(samples) < 60 {
		t.Fatalf("found only %d field errors", len(samples))
	}
	for _, lang := range warranty.Languages()[1:] {
		texts, err := newTexts(lang)
		if err != nil {
			t.Fatal(err)
		}
		for _, english := range samples {
			if texts.Message(english) == english {
				t.Errorf("%s: no translation of %q", lang, english)
			}
		}
		for english, own := range texts.messages {
			if strings.Count(own, "%s")+strings.Count(own, "%d") > strings.Count(english, "%s")+strings.Count(english, "%d") {
				t.Errorf("%s: the translation of %q has more variable parts", lang, english)
			}
		}
	}
}

// TestOtherMessagesAreTranslated finds the errors of sheets, the findings of domain checks and the refusals of
// throttles in the code.
func TestOtherMessagesAreTranslated(t *testing.T) {
	texts, err := newTexts("de")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for pattern, literal := range map[string]*regexp.Regexp{
		"../../server/middleware.go": regexp.MustCompile(`warranty\.(?:IPThrottled|RateLimited), "([^"]+\.)"`),
		"../../service/domains.go":   regexp.MustCompile(`return false, "([^"]+)"`),
		"../../sheet/*.go":           regexp.MustCompile(`(?:What|Fix):\s+"((?:[^"\\]|\\.)+\.)"|errors\.New\("([^"]+)"\)`),
	} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			raw, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range literal.FindAllStringSubmatch(string(raw), -1) {
				english := strings.ReplaceAll(m[1], `\"`, `"`)
				if len(m) > 2 && m[2] != "" {
					english = strings.ToUpper(m[2][:1]) + m[2][1:] + "."
				}
				if found++; texts.Message(english) == english && !strings.Contains(english, " returned a ") { // nobody sees these
					t.Errorf("%s: no translation of %q", name, english)
				}
			}
		}
	}
	if found < 25 {
		t.Errorf("found only %d messages", found)
	}
}

// TestMessage translates messages with variable parts.
func TestMessage(t *testing.T) {
	texts, err := newTexts("de")
	if err != nil {
		t.Fatal(err)
	}
	for english, want := range map[string]string{
		"This field is required.":                                         "Dieses Feld ist erforderlich.",
		"Must be at most 120 characters.":                                 "Darf höchstens 120 Zeichen haben.",
		"Not covered. The warranty runs from 2026-01-02 to 2027-01-01.":   "Nicht abgedeckt. Die Garantie läuft vom 2. Jan. 2026 bis 1. Jan. 2027.",
		"The claim is under_review and can no longer change status.":      "Der Garantiefall hat den Status „In Prüfung“ und kann nicht mehr geändert werden.",
		"Only an admin of Halden 100 % can do this. Your role: member.":   "Das kann nur ein Admin von Halden 100 %.",
		"A message that nobody translated.":                               "A message that nobody translated.",
		"The limit is 100 requests a minute. Try again in 1 second.":      "Das Limit sind 100 Anfragen pro Minute. Versuchen Sie es in 1 Sekunde noch einmal.",
		"The warranty length is invalid: use whole months or years.":      "Die Garantiedauer ist ungültig: verwenden Sie ganze Monate oder Jahre.",
		"No column was found for Product, Ends.":                          "Keine Spalte gefunden für Product, Ends.",
		"Only owner can delete this warranty. Your role: seller, issuer.": "Ihre Rolle erlaubt das nicht.",
	} {
		if got := texts.Message(english); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	own, err := newTexts("en")
	if err != nil {
		t.Fatal(err)
	}
	want := "Not covered. The warranty runs from " + own.Date(warranty.NewDate(2026, 1, 2)) + " to "
	if got := own.Message("Not covered. The warranty runs from 2026-01-02 to 2027-01-01."); !strings.HasPrefix(got, want) || strings.Contains(want, "2026-01") {
		t.Errorf("got %q, want %q", got, want)
	}
}

// fieldErrors returns the messages of all calls of Checks.Add in the packages warranty and sheet, with samples as variable parts.
func fieldErrors(t *testing.T) (samples []string) {
	t.Helper()
	files, err := filepath.Glob("../../../warranty/*.go")
	if err != nil {
		t.Fatal(err)
	}
	sheets, err := filepath.Glob("../../sheet/*.go")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, sheets...)
	constants, calls := map[string]ast.Expr{}, []*ast.CallExpr{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for i, value := range n.Values {
					constants[n.Names[i].Name] = value
				}
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Add" && len(n.Args) == 3 {
					calls = append(calls, n)
				}
			}
			return true
		})
	}
	for _, call := range calls {
		sample := strings.NewReplacer("%d", "7", "%s", "x").Replace(messageOf(call.Args[2], constants))
		if sample != "x" && !slices.Contains(samples, sample) {
			samples = append(samples, sample)
		}
	}
	return samples
}

// messageOf returns the text of an expression, with %s for what is only known at run time.
func messageOf(e ast.Expr, constants map[string]ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil {
			return text
		}
	case *ast.BinaryExpr:
		return messageOf(e.X, constants) + messageOf(e.Y, constants)
	case *ast.Ident:
		if constant, ok := constants[e.Name].(*ast.BasicLit); ok {
			return messageOf(constant, constants)
		}
	case *ast.CallExpr:
		if f, ok := e.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Sprintf" {
			return messageOf(e.Args[0], constants)
		}
	}
	return "%s"
}
