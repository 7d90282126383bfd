package web_test

import (
	"strings"
	"testing"
	"time"

	"warranty.example/svc/internal/servertest"
)

// TestThePublicPageSaysWhomToAsk: a verified business has its contact on the public page, with a link only to its own
// website. Nobody else has a contact or a link out.
func TestThePublicPageSaysWhomToAsk(t *testing.T) {
	w := webWorld(t)
	known, fake := newShop(w, "Halden Electronics", "halden.example"), newShop(w, "Nordhaus Elektro", "")
	b := w.Browser(t)
	contact := fields{"contact_email": "service@halden.example", "contact_phone": "+49 (40) 555-0100", "website": "https://www.halden.example/help"}
	const mail, phone, site = `href="mailto:service@halden.example"`, `href="tel:&#43;49405550100"`, `href="https://www.halden.example/help"`
	for _, s := range []shop{known, fake} {
		s.send(200, "PUT", "/api/organizations/"+s.id, contact, nil)
	}
	issued := known.issues(fields{"serial_number": "TSL-64-Q8AY"})
	known.prints(issued.ID)
	for _, path := range []string{"", "?serial=other"} {
		b.Get("/verify/"+issued.ReferenceNumber+path).Says(t, "verified"+path, 200, "Ask halden.example", mail, phone, site)
	}
	other := fake.issues(nil)
	fake.prints(other.ID)
	b.Get("/verify/"+other.ReferenceNumber).Hides(t, "unverified", "service@", "tel:", "www.", "mailto:", "https://www")

	for _, foreign := range []string{"https://halden.example.evil.example", "https://evilhalden.example", "https://evil.example/halden.example", "http://halden.example", "https://halden.example:8443"} {
		known.send(200, "PUT", "/api/organizations/"+known.id, fields{"website": foreign, "contact_phone": "call us"}, nil)
		p := b.Get("/verify/" + issued.ReferenceNumber)
		p.Says(t, foreign, 200, "call us", mail)
		p.Hides(t, foreign, `href="`+foreign, "tel:")
	}
	w.Exec(`UPDATE domains SET verified_at = NULL`)
	b.Get("/verify/"+issued.ReferenceNumber).Hides(t, "the domain is lost", "mailto:", "tel:", "call us")
}

// TestShortenedCoverageStaysVisible: the public page has the end as it was and as it is, until it is given back. The
// reason is not public: it may name the customer.
func TestShortenedCoverageStaysVisible(t *testing.T) {
	w := webWorld(t)
	halden, nora := newShop(w, "Halden Electronics", "halden.example"), w.Verified("Nora")
	issued := halden.issues(fields{"start_date": "2026-01-01", "end_date": "2031-03-14"})
	b := w.Browser(t)
	change := func(f fields) {
		halden.send(200, "PUT", "/api/v1/warranties/"+issued.ID, f, nil)
		w.Clock.Advance(time.Second)
	}
	change(fields{"end_date": "2031-03-13"}) // before anyone had it
	w.Must(200, servertest.NewRequest("POST", "/api/handovers/take", nora.Session, fields{"code": halden.prints(issued.ID)}))
	public := func() page { return b.Get("/verify/" + issued.ReferenceNumber) }
	public().Hides(t, "whole", "shortened", `class="change"`)
	change(fields{"end_date": "2030-06-01"})
	change(fields{"end_date": "2029-03-14", "start_date": "2026-02-01"})
	p := public()
	p.Says(t, "shortened", 200, "Coverage was shortened on ", "It ended on 13 Mar 2031. It now ends on <b>14 Mar 2029</b>",
		"It started on 1 Jan 2026. It now starts on <b>1 Feb 2026</b>")
	if strings.Index(p.Body, `class="change"`) > strings.Index(p.Body, `class="facts"`) {
		t.Error("it is below the coverage")
	}
	change(fields{"end_date": "2030-01-01"})
	public().Says(t, "given back in part", 200, "It ended on 13 Mar 2031. It now ends on <b>1 Jan 2030</b>")
	change(fields{"end_date": "2031-03-13", "start_date": "2026-01-01"})
	public().Hides(t, "given back", "shortened", `class="change"`)
	own := w.Warranty(nora.Session, fields{"end_date": "2031-01-01"})
	w.Must(200, servertest.NewRequest("PUT", "/api/v1/warranties/"+own.ID, nora.Session, fields{"end_date": "2030-01-01"}))
	b.Get("/verify/"+own.ReferenceNumber).Hides(t, "self-recorded", "shortened")
}

// TestTheFrontPageChecksAWarranty: without a session, / has the form for a reference or a code, and leads to the sign-in
// page. A code is never in an address.
func TestTheFrontPageChecksAWarranty(t *testing.T) {
	w := webWorld(t)
	halden := newShop(w, "Halden Electronics", "halden.example")
	issued := halden.issues(fields{"gtin": "4006381333931", "serial_number": "SN-1"})
	code := halden.prints(issued.ID)
	b := w.Browser(t)
	front := b.Get("/")
	front.Says(t, "the front page", 200, "Check a warranty", `action="/check"`, `href="/sign-in"`, `href="/register"`, `id="scanner"`)
	if got := front.Header.Get("Permissions-Policy"); !strings.Contains(got, "camera=(self)") {
		t.Errorf("the policy is %q", got)
	}
	const link = "/01/04006381333931/21/SN-1"
	for asked, leads := range map[string]string{
		issued.ReferenceNumber: "/verify/" + issued.ReferenceNumber,
		strings.ToLower(strings.ReplaceAll(issued.ReferenceNumber, "-", " ")):         "/verify/" + issued.ReferenceNumber,
		"https://anything.example/verify/" + issued.ReferenceNumber + "?serial=x#top": "/verify/" + issued.ReferenceNumber,
		"https://anything.example" + link:                                             link,
		link:                                                                          link,
	} {
		b.Post("/check", "reference", asked).Leads(t, asked, leads)
	}
	for _, asked := range []string{code, strings.ToLower(code), strings.ReplaceAll(code, "-", " "), "https://w.example/take#" + code} {
		b.Post("/check", "reference", asked).Says(t, asked, 200, issued.ProductName, `action="/take/email"`)
	}
	b.Post("/check", "reference", "0000-0000-0000-0000-0000").Says(t, "an unknown code", 422, "We don&#39;t know this code")
	for _, asked := range []string{"", "x", "https://evil.example/", "//evil.example/01/", "data:text/html,x", strings.Repeat("9", 600), "/01/1/21/"} {
		p := b.Post("/check", "reference", asked)
		p.Says(t, asked, 422, "typing error") // shown again, and leads nowhere
	}
	for _, path := range []string{"/verify", "/verify/WR-0000-0000-0000-0000"} {
		if got := b.Get(path).Header.Get("Permissions-Policy"); !strings.Contains(got, "camera=(self)") {
			t.Errorf("%s: the policy is %q", path, got)
		}
	}
	if got := b.Get("/verify/" + issued.ReferenceNumber).Header.Get("Permissions-Policy"); !strings.Contains(got, "camera=()") {
		t.Errorf("a page without a camera: %q", got)
	}
	w.SignedIn(t, w.Verified("Nora")).Get("/").Hides(t, "with a session", `action="/check"`)
}
