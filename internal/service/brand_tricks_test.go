package service_test

import (
	"encoding/base64"
	"fmt"
	"image/color"
	"regexp"
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

// sealColors are colors that could be taken for that of the seal, or as a color for something else.
var sealColors = []string{
	"#0f6b55", "0f6b55", "#0F6B55", "#00805c", "#79d3b5", "#4d9484", "#008000", "#00ff00", "#0f0", "0f0", "#0a0", "#00a651", "#22c55e",
	"#16a34a", "#84cc16", "#10b981", "#14b8a6", "#008080", "#006241", "#2e8b57", "#0b3d2e", "#3cb371", "#7cfc00", "#00fa9a", "#20b2aa",
	"#98fb98", "#01796f", "#355e3b", "#f0fff4x", "green", "var(--accent)", "oklch(.455 .09 172)", "#0f6b5580", "url(#seal)", "light-dark(#fff,#000)",
	`#fff" class="seal`, "#1d3f8f;fill:#0f6b55", "transparent", "currentColor",
}

// senderNames are names that must not be in front of the address of the service.
var senderNames = []string{
	"Warranty Records", "warranty records", "WARRANTY  RECORDS", "WarrantyRecords", "Warranty-Records", "Warranty Rec0rds", "Wаrranty Records",
	"Wárranty Récords", "W a r r a n t y Records", "Halden via Warranty Records", "Warranty Records Support", "apple.com", "Apple (apple.com)",
	"www.apple.com", "https://apple.com", "info@apple.com", "Apple <info@apple.com>", "Apple\r\nBcc: a@b.example", "Apple\x00", "Apple\u202e",
	"Apple ✓", "✅ Apple", "Apple 🅥", "Verified Apple", "Apple (verified)", "Ver1fied Apple", "Verifiziert: Apple", "Entreprise vérifiée", "Empresa verificada",
	"Аpple", "Αpple", "Ａｐｐｌｅ", "𝐀𝐩𝐩𝐥𝐞", "Ⓐⓟⓟⓛⓔ", "\u200b", "App\u00adle", "Apple\u2028Verified", strings.Repeat("a", 61),
}

// postalAddresses must not be printed next to the domain.
var postalAddresses = []string{
	"Verified business: apple.com", "Verified\nbusiness", "Veri-\nfied business", "VERIFIED", "Verifiziertes Unternehmen", "Entreprise vérifiée : apple.com",
	"Empresa verificada: apple.com", "✓ apple.com", "Infinite Loop 1\napple.com", "www.apple.com", "Halden ✔", "Hauptstr. 1\u202e\n12345",
	"a\nb\nc\nd\ne", "Ⓐⓟⓟⓛⓔ Park", "Аpple Park", strings.Repeat("a", 201), "a\x00b",
}

// TestABrandCannotLookVerified: an organization with a verified domain cannot choose the color of the seal, a name of
// someone else, or a text that says that it is verified, and nothing of it is stored.
func TestABrandCannotLookVerified(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		i, n := newImpersonation(t, w, clock), 0
		before := i.brandOf(i.halden)
		refused := func(what string, in warranty.UpdateBrand) {
			n++
			if b, err := i.brands(i.halden, in); codeOf(err) != warranty.ValidationFailed {
				t.Errorf("%q is accepted: %+v, %v", what, b, err)
			}
		}
		for _, color := range sealColors {
			refused(color, warranty.UpdateBrand{Color: new(color)})
		}
		for _, name := range senderNames {
			refused(name, warranty.UpdateBrand{SenderName: new(name)})
		}
		for _, address := range postalAddresses {
			refused(address, warranty.UpdateBrand{PostalAddress: new(address)})
		}
		svg := `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><script>alert(1)</script></svg>`
		for what, file := range map[string]string{
			"an SVG": svg, "an SVG with a declaration": `<?xml version="1.0"?>` + svg, "HTML": "<!doctype html><p>Verified",
			"a PDF": "%PDF-1.7\n", "a GIF": "GIF89a\x01\x00\x01\x00", "an empty PNG": "\x89PNG\r\n\x1a\n",
			"a text": "verified", "PNG and HTML": "\x89PNG\r\n\x1a\n<script>alert(1)</script>", "a WebP animation": "RIFF\x10\x00\x00\x00WEBPANIM\x00\x00\x00\x00",
		} {
			refused(what, warranty.UpdateBrand{Logo: new(base64.StdEncoding.EncodeToString([]byte(file)))})
		}
		for what, image := range map[string]string{
			"white on white": squares(t, 100, 100, color.White, color.White), "nothing": squares(t, 100, 100, none, none),
			"a dot": squares(t, 10, 10, none, navy), "a line": squares(t, 900, 30, navy, navy), "no base64": "§",
		} {
			refused(what, warranty.UpdateBrand{Logo: &image})
		}
		if after := i.brandOf(i.halden); *after.Color != *before.Color || *after.LogoURL != *before.LogoURL || after.SenderName != nil ||
			after.PostalAddress != nil {
			t.Errorf("%+v", after)
		}
		t.Logf("%d brands that look verified", n)
	}, busy)
}

// TestImpostorsHaveNoBrand: without a verified domain, no brand is accepted, and no page has one.
func TestImpostorsHaveNoBrand(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		i := newImpersonation(t, w, clock)
		logo := squares(t, 100, 100, color.White, navy)
		for _, in := range []warranty.UpdateBrand{
			{Logo: &logo}, {Color: new("#1d3f8f")}, {SenderName: new("Halden")}, {PostalAddress: new("Hafenstraße 12")},
			{Logo: new(""), Color: new("#1d3f8f")},
		} {
			if _, err := i.brands(i.fake, in); codeOf(err) != warranty.InvalidTransition {
				t.Errorf("%+v: %v", in, err)
			}
		}
		// Even a brand that is stored, as after the loss of a domain, is on no page of whoever has no domain.
		made := i.brandOf(i.halden)
		w.execute(`UPDATE brands SET account_id = $1`, w.key(i.fake.ID))
		w.execute(`UPDATE logos SET account_id = $1`, w.key(i.fake.ID))
		reference := i.issuedBy(i.fake)
		i.expectNoMark(t, "a stored brand", reference)
		equal(t, "status", w.Browser(t).Get(strings.TrimPrefix(*made.LogoURL, w.Service.PublicURL)).Status, 404)
		i.fake.sells(warranty.CreateWarranty{CustomerEmail: "z@people.example"})
		equal(t, "mails to the customer", w.Count(`SELECT count(*) FROM mails WHERE address = 'z@people.example'`), 1)
		equal(t, "mails in a color", w.Count(`SELECT count(*) FROM mails WHERE color <> ''`), 0)
	}, busy)
}

func (i *impersonation) brandOf(o issuer) warranty.Brand {
	i.t.Helper()
	b, err := i.Service.GetBrand(ctx, o.admin.Principal, warranty.GetBrand{ID: o.ID})
	if err != nil {
		i.t.Fatal(err)
	}
	return b
}

var (
	cellOf  = regexp.MustCompile(`(?s)<div class="facts">.*</section>\s*</div>`)
	greenOf = regexp.MustCompile(`class="(?:fact good|seal)`)
)

// TestABrandIsNotInTheCells: whatever its logo and its color, a brand is outside of the cells with the seal and the state,
// and adds no green to a page with a red verdict.
func TestABrandIsNotInTheCells(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		i := newImpersonation(t, w, clock)
		green := color.NRGBA{0x0f, 0x6b, 0x55, 0xff}
		for n, in := range []warranty.UpdateBrand{
			{Logo: new(squares(t, 120, 120, color.White, green)), Color: new("#1d3f8f")},
			{Logo: new(squares(t, 500, 500, green, color.White)), Color: new("#c8102e")},
			{Logo: new(squares(t, 60, 400, green, green)), Color: new("#06b6d4")},
			{Logo: new(squares(t, 400, 60, green, color.White)), Color: new("#ffcc00")},
			{Logo: new(squares(t, 512, 512, green, green)), Color: new("#000")},
		} {
			if _, err := i.brands(i.halden, in); err != nil {
				t.Fatal(err)
			}
			made := i.halden.sells(warranty.CreateWarranty{SerialNumber: fmt.Sprint("HAL-0000", n)})
			i.taken(i.kim, i.halden.prints(made.ID))
			path, void := "/verify/"+string(made.ReferenceNumber), warranty.Void
			states := map[string]int{path: 2, path + "?serial=another": 2}
			check := func() {
				for path, marks := range states {
					page := i.Browser(t).Get(path).Body
					cells := cellOf.FindString(page)
					if cells == "" || strings.Contains(cells, "<img") || strings.Contains(cells, "brandline") || strings.Count(page, `class="logo"`) != 1 {
						t.Errorf("%s: the logo or the line is in the cells, or missing", path)
					}
					if got := len(greenOf.FindAllString(page, -1)); got > marks {
						t.Errorf("%s: %d green parts", path, got)
					}
				}
			}
			states[path] = 3 // in force, too
			check()
			i.changes(i.halden.acting, made, warranty.UpdateWarranty{Status: &void})
			states = map[string]int{path: 2}
			check()
		}
	}, busy)
}
