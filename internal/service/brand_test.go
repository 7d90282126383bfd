package service_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	pngs "image/png"
	"strings"
	"sync"
	"testing"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// squares returns a PNG with a square of a color on a background.
func squares(t *testing.T, width, height int, back, front color.Color) string {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			m.Set(x, y, back)
			if width/4 <= x && x < width*3/4 && height/4 <= y && y < height*3/4 {
				m.Set(x, y, front)
			}
		}
	}
	var b bytes.Buffer
	if err := pngs.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

var navy, none = color.NRGBA{0x1d, 0x3f, 0x8f, 0xff}, color.NRGBA{}

// brands sets a brand.
func (i *impersonation) brands(o issuer, in warranty.UpdateBrand) (warranty.Brand, error) {
	in.ID = o.ID
	return i.Service.UpdateBrand(ctx, o.admin.Principal, in)
}

// looks are on a page of a warranty of an organization with a brand, and on no other.
var looks = []string{`class="brandline"`, `class="logo"`, `/logos/`}

// TestABrandIsShownOnlyWithItsDomain: the brand is on the public page and the logo has an address while a domain is
// verified, and ends with it.
func TestABrandIsShownOnlyWithItsDomain(t *testing.T) {
	eachStopped(t, func(t *testing.T, w *world, clock *stoppedClock) {
		i := newImpersonation(t, w, clock)
		logo, address := squares(t, 300, 200, none, navy), "Hafenstraße 12\r\n\r\n 20457  Hamburg"
		in := warranty.UpdateBrand{
			Logo: &logo, Color: new("#1D3F8F"), SenderName: new("Halden Service"), PostalAddress: &address,
		}
		if _, err := i.brands(i.fake, in); codeOf(err) != warranty.InvalidTransition {
			t.Errorf("without a domain: %v", err)
		}
		made, err := i.brands(i.halden, in)
		if err != nil {
			t.Fatal(err)
		}
		if !made.Shown || made.LogoURL == nil || *made.Color != "#1d3f8f" || *made.PostalAddress != "Hafenstraße 12\n20457 Hamburg" {
			t.Fatalf("%+v", made)
		}
		events := `SELECT count(*) FROM history WHERE action = ` + actionNumber(warranty.BrandUpdated) + ` AND changes LIKE `
		equal(t, "events in the history", w.Count(events+`'%Halden Service%'`), 1)
		w.Service.StorageLimit = 10
		other := squares(t, 300, 200, none, color.NRGBA{0x8f, 0x1d, 0x3f, 0xff})
		if _, err := i.brands(i.halden, warranty.UpdateBrand{Logo: &other}); codeOf(err) != warranty.ValidationFailed {
			t.Errorf("a logo beyond the storage limit: %v", err)
		}
		w.Service.StorageLimit = 0
		equal(t, "stored files", len(w.Stored()), 1)
		reference, path := i.issuedBy(i.halden), strings.TrimPrefix(*made.LogoURL, w.Service.PublicURL)
		page := func() string { return w.Browser(t).Get("/verify/" + string(reference)).Body }
		body := page()
		for _, look := range looks {
			if !strings.Contains(body, look) {
				t.Errorf("the page has no %s", look)
			}
		}
		got := w.Browser(t).Get(path)
		equal(t, "status", got.Status, 200)
		for name, want := range map[string]string{
			"Content-Type": "image/png", "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox; default-src 'none'",
			"Cache-Control": "private, max-age=31536000, immutable", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			equal(t, name, got.Header.Get(name), want)
		}
		if m, err := pngs.Decode(strings.NewReader(got.Body)); err != nil || m.Bounds().Dx() != 300 {
			t.Errorf("the logo: %v", err)
		}
		equal(t, "status", w.Browser(t).Get(strings.Replace(path, ".png", ".svg", 1)).Status, 404)
		equal(t, "status", w.Browser(t).Get("/logos/"+strings.Repeat("0", 64)+".png").Status, 404)

		// The domain is lost: nothing is left, though the brand is kept.
		w.execute(`UPDATE domains SET verified_at = NULL WHERE account_id = $1`, w.key(i.halden.ID))
		body = page()
		for _, look := range append(looks, marks...) {
			if strings.Contains(body, look) {
				t.Errorf("without its domain, the page has %s", look)
			}
		}
		equal(t, "status", w.Browser(t).Get(path).Status, 404)
		lost, err := w.Service.GetBrand(ctx, i.halden.admin.Principal, warranty.GetBrand{ID: i.halden.ID})
		if err != nil || lost.Shown || lost.LogoURL == nil {
			t.Errorf("%+v, %v", lost, err)
		}
		if _, err := i.brands(i.halden, warranty.UpdateBrand{Color: new("#ff0000")}); codeOf(err) != warranty.InvalidTransition {
			t.Errorf("a change without a domain: %v", err)
		}
		if _, err := i.brands(i.halden, warranty.UpdateBrand{Logo: new(""), Color: new("")}); err != nil {
			t.Errorf("removing without a domain: %v", err)
		}
		equal(t, "logos", w.Count(`SELECT count(*) FROM logos`), 0)
		equal(t, "files that were deleted", w.Count(`SELECT count(*) FROM unused_files WHERE state = 1`), 2)
	}, busy)
}

// TestEmailsHaveTheBrand: emails of an organization with a verified domain are from the name of its brand, in its color.
func TestEmailsHaveTheBrand(t *testing.T) {
	eachStoppedInTurn(t, func(t *testing.T, w *world, clock *stoppedClock) {
		i := newImpersonation(t, w, clock)
		senders := func(want string) {
			t.Helper()
			i.halden.sells(warranty.CreateWarranty{CustomerEmail: string(want[0]+'a'-'A') + "@people.example"})
			equal(t, "mails from "+want, w.Count(`SELECT count(*) FROM mails WHERE sender = $1`, want), 1)
		}
		senders(i.halden.Name)
		if _, err := i.brands(i.halden, warranty.UpdateBrand{SenderName: new("Service of Halden")}); err != nil {
			t.Fatal(err)
		}
		senders("Service of Halden")
		colors := func() int { return w.Count(`SELECT count(*) FROM mails WHERE color = '#1d3f8f'`) }
		equal(t, "mails in a color", colors(), 0)
		if _, err := i.brands(i.halden, warranty.UpdateBrand{Color: new("#1d3f8f")}); err != nil {
			t.Fatal(err)
		}
		i.halden.sells(warranty.CreateWarranty{CustomerEmail: "c@people.example"})
		equal(t, "mails in a color", colors(), 1)
	}, busy)
}

// TestTwoAdministratorsChangeABrand: of changes to one version, sent to several servers at once, one is made, and the others
// say that the brand has changed. What is not given stays, and every server shows the same.
func TestTwoAdministratorsChangeABrand(t *testing.T) {
	eachReplicas(t, func(t *testing.T, worlds []*world) {
		w := worlds[0]
		i := &impersonation{world: w, t: t, zone: newZone(t, w), halden: w.issuer("Ann")}
		domain := i.add(i.halden, "halden.example")
		i.zone.SetTexts("_warranty.halden.example.", domain.RecordText)
		i.check(i.halden, domain)
		seen, err := i.brands(i.halden, warranty.UpdateBrand{SenderName: new("Halden Service")})
		if err != nil {
			t.Fatal(err)
		}
		const tries = 12
		failures := make([]error, tries)
		var all sync.WaitGroup
		for n := range tries {
			all.Go(func() {
				in := warranty.UpdateBrand{ID: i.halden.ID, Color: new(fmt.Sprintf("#1d3f%02x", 0x80+n)), IfMatch: seen.ETag()}
				if n%2 == 1 {
					logo := squares(t, 64+n, 64, none, navy)
					in = warranty.UpdateBrand{ID: i.halden.ID, Logo: &logo, IfMatch: seen.ETag()}
				}
				_, failures[n] = worlds[n%len(worlds)].Service.UpdateBrand(ctx, i.halden.admin.Principal, in)
			})
		}
		all.Wait()
		saved := 0
		for _, err := range failures {
			switch {
			case err == nil:
				saved++
			case codeOf(err) != warranty.PreconditionFailed:
				t.Errorf("another change: %v", err)
			}
		}
		equal(t, "changes that were made", saved, 1)
		equal(t, "logos and files", w.Count(`SELECT count(*) FROM used_files`) <= 1, true)
		after := i.brandOf(i.halden)
		equal(t, "the sender", *after.SenderName, "Halden Service")
		for _, other := range worlds {
			same, err := other.Service.GetBrand(ctx, i.halden.admin.Principal, warranty.GetBrand{ID: i.halden.ID})
			if err != nil || same.ETag() != after.ETag() || same.ETag() == seen.ETag() {
				t.Errorf("another server: %+v, %v", same, err)
			}
		}
		if _, err := i.brands(i.halden, warranty.UpdateBrand{SenderName: new(""), IfMatch: after.ETag()}); err != nil {
			t.Errorf("with the new version: %v", err)
		}
	})
}

// TestTheBrandPageSaysHowItLooks: the page of the brand names the shades that pages have instead of a color.
func TestTheBrandPageSaysHowItLooks(t *testing.T) {
	eachStoppedInTurn(t, func(t *testing.T, w *world, clock *stoppedClock) {
		i := newImpersonation(t, w, clock)
		if _, err := i.brands(i.halden, warranty.UpdateBrand{Color: new("#ffcc00")}); err != nil {
			t.Fatal(err)
		}
		b := i.brandOf(i.halden)
		browser := w.SignedIn(t, servertest.Person{Email: i.halden.admin.User.Email, Password: servertest.Password})
		for _, lang := range warranty.Languages() {
			browser.Accept = lang
			browser.Get("/settings/brand").Says(t, lang, 200, string(*b.ColorOnLight), string(*b.ColorOnDark))
		}
	}, busy)
}
