package warranty

import (
	"strings"
	"time"
	"unicode"
)

// VerifyWarranty asks whether a reference number stands for a warranty.
type VerifyWarranty struct {
	Reference string `json:"reference" in:"path" required:"true" doc:"Reference number as printed; case, spaces and hyphens do not matter." example:"WR-7K2M-9QXT-4D8P-HV3A"`
	Serial    string `json:"serial,omitzero" in:"query" max:"120" doc:"Serial number to compare with the record's; the answer only tells whether it matches."`
}

// Check refuses texts that no serial number can be.
func (in *VerifyWarranty) Check() error {
	var c Checks
	in.Serial = c.text("serial", in.Serial, 0, MaxSerialNumber)
	return c.Err()
}

// Verification is what anyone who has the reference may know of a warranty, and no more.
type Verification struct {
	ReferenceNumber Reference `json:"reference_number" doc:"Number printed on the warranty."`
	ProductName     string    `json:"product_name" doc:"What is covered."`
	Category        *string   `json:"category" doc:"Kind of product."`
	Status          Status    `json:"status" doc:"Where the warranty stands today."`
	StartDate       Date      `json:"start_date" doc:"First day of cover."`
	EndDate         Date      `json:"end_date" doc:"Last day of cover, inclusive; 9999-12-31 means for life."`
	SerialNumber    *string   `json:"serial_number" doc:"Serial number, masked but for its last characters."`
	SerialMatches   *bool     `json:"serial_matches" doc:"Whether the serial number asked about is the record's; null when none was asked about."`
	Issuer          string    `json:"issuer" doc:"Name of who issued the warranty."`
	CheckedAt       time.Time `json:"checked_at" doc:"When this was checked."`
}

// Verified is what a warranty shows to anyone with its reference. Its Status must have been derived.
func (w Warranty) Verified(issuer, askedSerial string, now time.Time) Verification {
	v := Verification{ReferenceNumber: w.ReferenceNumber, ProductName: w.ProductName, Category: w.Category, Status: w.Status,
		StartDate: w.StartDate, EndDate: w.EndDate, Issuer: issuer, CheckedAt: now}
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

// maskSerial shows the last four characters of a serial number that is long
// enough to stay secret all the same.
func maskSerial(serial string) string {
	const hidden = "••••"
	runes := []rune(serial)
	if len(runes) < 8 {
		return hidden
	}
	return hidden + string(runes[len(runes)-4:])
}

// bareSerial is a serial number as it is compared: without case, spaces and hyphens.
func bareSerial(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.Is(unicode.Pd, r) {
			return -1
		}
		return r
	}, Fold(s))
}

// ErrUnknownReference answers references that are mistyped, unknown or deleted: nobody can tell which.
var ErrUnknownReference = Refuse(NotFound, "No warranty has this reference number. Compare it with the printed one; it looks like WR-XXXX-XXXX-XXXX-XXXX.")
