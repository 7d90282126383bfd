package warranty

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"warranty.example/svc/internal/locales"
)

// Party is an organization that stands behind a record. Its domain is its identity; anyone can use its name.
type Party struct {
	Name        string       `json:"name" doc:"What the organization calls itself. Nobody has verified the name: the domain is its identity."`
	Domain      *string      `json:"domain" doc:"Its verified domain; null without one."`
	MixedScript bool         `json:"mixed_script" doc:"Whether an unverified name mixes alphabets, or has letters that look like others, so that it may pass for another name."`
	FormerNames []FormerName `json:"former_names" doc:"What it called itself in the last 30 days, latest first."`
	// Brand is how it looks; nothing without a verified domain.
	Brand PartyBrand `json:"-"`
}

// FormerName is a name that an organization had.
type FormerName struct {
	Name  string    `json:"name" doc:"What the organization called itself."`
	Until time.Time `json:"until" doc:"When it changed its name."`
}

// Limits of the names of organizations.
const (
	// RenameShown is how long a former name is shown.
	RenameShown = 30 * 24 * time.Hour
	// MaxRenames is the number of renames of an organization in RenameShown, so that all of them can be shown.
	MaxRenames = 5
)

// NewParty returns an organization as others see it.
func NewParty(name string, domain *string) *Party {
	return &Party{Name: name, Domain: domain, MixedScript: domain == nil && LooksMixed(name), FormerNames: []FormerName{}}
}

// Formerly adds the stored former names that are still shown.
func (p *Party) Formerly(stored []FormerName, now time.Time) *Party {
	for _, f := range stored {
		if f.Until.After(now.Add(-RenameShown)) {
			p.FormerNames = append(p.FormerNames, f)
		}
	}
	return p
}

// Branded adds how the organization looks, if it has a verified domain.
func (p *Party) Branded(b PartyBrand) *Party {
	if p.Domain != nil {
		p.Brand = b
	}
	return p
}

// Assurance is who stands behind a record.
type Assurance string

// The assurances.
const (
	IssuerVerified  Assurance = "issuer_verified"
	SellerConfirmed Assurance = "seller_confirmed"
	Unverified      Assurance = "unverified"
)

var assuranceNames = namesOf(IssuerVerified, SellerConfirmed, Unverified)

// Values lists the known assurances.
func (Assurance) Values() []string { return assuranceNames }

// String returns the assurance's name.
func (a Assurance) String() string { return string(a) }

// Standing is what is known about who stands behind a record, and whether it waits for its customer.
type Standing struct {
	Issuer, Seller *Party
	// PrivateSeller means that a person confirmed the record as its seller. People are never named.
	PrivateSeller bool
	Untaken       bool
}

// Backing is who stands behind a record. Every page, email, certificate and response takes it from Standing.Backing,
// and its words from here.
type Backing struct {
	// Role is Issuer or Seller, or Owner if nobody else stands behind the record.
	Role Role
	// Party is nil for the owner, and for a seller who is a person.
	Party *Party
}

// Backing returns who stands behind a record: whoever has a verified domain, the issuer before the seller, or else the
// issuer, a seller who confirmed it, and its owner.
func (s Standing) Backing() Backing {
	issuer, seller := Backing{Issuer, s.Issuer}, Backing{Seller, s.Seller}
	switch {
	case issuer.Verified():
		return issuer
	case seller.Verified():
		return seller
	case s.Issuer != nil:
		return issuer
	case s.Seller != nil || s.PrivateSeller:
		return seller
	}
	return Backing{Role: Owner}
}

// Confirmed returns the seller who confirmed the record, and false without one.
func (s Standing) Confirmed() (Backing, bool) {
	return Backing{Seller, s.Seller}, s.Seller != nil || s.PrivateSeller
}

// Assurance returns the assurance that the parties give.
func (s Standing) Assurance() Assurance { return s.Backing().Assurance() }

// Verified reports whether a business with a verified domain stands behind the record.
func (b Backing) Verified() bool { return b.Party != nil && b.Party.Domain != nil }

// Assurance returns the assurance that the party gives.
func (b Backing) Assurance() Assurance {
	switch {
	case b.Verified() && b.Role == Issuer:
		return IssuerVerified
	case b.Verified():
		return SellerConfirmed
	}
	return Unverified
}

// standingTexts are the words for who stands behind a record, by language. "%[1]s" in them is the party: its domain, or
// else its name in quotation marks. "%[2]s" is the quoted name.
var standingTexts = sync.OnceValue(func() map[string]standingWords {
	all := map[string]standingWords{}
	for _, language := range Languages() {
		var words standingWords
		raw, err := locales.Standing.ReadFile(language + "/standing.json")
		if err == nil {
			err = json.Unmarshal(raw, &words)
		}
		if err != nil {
			panic(fmt.Sprintf("warranty: words of %s: %v", language, err))
		}
		all[language] = words
	}
	return all
})

type standingWords map[string]string

// wordsIn returns the words of a language, or English ones.
func wordsIn(language string) standingWords {
	if !KnownLanguage(language) {
		language = Languages()[0]
	}
	return standingTexts()[language]
}

// Lead returns the words before Who, such as "Issued by".
func (b Backing) Lead(language string) string {
	w := wordsIn(language)
	switch b.Role {
	case Issuer:
		return w["issuer"]
	case Seller:
		return w["seller"]
	}
	return w["owner"]
}

// Who returns the domain, the name in quotation marks, or the role of who stands behind the record.
func (b Backing) Who(language string) string {
	w := wordsIn(language)
	switch {
	case b.Verified():
		return *b.Party.Domain
	case b.Party != nil:
		return b.quoted(w)
	case b.Role == Seller:
		return upperFirst(w["a_seller"])
	}
	return upperFirst(w["an_owner"])
}

func (b Backing) quoted(w standingWords) string { return fmt.Sprintf(w["quote"], b.Party.Name) }

// Note returns the sentence below Who.
func (b Backing) Note(language string) string {
	w := wordsIn(language)
	return b.choose(w, w["note_verified"], w["note_unverified"], w["note_private"], w["note_recorded"])
}

// Statement returns who stands behind the record as one text, such as
// "Confirmed by “Halden Electronics”, which has not verified its website."
func (b Backing) Statement(language string) string {
	w := wordsIn(language)
	return b.Lead(language) + " " + b.choose(w, w["verified"], w["unverified"], w["private"], w["recorded"])
}

// choose returns the text for the backing, with its party.
func (b Backing) choose(w standingWords, verified, unverified, private, recorded string) string {
	switch {
	case b.Verified():
		return strings.NewReplacer("%[1]s", *b.Party.Domain, "%[2]s", b.quoted(w)).Replace(verified)
	case b.Party != nil:
		return strings.NewReplacer("%[1]s", b.quoted(w)).Replace(unverified)
	case b.Role == Seller:
		return private
	}
	return recorded
}

// Words returns the assurance in a few words.
func (a Assurance) Words(language string) string {
	w := wordsIn(language)
	switch a {
	case IssuerVerified:
		return w["label_issuer"]
	case SellerConfirmed:
		return w["label_seller"]
	}
	return w["no_mark"]
}

// Words returns the status of a warranty as people say it, such as "In force".
func (s Status) Words(language string) string {
	if text, ok := wordsIn(language)["status."+string(s)]; ok {
		return text
	}
	return string(s) // of a newer service
}

func upperFirst(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}
