package service_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

const linkedGTIN, linkedSerial = "4242005273881", "FD-1"

// links returns the JSON of the GS1 Digital Link of the product.
func (w *world) links(t *testing.T) (found warranty.ProductVerification) {
	t.Helper()
	w.Must(200, made("GET", "/01/0"+linkedGTIN+"/21/"+linkedSerial, "", nil)).Into(t, &found)
	return found
}

func domainsOf(list []warranty.Verification) (domains []string) {
	for _, v := range list {
		domains = append(domains, *v.Issuer.Domain)
	}
	return domains
}

// gives issues a warranty of the product to someone.
func (w *world) gives(o issuer, to person) warranty.Warranty {
	w.T.Helper()
	sold := o.sells(warranty.CreateWarranty{GTIN: linkedGTIN, SerialNumber: linkedSerial})
	w.taken(to, o.prints(sold.ID))
	return sold
}

// copies copies a warranty that was taken to an issuer.
func (w *world) copies(id warranty.ID, reference string, to any) {
	w.T.Helper()
	w.execute(`INSERT INTO warranties (id, reference, issuer_id, product_name, gtin, serial_number, start_date, end_date, standing,
			created_at, updated_at, search, folded_category, version)
		SELECT $1, $2, $3, product_name, gtin, serial_number, start_date, end_date, standing, created_at, updated_at, search,
			folded_category, version FROM warranties WHERE id = $4`, w.key(w.Service.NewID()), reference, to, w.key(id))
}

// TestADigitalLinkCannotBeTakenOver: neither 200 warranties of another verified business nor fakes hide the maker. Every
// issuer has one row, by domain, and those without a verified domain are apart.
func TestADigitalLinkCannotBeTakenOver(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		attacker, maker, fake, kim := w.issuer("Mallory"), w.issuer("Ann"), w.issuer("Fay"), w.person("Kim", true)
		w.verify(attacker, "aaa.example")
		w.verify(maker, "maker.example")
		first := w.gives(attacker, kim)
		for i := range 200 { // copies of a warranty that was taken
			w.copies(first.ID, fmt.Sprintf("WR-C0PY-0000-0000-%04d", i), w.key(attacker.ID))
		}
		made := w.gives(maker, kim)
		w.gives(fake, kim)
		found := w.links(t)
		equal(t, "verified issuers", domainsOf(found.Verified), []string{"aaa.example", "maker.example"})
		equal(t, "the maker's warranty", found.Verified[1].ReferenceNumber, made.ReferenceNumber)
		equal(t, "unverified issuers", len(found.Unverified), 1)
		equal(t, "more", found.More, false)
		page := w.Browser(t).Get("/01/" + linkedGTIN + "/21/" + linkedSerial)
		for _, part := range []string{"aaa.example", "maker.example", string(made.ReferenceNumber), "Businesses that have not verified their website"} {
			if page.Status != 200 || !strings.Contains(page.Body, part) {
				t.Errorf("the page (%d) has no %q", page.Status, part)
			}
		}
		if strings.Contains(page.Body, `class="seal"`) || strings.Contains(page.Body, "fact good") {
			t.Error("the page prefers an issuer")
		}
	}, busy)
}

// TestSubdomainsCrowdOutNobody: an attacker with many organizations below one domain fills the rest of the list only.
func TestSubdomainsCrowdOutNobody(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		attacker, maker, kim := w.issuer("Mallory"), w.issuer("Ann"), w.person("Kim", true)
		w.verify(maker, "zz-maker.example")
		w.gives(maker, kim)
		w.verify(attacker, "a0.evil.example")
		first := w.gives(attacker, kim)
		for i := range 120 {
			organization := w.key(w.Service.NewID())
			w.execute(`INSERT INTO users (id, email, name, password_hash, kind, created_at) VALUES ($1, $2, 'Evil', '', 2, 1)`,
				organization, fmt.Sprintf("evil%d@deleted.invalid", i))
			w.execute(`INSERT INTO domains (id, account_id, domain, token, by_operator, created_at, verified_at) VALUES ($1, $2, $3, 'x', 1, 1, 1)`,
				w.key(w.Service.NewID()), organization, fmt.Sprintf("a%d.evil.example", i+1))
			w.copies(first.ID, fmt.Sprintf("WR-EV11-0000-0000-%04d", i), organization)
		}
		found := w.links(t)
		equal(t, "verified issuers", len(found.Verified), 100)
		equal(t, "more", found.More, true)
		if !slices.Contains(domainsOf(found.Verified), "zz-maker.example") || !slices.IsSorted(domainsOf(found.Verified)) {
			t.Errorf("the maker is hidden, or the order is not neutral: %v", domainsOf(found.Verified))
		}
	}, busy)
}
