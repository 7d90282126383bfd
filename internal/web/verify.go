package web

import (
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"warranty.example/svc/internal/web/view"
	"warranty.example/svc/warranty"
)

// verifyPage is the page of a verification: whether the record is in force, and who says so.
type verifyPage struct {
	warranty.Verification
	Asked  string // the reference as typed
	Serial string // the serial number to compare
	Found  bool
	// ByProduct is whether a product was asked for, and not a reference.
	ByProduct bool
	Wrong     string // the key of the error of the form
	Cover     cover
	// Certified is whether there is a certificate.
	Certified bool
	// Promise is the record for machines.
	Promise *promise
	// Alike are warranties of issuers without a verified domain for the same product.
	Alike []warranty.Verification
	// Facts are how to reach the business, and what was taken away. Steps are what to do now.
	Facts warranty.PublicFacts
	Steps []string
	// Withdrawn says who withdrew the warranty and when, as far as it is known.
	Withdrawn string
}

// cover is the cell that says whether the record is in force.
type cover struct {
	Tone string // the CSS class
	Say  string
	// Before and After are the detail around Date.
	Before, Date, After string
	Line                template.HTML // the coverage line
}

// Backing returns who stands behind the record.
func (v verifyPage) Backing() warranty.Backing { return v.By.Backing() }

// Assured reports whether a verified business stands behind the record.
func (v verifyPage) Assured() bool { return v.Backing().Verified() }

// Look returns the brand of the verified business that stands behind the record, or nothing.
func (v verifyPage) Look() warranty.PartyBrand {
	if !v.Assured() {
		return warranty.PartyBrand{}
	}
	return v.Backing().Party.Brand
}

// LookOf returns the name of the business whose brand the page has.
func (v verifyPage) LookOf() string {
	if p := v.Backing().Party; p != nil {
		return p.Name
	}
	return ""
}

// Others lists who else has to do with the record.
func (v verifyPage) Others() (list []warranty.Backing) {
	backing := v.Backing()
	switch {
	case backing.Role == warranty.Seller && v.Issuer != nil:
		list = append(list, warranty.Backing{Role: warranty.Issuer, Party: v.Issuer})
	case backing.Role == warranty.Seller:
		list = append(list, warranty.Backing{Role: warranty.Owner})
	}
	if seller, ok := v.By.Confirmed(); ok && backing.Role == warranty.Issuer {
		list = append(list, seller)
	}
	return list
}

// Void reports whether the warranty was withdrawn or cancelled.
func (v verifyPage) Void() bool {
	return v.Found && (v.Status == warranty.Void || v.Status == warranty.Cancelled)
}

// Alarm reports whether the page begins with a red verdict.
func (v verifyPage) Alarm() bool { return v.Mismatch() || v.Void() }

// Untaken reports whether the page asks the customer to register: not what is void, or another product.
func (v verifyPage) Untaken() bool { return !v.Registered && !v.Alarm() }

// Changes are what was taken away: the end as it was first, with the one of today, and the start.
func (v verifyPage) Changes() (list []warranty.Reduction) {
	for _, field := range []string{"end_date", "start_date"} {
		if r := v.Facts.Moved(field, v.StartDate, v.EndDate); r != nil {
			list = append(list, *r)
		}
	}
	return list
}

// Mismatch reports whether the reader entered the serial number of another product.
func (v verifyPage) Mismatch() bool { return v.SerialMatches != nil && !*v.SerialMatches }

// verifyForm shows the form for a reference and redirects to the page of the reference.
func (web *Web) verifyForm(w http.ResponseWriter, r *http.Request, _ warranty.Principal) error {
	asked := strings.TrimSpace(r.URL.Query().Get("reference"))
	if asked == "" {
		return web.showCheck(w, r, http.StatusOK, verifyPage{})
	}
	target, ok := publicPage(asked)
	if !ok {
		return web.showMistyped(w, r, http.StatusUnprocessableEntity, asked)
	}
	if serial := strings.TrimSpace(r.URL.Query().Get("serial")); serial != "" && !strings.Contains(target, "?") {
		target += "?" + url.Values{"serial": {serial}}.Encode()
	}
	return redirect(w, r, target)
}

// check leads to the page of what someone typed or scanned: a reference, the code of a slip, or an address with one of
// them. A code is only in the body of the form, so that it is in no log.
func (web *Web) check(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	asked := strings.TrimSpace(f.Value("reference"))
	if target, ok := publicPage(asked); ok {
		return redirect(w, r, target)
	}
	if code, ok := takeCode(asked); ok {
		return web.showPreview(w, r, who, form{Values: url.Values{"code": {code}}})
	}
	return web.showMistyped(w, r, http.StatusUnprocessableEntity, asked)
}

// slipCode is the code of a slip as people type it.
var slipCode = regexp.MustCompile(`(?i)^[0-9a-z]{4}([\s\p{Pd}]?[0-9a-z]{4}){4}$`)

// takeCode returns the code of a slip in asked, which may be the address on it.
func takeCode(asked string) (string, bool) {
	if _, code, found := strings.Cut(asked, "/take#"); found {
		asked = code
	}
	return asked, slipCode.MatchString(asked)
}

// publicPage returns the path of the public page of a reference in asked, which may be an address, or of a GS1 Digital
// Link.
func publicPage(asked string) (path string, ok bool) {
	if reference, err := warranty.ParseReference(pastedReference(asked)); err == nil {
		return "/verify/" + string(reference), true
	}
	link := digitalLink.FindString(asked)
	return link, link != ""
}

// digitalLink is the path of a GS1 Digital Link.
var digitalLink = regexp.MustCompile(`/01/[0-9]{8,14}/21/[^/?#\s]{1,360}`)

// pastedReference returns the reference in asked, which may be the address of a
// verification page.
func pastedReference(asked string) string {
	_, reference, found := strings.Cut(asked, "/verify/")
	if !found {
		return asked
	}
	if end := strings.IndexAny(reference, "/?#"); end >= 0 {
		reference = reference[:end]
	}
	if unescaped, err := url.PathUnescape(reference); err == nil {
		reference = unescaped
	}
	return reference
}

// mayScan lets the page ask for the camera.
func mayScan(h http.Header) {
	h.Set("Permissions-Policy", "camera=(self), microphone=(), geolocation=()")
}

// front is the page / of people who are not signed in.
func (web *Web) front(w http.ResponseWriter, r *http.Request) error {
	mayScan(w.Header())
	v := view.Page{Title: web.t(r, "verify.title"), Flash: view.Flash(r), Body: verifyPage{}}
	return web.showBare(w, r, http.StatusOK, "front", v)
}

func (web *Web) showCheck(w http.ResponseWriter, r *http.Request, status int, body verifyPage) error {
	mayScan(w.Header())
	v := view.Page{Title: web.t(r, "verify.title"), NoIndex: status != http.StatusOK, Body: body}
	return web.showBare(w, r, status, "verify-form", v)
}

// showMistyped shows the form with an error. The check character alone reveals a typing
// error, so the response reveals nothing about records.
func (web *Web) showMistyped(w http.ResponseWriter, r *http.Request, status int, asked string) error {
	return web.showCheck(w, r, status, verifyPage{Asked: asked, Wrong: "verify.mistyped"})
}

// verify shows the public verification of a reference. Unknown and deleted records look
// the same.
func (web *Web) verify(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	w.Header().Set("X-Robots-Tag", "noindex")
	in := warranty.VerifyWarranty{Reference: r.PathValue("reference"), Serial: r.URL.Query().Get("serial")}
	if _, err := warranty.ParseReference(in.Reference); err != nil {
		return web.showMistyped(w, r, http.StatusNotFound, in.Reference)
	}
	asker := warranty.Principal{Address: who.Address, Door: warranty.DoorWeb}
	v, err := web.Service.VerifyPublicly(r.Context(), asker, in)
	return web.showVerification(w, r, v, nil, in.Serial, err)
}

// ProductOf returns the product of a GS1 Digital Link.
func ProductOf(r *http.Request) warranty.VerifyProduct {
	return warranty.VerifyProduct{
		GTIN:   r.PathValue("gtin"),
		Number: r.PathValue("number"),
		Serial: r.URL.Query().Get("serial"),
		Issuer: strings.TrimSpace(r.URL.Query().Get("issuer")),
	}
}

// verifyProduct shows the public verification of a product, at the address of its GS1 Digital Link.
func (web *Web) verifyProduct(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	w.Header().Set("X-Robots-Tag", "noindex")
	in := ProductOf(r)
	asker := warranty.Principal{Address: who.Address, Door: warranty.DoorWeb}
	found, err := web.Service.VerifyProduct(r.Context(), asker, in)
	if only, alike, ok := found.Only(); ok || err != nil {
		return web.showVerification(w, r, only, alike, in.Serial, err)
	}
	v := view.Page{Title: web.t(r, "verify.issuers"), NoIndex: true, Body: found}
	return web.showBare(w, r, http.StatusOK, "verify-issuers", v)
}

// showVerification shows the page of a verification, or that nothing was found.
func (web *Web) showVerification(
	w http.ResponseWriter, r *http.Request, v warranty.Verification, alike []warranty.Verification, serial string, err error,
) error {
	product := errors.Is(err, warranty.ErrUnknownProduct)
	if product || errors.Is(err, warranty.ErrUnknownReference) {
		mayScan(w.Header())
		return web.showBare(w, r, http.StatusNotFound, "verify", view.Page{Title: web.t(r, "verify.unknown"), NoIndex: true,
			Body: verifyPage{ByProduct: product}})
	}
	if err != nil {
		return err
	}
	words := web.reader(r)
	page := verifyPage{Verification: v, Found: true, Serial: serial, Cover: web.coverOf(words, v), Alike: alike}
	if page.Facts, err = web.Service.PublicFacts(r.Context(), v); err != nil {
		return err
	}
	title := words.Text("verify.page_title", v.Product(words.Lang))
	if !page.Assured() {
		title = words.Text("verify.not_verified", title)
	}
	if page.Void() {
		title = words.Text("verify.not_valid", title)
		page.Cover.since(words, page.Facts.Withdrawn())
		page.Withdrawn = page.withdrawn(words)
	}
	if page.Mismatch() {
		title = words.Text("verify.mismatch")
		page.Cover = page.Cover.ofAnother(words, v)
	} else {
		page.Certified = page.Assured() && web.Service.SigningKey != nil
		page.Promise = web.promiseOf(words, page)
	}
	for _, key := range page.steps() {
		step := words.Text("verify.do." + key)
		page.Steps = append(page.Steps, strings.ReplaceAll(step, "%s", page.Backing().Who(words.Lang)))
	}
	return web.showBare(w, r, http.StatusOK, "verify", view.Page{Title: title, NoIndex: true, Body: page})
}

// steps lists the keys of what to do now. Their texts may name who stands behind the record.
func (v verifyPage) steps() []string {
	named := v.Backing().Party != nil
	switch {
	case v.Mismatch() && v.Assured():
		return []string{"compare", "wait", "still"}
	case v.Mismatch():
		return []string{"compare", "wait", "still_seller"}
	case v.Void() && v.Assured():
		return []string{"rely", "mistake"}
	case v.Void():
		return []string{"rely", "mistake_seller"}
	case v.Status == warranty.Expired && v.Assured():
		return []string{"law", "repair"}
	case v.Status == warranty.Expired:
		return []string{"law", "repair_seller"}
	case v.Assured() && v.Status == warranty.Upcoming:
		return []string{"buy", "before"}
	case v.Assured():
		return []string{"buy", "claim"}
	case named:
		return []string{"keep", "second_hand", "look_up"}
	}
	return []string{"receipt", "ask_seller"}
}

// withdrawn says who withdrew the warranty and when, as far as it is known.
func (v verifyPage) withdrawn(words view.Reader) string {
	key := "verify.withdrawn"
	if v.Status == warranty.Cancelled {
		key = "verify.was_cancelled"
	}
	if by := v.Facts.Withdrawn(); by != nil {
		return words.Text(key+"_by", v.Backing().Who(words.Lang), words.Day(words.Zone, by.At))
	}
	return words.Text(key)
}

// since says since when a warranty is void or cancelled, if it is known.
func (c *cover) since(words view.Reader, by *warranty.Reduction) {
	if by != nil {
		c.Before, c.Date = words.Text("verify.since"), words.Day(words.Zone, by.At)
	}
}

// coverOf returns the cell that says whether a record is in force. It is green only if a verified business
// says so.
func (web *Web) coverOf(words view.Reader, v warranty.Verification) cover {
	today, assured := warranty.DateOf(v.CheckedAt), v.By.Backing().Verified()
	c := cover{Say: words.Text(view.InForce(v))}
	line := "quiet"
	switch v.Status {
	case warranty.Void, warranty.Cancelled:
		return c // the verdict above it is red
	case warranty.Upcoming:
		c.Before, c.Date = words.Text("verify.from"), words.Date(v.StartDate)
	case warranty.Expired:
		c.Before, c.Date = words.Text("verify.on"), words.Date(v.EndDate)
		c.After = ", " + words.Ago(int(today-v.EndDate))
	case warranty.Active:
		days := int(v.EndDate - today)
		if v.EndDate == warranty.Lifetime {
			c.Before = words.Text("take.lifetime")
		} else {
			c.Before, c.Date = words.Text("verify.until"), words.Date(v.EndDate)
			c.After = ", " + words.Days(&days)
		}
		switch {
		case !assured:
			line, c.After = "plain", ""
		case days <= view.EndingSoon:
			line, c.Tone, c.Say = "expiring", "soon", words.Text("verify.ends_soon")
		default:
			line, c.Tone = "active", "good"
		}
	}
	c.Line = view.CoverageLine(v.StartDate, v.EndDate, today, line)
	return c
}

// ofAnother returns the cell for a reader whose product has another serial number: nothing about it is green.
func (c cover) ofAnother(words view.Reader, v warranty.Verification) cover {
	if v.Status == warranty.Void || v.Status == warranty.Cancelled {
		return c
	}
	c.Tone, c.Line = "", ""
	c.Say = words.Text("verify.of_another", c.Say)
	if v.SerialNumber != nil {
		c.After = ", " + words.Text("verify.of_serial", *v.SerialNumber)
	}
	return c
}

// promise is a schema.org WarrantyPromise with the facts of a verification page.
type promise struct {
	Context     string    `json:"@context"`
	Type        string    `json:"@type"`
	Name        string    `json:"name"`
	Identifier  string    `json:"identifier"`
	URL         string    `json:"url"`
	Description string    `json:"description"`
	Duration    *quantity `json:"durationOfWarranty,omitempty"`
}

// quantity is a schema.org QuantitativeValue. UnitCode is ANN, MON or DAY.
type quantity struct {
	Type     string `json:"@type"`
	Value    int    `json:"value"`
	UnitCode string `json:"unitCode"`
}

// promiseOf returns the record for machines, or nil if the record no longer promises anything.
func (web *Web) promiseOf(words view.Reader, v verifyPage) *promise {
	if v.Status == warranty.Void || v.Status == warranty.Cancelled {
		return nil
	}
	covered := strings.TrimSpace(v.Cover.Before + " " + v.Cover.Date)
	p := &promise{
		Context:     "https://schema.org",
		Type:        "WarrantyPromise",
		Name:        v.Product(words.Lang),
		Identifier:  string(v.ReferenceNumber),
		URL:         web.PublicURL + "/verify/" + string(v.ReferenceNumber),
		Description: v.Cover.Say + ". " + covered + v.Cover.After + ". " + v.Backing().Statement(words.Lang),
	}
	if v.EndDate != warranty.Lifetime {
		value, unit := duration(v.StartDate, v.EndDate)
		p.Duration = &quantity{"QuantitativeValue", value, unit}
	}
	return p
}

// duration returns the length of a period with its last day, in years, months or days.
func duration(start, end warranty.Date) (int, string) {
	first, after := start.Time(), (end + 1).Time()
	months := (after.Year()-first.Year())*12 + int(after.Month()) - int(first.Month())
	switch {
	case first.Day() != after.Day() || months == 0:
		return int(end-start) + 1, "DAY"
	case months%12 == 0:
		return months / 12, "ANN"
	}
	return months, "MON"
}
