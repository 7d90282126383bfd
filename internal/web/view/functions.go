package view

import (
	"cmp"
	"html/template"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/warranty"
)

// functions returns the functions of the templates.
func functions(static *Static, texts *Texts) template.FuncMap {
	return template.FuncMap{
		"t":        texts.Text,
		"asset":    static.Path,
		"initials": initials,
		"called":   texts.Called,
		"tel":      tel,
		"logoOf":   func(b warranty.PartyBrand, name string) logoView { return logoView{b, name} },
		"proofOf":  func(p any, r warranty.Reference) proof { return proof{issuerOf(p), r} },
		"lead":     func(b warranty.Backing) string { return b.Lead(texts.Lang) },
		"who":      func(b warranty.Backing) string { return b.Who(texts.Lang) },
		"note":     func(b warranty.Backing) string { return b.Note(texts.Lang) },
		"product":  func(v warranty.Verification) string { return v.Product(texts.Lang) },
		"quoted":   func(written string) string { return warranty.Quoted(written, texts.Lang) },
		"inForce":  func(v warranty.Verification) string { return texts.Text(InForce(v)) },
		"statement": func(b any) string {
			if pointer, ok := b.(*warranty.Backing); ok {
				return pointer.Statement(texts.Lang)
			}
			return b.(warranty.Backing).Statement(texts.Lang)
		},
		"formerly":   texts.formerly,
		"fieldName":  texts.FieldName,
		"fieldLabel": texts.fieldLabel,
		"currencies": currencies,
		"lengthOf":   texts.lengthOf,
		"isoDate":    texts.isoDate,
		"filterOf":   func(name, label string, choices any) filterField { return filterField{name, label, choices} },
		"bulkOf":     func(v Page, job any) bulkResult { return bulkResult{v, job} },
		"settingsAt": func(v Page, page string) settingsNav { return settingsNav{v, page} },
		"date":       texts.Date,
		"when":       texts.When,
		"rfc3339":    func(t any) string { return instantOf(t).Format(time.RFC3339) },
		"banner":     func(kind, text string) Banner { return Banner{BannerKind(kind), text} },
		"deref":      Deref,
		"coverage":   coverage,
		"seal":       seal,
		"qr":         qrCode,
		"icon":       icon,
		"size":       texts.Size,
		"money":      texts.money,
		"field":      field,
		"statusTone": Tone,
		"claimTone":  claimTone,
		"hasMove":    hasMove,
		"pictured":   service.HasThumbnail,
		"spark":      spark,
		"httpTone":   httpTone,
		"day":        texts.Day,
		"moment":     texts.moment,
		"zoned":      func(zone *time.Location, of any) zoned { return zoned{zone, of} },
		"changed":    texts.changed,
		"message":    texts.Message,
		"finding":    func(found *string) string { return texts.Message(warranty.Text{Format: Deref(found)}) },
		"roles":      texts.roles,
		"moveKey":    MoveKey,
		"months":     func(n *int) string { return texts.Length(*n) },
		"days":       texts.Days,
		"span":       texts.Span,
		"left":       texts.left,
		"figure":     texts.Figure,
		"waiting":    texts.waiting,
		"lifetime":   func(d warranty.Date) bool { return d == warranty.Lifetime },
		"isTrue":     func(b *bool) bool { return b != nil && *b },
		"facts": func(values ...*string) (list []string) {
			for _, v := range values {
				if v != nil {
					list = append(list, *v)
				}
			}
			return list
		},
		"has": func(list []string, s string) bool {
			return strings.Contains(" "+strings.Join(list, " ")+" ", " "+s+" ")
		},
	}
}

// proof is the data of the template "fromcell".
type proof struct {
	By        warranty.Backing
	Reference warranty.Reference
}

// zoned is the data of a template that shows times.
type zoned struct {
	Zone *time.Location
	Of   any
}

// issuerOf returns a warranty.Party or *warranty.Party as the issuer of a record.
func issuerOf(p any) warranty.Backing {
	if party, ok := p.(warranty.Party); ok {
		return warranty.Backing{Role: warranty.Issuer, Party: &party}
	}
	party, _ := p.(*warranty.Party)
	return warranty.Backing{Role: warranty.Issuer, Party: party}
}

// formerly says what an organization called itself before.
func (t *Texts) formerly(f warranty.FormerName) string {
	return t.Text("verify.renamed", t.Date(warranty.DateOf(f.Until)), f.Name)
}

// settingsNav is the data of the template "settingsnav".
type settingsNav struct {
	Page
	At string // the current page
}

// bulkResult is the data of the template "bulkresult".
type bulkResult struct {
	Page
	Job any
}

// View returns the page.
func (b bulkResult) View() Page { return b.Page }

// initials returns the first letters of the first two words of a name.
func initials(name string) string {
	letters := ""
	for _, word := range strings.Fields(name) {
		for _, r := range word {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				letters += string(unicode.ToUpper(r))
				break
			}
		}
		if utf8.RuneCountInString(letters) == 2 {
			break
		}
	}
	return letters
}

// Called returns what a customer is called: the name, or the email address.
func (t *Texts) Called(name, email *string) string {
	if name == nil && email == nil {
		return t.Text("customer.no_name")
	}
	return cmp.Or(Deref(name), Deref(email))
}

// tel returns the digits of a phone number, for a link that calls it.
func tel(phone string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r == '+' {
			return r
		}
		return -1
	}, phone)
}

// MoveKey returns the end of the text keys of a status change. A claim returns to review by the
// owner's reply or appeal.
func MoveKey(from, to warranty.ClaimStatus) string {
	switch {
	case to == warranty.UnderReview && from == warranty.InfoRequested:
		return "reply"
	case to == warranty.UnderReview && from == warranty.Rejected:
		return "appeal"
	}
	return to.String()
}

// Deref returns a text, or "" for nil.
func Deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Field is the data of the template "field".
type Field struct {
	Name, Label, Type, Value, Error, Hint, Autocomplete string
	Max, List, Inputmode                                string
	Required, Autofocus                                 bool
}

// field returns the data of the template "field". pairs are names and values of type, hint,
// autocomplete, max, list, required and autofocus.
func field(f interface {
	Value(string) string
	Error(string) string
}, name, label string, pairs ...string) Field {
	d := Field{Name: name, Label: label, Type: "text", Value: f.Value(name), Error: f.Error(name)}
	for i := 0; i+1 < len(pairs); i += 2 {
		switch pairs[i] {
		case "type":
			d.Type = pairs[i+1]
		case "hint":
			d.Hint = pairs[i+1]
		case "autocomplete":
			d.Autocomplete = pairs[i+1]
		case "inputmode":
			d.Inputmode = pairs[i+1]
		case "max":
			d.Max = pairs[i+1]
		case "list":
			d.List = pairs[i+1]
		case "required":
			d.Required = pairs[i+1] == "true"
		case "autofocus":
			d.Autofocus = pairs[i+1] == "true"
		}
	}
	return d
}

// currency is a choice of a currency.
type currency struct {
	Code   string
	Chosen bool
}

// usualCurrencies are those that come first.
var usualCurrencies = []string{"EUR", "USD", "GBP", "CHF"}

// currencies returns the choices of currencies. What was sent is among them, even if it is none.
func currencies(value string) (list []currency) {
	value = strings.ToUpper(strings.TrimSpace(value))
	codes := append(slices.Clone(usualCurrencies), warranty.Currencies()...)
	if value != "" && !slices.Contains(codes, value) {
		codes = append([]string{value}, codes...)
	}
	for i, code := range codes {
		if i < len(usualCurrencies) || !slices.Contains(codes[:i], code) {
			list = append(list, currency{code, code == value})
		}
	}
	return list
}

// hasMove reports whether a status is among the moves.
func hasMove(moves []warranty.ClaimStatus, name string) bool {
	for _, m := range moves {
		if m.String() == name {
			return true
		}
	}
	return false
}

// filterField is the data of the template "filterselect".
type filterField struct {
	Name, Label string
	Choices     any
}

// logoView is the data of the template "logo".
type logoView struct {
	Brand warranty.PartyBrand
	Name  string
}
