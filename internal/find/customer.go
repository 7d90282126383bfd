package find

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"warranty.example/svc/warranty"
)

// CustomerOf returns the name and the email address of a customer as Customer compares them.
func CustomerOf(name, email string) string {
	if name == "" && email == "" {
		return ""
	}
	return Fold(name) + "\n" + Fold(email)
}

// Customer selects records by their customer: by the start of an email address if the text has an @, and
// otherwise by words, each the start of a word in the name or the address.
type Customer struct {
	email string // folded
	words []string
}

// NewCustomer returns nil for an empty text, and for the id of a customer: the database knows their records.
func NewCustomer(text string) *Customer {
	_, notID := warranty.ParseID(text)
	switch {
	case text == "" || notID == nil:
		return nil
	case strings.Contains(text, "@"):
		return &Customer{email: Fold(text)}
	}
	return &Customer{words: Words(text)}
}

// matches reports whether a customer in the form of CustomerOf is selected.
func (c *Customer) matches(customer string) bool {
	if c.email != "" {
		_, email, _ := strings.Cut(customer, "\n")
		return strings.HasPrefix(email, c.email)
	}
	return len(c.words) > 0 && matchesAll(c.words, customer, "")
}

// CustomerName returns a name for comparing: its words, without case and accents, and with "ae", "oe" and "ue" like the
// umlauts that they are written for.
func CustomerName(name string) string { return strings.Join(customerWords(name), " ") }

// CustomerWords returns what CustomerQuery searches of texts of a customer: a space before the start of every word.
func CustomerWords(texts ...string) string {
	var b strings.Builder
	for _, text := range texts {
		for _, word := range words(withoutUmlauts(Fold(text)), true) {
			b.WriteString(" " + word)
		}
	}
	return b.String()
}

func customerWords(text string) []string { return Words(withoutUmlauts(Fold(text))) }

// withoutUmlauts leaves out each e after an a, o or u of a folded text.
func withoutUmlauts(folded string) string {
	var last rune
	return strings.Map(func(r rune) rune {
		before := last
		last = r
		if r == 'e' && (before == 'a' || before == 'o' || before == 'u') {
			return -1
		}
		return r
	}, folded)
}

// CustomerTerm is a word of a query for customers.
type CustomerTerm struct {
	// Start begins a word of CustomerWords, with a space before it, or is "". Word is what is searched: any part of a word,
	// if it is long enough, and otherwise Start.
	Start, Word string
	// Email is a part of an address, with its @, or "".
	Email string
	// Digits are a part of a phone number or an address, or "".
	Digits string
	// Code is a part of a serial number, as Code returns it, or "".
	Code string
}

// CustomerQuery returns the ways to read a query for customers. Of each, all terms must be found, and of a term any field.
// A query without letters and digits finds nothing: it has none.
func CustomerQuery(q string) [][]CustomerTerm {
	var terms []CustomerTerm
	for _, word := range customerWords(q) {
		term := CustomerTerm{Start: " " + word, Word: " " + word, Digits: digitsOf(word), Code: codeOf(word)}
		if utf8.RuneCountInString(word) >= MinInside {
			term.Word = word
		}
		terms = append(terms, term)
	}
	if len(terms) == 0 {
		return nil
	}
	readings := [][]CustomerTerm{terms}
	if q = strings.TrimSpace(q); strings.Contains(q, "@") {
		readings = append(readings, []CustomerTerm{{Email: Fold(q)}})
	}
	// Phone and serial numbers have spaces and hyphens.
	whole := CustomerTerm{Digits: PhoneDigits(q), Code: codeOf(Code(q))}
	if strings.ContainsFunc(q, unicode.IsLetter) || len(whole.Digits) < MinInside {
		whole.Digits = ""
	}
	if strings.Contains(q, "@") || strings.Contains(q, " ") && slices.ContainsFunc(terms, isName) {
		whole.Code = ""
	}
	first := terms[0]
	same := whole.Digits == first.Digits && whole.Code == first.Code && len(terms) == 1
	if !same && (whole.Digits != "" || whole.Code != "") {
		readings = append(readings, []CustomerTerm{whole})
	}
	if strings.HasPrefix(q, "+") || strings.HasPrefix(q, "00") {
		// The number may be stored without the code of its country.
		for n := 1; n <= maxCountryCode && len(whole.Digits)-n >= minNational; n++ {
			readings = append(readings, []CustomerTerm{{Digits: strings.TrimLeft(whole.Digits[n:], "0")}})
		}
	}
	return readings
}

// The most digits of the code of a country, and the fewest of a phone number without it that are searched.
const (
	maxCountryCode = 3
	minNational    = 7
)

// PhoneDigits returns the digits of a phone number without the zeros before it, which other ways to write it leave out.
func PhoneDigits(phone string) string {
	return strings.TrimLeft(strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, phone), "0")
}

// isName reports whether a word is more likely one of a name than a part of a serial number.
func isName(t CustomerTerm) bool {
	return !strings.ContainsAny(t.Start, "0123456789") && utf8.RuneCountInString(t.Start) > len(" abc")
}

// digitsOf returns a word of digits that is long enough to be a part of a phone number.
func digitsOf(word string) string {
	if digits := PhoneDigits(word); len(digits) >= MinInside && len(strings.TrimLeft(word, "0")) == len(digits) {
		return digits
	}
	return ""
}

// codeOf returns a code that may be a part of a serial number: one with a digit, so that names are not searched there.
func codeOf(code string) string {
	if utf8.RuneCountInString(code) < MinInside || !strings.ContainsAny(code, "0123456789") {
		return ""
	}
	return code
}
