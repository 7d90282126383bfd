package data

import "strings"

// Search is a search, as the words that must all be found.
type Search struct {
	Name, Title string
	Words       []string
}

// Searches are the measured searches. Their words occur only as whole words in the generated texts,
// so that a search for words and one for a piece of text find the same. Digits also occur in
// reference numbers.
var Searches = [...]Search{
	{"rare", "a rare word", []string{"zephyr"}},
	{"common", "a common word", []string{"machine"}},
	{"two", "two words", []string{"borealis", "machine"}},
	{"serial", "four digits of a serial number", []string{"4711"}},
}

// ClaimDescription and FileName are the searched texts of all claims and documents, besides those of
// their records.
const (
	ClaimDescription = "It does not turn on any more."
	FileName         = "receipt.pdf"
)

// Found is the number of results of a search: of words and codes, as svcd searches, and of pieces of
// text.
type Found struct{ Words, Pieces int }

func (a *Audience) search(r Record) {
	fields := r.Texts().fields()
	claim := append([]string{strings.ToLower(ClaimDescription)}, fields...)
	claim[len(claim)-1] += " " + strings.ToLower(ClaimNumber(r.Number))
	for i, search := range Searches {
		found := search.in(fields)
		a.Found[i].Giant.add(found)
		if r.Seller == Big {
			a.Found[i].Big.add(found)
			a.Claims[i] += search.in(claim).Words
			a.Documents[i] += search.in(append([]string{FileName}, fields...)).Words
		}
	}
}

// search counts the results of all searches in the records of a person.
func (p *Person) search() {
	for _, r := range p.Records {
		fields := r.Texts().fields()
		for i, search := range Searches {
			p.Found[i].add(search.in(fields))
		}
	}
}

func (f *Found) add(other Found) {
	f.Words += other.Words
	f.Pieces += other.Pieces
}

// fields returns the searched texts. The codes are last: the serial number and the reference.
func (t Texts) fields() []string {
	fields := []string{t.Product, t.Description, t.Supplier, t.SellerName, t.Serial, t.Reference}
	for i, text := range fields {
		fields[i] = strings.ToLower(text)
	}
	return fields
}

const codes = 2

// in returns 1 for each way of searching that finds all words.
func (s Search) in(fields []string) Found {
	found := Found{1, 1}
	for _, word := range s.Words {
		if !hasPiece(fields, word) {
			found.Pieces = 0
		}
		if !hasWord(fields, word) {
			found.Words = 0
		}
	}
	return found
}

func hasPiece(fields []string, piece string) bool {
	for _, text := range fields {
		if strings.Contains(text, piece) {
			return true
		}
	}
	return false
}

// hasWord reports whether a word of a text begins with a word, or a code without separators
// contains it.
func hasWord(fields []string, word string) bool {
	for i, text := range fields {
		if i >= len(fields)-codes && strings.Contains(strings.ReplaceAll(text, "-", ""), word) {
			return true
		}
		for part := range strings.FieldsFuncSeq(text, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9')
		}) {
			if strings.HasPrefix(part, word) {
				return true
			}
		}
	}
	return false
}
