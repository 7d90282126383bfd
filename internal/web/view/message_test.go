package view

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

// TestEveryMessageIsTranslated compares the messages that the code can show on a page with those of each language.
func TestEveryMessageIsTranslated(t *testing.T) {
	shown, all := messagesOfCode(t)
	if len(shown) < 200 {
		t.Fatalf("found only %d messages", len(shown))
	}
	for _, lang := range warranty.Languages() {
		texts, err := newTexts(lang)
		if err != nil {
			t.Fatal(err)
		}
		for english, where := range shown {
			if _, ok := texts.messages[english]; !ok && lang != "en" {
				t.Errorf("%s: no translation of %q (%s)", lang, english, where)
			}
		}
		for key, own := range texts.messages {
			english := strings.TrimSuffix(key, ".one")
			if _, ok := all[english]; !ok {
				t.Errorf("%s: the translation of %q is not used", lang, english)
			}
			if said := texts.Message(warranty.Text{Format: english, Args: samples(english)}); strings.Contains(said, "%!") {
				t.Errorf("%s: %q does not fit the arguments of %q: %s", lang, own, english, said)
			}
		}
	}
}

// counted finds the messages whose noun depends on a number.
var counted = regexp.MustCompile(`(^|[^d] )%d (?:[a-z]+ )?[a-z]{3,}s\b`)

// TestMessagesWithNumbersHaveForms: a message about one of something does not say "1 files".
func TestMessagesWithNumbersHaveForms(t *testing.T) {
	shown, _ := messagesOfCode(t)
	same := map[string]bool{ // nouns that do not change in German
		"Must be at least %d characters.": true, "Must be at most %d characters.": true,
		"Must be at least %d characters. A few unrelated words are easy to remember.": true,
	}
	for _, lang := range warranty.Languages() {
		texts, err := newTexts(lang)
		if err != nil {
			t.Fatal(err)
		}
		for english, where := range shown {
			if counted.MatchString(english) && !strings.Contains(english, "%d is ") && !texts.hasMessage(english+".one") && !(lang == "de" && same[english]) {
				t.Errorf("%s: no form for one of %q (%s)", lang, english, where)
			}
		}
		one, many := texts.Message(warranty.Textf("Choose at most %d files.", 1)), texts.Message(warranty.Textf("Choose at most %d files.", 2))
		if strings.Replace(one, "1", "2", 1) == many {
			t.Errorf("%s: %q and %q", lang, one, many)
		}
	}
}

// samples returns an argument for each verb of a format.
func samples(format string) (args []any) {
	for _, v := range verbs(format) {
		switch v[len(v)-1] {
		case 's':
			args = append(args, "x")
		case 'd':
			args = append(args, 7)
		}
	}
	return args
}

// TestMessage translates messages with arguments.
func TestMessage(t *testing.T) {
	from, to := warranty.NewDate(2026, 1, 2), warranty.NewDate(2027, 1, 1)
	wait := warranty.Textf("%s %s", warranty.Textf("The limit is %d requests a minute.", 100),
		warranty.Textf("Try again in 1 second."))
	covered := warranty.Textf("Not covered. The warranty runs from %s to %s.", from, to)
	closed := warranty.Textf("The claim is %s and can no longer change status.", warranty.UnderReview)
	for _, tt := range []struct {
		lang string
		text warranty.Text
		want string
	}{
		{"de", warranty.Textf("This field is required."), "Dieses Feld ist erforderlich."},
		{"de", warranty.Textf("Must be at most %d characters.", 120), "Darf höchstens 120 Zeichen haben."},
		{"de", covered, "Nicht abgedeckt. Die Garantie läuft vom 2. Jan. 2026 bis 1. Jan. 2027."},
		{"en", covered, "Not covered. The warranty runs from 2 Jan 2026 to 1 Jan 2027."},
		{"de", closed, "Der Garantiefall hat den Status „In Prüfung“ und kann nicht mehr geändert werden."},
		{"de", warranty.Textf("Only an admin of %s can do this. Your role: %s.", "Halden 100 %", warranty.Member),
			"Das kann nur ein Admin von Halden 100 %."},
		{"de", warranty.Text{Format: "A message 100 % unknown."}, "A message 100 % unknown."},
		{"de", wait, "Das Limit sind 100 Anfragen pro Minute. Versuchen Sie es in 1 Sekunde noch einmal."},
		{"de", warranty.Textf("The warranty length is invalid: %s.", warranty.Textf("use whole months or years")),
			"Die Garantiedauer ist ungültig: verwenden Sie ganze Monate oder Jahre."},
		{"de", warranty.Textf("Only %s can %s. Your role: %s.", "owner", "delete", "seller"), "Ihre Rolle erlaubt das nicht."},
		{"de", warranty.Sentence(warranty.CheckEnum(warranty.Owner, "x")),
			"Muss einer dieser Werte sein: owner, seller, issuer."},
		{"de", warranty.Textf("This warranty is not valid. Ask %s.", warranty.Textf(`"%s"`, "Halden")),
			"Diese Garantie ist nicht gültig. Fragen Sie „Halden“."},
	} {
		texts, err := newTexts(tt.lang)
		if err != nil {
			t.Fatal(err)
		}
		stored := warranty.ParseText(tt.text.Stored())
		for _, text := range []warranty.Text{tt.text, stored} {
			if got := texts.Message(text); got != tt.want {
				t.Errorf("%s: got %q, want %q", tt.lang, got, tt.want)
			}
		}
		if stored.String() != tt.text.String() {
			t.Errorf("stored %q as %q", tt.text, stored)
		}
	}
}

// messagePackages are the packages whose messages can reach a page.
var messagePackages = []string{"../../../warranty", "../../../api", "../../files", "../../jobs", "../../server",
	"../../service", "../../sheet", "../../store", "../../store/engine", "../../upload", ".."}

// elsewhere are the codes of errors that no page shows: those of the API alone, and those for which pages have their
// own text.
var elsewhere = []warranty.Code{
	warranty.MissingCredential, warranty.SessionRequired, warranty.InsufficientScope, warranty.MethodNotAllowed,
	warranty.NotAcceptable, warranty.UnsupportedMediaType, warranty.IdempotencyKeyReused,
	warranty.TokenExpired, warranty.TokenRevoked, warranty.MalformedRequest,
	warranty.NotFound, warranty.Internal, warranty.Unavailable, warranty.EmailNotVerified, warranty.FileMissing,
}

// unshown are files whose messages only the API or the command line of operators shows.
var unshown = []string{"api/json.go", "service/credentials.go", "service/operator.go",
	"service/operator_organizations.go", "upload/upload.go"}

// messagesOfCode returns the formats of the messages in the code, with their places: those that pages can show, and all.
func messagesOfCode(t *testing.T) (shown, all map[string]string) {
	t.Helper()
	shown, all = map[string]string{}, map[string]string{}
	for _, info := range warranty.Codes() {
		all[info.Title] = "titles"
		if !slices.Contains(elsewhere, info.Code) {
			shown[info.Title] = "titles"
		}
	}
	for _, folder := range messagePackages {
		names, err := filepath.Glob(folder + "/*.go")
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: no files (%v)", folder, err)
		}
		p := finder{t: t, files: token.NewFileSet(), constants: map[string]ast.Expr{}, shown: shown, all: all}
		var parsed []*ast.File
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(p.files, name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, file)
			ast.Inspect(file, p.noteConstant)
		}
		for _, file := range parsed {
			ast.Inspect(file, p.find)
		}
	}
	return shown, all
}

// finder finds the messages of a package.
type finder struct {
	t          *testing.T
	files      *token.FileSet
	constants  map[string]ast.Expr
	shown, all map[string]string
}

func (p finder) noteConstant(n ast.Node) bool {
	if spec, ok := n.(*ast.ValueSpec); ok {
		for i, value := range spec.Values {
			p.constants[spec.Names[i].Name] = value
		}
	}
	return true
}

// find notes the message of a call or a composite literal.
func (p finder) find(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		p.call(n)
	case *ast.CompositeLit:
		code := warranty.Code("")
		for _, element := range n.Elts {
			pair, ok := element.(*ast.KeyValueExpr)
			if !ok {
				continue
			}
			switch key := fmt.Sprint(pair.Key); key {
			case "Code":
				code = p.code(pair.Value)
			case "Message":
				if text, ok := p.text(pair.Value); ok {
					p.note(n, code, text)
				}
			}
		}
		if n.Type == nil {
			p.row(n)
		}
	case *ast.ReturnStmt: // the findings of domain checks
		if len(n.Results) == 2 && fmt.Sprint(n.Results[0]) == "false" {
			if text, ok := p.text(n.Results[1]); ok && text != "" {
				p.note(n, "", text)
			}
		}
	}
	return true
}

// row notes the message of a row {code, message} of a table.
func (p finder) row(n *ast.CompositeLit) {
	if len(n.Elts) == 2 {
		if code := p.code(n.Elts[0]); code != "" {
			if text, ok := p.text(n.Elts[1]); ok {
				p.note(n, code, text)
			}
		}
	}
}

// call notes the message of a call. errors.New counts in packages whose errors are shown as sentences.
func (p finder) call(n *ast.CallExpr) {
	name := ""
	switch f := n.Fun.(type) {
	case *ast.SelectorExpr:
		name = f.Sel.Name
	case *ast.Ident:
		name = f.Name
	}
	at, ok := map[string]int{"Add": 2, "Refuse": 1, "Textf": 0, "wrongf": 1, "WrongCode": 1, "refuseFile": 0, "New": 0}[name]
	if !ok || len(n.Args) <= at {
		return
	}
	text, ok := p.text(n.Args[at])
	switch {
	case !ok:
		return // go vet refuses formats that are not constant
	case name == "New":
		sentence := warranty.Sentence(warranty.Text{Format: text}).Format
		p.all[text], p.all[sentence] = p.place(n), p.place(n)
		if strings.Contains(p.place(n), "/sheet/") && !strings.Contains(text, " returned a ") { // nobody sees these
			p.shown[sentence] = p.place(n)
		}
	case name == "Refuse":
		p.note(n, p.code(n.Args[0]), text)
	default:
		p.note(n, "", text)
	}
}

func (p finder) place(n ast.Node) string { return p.files.Position(n.Pos()).String() }

// note notes a message, except for those that consist of others.
func (p finder) note(n ast.Node, code warranty.Code, text string) {
	if strings.Trim(text, "%s :") == "" {
		return
	}
	place := p.place(n)
	p.all[text] = place
	own := strings.HasPrefix(place, "../") && strings.Count(place, "/") == 1 // pages show their own messages
	inFile := func(file string) bool { return strings.Contains(place, "/"+file+":") }
	header := strings.Contains(place, "/server/") && code == warranty.InvalidCredential
	if own || !slices.Contains(elsewhere, code) && !slices.ContainsFunc(unshown, inFile) && !header {
		p.shown[text] = place
	}
}

// code returns the code that an expression names.
func (p finder) code(e ast.Expr) warranty.Code {
	name := ""
	switch e := e.(type) {
	case *ast.SelectorExpr:
		name = e.Sel.Name
	case *ast.Ident:
		name = e.Name
	}
	for _, info := range warranty.Codes() {
		if strings.ReplaceAll(string(info.Code), "_", "") == strings.ToLower(name) {
			return info.Code
		}
	}
	return ""
}

// text returns the text of a constant expression.
func (p finder) text(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		x, ok := p.text(e.X)
		y, also := p.text(e.Y)
		return x + y, ok && also
	case *ast.Ident:
		if value, ok := p.constants[e.Name].(*ast.BasicLit); ok {
			return p.text(value)
		}
	}
	return "", false
}
