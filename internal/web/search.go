package web

import (
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"warranty.example/svc/internal/find"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// The number of results of each kind: in the dialog and on the page.
const (
	hitsWhileTyping = 3
	hitsOnPage      = 10
)

// searchPage is the page /search, and the list in the dialog that every page has.
type searchPage struct {
	form
	Asked  bool // there are enough letters
	Total  int64
	Groups []hitGroup
}

// hitGroup is the results of one kind.
type hitGroup struct {
	Name  string // of the kind, for ids
	Key   string // of its text
	Href  string // of all results
	Icon  string
	Total int64
	Hits  []hit
}

// More reports whether there are more results than those in the group.
func (g hitGroup) More() bool { return g.Total > int64(len(g.Hits)) }

// hit is one result.
type hit struct {
	Href       string
	Title, Sub []piece
	Customer   *warranty.CustomerRecord
	Claim      *warranty.Claim
	Warranty   *warranty.Warranty
}

// piece is a part of a text. On means that it was searched for.
type piece struct {
	Text string
	On   bool
}

func (web *Web) search(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	q, limit := r.URL.Query().Get("q"), hitsOnPage
	if isPart(r) {
		limit = hitsWhileTyping
	}
	found, err := web.Service.Find(r.Context(), who, q, limit)
	if err != nil {
		return err
	}
	body := searchPage{
		form:  form{Values: url.Values{"q": {q}}},
		Asked: utf8.RuneCountInString(strings.TrimSpace(q)) >= service.MinFind,
		Total: found.Total(),
	}
	customers := hitGroup{}
	if body.Asked {
		if customers, err = web.customerHits(r, who, q, limit); err != nil {
			return err
		}
		body.Total += customers.Total
	}
	for _, group := range []hitGroup{customers, web.claimHits(r, q, found), web.warrantyHits(r, q, found), web.documentHits(r, q, found)} {
		if group.Total > 0 {
			group.Href = "/" + group.Name + "?" + url.Values{"q": {q}}.Encode()
			body.Groups = append(body.Groups, group)
		}
	}
	v := view.Page{Title: web.t(r, "search.title"), Nav: "search", Who: who, Body: body}
	if isPart(r) {
		return web.part(w, r, "search", "hits", v)
	}
	return web.show(w, r, http.StatusOK, "search", v)
}

func (web *Web) claimHits(r *http.Request, q string, found service.Found) hitGroup {
	group := hitGroup{Name: "claims", Key: "nav.claims", Icon: "claim", Total: found.Claims.Total}
	for i, c := range found.Claims.List {
		title, sub := c.Fault, []string{c.Warranty.ProductName}
		if title == "" {
			title = web.t(r, "claim_type."+c.Type.String())
		}
		if c.Customer != nil {
			sub = []string{c.Customer.Name, c.Warranty.ProductName}
		}
		if isAsked(q, string(c.ClaimNumber)) {
			sub = append(sub, string(c.ClaimNumber))
		}
		group.Hits = append(group.Hits, hit{
			Href: "/claims/" + c.ID.String(), Title: marked(title, q), Sub: joined(sub, q), Claim: &found.Claims.List[i],
		})
	}
	return group
}

func (web *Web) warrantyHits(r *http.Request, q string, found service.Found) hitGroup {
	group := hitGroup{Name: "warranties", Key: "nav.warranties", Icon: "shield", Total: found.Warranties.Total}
	words := web.reader(r)
	for i, w := range found.Warranties.List {
		var sub []string
		if w.CustomerName != nil {
			sub = append(sub, *w.CustomerName)
		}
		for _, code := range []string{view.Deref(w.SerialNumber), view.Deref(w.ExternalID), string(w.ReferenceNumber)} {
			if isAsked(q, code) {
				sub = append(sub, code)
			}
		}
		sub = append(sub, words.Text("search.until", words.Date(w.EndDate)))
		if w.EndDate == warranty.Lifetime {
			sub[len(sub)-1] = words.Date(w.EndDate)
		}
		group.Hits = append(group.Hits, hit{
			Href: "/warranties/" + w.ID.String(), Title: marked(w.ProductName, q), Sub: joined(sub, q), Warranty: &found.Warranties.List[i],
		})
	}
	return group
}

func (web *Web) documentHits(r *http.Request, q string, found service.Found) hitGroup {
	group := hitGroup{Name: "documents", Key: "nav.documents", Icon: "file", Total: found.Documents.Total}
	for _, d := range found.Documents.List {
		sub := []string{web.t(r, "document_type."+d.Type.String()), d.Warranty.ProductName}
		group.Hits = append(group.Hits, hit{Href: "/documents/" + d.ID.String(), Title: marked(d.FileName, q), Sub: joined(sub, q)})
	}
	return group
}

// isAsked reports whether a search is about a number, with or without its separators.
func isAsked(q, number string) bool {
	plain := func(text string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsNumber(r) {
				return unicode.ToLower(r)
			}
			return -1
		}, text)
	}
	asked := plain(q)
	return number != "" && asked != "" && strings.Contains(plain(number), asked)
}

// joined returns texts in one line, with what was searched for marked.
func joined(texts []string, q string) []piece { return marked(strings.Join(texts, " · "), q) }

// marked splits a text into pieces: the beginnings of words that were searched for, and the rest.
func marked(text, q string) (pieces []piece) {
	words := strings.FieldsFunc(find.Fold(q), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	inWord, from := false, 0
	for at, r := range text {
		before := inWord
		inWord = unicode.IsLetter(r) || unicode.IsNumber(r)
		if at < from || before || !inWord {
			continue
		}
		end := at + longestStart(text[at:], words)
		if end > at {
			if at > from {
				pieces = append(pieces, piece{Text: text[from:at]})
			}
			pieces, from = append(pieces, piece{text[at:end], true}), end
		}
	}
	if from < len(text) {
		pieces = append(pieces, piece{Text: text[from:]})
	}
	return pieces
}

// longestStart returns the length of the longest of some folded words that a text starts with.
func longestStart(text string, words []string) (longest int) {
	for _, word := range words {
		length := 0
		for n := utf8.RuneCountInString(word); n > 0 && length < len(text); n-- {
			_, size := utf8.DecodeRuneInString(text[length:])
			length += size
			if length > longest && sameLetters(find.Fold(text[:length]), word) {
				longest = length
			}
		}
	}
	return longest
}

// sameLetters reports whether two folded words are the same. The ue of "mueller" is the ü of "Müller".
func sameLetters(a, b string) bool {
	return a == b || umlauts.Replace(a) == umlauts.Replace(b)
}

var umlauts = strings.NewReplacer("ae", "a", "oe", "o", "ue", "u")
