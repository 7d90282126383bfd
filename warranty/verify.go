package warranty

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// VerifyWarranty is the input of warranties.verify.
type VerifyWarranty struct {
	Reference string `json:"reference" in:"path" required:"true" doc:"Reference number. Case, spaces and hyphens are ignored." example:"WR-7K2M-9QXT-4D8P-HV3A"`
	Serial    string `json:"serial,omitzero" in:"query" max:"120" doc:"Serial number to compare. The response says only whether it matches."`
}

// Check validates the input.
func (in *VerifyWarranty) Check() error {
	var c Checks
	in.Serial = c.text("serial", in.Serial, 0, MaxSerialNumber)
	return c.Err()
}

// VerifyProduct is the input of verification.product.
type VerifyProduct struct {
	GTIN   string `json:"gtin" in:"path" required:"true" doc:"Global Trade Item Number, with or without leading zeros." example:"04242005273881"`
	Number string `json:"number" in:"path" required:"true" doc:"Serial number of the product, exactly as recorded." example:"FD9906-003217"`
	Serial string `json:"serial,omitzero" in:"query" max:"120" doc:"Serial number to compare. The response says only whether it matches."`
	Issuer string `json:"issuer,omitzero" in:"query" max:"253" doc:"Only the issuer with this verified domain, whether the lists would have it or not." example:"halden.example"`
}

// Check validates the input.
func (in *VerifyProduct) Check() error {
	var c Checks
	in.Issuer = strings.ToLower(c.text("issuer", in.Issuer, 0, MaxDomain))
	in.Number = c.text("number", in.Number, 1, MaxSerialNumber)
	in.Serial = c.text("serial", in.Serial, 0, MaxSerialNumber)
	return c.Err()
}

// ProductVerification is what organizations issued for a product with a serial number: one warranty of each issuer.
type ProductVerification struct {
	Verified   []Verification `json:"verified" doc:"Of issuers with a verified domain, by domain. No issuer is preferred: compare the domain with the one on your slip or receipt."`
	Unverified []Verification `json:"unverified" doc:"Of issuers without a verified domain. Anyone can use their names."`
	More       bool           `json:"more" doc:"Whether there are issuers that are not in the lists. The parameter issuer finds those with a verified domain."`
}

// Only returns the verification of the only issuer with a verified domain, and those of the others, or of the only
// issuer without one. It returns false if there are several.
func (p ProductVerification) Only() (only Verification, others []Verification, ok bool) {
	switch {
	case len(p.Verified) == 1:
		return p.Verified[0], p.Unverified, true
	case len(p.Verified) == 0 && len(p.Unverified) == 1 && !p.More:
		return p.Unverified[0], nil, true
	}
	return only, nil, false
}

// Verification is what anyone with the reference number may know about a warranty.
type Verification struct {
	ReferenceNumber Reference `json:"reference_number" doc:"Reference number of the warranty."`
	ProductName     string    `json:"product_name" doc:"What is covered."`
	Category        *string   `json:"category" doc:"Product category, as the owner entered it."`
	Status          Status    `json:"status" doc:"Status of the warranty today."`
	StartDate       Date      `json:"start_date" doc:"First day of coverage."`
	EndDate         Date      `json:"end_date" doc:"Last day of coverage, inclusive; 9999-12-31 means lifetime."`
	SerialNumber    *string   `json:"serial_number" doc:"Serial number, masked except for its last characters."`
	SerialMatches   *bool     `json:"serial_matches" doc:"Whether the given serial number matches; null if none was given."`
	Registered      bool      `json:"registered" doc:"Whether someone has it. A warranty that waits for its customer is not registered."`
	Assurance       Assurance `json:"assurance" doc:"Who stands behind the record: an issuer (issuer_verified) or a confirmed seller (seller_confirmed) with a verified domain, or nobody who is verified (unverified)."`
	Issuer          *Party    `json:"issuer" doc:"The organization that issued it; null if its owner recorded it, or a person issued it."`
	Seller          *Party    `json:"seller" doc:"The organization that confirmed that it sold it; null without one."`
	Statement       string    `json:"statement" doc:"Who stands behind the record, as a sentence in English."`
	CheckedAt       time.Time `json:"checked_at" doc:"When the warranty was checked."`
	// By is who stands behind the record.
	By Standing `json:"-"`
}

// Verified returns what anyone with the reference number may know. Call Show first.
func (w Warranty) Verified(by Standing, askedSerial string, now time.Time) Verification {
	v := Verification{
		ReferenceNumber: w.ReferenceNumber,
		ProductName:     w.ProductName,
		Category:        w.Category,
		Status:          w.Status,
		StartDate:       w.StartDate,
		EndDate:         w.EndDate,
		Registered:      !by.Untaken,
		Assurance:       by.Assurance(),
		Issuer:          by.Issuer,
		Seller:          by.Seller,
		Statement:       by.Backing().Statement("en"),
		CheckedAt:       now,
		By:              by,
	}
	serial := ""
	if w.SerialNumber != nil {
		serial = *w.SerialNumber
		v.SerialNumber = Optional(maskSerial(serial))
	}
	if asked := bareSerial(askedSerial); asked != "" {
		matches := asked == bareSerial(serial)
		v.SerialMatches = &matches
	}
	return v
}

// Product returns the name of the product: in quotation marks if no verified business stands behind it, because anyone
// can write it.
func (v Verification) Product(language string) string {
	if v.By.Backing().Verified() {
		return v.ProductName
	}
	return Quoted(v.ProductName, language)
}

// Quoted returns what an account that is not verified wrote, in quotation marks and without characters that could pass
// for a check mark, a seal or the end of the quotation. Units, signs and numerals stay.
func Quoted(written, language string) string {
	plain := strings.Map(func(r rune) rune {
		unit := 0x2070 <= r && r <= 0x209C || 0x2100 <= r && r <= 0x214F
		sign := r != '√' && unicode.In(r, unicode.Sm, unicode.Sc, unicode.Nl)
		switch {
		case strings.ContainsRune("“”„‟«»", r):
			return '"'
		case isMark(r) && !unit && !sign:
			return ' '
		}
		return r
	}, written)
	return fmt.Sprintf(wordsIn(language)["quote"], strings.Join(strings.Fields(plain), " "))
}

// maskSerial masks a serial number, except for the last four characters of one that
// has at least eight.
func maskSerial(serial string) string {
	const hidden = "••••"
	runes := []rune(serial)
	if len(runes) < 8 {
		return hidden
	}
	return hidden + string(runes[len(runes)-4:])
}

// bareSerial returns the form in which serial numbers are compared: folded, without
// spaces and hyphens.
func bareSerial(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.Is(unicode.Pd, r) {
			return -1
		}
		return r
	}, Fold(s))
}

// SerialKey returns a serial number as records are found by it: without spaces and dashes, and with the letters A to Z in
// lower case. The store computes the same; nothing else is folded, because the databases disagree about other letters.
func SerialKey(s string) string {
	key := strings.Map(func(r rune) rune {
		switch {
		case r == ' ' || r == '-':
			return -1
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return r
	}, s)
	if key == "" && s != "" {
		return "-" // nothing is left of it, so no record has it
	}
	return key
}

// ErrUnknownReference means that a reference is mistyped, unknown or deleted. Callers
// cannot tell which.
var ErrUnknownReference = Refuse(NotFound,
	"No warranty has this reference number. Check it for typos; the format is WR-XXXX-XXXX-XXXX-XXXX.")

// ErrUnknownProduct means that no organization issued a warranty for a product with a serial number.
var ErrUnknownProduct = Refuse(NotFound,
	"No business issued a warranty for this product and serial number. Check the GTIN and the serial number.")
