// Package paper prints certificates.
package paper

import (
	"bytes"
	"fmt"
	"strings"
	"sync"

	"codeberg.org/go-pdf/fpdf"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/text/unicode/norm"
	"rsc.io/qr"

	"warranty.example/svc/warranty"
)

// Measures of the page, in millimeters.
const (
	margin     = 20
	pageWidth  = 210
	width      = pageWidth - 2*margin
	labelWidth = 38
	linkSize   = 42 // QR code of the verification page
	proofSize  = 66 // QR code of the certificate
	proofTop   = 205
	valuesWide = width - linkSize - 8
)

// Certificate returns a certificate as one page, with the signed text attached and as a QR code. Long texts are printed
// smaller, so that nothing is left out.
func Certificate(c warranty.CertificateClaims, jws string) ([]byte, error) {
	for _, scale := range []float64{1, 0.8, 0.65, 0.5, 0.4} {
		if pdf, fits, err := certificate(c, jws, scale); fits || err != nil {
			return pdf, err
		}
	}
	pdf, _, err := certificate(c, jws, smallest)
	return pdf, err
}

// smallest is the scale at which texts of any allowed length fit.
const smallest = 0.3

func certificate(c warranty.CertificateClaims, jws string, scale float64) (pdf []byte, fits bool, err error) {
	p := &page{Fpdf: fpdf.New("P", "mm", "A4", ""), scale: scale}
	p.AddUTF8FontFromBytes("go", "", goregular.TTF)
	p.AddUTF8FontFromBytes("go", "B", gobold.TTF)
	p.SetCatalogSort(true)
	p.SetCreationDate(c.Time())
	p.SetModificationDate(c.Time())
	p.SetTitle("Warranty certificate "+string(c.ReferenceNumber), true)
	p.SetLang("en")
	p.SetAttachments([]fpdf.Attachment{{Content: []byte(jws), Filename: string(c.ReferenceNumber) + ".jwt"}})
	p.SetMargins(margin, margin, margin)
	p.SetAutoPageBreak(false, 0)
	p.AddPage()
	p.heading(c)
	fits = p.values(c) < proofTop-4
	p.proof(c, jws)
	var out bytes.Buffer
	err = p.Output(&out)
	return out.Bytes(), fits, err
}

type page struct {
	*fpdf.Fpdf
	scale   float64 // of texts from the record
	escaped bool    // some text has characters that the font does not have
}

func (p *page) heading(c warranty.CertificateClaims) {
	p.SetFont("go", "", 10)
	p.SetTextColor(90, 90, 90)
	p.CellFormat(width, 6, "WARRANTY CERTIFICATE", "", 1, "L", false, 0, "")
	p.SetTextColor(0, 0, 0)
	p.paragraph("B", 20, width, c.ProductName)
	p.Ln(4)
	p.standing(c)
	p.Ln(4)
}

// paragraph prints a text from the record.
func (p *page) paragraph(style string, size, wide float64, text string) {
	size *= p.scale
	p.SetFont("go", style, size)
	p.MultiCell(wide, size/2, p.printable(text), "", "L", false)
}

// standing says who stands behind the warranty: the domain first and largest, because anyone can use any name.
func (p *page) standing(c warranty.CertificateClaims) {
	by := c.Backing()
	p.paragraph("", 11, width, by.Lead(language))
	p.paragraph("B", 16, width, by.Who(language))
	p.Ln(1)
	p.paragraph("", 11, width, by.Note(language)+" As of "+c.Time().Format("2 January 2006, 15:04 UTC")+".")
}

// language is the language of certificates.
const language = "en"

// values prints the claims and returns where they end.
func (p *page) values(c warranty.CertificateClaims) (bottom float64) {
	end := c.EndDate.Time().Format("2 January 2006")
	if c.EndDate == warranty.Lifetime {
		end = "lifetime"
	}
	optional := func(v *string) string {
		if v == nil {
			return ""
		}
		return *v
	}
	party := func(v *warranty.CertificateParty) string {
		if v == nil {
			return ""
		}
		return v.Domain + ", calls itself “" + v.Name + "”"
	}
	top := p.GetY()
	for _, v := range [][2]string{
		{"Reference", string(c.ReferenceNumber)},
		{"Status", c.Status.Words(language)},
		{"Starts", c.StartDate.Time().Format("2 January 2006")},
		{"Ends", end},
		{"Brand", optional(c.Brand)},
		{"Model", optional(c.Model)},
		{"GTIN", optional(c.GTIN)},
		{"Serial SHA-256", optional(c.SerialSHA256)},
		{"Assurance", c.Assurance.Words(language)},
		{"Issuer", party(c.Issuer)},
		{"Seller", party(c.Seller)},
		{"Signed by", c.Service},
	} {
		if v[1] == "" {
			continue
		}
		p.SetFont("go", "", 9)
		p.SetTextColor(90, 90, 90)
		p.CellFormat(labelWidth, 5, v[0], "", 0, "L", false, 0, "")
		p.SetTextColor(0, 0, 0)
		p.paragraph("", 10, valuesWide-labelWidth, v[1])
		p.Ln(1.5)
	}
	bottom = p.GetY()
	if code, err := qr.Encode(c.VerifyURL(), qr.M); err == nil { // a URL always fits
		x := float64(pageWidth - margin - linkSize)
		p.code(code, x, top, linkSize)
		p.LinkString(x, top, linkSize, linkSize, c.VerifyURL())
		p.SetFont("go", "", 8)
		p.SetXY(x, top+linkSize+1)
		p.MultiCell(linkSize, 3.5, "Scan to see the warranty as it is today", "", "C", false)
		bottom = max(bottom, p.GetY())
	}
	return bottom
}

// proof prints the signed text as a QR code, and how to check it.
func (p *page) proof(c warranty.CertificateClaims, jws string) {
	left, place := float64(margin), "attached to this file"
	if code, err := qr.Encode(jws, qr.L); err == nil { // otherwise it is too long, and only attached
		p.code(code, left, proofTop, proofSize)
		left += proofSize + 8
		place += " and is the text of the QR code beside this"
	}
	p.SetXY(left, proofTop)
	p.SetFont("go", "B", 9)
	p.CellFormat(0, 5, "How to check this page", "", 1, "L", false, 0, "")
	p.SetX(left)
	p.SetFont("go", "", 8)
	text := "This page can be copied or changed. What counts is the signed certificate, which is " + place + ". It says what was true on " + c.Time().Format("2 January 2006") + ".\n" +
		"Today: " + c.VerifyURL() + "\n" +
		"Public keys: " + c.Service + "/.well-known/jwks.json\n" +
		"Offline: svc verify --certificate FILE --keys FILE"
	if p.escaped {
		text += "\nCharacters that this page cannot print are written as [U+…]; the signed certificate has them."
	}
	p.MultiCell(pageWidth-margin-left, 3.8, p.printable(text), "", "L", false)
}

// code draws a QR code with the quiet zone that readers need.
func (p *page) code(code *qr.Code, x, y, size float64) {
	const quiet = 4
	dot := size / float64(code.Size+2*quiet)
	p.SetFillColor(0, 0, 0)
	for row := range code.Size {
		for at := 0; at < code.Size; at++ {
			first := at
			for at < code.Size && code.Black(at, row) {
				at++
			}
			if at > first { // one rectangle for a run of dots, so that no gaps show
				p.Rect(x+float64(first+quiet)*dot, y+float64(row+quiet)*dot, float64(at-first)*dot, 1.02*dot, "F")
			}
		}
	}
}

var font = sync.OnceValues(func() (*sfnt.Font, error) { return sfnt.Parse(goregular.TTF) })

// printable replaces the characters that the font does not have by their numbers.
func (p *page) printable(text string) string {
	f, err := font()
	if err != nil {
		p.SetError(err)
		return ""
	}
	var b strings.Builder
	var buffer sfnt.Buffer
	for _, r := range norm.NFC.String(text) {
		if index, err := f.GlyphIndex(&buffer, r); r == '\n' || r != '\u00ad' && err == nil && index != 0 {
			b.WriteRune(r)
			continue
		}
		p.escaped = true
		fmt.Fprintf(&b, "[U+%04X]", r)
	}
	return b.String()
}
