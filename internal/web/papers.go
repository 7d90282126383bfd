package web

import (
	"context"
	"errors"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"

	"warranty.example/svc/internal/paper"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// certificatePage shows a certificate as it prints.
type certificatePage struct {
	Record  warranty.Warranty
	Signed  bool
	Preview template.HTML
}

// certificateOf returns the certificate of the warranty in the path.
func (web *Web) certificateOf(r *http.Request, who warranty.Principal) (c service.PrintedCertificate, err error) {
	key, err := warranty.ParseWarrantyKey(r.PathValue("id"))
	if err != nil {
		return c, warranty.ErrNotFound
	}
	return web.Service.OwnCertificate(r.Context(), who, warranty.GetWarranty{ID: key})
}

// certificate shows the certificate of a warranty.
func (web *Web) certificate(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	c, err := web.certificateOf(r, who)
	if err != nil {
		return err
	}
	words := web.paperReader(r)
	texts := web.certificateTexts(r.Context(), words, c, who)
	sheet := texts.Sheet()
	body := certificatePage{Record: *c.Record, Signed: c.Signed != "", Preview: sheet.SVG(web.t(r, "paper.preview"))}
	v := view.Page{Title: web.t(r, "certificate.title"), Nav: "warranties", Who: who, Body: body}
	return web.show(w, r, http.StatusOK, "certificate", v)
}

// certificateFile serves the certificate of a warranty as PDF, to show or to save.
func (web *Web) certificateFile(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	c, err := web.certificateOf(r, who)
	if err != nil {
		return err
	}
	done, err := web.Service.PaperTurn(r.Context(), who)
	if err != nil {
		return err
	}
	defer done()
	body, err := web.certificatePDF(r.Context(), web.paperReader(r), c, who)
	if err != nil {
		return err
	}
	sendPDF(w, body, string(c.ReferenceNumber)+".pdf", r.URL.Query().Has("download"))
	return nil
}

// CertificatePDF returns a certificate for everyone as a page to print, in the language of the request's reader.
func (web *Web) CertificatePDF(r *http.Request, c service.PrintedCertificate) ([]byte, error) {
	done, err := web.Service.PaperTurn(r.Context(), warranty.Principal{})
	if err != nil {
		return nil, err
	}
	defer done()
	return web.certificatePDF(r.Context(), web.paperReader(r), c, warranty.Principal{})
}

func (web *Web) certificatePDF(
	ctx context.Context, words view.Reader, c service.PrintedCertificate, who warranty.Principal,
) ([]byte, error) {
	file := paper.File{
		Title: words.Text("certificate.title") + " " + string(c.ReferenceNumber), Language: words.Lang, Made: c.CheckedAt,
	}
	if c.Signed != "" {
		file.Attachment = &paper.Attachment{Name: string(c.ReferenceNumber) + ".jwt", Content: []byte(c.Signed)}
	}
	texts := web.certificateTexts(ctx, words, c, who)
	return paper.PDF([]paper.Sheet{texts.Sheet()}, file)
}

// certificateTexts returns what a certificate says. An issuer without a verified domain gets no seal, and its name is
// in quotation marks, as on the public page.
func (web *Web) certificateTexts(
	ctx context.Context, words view.Reader, c service.PrintedCertificate, who warranty.Principal,
) paper.Certificate {
	by := c.By.Backing()
	title, role := "certificate.title", "certificate.gives"
	if by.Role == warranty.Seller {
		title, role = "certificate.title_seller", "certificate.confirms"
	}
	out := paper.Certificate{
		Issuer:  web.paperIssuer(ctx, words, by.Party),
		Kind:    strings.ToUpper(words.Text(title)),
		Product: c.Product(words.Lang),
		Heads: paper.Cover{
			What: words.Text("certificate.covered"), From: words.Text("certificate.from"),
			Until: words.Text("certificate.until"),
		},
		Law: paper.Section{Heading: words.Text("paper.law"), Text: words.Text("certificate.law_text")},
		Check: paper.Section{
			Heading: words.Text("certificate.check"), Text: words.Text("certificate.check_text", web.host()+"/verify"),
		},
		Checks:   words.Text("certificate.check_counts"),
		Link:     web.PublicURL + "/verify/" + string(c.ReferenceNumber),
		LostNote: words.Text("paper.lost", paper.Lost),
	}
	out.Sections = append(out.Sections, paper.Section{Heading: words.Text(role), Text: by.Statement(words.Lang)})
	if by.Verified() {
		out.Seal = view.SealCurves(c.ReferenceNumber)
	} else {
		out.Issuer.Lines = append(out.Issuer.Lines, words.Text("certificate.unverified"))
	}
	if c.Status == warranty.Void || c.Status == warranty.Cancelled {
		out.Notice = c.Status.Words(words.Lang) + ". " + words.Text("certificate.not_valid")
	}
	out.Covers = []paper.Cover{{
		What: words.Text("certificate.whole"), From: words.Date(c.StartDate), Until: until(words, c.EndDate),
	}}
	out.Facts, out.Given = certificateFacts(words, c, who)
	out.Sections = append(out.Sections, web.ownSections(words, c)...)
	out.Signed = []string{by.Party.Name, words.Day(words.Zone, c.CheckedAt)}
	if c.Signed != "" {
		out.Signed = append(out.Signed, words.Text("certificate.signed", web.host()))
	}
	return out
}

// certificateFacts returns the numbers and dates of a certificate, and to whom it was given. Only those with access to
// the warranty see the serial number in full, the purchase and the customer.
func certificateFacts(
	words view.Reader, c service.PrintedCertificate, who warranty.Principal,
) (facts []paper.Fact, given string) {
	serial, seller := view.Deref(c.SerialNumber), ""
	if c.Seller != nil && c.Seller.Domain != nil {
		seller = *c.Seller.Domain
	}
	bought := ""
	if w := c.Record; w != nil {
		serial = view.Deref(w.SerialNumber)
		if w.SellerName != nil {
			seller = *w.SellerName
		}
		if w.PurchaseDate != nil {
			bought = words.Date(*w.PurchaseDate)
		}
		switch {
		case w.CustomerName != nil:
			given = words.Text("certificate.given", *w.CustomerName)
		case w.Roles.Has(warranty.Owner) && !w.Roles.Has(warranty.Issuer):
			given = words.Text("certificate.given", who.Account.Name)
		}
	}
	for _, f := range []paper.Fact{
		{Name: words.Text("warranty.serial"), Value: serial, Number: true},
		{Name: words.Text("certificate.bought"), Value: bought},
		{Name: words.Text("certificate.seller"), Value: seller},
		{Name: words.Text("warranty.reference"), Value: string(c.ReferenceNumber), Number: true},
	} {
		if f.Value != "" {
			facts = append(facts, f)
		}
	}
	return facts, given
}

// ownSections returns the terms and how to claim, for those with access to a warranty that an organization issued.
func (web *Web) ownSections(words view.Reader, c service.PrintedCertificate) (list []paper.Section) {
	if c.Record == nil {
		return nil
	}
	claim := words.Text("certificate.claim_text", web.host(), words.Text("claim.new"))
	if contact := contactLine(c.Issuer); contact != "" {
		claim += " " + words.Text("certificate.claim_contact", contact)
	}
	list = append(list, paper.Section{Heading: words.Text("certificate.claim"), Text: claim})
	if c.Issuer != nil && c.Record.Description != nil {
		list = append(list, paper.Section{Heading: words.Text("product.terms"), Text: *c.Record.Description})
	}
	return list
}

// contactLine returns how to reach an organization, or "".
func contactLine(p *warranty.Profile) string {
	var list []string
	if p != nil {
		for _, v := range []*string{p.ContactEmail, p.ContactPhone} {
			if v != nil {
				list = append(list, *v)
			}
		}
	}
	return strings.Join(list, ", ")
}

// paperIssuer returns the head of a paper by an organization.
func (web *Web) paperIssuer(ctx context.Context, words view.Reader, party *warranty.Party) paper.Issuer {
	if party.Domain == nil {
		return paper.Issuer{Name: warranty.Quoted(party.Name, words.Lang)}
	}
	issuer := paper.Issuer{Name: party.Name}
	if party.Brand.Address != "" {
		issuer.Lines = strings.Split(party.Brand.Address, "\n")
	}
	issuer.Lines = append(issuer.Lines, words.Text("certificate.verified", *party.Domain))
	web.printBrand(ctx, &issuer, party.Brand)
	return issuer
}

// printBrand adds the logo and the color of a verified business to the head of a paper. A logo that cannot be read is
// left out.
func (web *Web) printBrand(ctx context.Context, issuer *paper.Issuer, look warranty.PartyBrand) {
	if look.Color != "" {
		r, g, b := look.Color.OnLight().RGB()
		issuer.Color = paper.Color{R: r, G: g, B: b}
	}
	if look.Logo == "" {
		return
	}
	logo, err := web.Service.Logo(ctx, look.Logo)
	if err != nil && !errors.Is(err, warranty.ErrNotFound) { // it was replaced just now
		web.Log.WarnContext(ctx, "cannot print a logo", "error", err.Error())
	}
	issuer.Logo = logo
}

// until returns the last day of a warranty, or that it is for life.
func until(words view.Reader, end warranty.Date) string {
	if end == warranty.Lifetime {
		return words.Text("verify.lifetime")
	}
	return words.Date(end)
}

// host returns the public address of the service as it is printed.
func (web *Web) host() string {
	return strings.TrimPrefix(strings.TrimPrefix(web.PublicURL, "https://"), "http://")
}

// paperReader returns the reader of a request, with English instead of languages that the fonts of papers lack.
func (web *Web) paperReader(r *http.Request) view.Reader {
	reader := web.reader(r)
	if reader.Dir == "rtl" {
		reader.Edition = web.views.Edition(warranty.Languages()[0])
	}
	return reader
}

// sendPDF sends a file to show in the browser, which has it print, or to save.
func sendPDF(w http.ResponseWriter, body []byte, name string, save bool) {
	how := "inline"
	if save {
		how = "attachment"
	}
	h := w.Header()
	h.Set("Content-Type", "application/pdf")
	h.Set("Content-Disposition", how+`; filename="`+name+`"`)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	// Chromium does not start its PDF viewer in a sandboxed document.
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; object-src 'self'; "+
		"form-action 'none'; base-uri 'none'; frame-ancestors 'none'")
	_, _ = w.Write(body) // fails only when the client has disconnected
}

// slipCookie returns the name of the cookie with the size of slips. It grants nothing.
func (web *Web) slipCookie() string { return strings.Replace(web.cookieName(), "session", "slip", 1) }

// slipSize returns the size of slips that was chosen last.
func (web *Web) slipSize(r *http.Request) paper.SlipSize {
	if cookie, err := r.Cookie(web.slipCookie()); err == nil && cookie.Value == string(paper.A6) {
		return paper.A6
	}
	return paper.Roll80
}

// slipTexts returns what the slip of a warranty says.
func (web *Web) slipTexts(
	ctx context.Context, words view.Reader, who warranty.Principal, w warranty.Warranty, code string,
) (paper.Slip, error) {
	look, err := web.Service.Store.Brand(ctx, who.Account.ID)
	if err != nil {
		return paper.Slip{}, err
	}
	profile, err := web.Service.Issuer(ctx, who, warranty.WarrantyKey{ID: w.ID})
	if err != nil {
		return paper.Slip{}, err
	}
	issuer := paper.Issuer{Name: who.Account.Name} // the shop's own customers know it
	if look.Domain != nil {
		issuer = paper.Issuer{Name: *look.Domain, Lines: []string{who.Account.Name}}
		web.printBrand(ctx, &issuer, look.PartyBrand)
	}
	slip := paper.Slip{
		Issuer: issuer, Product: w.ProductName,
		Lead: paper.Section{Heading: words.Text("slip.lead"), Text: words.Text("slip.scan")},
		Or:   words.Text("slip.or"), Host: web.takeHost(), Enter: words.Text("slip.enter"),
		Code: code, Link: web.PublicURL + "/take#" + code,
		Keep: words.Text("slip.keep"), Number: string(w.ReferenceNumber), Law: words.Text("paper.law"),
		LostNote: words.Text("paper.lost", paper.Lost),
	}
	slip.Facts = []paper.Fact{
		{Name: words.Text("slip.until"), Value: until(words, w.EndDate)},
		{Name: words.Text("warranty.serial"), Value: view.Deref(w.SerialNumber), Number: true},
	}
	if w.PurchaseDate != nil {
		bought := paper.Fact{Name: words.Text("certificate.bought"), Value: words.Date(*w.PurchaseDate)}
		slip.Facts = append(slip.Facts, bought)
	}
	if contact := contactLine(profile); contact != "" {
		slip.Contact = words.Text("slip.contact", contact)
	}
	return slip, nil
}

// slipFile serves the slip of a warranty as PDF. The page that shows the code sends it, because it is stored only as a
// hash: the same code is printed as often as needed, as long as it works.
func (web *Web) slipFile(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	record, err := web.warrantyOf(r, who)
	if err != nil {
		return err
	}
	if err := web.checkCode(r.Context(), web.reader(r), who, record.ID, f.Value("code")); err != nil {
		return err
	}
	size := paper.Roll80
	if f.Value("size") == string(paper.A6) {
		size = paper.A6
	}
	words := web.paperReader(r)
	slip, err := web.slipTexts(r.Context(), words, who, record, f.Value("code"))
	if err != nil {
		return err
	}
	done, err := web.Service.PaperTurn(r.Context(), who)
	if err != nil {
		return err
	}
	defer done()
	body, err := paper.PDF([]paper.Sheet{slip.Sheet(size)}, web.printFile(words, words.Text("slip.title")))
	if err != nil {
		return err
	}
	web.setHostCookie(w, web.slipCookie(), string(size), web.Service.Now().Add(warranty.DeviceLifetime))
	sendPDF(w, body, "slip-"+string(record.ReferenceNumber)+".pdf", f.Has("save", "true"))
	return nil
}

// checkCode returns an error unless a code hands over a warranty of the account.
func (web *Web) checkCode(
	ctx context.Context, words view.Reader, who warranty.Principal, record warranty.ID, code string,
) error {
	found, err := web.Service.PrintedCode(ctx, who, code)
	if err == nil && found == record {
		return nil
	}
	if err != nil && !errors.Is(err, warranty.ErrNotFound) {
		return err
	}
	return warranty.Refuse(warranty.ValidationFailed, "%s", words.Text("slip.gone"))
}

// printFile returns what a file has besides its pages.
func (web *Web) printFile(words view.Reader, title string) paper.File {
	return paper.File{Title: title, Language: words.Lang, Made: web.Service.Now().UTC().Truncate(time.Second)}
}
