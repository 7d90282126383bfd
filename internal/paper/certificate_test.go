package paper_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"warranty.example/svc/internal/paper"
	"warranty.example/svc/warranty"
)

func text(s string) *string { return &s }

var samples = map[string]warranty.CertificateClaims{
	"usual": {
		Service:         "https://warranty.example.com",
		IssuedAt:        1_794_884_400,
		ReferenceNumber: "WR-7K2M-9QXT-4D8P-HV3A",
		ProductName:     "Wäschetrockner Pro 7 – Ω Серия",
		Brand:           text("Halden"),
		Model:           text("WT 7/2"),
		GTIN:            text("4006381333931"),
		SerialSHA256:    text(warranty.SerialHash("HK7-0001")),
		StartDate:       warranty.NewDate(2026, 1, 1),
		EndDate:         warranty.NewDate(2027, 12, 31),
		Status:          warranty.Active,
		Assurance:       warranty.IssuerVerified,
		Issuer:          &warranty.CertificateParty{Name: "Halden Elektro Großmann GmbH", Domain: "halden.example"},
	},
	"long": {
		Service:         "https://" + strings.Repeat("warranty.", 20) + "example.com",
		IssuedAt:        1_794_884_400,
		ReferenceNumber: "WR-7K2M-9QXT-4D8P-HV3A",
		ProductName:     strings.Repeat("洗", 200),
		Brand:           text(strings.Repeat("ש", 120)),
		Model:           text(strings.Repeat("W", 120)),
		GTIN:            text("4006381333931"),
		SerialSHA256:    text(warranty.SerialHash("HK7-0001")),
		StartDate:       warranty.NewDate(2026, 1, 1),
		EndDate:         warranty.Lifetime,
		Status:          warranty.Void,
		Assurance:       warranty.SellerConfirmed,
		Issuer:          &warranty.CertificateParty{Name: strings.Repeat("😀", 100), Domain: "xn--bcher-kva.example"},
		Seller:          &warranty.CertificateParty{Name: strings.Repeat("Wide MMMM ", 20), Domain: strings.Repeat("long.", 40) + "example"},
	},
}

// TestPrintedCertificates checks the page with another program: it has one page, all texts, and the attachment.
func TestPrintedCertificates(t *testing.T) {
	for name, c := range samples {
		jws := strings.Repeat("eyJhbGciOi.", 80)
		pdf, err := paper.Certificate(c, jws)
		if err != nil {
			t.Fatal(err)
		}
		again, err := paper.Certificate(c, jws)
		if err != nil || !bytes.Equal(pdf, again) {
			t.Errorf("%s: not the same twice: %v", name, err)
		}
		if len(pdf) > 300_000 || bytes.Count(pdf, []byte("/Type /Page\n")) != 1 {
			t.Errorf("%s: %d bytes, %d pages", name, len(pdf), bytes.Count(pdf, []byte("/Type /Page\n")))
		}
		reader, err := exec.LookPath("pdftotext")
		if err != nil {
			t.Skip("no pdftotext")
		}
		path := filepath.Join(t.TempDir(), name+".pdf")
		if err := os.WriteFile(path, pdf, 0o600); err != nil {
			t.Fatal(err)
		}
		read, err := exec.Command(reader, "-raw", path, "-").Output()
		if err != nil {
			t.Fatal(err)
		}
		flat := strings.Join(strings.Fields(string(read)), "")
		if strings.Count(string(read), "\f") != 1 {
			t.Errorf("%s: not one page", name)
		}
		for _, want := range wanted(c) {
			if !strings.Contains(flat, strings.Join(strings.Fields(want), "")) {
				t.Errorf("%s: no %q in %s", name, want, read)
			}
		}
	}
}

// wanted lists the texts that must be on the page.
func wanted(c warranty.CertificateClaims) []string {
	list := []string{string(c.ReferenceNumber), c.Status.Words("en"), c.Assurance.Words("en"), "1 January 2026", *c.Model, *c.GTIN, *c.SerialSHA256, c.Service, c.VerifyURL(),
		"17 November 2026", c.Issuer.Domain}
	if c.Seller == nil {
		return append(list, c.ProductName, c.Issuer.Name, *c.Brand, "31 December 2027")
	}
	return append(list, strings.Repeat("[U+6D17]", 200), strings.Repeat("[U+05E9]", 120), strings.Repeat("[U+1F600]", 100),
		c.Seller.Name, c.Seller.Domain, "lifetime", "cannot print")
}
